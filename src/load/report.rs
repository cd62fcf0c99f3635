//! What a run has shown: as JSON for scripts, as a table for people.

pub mod baseline;
pub mod felt_plot;
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
use text::{columns, grouped, row};
use verdict::RunVerdict;

/// The share of ticks that must be answered.
const ANSWERED_MIN: f64 = 0.99;

/// The report; its fields are the JSON's. Times are in microseconds and null when nothing was measured.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// Ticks whose time came.
    pub ticks_sent: u64,
    /// Of those, answered, either by their own answer or by that of a newer tick that they were coalesced into.
    pub ticks_answered: u64,
    /// Of those, coalesced into a newer one.
    pub coalesced: u64,
    /// From a tick's intended instant.
    pub deadline_us: u64,
    /// Ticks answered later than that, or never.
    pub missed: u64,
    /// The most of one client that were missed one after the other.
    pub longest_miss_run: u64,
    /// From a tick's intended instant to its answer.
    pub rtt_us: Option<Percentiles>,
    /// At the server, from a tick's bytes to the engine.
    pub wait_us: Option<Percentiles>,
    /// In the engine.
    pub compute_us: Option<Percentiles>,
    /// At the server, from the engine's answer to the message.
    pub convert_us: Option<Percentiles>,
    /// The round trip less the time in the engine, of ticks with an answer of their own.
    pub outside_us: Option<Percentiles>,
    /// Age of the oldest tissue revision that an answer was computed from.
    pub stale_age_us: Option<Percentiles>,
    /// Mean encoded size of an answer.
    pub answer_bytes: u64,
    /// Over all answers.
    pub contacts: Contacts,
    /// Negative: the deepest penetration. Null when no tissue came near.
    pub min_signed_distance_m: Option<f64>,
    /// The 60 Hz side.
    pub deformations: DeformationReport,
    /// The knife.
    pub cuts: CutReport,
    /// An echo of answers of the same size, measured with the same clients in the same run.
    pub baseline: Option<Baseline>,
    /// What was asked of the run, beside what it did.
    pub objective: Option<ObjectiveVerdict>,
    /// What a hand would have felt; null when nothing was rendered.
    pub rendering: Option<RenderingReport>,
    /// What a simulated hand felt of its servo; null without one.
    pub servo: Option<ServoReport>,
    /// How near that was to the true force; null without a servo, or where tissue was cut.
    pub fidelity: Option<FidelityReport>,
    /// Whether answers were right and complete, and who made ticks late.
    pub verdict: RunVerdict,
    /// How late a thread of this machine woke from naps of 1 ms.
    pub hiccup_us: Option<Percentiles>,
    /// Of the last minute, at the end; null where the system does not say.
    pub load_average: Option<f64>,
    /// Of the tissue.
    pub tissue_triangles: u64,
}

/// Contacts over all answers.
#[derive(Clone, Debug, Serialize)]
pub struct Contacts {
    /// Summed over ticks.
    pub total: u64,
    /// Of one tick.
    pub max_per_tick: u32,
}

/// What became of the deformations.
#[derive(Clone, Debug, Serialize)]
pub struct DeformationReport {
    /// Handed to the transport.
    pub sent: u64,
    /// Said to be visible to ticks.
    pub acknowledged: u64,
    /// In the engine.
    pub update_us: Option<Percentiles>,
}

/// What became of the cuts.
#[derive(Clone, Debug, Serialize)]
pub struct CutReport {
    /// Applied and published.
    pub done: u64,
    /// In the engine.
    pub update_us: Option<Percentiles>,
}

impl RunReport {
    /// Now: the load average is taken here.
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

    /// For scripts.
    ///
    /// # Errors
    /// Never; the writer's type has them.
    pub fn json(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Whether enough ticks were answered.
    pub fn is_answered(&self) -> bool {
        // A run without a tick shows nothing, so it does not pass.
        self.ticks_answered as f64 >= ANSWERED_MIN * self.ticks_sent as f64 && self.ticks_sent > 0
    }

    /// For a person to read.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.counts() {
            row(&mut text, name, &value);
        }
        text.push('\n');
        row(
            &mut text,
            "microseconds",
            &columns(["mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"].map(Into::into)),
        );
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
            row(&mut text, name, &columns(values.map(|us| format!("{us:.1}"))));
        }
        text
    }

    /// The verdicts in words, below the table.
    pub fn said(&self) -> String {
        let mut text = String::from(
            "\nA round trip counts from the instant at which its tick was due, however late it was sent.\n\
             Hiccups are how late this machine wakes an idle thread: stalls of its own.\n",
        );
        let baseline = self.baseline.as_ref().map(Baseline::said);
        let objective = self.objective.as_ref().map(|verdict| verdict.said.clone());
        for said in [Some(self.verdict.said()), baseline, objective].into_iter().flatten() {
            text += &format!("\n{said}\n");
        }
        text
    }

    fn counts(&self) -> Vec<(&'static str, String)> {
        let share = |n: u64| 100.0 * n as f64 / self.ticks_sent.max(1) as f64;
        let depth = match self.min_signed_distance_m {
            Some(d) if d < 0.0 => format!("{:.2} mm deep", -1e3 * d),
            Some(d) => format!("none, {:.2} mm apart at least", 1e3 * d),
            None => "none, no tissue came near".to_owned(),
        };
        let rendering = self.rendering.iter();
        let felt = rendering
            .flat_map(|r| [("rendering", r.said()), ("stiffness", r.stiffness_said.clone())]);
        let felt = felt.chain(self.servo.iter().map(|s| ("servo", s.said())));
        let felt: Vec<_> =
            felt.chain(self.fidelity.iter().map(|f| ("fidelity", f.said()))).collect();
        let mut rows = vec![
            (
                "ticks",
                format!(
                    "{} sent, {} answered ({:.2} %), {} of those by a newer tick's answer",
                    grouped(self.ticks_sent),
                    grouped(self.ticks_answered),
                    share(self.ticks_answered),
                    grouped(self.coalesced)
                ),
            ),
            (
                "deadline",
                format!(
                    "{} us: {} missed ({:.2} %), at most {} in a row",
                    grouped(self.deadline_us),
                    grouped(self.missed),
                    share(self.missed),
                    grouped(self.longest_miss_run)
                ),
            ),
            (
                "contacts",
                format!(
                    "{} in all, at most {} in a tick",
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
        // Below the penetration, which is the proxy's then.
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
        let (update, frames) = (hiccups.clone(), Vec::new());
        let deformations = Deformations { sent: 60, acknowledged: 60, update, frames };
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
            table.contains("  ticks               12,000 sent, 11,999 answered (99.99 %), 0 of")
        );
        assert!(table.contains("  penetration         3.21 mm deep\n"), "{table}");
        let of =
            |name: &str| table.lines().find(|l| l.trim_start().starts_with(name)).map(str::len);
        assert_eq!(of("microseconds"), of("round trip"));
        assert_eq!(of("microseconds"), of("wait at the server"));
    }

    #[test]
    fn too_few_answers_are_told() {
        assert!(report(11_880).is_answered() && !report(11_879).is_answered());
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned)
        );
    }
}
