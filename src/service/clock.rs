//! Clock of the process, the source of every time that is passed to the engine.

use std::{sync::LazyLock, time::Instant};

use crate::os::boot_clock;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds of a monotonic clock that starts at 0 when it is first read.
pub fn now_ns() -> u64 {
    START.elapsed().as_nanos() as u64
}

/// Nanoseconds of the clock of leases, which runs while the machine is suspended, like the clocks of other servers.
pub fn lease_now_ns() -> u64 {
    let now_ns = boot_clock::now_ns();
    // Servers of a test are on one machine: only this factor makes their clocks run unequally.
    #[cfg(debug_assertions)]
    let now_ns = (now_ns as f64 * *TEST_RATE) as u64;
    now_ns
}

#[cfg(debug_assertions)]
static TEST_RATE: LazyLock<f64> = LazyLock::new(|| {
    let rate = std::env::var("PALPATE_TEST_CLOCK_RATE").ok().and_then(|rate| rate.parse().ok());
    rate.unwrap_or(1.0)
});
