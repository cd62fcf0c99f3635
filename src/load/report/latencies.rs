//! Durations of a run, in a histogram of constant relative error.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Anything longer counts as this, which no run waits for.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Durations, kept to three digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

/// Of a set of durations, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// Of all.
    pub mean: f64,
    /// Half of them are at most this.
    pub p50: f64,
    /// 90 % are.
    pub p90: f64,
    /// 99 % are.
    pub p99: f64,
    /// 99.9 % are.
    pub p999: f64,
    /// 99.99 % are.
    pub p9999: f64,
    /// All are.
    pub max: f64,
}

impl Latencies {
    /// None yet.
    pub fn new() -> Latencies {
        Latencies(Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("sound bounds"))
    }

    /// Adds one.
    pub fn record(&mut self, duration: Duration) {
        // Three digits of any size in some 250 kB; a list of a day's ticks would be gigabytes.
        self.0.saturating_record(duration.as_nanos() as u64);
    }

    /// Adds all of another's.
    pub fn add(&mut self, other: &Latencies) {
        // All have the same bounds and digits, so nothing is lost or refused.
        self.0.add(&other.0).expect("equal bounds");
    }

    /// The duration that `percent` of them do not exceed; `None` when there are none.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_percentile(percent) as f64 / 1e3)
    }

    /// 0 when there is none.
    pub fn mean_us(&self) -> f64 {
        self.0.mean() / 1e3
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The usual ones; `None` when there is none.
    pub fn percentiles(&self) -> Option<Percentiles> {
        Some(Percentiles {
            mean: self.mean_us(),
            p50: self.percentile_us(50.0)?,
            p90: self.percentile_us(90.0)?,
            p99: self.percentile_us(99.0)?,
            p999: self.percentile_us(99.9)?,
            p9999: self.percentile_us(99.99)?,
            max: self.percentile_us(100.0)?,
        })
    }
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies::new()
    }
}
