//! Durations of a run, in a histogram of constant relative error.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

/// Upper limit of a recorded duration; longer ones count as this. No run waits that long.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Durations, kept to three significant digits.
#[derive(Clone, Debug)]
pub struct Latencies(Histogram<u64>);

/// Mean and percentiles of a set of durations, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// Mean of all durations.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// 99.99th percentile.
    pub p9999: f64,
    /// Maximum.
    pub max: f64,
}

impl Latencies {
    /// Returns an empty histogram.
    pub fn new() -> Latencies {
        Latencies(Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("sound bounds"))
    }

    /// Adds one duration.
    pub fn record(&mut self, duration: Duration) {
        // Three digits of any size in some 250 kB; a list of a day's ticks would take gigabytes.
        self.0.saturating_record(duration.as_nanos() as u64);
    }

    /// Adds all durations of `other`.
    pub fn add(&mut self, other: &Latencies) {
        // All histograms have equal bounds and digits, so nothing is lost or rejected.
        self.0.add(&other.0).expect("equal bounds");
    }

    /// Returns the duration that `percent` of the durations do not exceed; `None` when there are none.
    pub fn percentile_us(&self, percent: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_percentile(percent) as f64 / 1e3)
    }

    /// Returns the mean, microseconds; 0 when there are no durations.
    pub fn mean_us(&self) -> f64 {
        self.0.mean() / 1e3
    }

    /// Returns the number of recorded durations.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Returns the usual percentiles; `None` when there are no durations.
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
