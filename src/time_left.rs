//! How much time a piece of work has left. The clock is the caller's: the engine has none.
//!
//! Every search of a tick asks inside its loops, so that it ends soon after the time does, whatever a client has sent.
//! What a search returns then is what it found so far, and whoever called it asks [`TimeLeft::is_over`] once more
//! before it takes that for the whole truth: once the time is over it stays over.

use std::cell::Cell;

/// Questions between two readings of the clock. Work of 10 ns (a box) to 2 us (two triangles in motion) goes with a
/// question, so a search notices within 32 us, and the 25 ns of a reading are lost in it.
const QUESTIONS_A_READING: u32 = 16;

/// The time until an instant.
pub struct TimeLeft<'a> {
    /// Nanoseconds of the caller's monotonic clock.
    now_ns: &'a dyn Fn() -> u64,
    until_ns: u64,
    /// Questions before the clock is read again.
    to_reading: Cell<u32>,
    is_over: Cell<bool>,
}

impl<'a> TimeLeft<'a> {
    /// Until an instant of the caller's clock, nanoseconds.
    pub fn until(now_ns: &'a dyn Fn() -> u64, until_ns: u64) -> TimeLeft<'a> {
        TimeLeft { now_ns, until_ns, to_reading: Cell::new(0), is_over: Cell::new(false) }
    }

    /// As much as is needed.
    pub fn endless() -> TimeLeft<'static> {
        fn none() -> u64 {
            0
        }
        TimeLeft::until(&none, u64::MAX)
    }

    /// What the clock says, nanoseconds; `None` of an endless time, which has none.
    pub fn now_ns(&self) -> Option<u64> {
        (!self.is_endless()).then(|| (self.now_ns)())
    }

    /// A share of what is left, 0 to 1, counted from now.
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

    /// Whether it is over: asked in the innermost loops, the clock is read once in a while.
    pub fn is_over(&self) -> bool {
        let to_reading = self.to_reading.get();
        if to_reading == 0 {
            return self.is_over_now();
        }
        self.to_reading.set(to_reading - 1);
        self.is_over.get()
    }

    /// Whether it is over, by the clock: before work that may take long.
    pub fn is_over_now(&self) -> bool {
        self.to_reading.set(QUESTIONS_A_READING);
        if !self.is_over.get() && !self.is_endless() && (self.now_ns)() >= self.until_ns {
            self.is_over.set(true);
        }
        self.is_over.get()
    }

    /// Whether a question was answered by yes: what was searched for since may not all have been found.
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
