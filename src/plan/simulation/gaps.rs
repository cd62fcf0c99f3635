//! Times during which scenes were not served.

use serde::Serialize;

/// All gaps of one cause.
#[derive(Default)]
pub struct Gaps(Vec<f64>);

/// Number and quantiles of gaps, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct GapSummary {
    /// Number of gaps.
    pub count: u64,
    /// Median gap.
    pub p50_s: f64,
    /// 99th percentile of the gaps.
    pub p99_s: f64,
    /// Longest gap.
    pub max_s: f64,
}

impl Gaps {
    /// Adds a gap.
    pub fn push(&mut self, gap_s: f64) {
        debug_assert!(gap_s >= 0.0 && gap_s.is_finite(), "{gap_s}");
        self.0.push(gap_s);
    }

    /// Returns the summary; zeros if there was no gap.
    pub fn summary(mut self) -> GapSummary {
        self.0.sort_by(f64::total_cmp);
        // The smallest gap that is at least as long as this share of all.
        let at = |share: f64| {
            let n = (share * self.0.len() as f64).ceil() as usize;
            self.0.get(n.max(1) - 1).copied()
        };
        let [p50_s, p99_s, max_s] = [0.5, 0.99, 1.0].map(|share| at(share).unwrap_or_default());
        GapSummary { count: self.0.len() as u64, p50_s, p99_s, max_s }
    }
}
