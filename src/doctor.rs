//! `palpate doctor`: this machine's fitness for a 1 kHz loop, in words and a verdict.

pub mod finding;
mod machine;
pub mod stiffness;
mod timing;

use std::fmt::Write as _;

use serde::Serialize;

use finding::{Finding, Grade};
use stiffness::StiffnessFinding;
use timing::{LATE_US, Timing};

/// Period of a 1 kHz loop, microseconds.
const TICK_US: f64 = 1000.0;
/// Largest share of time for which a busy thread may be stopped if a loop is to be kept: one tick in a hundred, as for
/// late wakes.
const STALLED_SHARE_MAX: f64 = 0.01;
// Ten minutes hold up to 600,000 naps, enough for every reported percentile.
const SECONDS_MAX: f64 = 600.0;

/// The arguments of `palpate doctor`.
#[derive(Clone, Debug, clap::Args)]
pub struct DoctorArgs {
    /// Duration of each of the three measurements.
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = seconds)]
    pub seconds: f64,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if (0.1..=SECONDS_MAX).contains(&s) => Ok(s),
        _ => Err(format!("expected a number from 0.1 to {SECONDS_MAX}")),
    }
}

/// Results of all measurements and look-ups.
#[derive(Debug, Serialize)]
pub struct DoctorReport {
    /// Verdict; the measured times decide it, the rest gives reasons.
    pub verdict: Grade,
    /// The verdict in words.
    pub promise: String,
    /// Measured times.
    pub timing: Timing,
    /// Greatest stiffness of a force; null without sockets.
    pub stiffness: Option<StiffnessFinding>,
    /// Properties of the system.
    pub findings: Vec<Finding>,
}

/// Runs `palpate doctor`; returns the text to print.
pub fn run(args: &DoctorArgs) -> String {
    let timing = Timing::measure(args.seconds);
    let stiffness = StiffnessFinding::measure(args.seconds, timing.wake_us.p99).ok();
    let report = DoctorReport { stiffness, ..DoctorReport::of(timing, machine::findings()) };
    if args.json {
        serde_json::to_string_pretty(&report).expect("numbers and text") + "\n"
    } else {
        report.text()
    }
}

impl DoctorReport {
    fn of(timing: Timing, findings: Vec<Finding>) -> DoctorReport {
        let late = timing.late_share;
        // The verdict follows the measured times alone: a harmless governor or quota is no reason to warn.
        let verdict = match (timing.wake_us.p99, timing.wake_us.p999) {
            _ if timing.stalled_share > STALLED_SHARE_MAX => Grade::Poor,
            // At 1 kHz one wake in a thousand is one tick a second, one in a hundred ten.
            (_, p999) if p999 <= LATE_US && timing.stall_us_max <= TICK_US => Grade::Good,
            (p99, _) if p99 <= LATE_US => Grade::Fair,
            _ => Grade::Poor,
        };
        let promise = match verdict {
            Grade::Good => "This machine can keep a 1 kHz loop.".to_owned(),
            Grade::Fair => "This machine keeps a 1 kHz loop but for single ticks.".to_owned(),
            Grade::Poor => "This machine cannot keep a 1 kHz loop.".to_owned(),
        };
        let wakes = match late {
            0.0 => format!("None of {} wakes was", timing.wakes),
            late => format!("One wake in {:.0} is", 1.0 / late),
        };
        let stopped = format!("a busy thread is stopped {:.2} %", 100.0 * timing.stalled_share);
        let promise = format!(
            "{promise} {wakes} later than {LATE_US:.0} us, and {stopped} of the time, whatever Palpate does."
        );
        DoctorReport { verdict, promise, timing, stiffness: None, findings }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let t = &self.timing;
        let mut line = |name: &str, found: &str| {
            writeln!(text, "{name:<14}{found}").expect("a String takes all");
        };
        let wake = &t.wake_us;
        line(
            "timer",
            &format!(
                "wakes {:.0} / {:.0} / {:.0} / {:.0} us late (p50 / p99 / p99.9 / worst of {})",
                wake.p50, wake.p99, wake.p999, wake.max, t.wakes
            ),
        );
        line(
            "hiccups",
            &format!(
                "a busy thread was stopped {} times for more than {:.0} us, {:.0} us at worst, \
                 {:.2} % of the time",
                t.stalls,
                timing::STALL_US,
                t.stall_us_max,
                100.0 * t.stalled_share
            ),
        );
        if let Some(stiffness) = &self.stiffness {
            line("stiffness", &stiffness.said());
        }
        for Finding { name, found, grade, advice } in &self.findings {
            let advice = match grade {
                Grade::Good => String::new(),
                Grade::Fair => format!(". {advice}"),
                Grade::Poor => format!(". Needed: {advice}"),
            };
            line(name, &format!("{found}{advice}"));
        }
        writeln!(text, "\n{:?}: {}", self.verdict, self.promise).expect("a String takes all");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timing::WakePercentiles;

    fn timing(p99: f64, p999: f64, stall_us_max: f64) -> Timing {
        let wake_us = WakePercentiles { p50: 60.0, p99, p999, max: p999 };
        Timing {
            wakes: 1000,
            wake_us,
            late_share: 0.01,
            stalls: 1,
            stall_us_max,
            stalled_share: 0.0,
        }
    }

    #[test]
    fn the_verdict_follows_what_was_measured() {
        let cases = [
            (timing(80.0, 200.0, 400.0), Grade::Good),
            (timing(80.0, 200.0, 4000.0), Grade::Fair),
            (timing(80.0, 2000.0, 400.0), Grade::Fair),
            (timing(800.0, 2000.0, 400.0), Grade::Poor),
            // A thread that naps wakes in time, and one that computes does not get through.
            (Timing { stalled_share: 0.2275, ..timing(80.0, 2000.0, 8000.0) }, Grade::Poor),
            (Timing { stalled_share: 0.009, ..timing(80.0, 2000.0, 8000.0) }, Grade::Fair),
        ];
        for (timing, verdict) in cases {
            let report = DoctorReport::of(timing, Vec::new());
            assert_eq!(report.verdict, verdict);
            let said = format!("\n{verdict:?}: This machine");
            assert!(report.text().contains(&said), "{}", report.text());
            assert!(report.text().contains("One wake in 100 is later"), "{}", report.text());
        }
        let report =
            DoctorReport::of(Timing { late_share: 0.0, ..timing(1.0, 1.0, 1.0) }, Vec::new());
        assert!(report.text().contains("None of 1000 wakes was later"), "{}", report.text());
    }

    #[test]
    fn advice_is_given_where_something_is_wrong() {
        let finding =
            |grade| Finding { name: "cores", found: "1".to_owned(), grade, advice: "another" };
        let report = DoctorReport::of(timing(1.0, 1.0, 1.0), vec![finding(Grade::Poor)]);
        assert!(report.text().contains("cores         1. Needed: another"), "{}", report.text());
        let report = DoctorReport::of(timing(1.0, 1.0, 1.0), vec![finding(Grade::Good)]);
        assert!(!report.text().contains("another"), "{}", report.text());
    }
}
