//! Readings of the clock, taken whenever the engine asks for the time left of a tick. With equal readings the engine
//! stops where it stopped before, on any machine.

use std::cell::{Cell, RefCell};

use crate::service::clock::now_ns;

/// Maximum readings recorded of one tick: at 160 ns between two, the minimum, as many take 10 ms.
const READINGS_MAX: usize = 1 << 16;

/// A clock that records its readings.
pub struct ReadClock {
    last_ns: Cell<u64>,
    readings: RefCell<ClockReadings>,
}

/// Readings of a tick, each as nanoseconds after the one before.
#[derive(Default)]
pub struct ClockReadings {
    /// Intervals in nanoseconds; the first starts at the tick's start.
    pub after_ns: Vec<u32>,
    /// There were more readings.
    pub is_partial: bool,
}

/// A clock that repeats recorded readings, and then stands still.
pub struct ReplayedClock<'a> {
    now_ns: Cell<u64>,
    rest: RefCell<std::slice::Iter<'a, u32>>,
}

impl ReadClock {
    /// Creates a clock without readings.
    pub fn new() -> ReadClock {
        ReadClock { last_ns: Cell::new(0), readings: RefCell::default() }
    }

    /// Starts a tick.
    pub fn begin(&mut self, started_ns: u64) {
        self.last_ns.set(started_ns);
        self.forget();
    }

    /// Clears the readings, before the next tick.
    pub fn forget(&mut self) {
        let readings = self.readings.get_mut();
        readings.after_ns.clear();
        readings.is_partial = false;
    }

    /// Returns the time, and records it.
    pub fn read(&self) -> u64 {
        let last_ns = self.last_ns.get();
        // More than four seconds between two readings count as four for the engine too, so that a replay can repeat
        // them.
        let after_ns = u32::try_from(now_ns().saturating_sub(last_ns)).unwrap_or(u32::MAX);
        self.last_ns.set(last_ns + u64::from(after_ns));
        let mut readings = self.readings.borrow_mut();
        if readings.after_ns.len() < READINGS_MAX {
            readings.after_ns.push(after_ns);
        } else {
            readings.is_partial = true;
        }
        self.last_ns.get()
    }

    /// Returns the readings since the tick's start.
    pub fn readings(&mut self) -> &mut ClockReadings {
        self.readings.get_mut()
    }
}

impl<'a> ReplayedClock<'a> {
    /// Creates a clock that starts at `started_ns`.
    pub fn new(started_ns: u64, after_ns: &'a [u32]) -> ReplayedClock<'a> {
        ReplayedClock { now_ns: Cell::new(started_ns), rest: RefCell::new(after_ns.iter()) }
    }

    /// Returns the next time.
    pub fn read(&self) -> u64 {
        let after_ns = self.rest.borrow_mut().next().copied().unwrap_or(0);
        self.now_ns.set(self.now_ns.get() + u64::from(after_ns));
        self.now_ns.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replayed_clock_says_what_was_said_and_then_stands_still() {
        let mut clock = ReadClock::new();
        let started_ns = now_ns();
        clock.begin(started_ns);
        let said: Vec<u64> = (0..9).map(|_| clock.read()).collect();
        let readings = clock.readings();
        assert!(!readings.is_partial);
        let again = ReplayedClock::new(started_ns, &readings.after_ns);
        assert_eq!((0..9).map(|_| again.read()).collect::<Vec<_>>(), said);
        assert_eq!(again.read(), said[8]);
    }
}
