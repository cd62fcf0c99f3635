//! Tick times over a run's time, in a bounded number of slots that are as fine as possible.

use std::time::{Duration, Instant};

/// Initial width of the slots.
// A thousand slots of it are 20 s: a run of the default length is never widened.
const FINEST: Duration = Duration::from_millis(20);
/// Slots at most; one more merges every two slots into one.
const SLOTS_MAX: usize = 1_000;

/// A run in slots of equal width.
#[derive(Clone, Debug)]
pub struct Timeline {
    began: Option<Instant>,
    width: Duration,
    slots: Vec<TimelineSlot>,
}

/// Ticks whose intended instants lie within one slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimelineSlot {
    /// Ticks with an answer, in time or late.
    pub answered: u64,
    /// Ticks answered late, or never.
    pub missed: u64,
    /// Sum of the round trips of answered ticks, microseconds.
    pub sum_us: f64,
    /// Longest round trip of an answered tick, microseconds.
    pub max_us: f64,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { began: None, width: FINEST, slots: Vec::new() }
    }
}

impl TimelineSlot {
    /// Returns the mean round trip of the answered ticks, microseconds.
    pub fn mean_us(&self) -> f64 {
        self.sum_us / self.answered.max(1) as f64
    }

    fn add(&mut self, other: &TimelineSlot) {
        self.answered += other.answered;
        self.missed += other.missed;
        self.sum_us += other.sum_us;
        self.max_us = self.max_us.max(other.max_us);
    }
}

impl Timeline {
    /// Sets the beginning; of several instants the first counts.
    pub fn begin(&mut self, at: Instant) {
        self.began.get_or_insert(at);
    }

    /// Records the outcome of a tick. Ticks before the beginning count in the first slot.
    pub fn record(&mut self, intended: Instant, round_trip: Option<Duration>, is_in_time: bool) {
        let since = intended.saturating_duration_since(self.began.unwrap_or(intended));
        // Slots are widened as the run grows: its length is unknown when a client is stopped early.
        while since.as_nanos() >= self.width.as_nanos() * SLOTS_MAX as u128 {
            self.widen();
        }
        let at = (since.as_nanos() / self.width.as_nanos()) as usize;
        let us = round_trip.map_or(0.0, |r| r.as_secs_f64() * 1e6);
        self.slots.resize(self.slots.len().max(at + 1), TimelineSlot::default());
        self.slots[at].add(&TimelineSlot {
            answered: u64::from(round_trip.is_some()),
            missed: u64::from(!is_in_time),
            sum_us: us,
            max_us: us,
        });
    }

    /// Adds another client's timeline of the same run.
    pub fn add(&mut self, other: &Timeline) {
        let mut other = other.clone();
        // Every width is the finest times a power of two, so both widths become equal.
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        // All clients begin at one instant, so slots of equal number cover the same time.
        self.began = self.began.into_iter().chain(other.began).min();
        self.slots.resize(self.slots.len().max(other.slots.len()), TimelineSlot::default());
        self.slots.iter_mut().zip(&other.slots).for_each(|(a, b)| a.add(b));
    }

    /// Returns the width of a slot, seconds.
    pub fn width_s(&self) -> f64 {
        self.width.as_secs_f64()
    }

    /// Returns the slots from the beginning on.
    pub fn slots(&self) -> &[TimelineSlot] {
        &self.slots
    }

    /// Returns a table for a spreadsheet, one row per slot.
    pub fn csv(&self) -> String {
        let mut text = String::from("seconds,answered,missed,mean_us,max_us\n");
        for (i, slot) in self.slots.iter().enumerate() {
            let TimelineSlot { answered, missed, max_us, .. } = slot;
            let (seconds, mean_us) = (i as f64 * self.width_s(), slot.mean_us());
            text += &format!("{seconds:.3},{answered},{missed},{mean_us:.1},{max_us:.1}\n");
        }
        text
    }

    fn widen(&mut self) {
        self.width *= 2;
        let pairs = self.slots.chunks(2).map(|pair| {
            let mut both = TimelineSlot::default();
            pair.iter().for_each(|slot| both.add(slot));
            both
        });
        self.slots = pairs.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_every_tick_in_a_bounded_number_of_slots() {
        let began = Instant::now();
        let mut timeline = Timeline::default();
        timeline.begin(began);
        for tick in 0..50_000 {
            let intended = began + Duration::from_millis(tick);
            let is_in_time = tick % 10 != 0;
            timeline.record(intended, Some(Duration::from_micros(tick)), is_in_time);
        }
        assert!(timeline.slots().len() <= SLOTS_MAX && timeline.slots().len() > SLOTS_MAX / 2);
        let sum = |of: fn(&TimelineSlot) -> u64| timeline.slots().iter().map(of).sum::<u64>();
        assert_eq!((sum(|s| s.answered), sum(|s| s.missed)), (50_000, 5_000));
        let slot = timeline.slots()[100];
        let first = (100.0 * timeline.width_s() * 1e3).round();
        assert!((slot.max_us - (first + timeline.width_s() * 1e3 - 1.0)).abs() < 1e-6);
        assert!((slot.mean_us() - (first + slot.max_us) / 2.0).abs() < 1e-6);
    }

    #[test]
    fn clients_are_added_slot_by_slot() {
        let began = Instant::now();
        let (mut short, mut long) = (Timeline::default(), Timeline::default());
        for timeline in [&mut short, &mut long] {
            timeline.begin(began);
            timeline.record(began, None, false);
        }
        long.record(began + Duration::from_secs(30), Some(Duration::from_micros(7)), true);
        short.add(&long);
        assert_eq!(short.width_s(), long.width_s());
        assert_eq!(short.slots()[0].missed, 2);
        assert_eq!(short.slots().last().map(|s| (s.answered, s.max_us)), Some((1, 7.0)));
        assert!(short.csv().lines().count() == short.slots().len() + 1);
    }
}
