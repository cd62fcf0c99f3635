//! The machine's stalls: when, and for how long, a thread that wanted to run did not.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// A shorter stall is not kept: an idle machine wakes a thread within this.
pub const STALL_MIN: Duration = Duration::from_micros(200);
/// The oldest go first: five minutes of a machine that stalls two hundred times a second.
const KEPT_MAX: usize = 60_000;

/// A time in which a thread wanted to run and did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it should have run.
    pub began: Instant,
    /// When it did.
    pub ended: Instant,
}

/// The newest stalls of a run, in order of their ends, which one thread has seen one after the other.
#[derive(Clone, Debug, Default)]
pub struct Stalls(VecDeque<Stall>);

impl Stalls {
    /// Keeps one that is long enough.
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

    /// The longest stall that overlaps a time; zero when there is none.
    pub fn longest_within(&self, began: Instant, ended: Instant) -> Duration {
        // One thread cannot stall twice at a time: both ends are in order.
        let first = self.0.partition_point(|stall| stall.ended <= began);
        let overlapping = self.0.range(first..).take_while(|stall| stall.began < ended);
        overlapping.map(|stall| stall.ended - stall.began).max().unwrap_or_default()
    }
}
