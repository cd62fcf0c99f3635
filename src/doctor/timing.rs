//! Lateness of this machine's wakes of an idle thread, and its stops of a busy one.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde::Serialize;

/// Lateness above which a wake leaves a loop's thread little of its millisecond to compute in.
pub const LATE_US: f64 = 300.0;
const NAP: Duration = Duration::from_millis(1);
/// Shortest stall: a busy thread needs less than a microsecond between two clock readings; the rest is other code's
/// time.
pub const STALL_US: f64 = 50.0;

/// Results of the measurement.
#[derive(Debug, Serialize)]
pub struct Timing {
    /// Naps of a millisecond.
    pub wakes: u64,
    /// Lateness of the wakes, microseconds.
    pub wake_us: WakePercentiles,
    /// Share of wakes later than a third of a tick.
    pub late_share: f64,
    /// Stops of a busy thread.
    pub stalls: u64,
    /// Longest stop, microseconds.
    pub stall_us_max: f64,
    /// Stops in all, as a share of the time.
    pub stalled_share: f64,
}

/// Percentiles, microseconds.
#[derive(Debug, Serialize)]
pub struct WakePercentiles {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

impl Timing {
    /// Naps for `seconds`, then spins for as long.
    pub fn measure(seconds: f64) -> Timing {
        let time = Duration::from_secs_f64(seconds);
        // The two run one after the other: during the naps a busy thread would take a core from them and cause the
        // lateness that it looks for.
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

/// Returns the lateness of naps, nanoseconds; at least one nap.
fn naps(time: Duration) -> Histogram<u64> {
    // The thread sleeps, as a loop does between two ticks; a busy thread would not be woken at all.
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

/// Returns the number of stalls, the longest in microseconds, and their share of the time.
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
        // Readings follow each other without a gap, so no stall falls between two.
        last = now;
    }
    (n, longest, all / (time.as_secs_f64() * 1e6))
}
