//! Recent tick times of a haptic loop.

use super::{STAGES, TickMetrics, histogram::TimeCounts};

/// Minimum length of a window, nanoseconds; the maximum is twice that.
const WINDOW_NS: u64 = 5_000_000_000;

/// Counts of a loop five to ten seconds ago.
pub struct RecentTicks {
    older: TickCounts,
    newer: TickCounts,
    newer_at_ns: u64,
}

#[derive(Clone)]
struct TickCounts {
    total: TimeCounts,
    missed: u64,
    missed_by_machine: u64,
}

/// Ticks of the last five to ten seconds.
pub struct RecentFigures {
    /// Times from a tick's bytes to its answer.
    pub times: TimeCounts,
    /// Ticks slower than the objective.
    pub missed: u64,
    /// Number of them that the machine delayed.
    pub missed_by_machine: u64,
}

impl RecentTicks {
    /// Starts a window at `now_ns`.
    pub fn since(ticks: &TickMetrics, now_ns: u64) -> RecentTicks {
        let now = TickCounts::of(ticks);
        RecentTicks { older: now.clone(), newer: now, newer_at_ns: now_ns }
    }

    /// Begins another window if the newest is over.
    pub fn roll(&mut self, ticks: &TickMetrics, now_ns: u64) {
        if now_ns.saturating_sub(self.newer_at_ns) >= WINDOW_NS {
            self.older = std::mem::replace(&mut self.newer, TickCounts::of(ticks));
            self.newer_at_ns = now_ns;
        }
    }

    /// Returns the figures up to `now_ns`.
    pub fn figures(&mut self, ticks: &TickMetrics, now_ns: u64) -> RecentFigures {
        let now = TickCounts::of(ticks);
        let times = now.total.since(&self.older.total);
        let missed = now.missed.saturating_sub(self.older.missed);
        let missed_by_machine = now.missed_by_machine.saturating_sub(self.older.missed_by_machine);
        self.roll(ticks, now_ns);
        RecentFigures { times, missed, missed_by_machine }
    }
}

impl TickCounts {
    fn of(ticks: &TickMetrics) -> TickCounts {
        TickCounts {
            total: ticks.stages[STAGES.len() - 1].counts(),
            missed: ticks.missed.get(),
            missed_by_machine: ticks.missed_by_machine.get(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::service::metrics::TickTimes;

    #[test]
    fn what_is_older_than_two_windows_does_not_count() {
        let ticks = TickMetrics::default();
        let note = |us: u64| {
            let done_ns = 1000 * us;
            let times = TickTimes {
                received_ns: 0,
                started_ns: 0,
                drawn_ns: None,
                computed_ns: 0,
                done_ns,
                stopped_ns: 0,
            };
            ticks.note(&times, Duration::from_millis(1));
        };
        note(9_000);
        let mut recent = RecentTicks::since(&ticks, 0);
        let mut at = |at_windows: u64| {
            let figures = recent.figures(&ticks, at_windows * WINDOW_NS);
            (figures.times.total(), figures.missed)
        };
        assert_eq!(at(0), (0, 0));
        note(2_000);
        note(500);
        assert_eq!(at(1), (2, 1));
        assert_eq!(at(2), (2, 1));
        assert_eq!(at(3), (0, 0));
    }
}
