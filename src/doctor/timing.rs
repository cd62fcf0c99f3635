//! How late this machine wakes an idle thread, and how often it stops a busy one.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde::Serialize;

/// A loop whose thread wakes later than this in its millisecond has little of it left to compute in.
pub const LATE_US: f64 = 300.0;
const NAP: Duration = Duration::from_millis(1);
/// Between two readings of the clock a busy thread needs less than a microsecond; this is somebody else's time.
pub const STALL_US: f64 = 50.0;

/// What was measured.
#[derive(Debug, Serialize)]
pub struct Timing {
    /// Naps of a millisecond.
    pub wakes: u64,
    /// How late they ended, microseconds.
    pub wake_us: WakePercentiles,
    /// Of them, later than a third of a tick.
    pub late_share: f64,
    /// Times that a busy thread was stopped.
    pub stalls: u64,
    /// The longest of them, microseconds.
    pub stall_us_max: f64,
    /// All of them, as a share of the time.
    pub stalled_share: f64,
}

/// Microseconds.
#[derive(Debug, Serialize)]
pub struct WakePercentiles {
    /// Half are within it.
    pub p50: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// All.
    pub max: f64,
}

impl Timing {
    /// Naps for so long, then spins for as long.
    pub fn measure(seconds: f64) -> Timing {
        let time = Duration::from_secs_f64(seconds);
        // One after the other: beside the naps a busy thread would take a core from them and be the lateness that it
        // looks for.
        let naps = naps(time);
        let us = |ns: u64| ns as f64 / 1e3;
        let at = |share| us(naps.value_at_quantile(share));
        let wake_us =
            WakePercentiles { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: us(naps.max()) };
        let late = naps.len() - naps.count_between(0, (LATE_US * 1e3) as u64);
        let late_share = late as f64 / naps.len() as f64;
        let (stalls, stall_us_max, stalled_share) = stalls(time);
        Timing { wakes: naps.len(), wake_us, late_share, stalls, stall_us_max, stalled_share }
    }
}

/// Nanoseconds of lateness; at least one nap.
fn naps(time: Duration) -> Histogram<u64> {
    // Sleeping, as a loop does between two ticks; a busy thread would not be woken at all.
    let mut late = Histogram::new(3).expect("three digits are few");
    let begun = Instant::now();
    while late.is_empty() || begun.elapsed() < time {
        let slept = Instant::now();
        thread::sleep(NAP);
        // A sleep lasts at least as long as asked; saturating keeps a clock that disagrees from a panic.
        let ns = slept.elapsed().saturating_sub(NAP).as_nanos() as u64;
        late.record(ns).expect("it grows with what it records");
    }
    late
}

/// How many, the longest in microseconds, and their share of the time.
fn stalls(time: Duration) -> (u64, f64, f64) {
    let begun = Instant::now();
    let (mut last, mut n, mut longest, mut all) = (begun, 0, 0.0_f64, 0.0);
    while last.duration_since(begun) < time {
        hint::spin_loop();
        let now = Instant::now();
        let us = now.duration_since(last).as_secs_f64() * 1e6;
        if us > STALL_US {
            n += 1;
            longest = longest.max(us);
            all += us;
        }
        // From one reading to the next without a gap, so no stall falls between two.
        last = now;
    }
    (n, longest, all / (time.as_secs_f64() * 1e6))
}
