//! Clock that keeps running while the machine is suspended.

/// Nanoseconds since a fixed moment of this process's run.
#[cfg(unix)]
pub fn now_ns() -> u64 {
    use rustix::time::{ClockId, clock_gettime};
    // On macOS the clock of this name keeps running while the machine is suspended; on Linux it does not.
    #[cfg(target_vendor = "apple")]
    const CLOCK: ClockId = ClockId::Monotonic;
    #[cfg(not(target_vendor = "apple"))]
    const CLOCK: ClockId = ClockId::Boottime;
    let now = clock_gettime(CLOCK);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds since a fixed moment of this process's run.
#[cfg(windows)]
pub fn now_ns() -> u64 {
    use std::{sync::LazyLock, time::Instant};
    // `Instant` is QueryPerformanceCounter, which counts the time in standby and hibernation too.
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_nanos() as u64
}
