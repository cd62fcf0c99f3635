//! The report of a run: JSON for scripts, a table for people.

pub mod baseline;
pub mod fidelity;
pub mod files;
pub mod force_path;
pub mod latencies;
pub mod lateness;
pub mod measured;
pub mod picture;
pub mod renderings;
pub mod servo;
pub mod soundness;
pub mod stalls;
pub mod tally;
pub mod text;
pub mod thinned;
pub mod timeline;
pub mod verdict;

use std::{fs, io, time::Duration};

use serde::Serialize;

use super::run::objective::ObjectiveVerdict;
pub use baseline::Baseline;
use fidelity::FidelityReport;
use force_path::ForcePath;
use latencies::Percentiles;
pub use measured::Measured;
use renderings::RenderingReport;
use servo::ServoReport;
use text::{columns, microseconds, row, wrapped};
use verdict::RunVerdict;

use crate::geometry::short_number::grouped;

/// Least share of ticks that must be answered.
const ANSWERED_MIN: f64 = 0.99;

/// Report of a run; its fields are the JSON's. Times are in microseconds and null when nothing was measured.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// Ticks whose intended instant was reached.
    pub ticks_sent: u64,
    /// Ticks answered, either by their own answer or by that of a newer tick that they were coalesced into.
    pub ticks_answered: u64,
    /// Answered ticks that were coalesced into a newer tick.
    pub coalesced: u64,
    /// Deadline of a tick, from its intended instant.
    pub deadline_us: u64,
    /// Ticks answered after the deadline, or never.
    pub missed: u64,
    /// Longest run of consecutive missed ticks of one client.
    pub longest_miss_run: u64,
    /// Time from a tick's intended instant to its answer.
    pub rtt_us: Option<Percentiles>,
    /// Server time from a tick's bytes to the engine.
    pub wait_us: Option<Percentiles>,
    /// Time in the engine.
    pub compute_us: Option<Percentiles>,
    /// Server time from the engine's answer to the message.
    pub convert_us: Option<Percentiles>,
    /// Round trip less the time in the engine, of ticks with an answer of their own.
    pub outside_us: Option<Percentiles>,
    /// Age of the oldest deformed tissue that an answer was computed from.
    pub stale_age_us: Option<Percentiles>,
    /// Mean encoded size of an answer.
    pub answer_bytes: u64,
    /// Contacts over all answers.
    pub contacts: Contacts,
    /// Least signed distance; negative: the deepest penetration. Null when no tissue came near.
    pub min_signed_distance_m: Option<f64>,
    /// Deformations that the run sent.
    pub deformations: DeformationReport,
    /// Cuts.
    pub cuts: CutReport,
    /// Round trip of an echo with answers of equal size, measured with equal clients in the same run.
    pub baseline: Option<Baseline>,
    /// Objective that the user set for the run, and its verdict.
    pub objective: Option<ObjectiveVerdict>,
    /// Forces and depths that a hand would have felt; null when nothing was rendered.
    pub rendering: Option<RenderingReport>,
    /// Servo as a simulated hand felt it; null without a servo.
    pub servo: Option<ServoReport>,
    /// Difference of the servo's force from the true force; null without a servo, or when tissue was cut.
    pub fidelity: Option<FidelityReport>,
    /// Verdict on answers (right and complete), and the causes of late ticks.
    pub verdict: RunVerdict,
    /// Lateness of a thread of this machine that wakes from naps of 1 ms.
    pub hiccup_us: Option<Percentiles>,
    /// Load average of the last minute, taken at the end; null where the system does not report it.
    pub load_average: Option<f64>,
    /// Triangles of the tissue.
    pub tissue_triangles: u64,
}

/// Contacts over all answers.
#[derive(Clone, Debug, Serialize)]
pub struct Contacts {
    /// Sum over ticks.
    pub total: u64,
    /// Most contacts of one tick.
    pub max_per_tick: u32,
}

/// Counts and times of the deformations.
#[derive(Clone, Debug, Serialize)]
pub struct DeformationReport {
    /// Deformations handed to the transport.
    pub sent: u64,
    /// Deformations that the server acknowledged as visible to ticks.
    pub acknowledged: u64,
    /// Time of an update in the engine.
    pub update_us: Option<Percentiles>,
}

/// Counts and times of the cuts.
#[derive(Clone, Debug, Serialize)]
pub struct CutReport {
    /// Cuts applied and published.
    pub done: u64,
    /// Time of a cut in the engine.
    pub update_us: Option<Percentiles>,
}

