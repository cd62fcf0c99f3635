//! Difference between the force that a hand felt and the true force.
//!
//! The true force is that of a proxy that is never late: the poses of the device are replayed in lock-step, with the
//! tissue as it was then ([`crate::load::run::lock_step`]).

use glam::DVec3;
use serde::Serialize;

use crate::geometry::Pose;

/// Forces below this count as no contact, newtons: a hand does not feel them.
const CONTACT_N: f64 = 0.05;

/// Compared time of a run, seconds.
pub const COMPARED_S: f64 = 60.0;
/// Compared samples per second.
pub const COMPARED_HZ: f64 = 1_000.0;

/// A sample of the device, to be compared with the true force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldSample {
    /// Seconds since the start of the run.
    pub seconds: f64,
    /// Pose of the tool, scene frame.
    pub at: Pose,
    /// Force that the hand felt, newtons, scene frame.
    pub felt_n: DVec3,
}

/// Felt forces compared with true forces, sample by sample.
#[derive(Clone, Debug, Default)]
pub struct Fidelity {
    /// Sum of squared errors of the samples in contact.
    squares: f64,
    errors_n: Vec<f64>,
    n_below_half: u64,
    below_half_since: Option<f64>,
    below_half_longest_s: f64,
    over_force_n_max: f64,
}

/// [`Fidelity`] for the report. The error is the felt force less the true force; all fields but the last count samples
/// in contact.
#[derive(Clone, Debug, Serialize)]
pub struct FidelityReport {
    /// Samples in contact.
    pub samples: u64,
    /// RMS of the error.
    pub rms_n: f64,
    /// 99.9th percentile of the error's magnitude.
    pub p999_n: f64,
    /// Share of the samples in which less than half of the true force was felt.
    pub below_half_share: f64,
    /// Longest time for which less than half of the true force was felt.
    pub below_half_longest_s: f64,
    /// Greatest excess of the felt force's magnitude over the true force's, in contact or not.
    pub over_force_n_max: f64,
}

impl Fidelity {
    /// Takes the next sample.
    pub fn note(&mut self, seconds: f64, felt_n: DVec3, true_n: DVec3) {
        let (felt, due) = (felt_n.length(), true_n.length());
        self.over_force_n_max = self.over_force_n_max.max(felt - due);
        let is_below = due >= CONTACT_N && felt < 0.5 * due;
        self.below_half_since = is_below.then(|| self.below_half_since.unwrap_or(seconds));
        if let Some(since) = self.below_half_since {
            self.below_half_longest_s = self.below_half_longest_s.max(seconds - since);
            self.n_below_half += 1;
        }
        if due >= CONTACT_N {
            let error = felt_n.distance(true_n);
            self.squares += error * error;
            self.errors_n.push(error);
        }
    }

    /// Returns `None` if nothing was touched.
    pub fn report(mut self) -> Option<FidelityReport> {
        let n = self.errors_n.len();
        self.errors_n.sort_by(f64::total_cmp);
        let p999_n = *self.errors_n.get((n * 999 / 1000).min(n.checked_sub(1)?))?;
        Some(FidelityReport {
            samples: n as u64,
            rms_n: (self.squares / n as f64).sqrt(),
            p999_n,
            below_half_share: self.n_below_half as f64 / n as f64,
            below_half_longest_s: self.below_half_longest_s,
            over_force_n_max: self.over_force_n_max,
        })
    }
}

impl FidelityReport {
    /// Returns one line for people.
    pub fn said(&self) -> String {
        format!(
            "{:.3} N RMS off the force of a proxy that is never late, {:.2} N at p99.9; less than half of that force for \
             {:.1} % of the time, {:.0} ms at a stretch; {:.2} N more than it at most",
            self.rms_n,
            self.p999_n,
            100.0 * self.below_half_share,
            1e3 * self.below_half_longest_s,
            self.over_force_n_max
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_count_in_contact_and_over_force_everywhere() {
        let mut fidelity = Fidelity::default();
        let felt = [0.5, 1.0, 0.4, 0.3, 2.0, 0.7];
        let due = [0.0, 1.0, 1.0, 1.0, 1.5, 0.0];
        for (i, (felt, due)) in felt.iter().zip(due).enumerate() {
            fidelity.note(i as f64 * 1e-3, DVec3::X * *felt, DVec3::X * due);
        }
        let report = fidelity.report().expect("in contact");
        assert_eq!(report.samples, 4);
        let rms_n = ((0.0 + 0.36 + 0.49 + 0.25) / 4.0f64).sqrt();
        assert!((report.rms_n - rms_n).abs() < 1e-12, "{report:?}");
        assert!((report.p999_n - 0.7).abs() < 1e-12, "{report:?}");
        assert_eq!(report.below_half_share, 0.5);
        assert!((report.below_half_longest_s - 1e-3).abs() < 1e-12, "{report:?}");
        assert_eq!(report.over_force_n_max, 0.7);
        assert!(Fidelity::default().report().is_none());
    }
}
