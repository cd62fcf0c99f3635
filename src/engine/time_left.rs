//! Time left for a piece of work. The clock is the caller's: the engine has none.
//!
//! Every search of a tick checks the time inside its loops, so that it ends soon after the time does, whatever a client
//! has sent. An interrupted search returns the results found so far, and its caller checks [`TimeLeft::is_over`] once
//! more before it takes them as complete: once the time is over it stays over. A search that passes its results to a
//! visitor also ends when the visitor breaks ([`Visited`]).

use std::{cell::Cell, ops::ControlFlow};

/// Checks between two readings of the clock. Each check covers work of 10 ns (a box) to 2 us (two triangles in motion),
/// so a search notices within 32 us, and the 25 ns of a reading are negligible.
const QUESTIONS_A_READING: u32 = 16;

/// The time until an instant.
pub struct TimeLeft<'a> {
    /// Nanoseconds of the caller's monotonic clock.
    now_ns: &'a dyn Fn() -> u64,
    until_ns: u64,
    /// Checks before the clock is read again.
    to_reading: Cell<u32>,
    questions_a_reading: u32,
    is_over: Cell<bool>,
}

/// Return value of a visitor: [`ControlFlow`], or nothing if it wants all results of a search.
pub trait Visited {
    /// Returns whether the search continues.
    fn flow(self) -> ControlFlow<()>;
}

impl Visited for () {
    fn flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Visited for ControlFlow<()> {
    fn flow(self) -> ControlFlow<()> {
        self
    }
}

/// Counts a step of a search in unit tests, in which a clock that counts steps shows how many follow a deadline.
#[inline(always)]
pub(crate) fn note_step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// Runs work that tests do not count: assertions, which release builds leave out.
#[inline(always)]
pub(crate) fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(test)]
    let steps = STEPS.with(Cell::get);
    let done = work();
    #[cfg(test)]
    STEPS.with(|s| s.set(steps));
    done
}

#[cfg(test)]
thread_local! {
    /// Steps of all searches of the thread.
    pub(crate) static STEPS: Cell<u64> = const { Cell::new(0) };
}

impl<'a> TimeLeft<'a> {
    /// Creates the time until an instant of the caller's clock, nanoseconds.
    pub fn until(now_ns: &'a dyn Fn() -> u64, until_ns: u64) -> TimeLeft<'a> {
        let (to_reading, is_over) = (Cell::new(0), Cell::new(false));
        let questions_a_reading = QUESTIONS_A_READING;
        TimeLeft { now_ns, until_ns, to_reading, questions_a_reading, is_over }
    }

    /// Reads the clock at every check, for a clock that reads another one only once in a while.
    pub fn read_each_time(self) -> TimeLeft<'a> {
        TimeLeft { questions_a_reading: 0, ..self }
    }

    /// Creates a time without end.
    pub fn endless() -> TimeLeft<'static> {
        fn none() -> u64 {
            0
        }
        TimeLeft::until(&none, u64::MAX)
    }

    /// Returns the clock's time, nanoseconds; `None` for an endless time, which has no clock.
    pub fn now_ns(&self) -> Option<u64> {
        (!self.is_endless()).then(|| (self.now_ns)())
    }

    /// Returns a share of the time that is left, 0 to 1, counted from now.
    pub fn share(&self, share: f64) -> TimeLeft<'a> {
        debug_assert!((0.0..=1.0).contains(&share), "a share of {share}");
        let part = TimeLeft::until(self.now_ns, self.until_ns);
        if self.is_endless() {
            return part;
        }
        let now_ns = (self.now_ns)();
        let left_ns = self.until_ns.saturating_sub(now_ns);
        let until_ns = now_ns + (left_ns as f64 * share) as u64;
        TimeLeft { until_ns, is_over: Cell::new(self.is_over.get()), ..part }
    }

    /// Returns true if the time is over: for innermost loops, reads the clock only once in a while.
    pub fn is_over(&self) -> bool {
        let to_reading = self.to_reading.get();
        if to_reading == 0 {
            return self.is_over_now();
        }
        self.to_reading.set(to_reading - 1);
        self.is_over.get()
    }

    /// Returns true if the time is over, by the clock: for use before work that may take long.
    pub fn is_over_now(&self) -> bool {
        self.to_reading.set(self.questions_a_reading);
        if !self.is_over.get() && !self.is_endless() && (self.now_ns)() >= self.until_ns {
            self.is_over.set(true);
        }
        self.is_over.get()
    }

    /// Returns true if a check has found the time over: a search since then may be incomplete.
    pub fn was_over(&self) -> bool {
        self.is_over.get()
    }

    fn is_endless(&self) -> bool {
        self.until_ns == u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_over_it_stays_over_and_the_clock_is_read_seldom() {
        let readings = Cell::new(0);
        let clock = || {
            readings.set(readings.get() + 1);
            readings.get()
        };
        let time = TimeLeft::until(&clock, 4);
        let asked = (0..).take_while(|_| !time.is_over()).count() as u32;
        assert_eq!(asked, 3 * (QUESTIONS_A_READING + 1));
        assert!(time.is_over_now() && time.was_over() && time.share(1.0).is_over());
        assert_eq!(readings.get(), 5, "the share has read it once");
        let endless = TimeLeft::endless();
        assert!((0..100).all(|_| !endless.is_over()) && !endless.share(0.0).is_over_now());
    }

    #[test]
    fn a_share_is_a_part_of_what_is_left() {
        let now = Cell::new(100);
        let clock = || now.get();
        let time = TimeLeft::until(&clock, 200);
        let half = time.share(0.5);
        for (at, expected) in [(149, [false, false]), (150, [false, true]), (200, [true, true])] {
            now.set(at);
            assert_eq!([time.is_over_now(), half.is_over_now()], expected, "at {at}");
        }
    }
}