impl RunReport {
    /// Builds the report of a run; samples the load average at this call.
    pub fn of(measured: &Measured, deadline: Duration, path: &ForcePath) -> RunReport {
        let Measured { tally, deformations, cuts, hiccups, tissue_triangles, .. } = measured;
        RunReport {
            ticks_sent: tally.sent,
            ticks_answered: tally.answered,
            coalesced: tally.coalesced,
            deadline_us: deadline.as_micros() as u64,
            missed: tally.missed,
            longest_miss_run: tally.longest_miss_run,
            rtt_us: tally.round_trip.percentiles(),
            wait_us: tally.wait.percentiles(),
            compute_us: tally.compute.percentiles(),
            convert_us: tally.convert.percentiles(),
            outside_us: tally.outside.percentiles(),
            stale_age_us: tally.stale_age.percentiles(),
            answer_bytes: tally.answer_bytes / tally.answers.max(1),
            contacts: Contacts { total: tally.contacts, max_per_tick: tally.contacts_max },
            min_signed_distance_m: tally.min_signed_distance_m,
            deformations: DeformationReport {
                sent: deformations.sent,
                acknowledged: deformations.acknowledged,
                update_us: deformations.update.percentiles(),
            },
            cuts: CutReport { done: cuts.done, update_us: cuts.update.percentiles() },
            baseline: None,
            objective: None,
            rendering: tally.renderings.report(tally.round_trip.percentile_us(99.0), path),
            servo: tally.servo.report(),
            fidelity: measured.fidelity.clone(),
            verdict: RunVerdict::of(measured, deadline),
            hiccup_us: hiccups.percentiles(),
            load_average: load_average(),
            tissue_triangles: *tissue_triangles,
        }
    }

    /// Returns the report as JSON, for scripts.
    ///
    /// # Errors
    /// Never returns one in practice; the writer's type has errors.
    pub fn json(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Returns true if enough ticks were answered.
    pub fn is_answered(&self) -> bool {
        // A run without a tick shows nothing, so it does not pass.
        self.ticks_answered as f64 >= ANSWERED_MIN * self.ticks_sent as f64 && self.ticks_sent > 0
    }

    /// Returns the report as a table, for people.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.counts() {
            row(&mut text, name, &value);
        }
        text.push('\n');
        let names = ["mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
        let mut rows = vec![("microseconds", names.map(str::to_owned).to_vec())];
        let times = [
            ("round trip", self.rtt_us),
            ("wait at the server", self.wait_us),
            ("tick in the engine", self.compute_us),
            ("of that, the proxy", self.rendering.as_ref().and_then(|r| r.added_us)),
            ("answer to message", self.convert_us),
            ("outside the engine", self.outside_us),
            ("age of the tissue", self.stale_age_us),
            ("deformation", self.deformations.update_us),
            ("cut", self.cuts.update_us),
            ("echo's round trip", self.baseline.as_ref().and_then(|b| b.rtt_us)),
            ("machine's hiccups", self.hiccup_us),
        ];
        for (name, p) in times.iter().filter_map(|(name, p)| Some((name, (*p)?))) {
            let values = [p.mean, p.p50, p.p90, p.p99, p.p999, p.p9999, p.max];
            rows.push((name, values.map(microseconds).to_vec()));
        }
        columns(&mut text, &rows);
        text.push_str(
            "\n  A round trip counts from the instant at which its tick was due, however late it was sent.\n  \
             Hiccups are how late this machine wakes an idle thread: stalls of its own.\n",
        );
        text
    }

    /// Returns the verdicts in words, printed above the table.
    pub fn said(&self) -> String {
        let baseline = self.baseline.as_ref().map(Baseline::said);
        let objective = self.objective.as_ref().map(|verdict| verdict.said.clone());
        let all = [Some(self.verdict.said(self.deadline_us)), objective, baseline];
        all.into_iter().flatten().map(|said| wrapped(&said, 0) + "\n").collect()
    }

