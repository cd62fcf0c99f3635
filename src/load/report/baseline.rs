//! An echo beside a run: what transport and machine take of a round trip.

use serde::Serialize;

use super::{
    latencies::{Latencies, Percentiles},
    measured::Measured,
    tally::Tally,
};

/// The transport's and the machine's share.
#[derive(Clone, Debug, Serialize)]
pub struct Baseline {
    /// Of the echo.
    pub rtt_us: Option<Percentiles>,
    /// While it was measured.
    pub hiccup_us: Option<Percentiles>,
    /// Ticks of the echo that missed the deadline.
    pub missed: u64,
    /// The median round trip over the sum of the echo's and the engine's.
    pub p50_ratio: Option<f64>,
    /// The same of the 99th percentiles.
    pub p99_ratio: Option<f64>,
}

impl Baseline {
    /// Of an echo beside the run that it stands for.
    pub fn of(echo: &Measured, run: &Tally) -> Baseline {
        let ratio = |percent| {
            let at = |latencies: &Latencies| latencies.percentile_us(percent);
            // A sum of percentiles is no percentile of a sum. It is the time of a run in which no tick waits for
            // another, and the ratio says what waiting adds.
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

    /// The ratio in words.
    pub fn said(&self) -> String {
        let ratio = |r: Option<f64>| r.map_or_else(|| "unknown".to_owned(), |r| format!("{r:.2}"));
        let [p50, p99] = [self.p50_ratio, self.p99_ratio].map(ratio);
        format!("round trip / (echo + tick in the engine): p50 {p50}, p99 {p99}")
    }
}
