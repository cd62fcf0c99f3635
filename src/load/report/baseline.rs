//! An echo compared with a run: the part of a round trip that the transport and the machine take.

use serde::Serialize;

use super::{
    latencies::{Latencies, Percentiles},
    measured::Measured,
    tally::Tally,
};

/// Share of the transport and the machine in a round trip.
#[derive(Clone, Debug, Serialize)]
pub struct Baseline {
    /// Round trip of the echo.
    pub rtt_us: Option<Percentiles>,
    /// Hiccups of this machine while the echo ran.
    pub hiccup_us: Option<Percentiles>,
    /// Ticks of the echo that missed the deadline.
    pub missed: u64,
    /// Median round trip over the sum of the echo's median and the engine's.
    pub p50_ratio: Option<f64>,
    /// 99th percentile of the round trip over the sum of the echo's and the engine's.
    pub p99_ratio: Option<f64>,
}

impl Baseline {
    /// Compares an echo with its run.
    pub fn of(echo: &Measured, run: &Tally) -> Baseline {
        let ratio = |percent| {
            let at = |latencies: &Latencies| latencies.percentile_us(percent);
            // A sum of percentiles is no percentile of a sum. The sum is the time of a run in which no tick waits for
            // another; the ratio is the cost of waiting.
            Some(at(&run.round_trip)? / (at(&echo.tally.round_trip)? + at(&run.compute)?))
        };
        Baseline {
            rtt_us: echo.tally.round_trip.percentiles(),
            hiccup_us: echo.hiccups.percentiles(),
            missed: echo.tally.missed,
            p50_ratio: ratio(50.0),
            p99_ratio: ratio(99.0),
        }
    }

    /// Returns both ratios in words.
    pub fn said(&self) -> String {
        let ratio = |r: Option<f64>| r.map_or_else(|| "unknown".to_owned(), |r| format!("{r:.2}"));
        let [p50, p99] = [self.p50_ratio, self.p99_ratio].map(ratio);
        format!("round trip / (echo + tick in the engine): p50 {p50}, p99 {p99}")
    }
}
