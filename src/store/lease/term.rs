//! How long a lease lasts for who has it, and for who wants it.

use std::time::Duration;

/// From a sign of life until another server may take what its writer owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseTerm {
    ns: u64,
}

/// One in so many parts of a term is its margin: clocks may run so unequally fast, and no two servers answer for a scene.
/// Clocks of computers differ by a ten-thousandth; what is left is for a virtual machine's clock that is slewed.
const MARGIN: u64 = 8;
/// Signs of life in a term: two may fail, and the third comes in time.
const BEATS: u32 = 4;

impl LeaseTerm {
    /// `term`: at least a few milliseconds.
    pub fn new(term: Duration) -> LeaseTerm {
        LeaseTerm { ns: term.as_nanos() as u64 }
    }

    /// As signs of life say it.
    pub fn ms(self) -> u64 {
        self.ns / 1_000_000
    }

    /// Until when an owner answers that has written a sign of life after `basis_ns`, nanoseconds of its own clock.
    pub fn answers_until_ns(self, basis_ns: u64) -> u64 {
        basis_ns + self.ns - self.ns / MARGIN
    }

    /// Between two signs of life.
    pub fn beat_interval(self) -> Duration {
        Duration::from_nanos(self.ns) / BEATS
    }
}

/// The newest sign of life of a server, as another has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeenBeat {
    /// `None`: there is no file of it.
    count: Option<u64>,
    /// When it was first seen, nanoseconds of the clock of who saw it.
    since_ns: u64,
}

impl SeenBeat {
    /// Seen for the first time. `now_ns`: after it was read.
    pub fn new(count: Option<u64>, now_ns: u64) -> SeenBeat {
        SeenBeat { count, since_ns: now_ns }
    }

    /// Seen again. `now_ns`: after it was read, so that it was written before.
    pub fn see(&mut self, count: Option<u64>, now_ns: u64) {
        if count != self.count {
            *self = SeenBeat::new(count, now_ns);
        }
    }

    /// From when on its writer answers no more, unless there is another one. `term`: the longer one of
    /// the two servers.
    pub fn silent_from_ns(&self, term: LeaseTerm) -> u64 {
        self.since_ns + term.ns
    }
}
