//! Counter of places: those in use, and those that Agones has promised to clients on their way.
//!
//! An allocation raises the counter before its client comes. If the server then reported only the places in use, the
//! promise would be lost, and the next allocation could get the same place. So the excess of the counter over the
//! places in use counts as promised: until a client comes, which takes one of these places, or for a limited time.

use std::{collections::VecDeque, time::Duration};

/// Time after which a promised place that nobody took is free again.
pub const PROMISED_MAX: Duration = Duration::from_secs(30);

/// A counter.
pub struct CountedPlaces {
    name: &'static str,
    there: i64,
    /// Times of the promises, the oldest first.
    promised_ns: VecDeque<u64>,
    /// Count that Agones has, as far as is known.
    told: Option<i64>,
}

impl CountedPlaces {
    /// Creates a counter with no place in use, and no known count.
    pub fn new(name: &'static str) -> CountedPlaces {
        CountedPlaces { name, there: 0, promised_ns: VecDeque::new(), told: None }
    }

    /// Returns the counter's name in Agones.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns true if a place is promised.
    pub fn are_promised(&self) -> bool {
        !self.promised_ns.is_empty()
    }

    /// Records the count that Agones has.
    pub fn see(&mut self, count: i64, now_ns: u64) {
        self.told = Some(count);
        for _ in self.taken()..count {
            self.promised_ns.push_back(now_ns);
        }
    }

    /// Sets the number of places in use. A new client takes a promised place, if there is one.
    pub fn set_there(&mut self, n: i64) {
        let came = (n - self.there).max(0) as usize;
        self.promised_ns.drain(..came.min(self.promised_ns.len()));
        self.there = n;
    }

    /// Returns the count to send to Agones; `None` before Agones has reported its count, or if that count is right.
    pub fn due(&mut self, now_ns: u64) -> Option<i64> {
        let is_over = |at: &u64| u128::from(now_ns.saturating_sub(*at)) > PROMISED_MAX.as_nanos();
        while self.promised_ns.front().is_some_and(is_over) {
            self.promised_ns.pop_front();
        }
        let taken = self.taken();
        self.told.is_some_and(|told| told != taken).then_some(taken)
    }

    /// Records the count that was sent to Agones.
    pub fn set_told(&mut self, count: i64) {
        self.told = Some(count);
    }

    fn taken(&self) -> i64 {
        self.there + self.promised_ns.len() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER_NS: u64 = PROMISED_MAX.as_nanos() as u64 + 1;

    #[test]
    fn a_promise_is_kept_until_its_client_comes() {
        let mut places = CountedPlaces::new("scenes");
        places.set_there(0);
        assert_eq!(places.due(0), None, "nobody knows what Agones has");
        places.see(0, 0);
        assert_eq!(places.due(0), None);
        // Two allocations, and then their clients.
        places.see(2, 10);
        assert_eq!(places.due(10), None, "the promises stay");
        places.set_there(1);
        assert_eq!(places.due(10), None, "one of two was taken");
        places.set_there(2);
        assert_eq!((places.due(10), places.are_promised()), (None, false));
        // A client without an allocation.
        places.set_there(3);
        assert_eq!(places.due(10), Some(3));
        places.set_told(3);
        assert_eq!(places.due(10), None);
        places.set_there(0);
        assert_eq!(places.due(10), Some(0));
    }

    #[test]
    fn a_promise_that_nobody_comes_for_ends() {
        let mut places = CountedPlaces::new("scenes");
        places.see(1, 0);
        assert_eq!(places.due(LATER_NS - 1), None);
        assert_eq!(places.due(LATER_NS), Some(0));
    }

    #[test]
    fn a_count_that_is_too_small_is_put_right() {
        let mut places = CountedPlaces::new("scenes");
        places.see(4, 0);
        places.set_there(4);
        places.see(1, 0);
        assert_eq!(places.due(0), Some(4));
    }
}
