//! The machine's stalls: when, and for how long, a runnable thread did not run.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Shortest stall that is kept: an idle machine wakes a thread within this time.
pub const STALL_MIN: Duration = Duration::from_micros(200);
/// Stalls kept; the oldest go first. Five minutes of a machine that stalls two hundred times a second.
const KEPT_MAX: usize = 60_000;

/// An interval in which a thread was due to run and did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Instant at which the thread should have run.
    pub began: Instant,
    /// Instant at which the thread ran.
    pub ended: Instant,
}

/// The newest stalls of a run, seen by one thread one after the other, in order of their ends.
#[derive(Clone, Debug, Default)]
pub struct Stalls(VecDeque<Stall>);

impl Stalls {
    /// Adds a stall if it is long enough.
    pub fn note(&mut self, began: Instant, ended: Instant) {
        debug_assert!(began <= ended, "{began:?} to {ended:?}");
        if ended - began < STALL_MIN {
            return;
        }
        if self.0.len() == KEPT_MAX {
            self.0.pop_front();
        }
        self.0.push_back(Stall { began, ended });
    }

    /// Returns the longest stall that overlaps an interval; zero when there is none.
    pub fn longest_within(&self, began: Instant, ended: Instant) -> Duration {
        // A thread cannot have two stalls at a time, so both ends are in order.
        let first = self.0.partition_point(|stall| stall.ended <= began);
        let overlapping = self.0.range(first..).take_while(|stall| stall.began < ended);
        overlapping.map(|stall| stall.ended - stall.began).max().unwrap_or_default()
    }
}
