//! The objective of a run: `p99=1ms,missed=0.1%`.

use std::{fmt, str::FromStr};

use serde::Serialize;

use crate::load::report::{latencies::Latencies, tally::Tally};

/// Bounds, all of which must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective(Vec<Bound>);

#[derive(Clone, Debug, PartialEq)]
struct Bound {
    what: Quantity,
    most: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    /// Percentile of the round trips, microseconds.
    Percentile(f64),
    /// Share of the ticks, percent.
    Missed,
    /// Consecutive missed ticks.
    MissRun,
}

/// A text is no objective.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ObjectiveError {
    /// Not `name=value`, or an unknown name.
    #[error(
        "got {0:?}, expected p50, p90, p99, p99.9, p99.99, max, missed or miss-run, and =VALUE"
    )]
    Bound(String),
    /// A value is missing or has no unit.
    #[error("{name} is {got:?}, expected {expected}")]
    Value {
        /// Name of the bound.
        name: String,
        /// Value as given by the user.
        got: String,
        /// Expected form of the value.
        expected: &'static str,
    },
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Objective, ObjectiveError> {
        text.split(',').map(Bound::parse).collect::<Result<_, _>>().map(Objective)
    }
}

impl Bound {
    fn parse(text: &str) -> Result<Bound, ObjectiveError> {
        let unknown = || ObjectiveError::Bound(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(unknown)?;
        let bad = |expected| ObjectiveError::Value {
            name: name.to_owned(),
            got: value.to_owned(),
            expected,
        };
        let number = |suffix: &str| {
            let number = value.strip_suffix(suffix)?.trim().parse::<f64>().ok()?;
            // A bound of NaN could never hold, and one of infinity never break.
            (number >= 0.0 && number.is_finite()).then_some(number)
        };
        let (what, most) = match name {
            "missed" => (Quantity::Missed, number("%").ok_or_else(|| bad("a share as 0.1%"))?),
            "miss-run" => (Quantity::MissRun, number("").ok_or_else(|| bad("a number as 5"))?),
            "max" => (Quantity::Percentile(100.0), microseconds(number).ok_or_else(|| bad(TIME))?),
            "p50" | "p90" | "p99" | "p99.9" | "p99.99" => {
                let percent = name[1..].parse().map_err(|_| unknown())?;
                (Quantity::Percentile(percent), microseconds(number).ok_or_else(|| bad(TIME))?)
            }
            _ => return Err(unknown()),
        };
        Ok(Bound { what, most })
    }

    fn measured(&self, tally: &Tally) -> f64 {
        match self.what {
            // No answer at all is worse than any time.
            Quantity::Percentile(percent) => {
                Latencies::percentile_us(&tally.round_trip, percent).unwrap_or(f64::INFINITY)
            }
            // The share is of all ticks that were due, not of the answered ones: a server that answers few would
            // otherwise look punctual.
            Quantity::Missed => 100.0 * tally.missed as f64 / tally.sent.max(1) as f64,
            Quantity::MissRun => tally.longest_miss_run as f64,
        }
    }
}

const TIME: &str = "a time as 800us or 1ms";

fn microseconds(number: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let of = |unit, us: f64| number(unit).map(|n| n * us);
    // The order does not matter: "1ms" without its "s" alone is no number.
    of("us", 1.0).or_else(|| of("ms", 1e3)).or_else(|| of("s", 1e6))
}

impl Objective {
    /// Returns true if all bounds hold.
    pub fn is_met(&self, tally: &Tally) -> bool {
        self.0.iter().all(|bound| bound.measured(tally) <= bound.most)
    }

    /// Returns each bound next to its measured value.
    pub fn verdict(&self, tally: &Tally) -> String {
        let bounds = self.0.iter().map(|bound| {
            let (got, most) = (bound.measured(tally), bound.most);
            let sign = if got <= most { "<=" } else { "> " };
            match bound.what {
                Quantity::Percentile(percent) => {
                    format!("{} {got:.0} us {sign} {most:.0} us", percentile_name(percent))
                }
                Quantity::Missed => format!("missed {got:.3} % {sign} {most} %"),
                Quantity::MissRun => format!("missed in a row {got:.0} {sign} {most:.0}"),
            }
        });
        let bounds = bounds.collect::<Vec<_>>().join(", ");
        let is_met = if self.is_met(tally) { "met" } else { "NOT met" };
        format!("objective {is_met}: {bounds}")
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = self.0.iter().map(|Bound { what, most }| match what {
            // The output uses the input syntax, so that an objective can be copied out of a report into the next run.
            Quantity::Percentile(percent) => format!("{}={most}us", percentile_name(*percent)),
            Quantity::Missed => format!("missed={most}%"),
            Quantity::MissRun => format!("miss-run={most}"),
        });
        f.write_str(&bounds.collect::<Vec<_>>().join(","))
    }
}

/// An objective and its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectiveVerdict {
    /// Objective as given by the user.
    pub asked: String,
    /// True if all bounds hold.
    pub met: bool,
    /// Each bound next to its measured value.
    pub said: String,
}

impl ObjectiveVerdict {
    /// Judges a run.
    pub fn of(objective: &Objective, run: &Tally) -> ObjectiveVerdict {
        let (met, said) = (objective.is_met(run), objective.verdict(run));
        ObjectiveVerdict { asked: objective.to_string(), met, said }
    }
}

fn percentile_name(percent: f64) -> String {
    if percent == 100.0 { "max".to_owned() } else { format!("p{percent}") }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::proto::TrackResponse;

    #[test]
    fn reads_its_own_words_and_refuses_what_has_no_unit() {
        let text = "p50=200us,p99.9=1000us,max=2000us,missed=0.1%,miss-run=5";
        let objective: Objective =
            "p50=200us,p99.9=1ms,max=2ms,missed=0.1%,miss-run=5".parse().unwrap();
        assert_eq!(objective.to_string(), text);
        for bad in ["", "p99", "p98=1ms", "p99=1", "p99=-1ms", "missed=0.1", "missed=NaN%"] {
            assert!(bad.parse::<Objective>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn is_met_until_one_bound_is_passed() {
        let start = Instant::now();
        let mut tally = Tally::new(Duration::from_millis(1));
        for sequence in 0..100 {
            tally.sent(sequence, start, start);
            let late = Duration::from_micros(if sequence == 99 { 1500 } else { 300 });
            tally.answered(&TrackResponse { sequence, ..TrackResponse::default() }, start + late);
        }
        let met = |text: &str| text.parse::<Objective>().expect("sound").is_met(&tally);
        assert!(met("p99=301us,missed=1%,miss-run=1") && met("max=1502us"));
        assert!(!met("p50=299us") && !met("missed=0.9%") && !met("miss-run=0"));
        assert!(!met("p99=301us,max=1ms"));
        let said = "max=1ms".parse::<Objective>().expect("sound").verdict(&tally);
        assert!(
            said.starts_with("objective NOT met: max 150") && said.ends_with("1000 us"),
            "{said}"
        );
    }
}
