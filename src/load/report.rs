//! What a run has shown: as JSON for scripts, as a table for people.

pub mod latencies;
pub mod picture;
pub mod tally;
pub mod timeline;

use std::{fmt::Write as _, fs, io, time::Duration};

use serde::Serialize;

use super::{
    clients::{cutter::Cuts, deformer::Deformations},
    run::objective::Objective,
};
use latencies::{Latencies, Percentiles};
use tally::Tally;

/// The share of ticks that must be answered.
const ANSWERED_MIN: f64 = 0.99;

/// The report; its fields are the JSON's. Times are in microseconds and null when nothing was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Ticks whose time came.
    pub ticks_sent: u64,
    /// Of those, answered, either by their own answer or by that of a newer tick that swallowed them.
    pub ticks_answered: u64,
    /// Of those, swallowed by a newer one.
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
    pub objective: Option<Verdict>,
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
}

impl Baseline {
    /// The ratio in words.
    pub fn said(&self) -> String {
        let ratio = |r: Option<f64>| r.map_or_else(|| "unknown".to_owned(), |r| format!("{r:.2}"));
        let [p50, p99] = [self.p50_ratio, self.p99_ratio].map(ratio);
        format!("round trip / (echo + tick in the engine): p50 {p50}, p99 {p99}")
    }
}

/// An objective and whether it was met.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// As given.
    pub asked: String,
    /// All of it held.
    pub met: bool,
    /// Each bound beside what was measured.
    pub said: String,
}

impl Verdict {
    /// Of a run.
    pub fn of(objective: &Objective, run: &Tally) -> Verdict {
        let (met, said) = (objective.is_met(run), objective.verdict(run));
        Verdict { asked: objective.to_string(), met, said }
    }
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// All clients' ticks.
    pub tally: Tally,
    /// The deforming client's.
    pub deformations: Deformations,
    /// The cutting client's.
    pub cuts: Cuts,
    /// The machine's stalls.
    pub hiccups: Latencies,
    /// Of the tissue.
    pub tissue_triangles: u64,
}

impl Measured {
    /// Nothing yet.
    pub fn new(deadline: Duration) -> Measured {
        Measured {
            tally: Tally::new(deadline),
            deformations: Deformations::default(),
            cuts: Cuts::default(),
            hiccups: Latencies::new(),
            tissue_triangles: 0,
        }
    }
}

impl Report {
    /// Now: the load average is taken here.
    pub fn of(measured: &Measured, deadline: Duration) -> Report {
        let Measured { tally, deformations, cuts, hiccups, tissue_triangles } = measured;
        Report {
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
            &columns(["p50", "p90", "p99", "p99.9", "p99.99", "max"].map(Into::into)),
        );
        let times = [
            ("round trip", self.rtt_us),
            ("wait at the server", self.wait_us),
            ("tick in the engine", self.compute_us),
            ("answer to message", self.convert_us),
            ("outside the engine", self.outside_us),
            ("age of the tissue", self.stale_age_us),
            ("deformation", self.deformations.update_us),
            ("cut", self.cuts.update_us),
            ("echo's round trip", self.baseline.as_ref().and_then(|b| b.rtt_us)),
            ("machine's hiccups", self.hiccup_us),
        ];
        for (name, p) in times.iter().filter_map(|(name, p)| Some((name, (*p)?))) {
            let values = [p.p50, p.p90, p.p99, p.p999, p.p9999, p.max];
            row(&mut text, name, &columns(values.map(|us| format!("{us:.1}"))));
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
        vec![
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
        ]
    }
}

/// One aligned line of a table.
pub fn row(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {name:<20}{value}");
}

/// 12345 as 12,345.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits"))
        .collect();
    groups.join(",")
}

fn columns(values: [String; 6]) -> String {
    values.map(|v| format!("{v:>10}")).concat()
}

fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn keys(value: &Value) -> Vec<&str> {
        value.as_object().expect("an object").keys().map(String::as_str).collect()
    }

    fn report(answered: u64) -> Report {
        let mut hiccups = Latencies::new();
        hiccups.record(Duration::from_micros(55));
        let mut tally = Tally::new(Duration::from_millis(1));
        (tally.sent, tally.answered) = (12_000, answered);
        tally.min_signed_distance_m = Some(-0.00321);
        tally.round_trip.add(&hiccups);
        tally.compute.add(&hiccups);
        tally.wait.add(&hiccups);
        let deformations = Deformations { sent: 60, acknowledged: 60, update: hiccups.clone() };
        let cuts = Cuts::default();
        let measured = Measured { tally, deformations, cuts, hiccups, tissue_triangles: 20_480 };
        Report::of(&measured, Duration::from_millis(1))
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
            assert_eq!(keys(times), ["max", "p50", "p90", "p99", "p999", "p9999"]);
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
