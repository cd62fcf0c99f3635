//! The verdict of a run on the server: correct and complete answers, and the causes of late ticks.

use std::time::Duration;

use serde::Serialize;

use super::{lateness::Lateness, measured::Measured};
use crate::geometry::short_number::grouped;

/// Verdict of a run. A run passes when no answer was wrong or missing. Lateness alone is no failure: on a machine with
/// a noisy neighbour it says nothing about the server.
#[derive(Clone, Debug, Serialize)]
pub struct RunVerdict {
    /// True if no answer was wrong or missing.
    pub passed: bool,
    /// Ticks answered after the deadline.
    pub late: u64,
    /// Late ticks during which this machine stopped a thread for at least as long as the tick was late.
    pub late_by_machine: u64,
    /// Other late ticks that were late by the server's own time, as reported by its answers.
    pub late_by_server: u64,
    /// Remaining late ticks.
    pub late_unexplained: u64,
    /// Ticks that did not fit in this side's transport queue, so that the server never saw them.
    pub not_sent: u64,
    /// Ticks that the server refused.
    pub refused: u64,
    /// Ticks that were sent and neither answered nor coalesced into a newer one.
    pub never_answered: u64,
    /// Answers that match no pending tick.
    pub out_of_order: u64,
    /// Answers that broke a promise of the contract, or held a number that is not finite.
    pub unsound: u64,
    /// The first refusal or broken promise, in words.
    pub first_wrong: Option<String>,
    #[serde(skip)]
    sent: u64,
    #[serde(skip)]
    answered: u64,
}

impl RunVerdict {
    /// Judges a run whose ticks had `deadline`.
    pub fn of(measured: &Measured, deadline: Duration) -> RunVerdict {
        let tally = &measured.tally;
        // The median serves as the usual time: the late ticks to be explained hardly move it.
        let usual_us = tally.server.percentile_us(50.0).unwrap_or(0.0);
        let usual = Duration::from_secs_f64(1e-6 * usual_us);
        let lateness = tally.late.explain(&measured.stalls, usual, deadline);
        let Lateness { by_machine, by_server, unexplained } = lateness;
        // Ticks that were not sent are excluded: they concern this side's transport, not an answer.
        let wrong = [tally.refused, tally.never_answered, tally.out_of_order, tally.unsound];
        RunVerdict {
            passed: wrong == [0; 4] && tally.answered > 0,
            late: tally.late.count(),
            late_by_machine: by_machine,
            late_by_server: by_server,
            late_unexplained: unexplained,
            not_sent: tally.not_sent,
            refused: tally.refused,
            never_answered: tally.never_answered,
            out_of_order: tally.out_of_order,
            unsound: tally.unsound,
            first_wrong: tally.refusal.clone().or_else(|| tally.problem.clone()),
            sent: tally.sent,
            answered: tally.answered,
        }
    }

    /// Returns the wrong or missing answers in words; `None` when there are none.
    pub fn wrong(&self) -> Option<String> {
        if self.passed {
            return None;
        }
        let counts = [
            (self.refused, "refused"),
            (self.never_answered, "never answered"),
            (self.out_of_order, "answered out of order"),
            (self.unsound, "answered unsoundly"),
        ];
        let counts = counts.iter().filter(|(n, _)| *n > 0);
        let mut said: Vec<String> =
            counts.map(|(n, how)| format!("{} ticks {how}", grouped(*n))).collect();
        if self.answered == 0 {
            said.push("no tick answered".to_owned());
        }
        let first = self.first_wrong.as_ref().map(|first| format!("; the first: {first}"));
        Some(said.join(", ") + &first.unwrap_or_default())
    }

    /// Returns the verdict in words: first the answers, then the late ticks. `deadline_us`: time that a tick had.
    pub fn said(&self, deadline_us: u64) -> String {
        let mut text = match self.wrong() {
            None => "No answer was wrong or missing.".to_owned(),
            Some(wrong) => format!("ANSWERS WERE WRONG OR MISSING: {wrong}."),
        };
        let percent = 100.0 * self.late as f64 / self.sent.max(1) as f64;
        text += &format!(
            " {} of {} ticks ({percent:.2} %) were later than {} us",
            grouped(self.late),
            grouped(self.sent),
            grouped(deadline_us)
        );
        if self.late > 0 {
            text += &format!(
                ": {} by this machine, which stopped a thread for as long, {} by the server's own time, and {} that \
                 neither explains",
                grouped(self.late_by_machine),
                grouped(self.late_by_server),
                grouped(self.late_unexplained)
            );
        }
        text.push('.');
        if self.not_sent > 0 {
            text += &format!(
                " {} ticks were not sent, as this side's transport had no room for them.",
                grouped(self.not_sent)
            );
        }
        text
    }
}