    fn counts(&self) -> Vec<(&'static str, String)> {
        let share = |n: u64| 100.0 * n as f64 / self.ticks_sent.max(1) as f64;
        let depth = match self.min_signed_distance_m {
            Some(d) if d < 0.0 => format!("{:.2} mm deep", -1e3 * d),
            Some(d) => format!("none, {:.2} mm apart at least", 1e3 * d),
            None => "none, no tissue came near".to_owned(),
        };
        let mut felt = Vec::new();
        felt.extend(self.rendering.iter().flat_map(RenderingReport::rows));
        felt.extend(self.servo.iter().flat_map(ServoReport::rows));
        felt.extend(self.fidelity.iter().map(|fidelity| ("fidelity", fidelity.said())));
        let mut rows = vec![
            (
                "ticks",
                format!(
                    "{} sent, {} answered ({:.2} %), {} of them by a newer tick's answer",
                    grouped(self.ticks_sent),
                    grouped(self.ticks_answered),
                    share(self.ticks_answered),
                    grouped(self.coalesced)
                ),
            ),
            (
                "deadline",
                format!(
                    "{} us: {} missed ({:.2} %), {} in a row at most",
                    grouped(self.deadline_us),
                    grouped(self.missed),
                    share(self.missed),
                    grouped(self.longest_miss_run)
                ),
            ),
            (
                "contacts",
                format!(
                    "{} in all, {} in a tick at most",
                    grouped(self.contacts.total),
                    self.contacts.max_per_tick
                ),
            ),
            ("penetration", depth),
            (
                "deformations",
                format!(
                    "{} sent, {} acknowledged",
                    grouped(self.deformations.sent),
                    grouped(self.deformations.acknowledged)
                ),
            ),
            ("answers", format!("{} bytes on average", grouped(self.answer_bytes))),
            (
                "load average",
                self.load_average.map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2}")),
            ),
        ];
        // Rendering rows follow the penetration, which is the proxy's when the tool is rendered.
        rows.splice(4..4, felt);
        rows
    }
}

fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{latencies::Latencies, tally::Tally, *};
    use crate::load::clients::{cutter::Cuts, deformer::Deformations};

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().expect("an object").keys().map(String::as_str).collect()
    }

    fn report(answered: u64) -> RunReport {
        let mut hiccups = Latencies::new();
        hiccups.record(Duration::from_micros(55));
        let mut tally = Tally::new(Duration::from_millis(1));
        (tally.sent, tally.answered) = (12_000, answered);
        tally.min_signed_distance_m = Some(-0.00321);
        tally.round_trip.add(&hiccups);
        tally.compute.add(&hiccups);
        tally.wait.add(&hiccups);
        let update = hiccups.clone();
        let deformations =
            Deformations { sent: 60, acknowledged: 60, update, ..Deformations::default() };
        let cuts = Cuts::default();
        let stalls = stalls::Stalls::default();
        let measured = Measured {
            tally,
            deformations,
            cuts,
            hiccups,
            stalls,
            tissue_triangles: 20_480,
            fidelity: None,
        };
        RunReport::of(&measured, Duration::from_millis(1), &ForcePath::USUAL)
    }

    #[test]
    fn the_json_has_these_fields_and_no_others() {
        let json = serde_json::to_value(report(12_000)).expect("serialisable");
        let mut expected = vec![
            "ticks_sent",
            "ticks_answered",
            "coalesced",
            "deadline_us",
            "missed",
            "longest_miss_run",
            "rtt_us",
            "wait_us",
            "compute_us",
            "convert_us",
            "outside_us",
            "stale_age_us",
            "answer_bytes",
            "cuts",
            "baseline",
            "objective",
            "rendering",
            "servo",
            "fidelity",
            "verdict",
            "contacts",
            "min_signed_distance_m",
            "deformations",
            "hiccup_us",
            "load_average",
            "tissue_triangles",
        ];
        expected.sort_unstable();
        assert_eq!(keys(&json), expected);
        for times in [&json["rtt_us"], &json["compute_us"], &json["hiccup_us"]] {
            assert_eq!(keys(times), ["max", "mean", "p50", "p90", "p99", "p999", "p9999"]);
        }
        assert_eq!(keys(&json["contacts"]), ["max_per_tick", "total"]);
        assert_eq!(keys(&json["deformations"]), ["acknowledged", "sent", "update_us"]);
        assert_eq!(json["deadline_us"], 1000);
        assert!(json["hiccup_us"]["p50"].as_f64().is_some_and(|us| (us - 55.0).abs() < 0.1));
    }

    #[test]
    fn the_table_is_aligned_and_has_its_units() {
        let table = report(11_999).table();
        assert!(
            table.contains("  ticks               12,000 sent, 11,999 answered (99.99 %), 0 of ")
        );
        assert!(table.contains("  penetration         3.21 mm deep\n"), "{table}");
        assert!(table.lines().all(|line| line.len() <= 100), "{table}");
    }

    #[test]
    fn too_few_answers_are_told() {
        assert!(report(11_880).is_answered() && !report(11_879).is_answered());
    }
}
