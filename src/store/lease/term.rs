//! Term of a lease, for its owner and for servers that want to take over.

use std::time::Duration;

/// Time from a heartbeat until another server may take the scenes of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseTerm {
    ns: u64,
}

/// The margin is this fraction of a term: even if clock rates differ by it, no two servers answer for a scene. Clocks
/// of computers differ by a ten-thousandth; the rest is for a virtual machine's clock that is slewed.
const MARGIN: u64 = 8;
/// Heartbeats in a term: two may fail, and the third comes in time.
const BEATS: u32 = 4;

impl LeaseTerm {
    /// Creates a term of at least a few milliseconds.
    pub fn new(term: Duration) -> LeaseTerm {
        LeaseTerm { ns: term.as_nanos() as u64 }
    }

    /// Milliseconds of the term, as heartbeats state it.
    pub fn ms(self) -> u64 {
        self.ns / 1_000_000
    }

    /// Returns the time until which an owner answers that has written a heartbeat after `basis_ns`, nanoseconds of its
    /// own clock.
    pub fn answers_until_ns(self, basis_ns: u64) -> u64 {
        basis_ns + self.ns - self.ns / MARGIN
    }

    /// Interval of heartbeats.
    pub fn beat_interval(self) -> Duration {
        Duration::from_nanos(self.ns) / BEATS
    }
}

/// Newest heartbeat of a server, as another server has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeenBeat {
    /// Count of the heartbeat; `None`: the server has no file.
    count: Option<u64>,
    /// Time at which the heartbeat was first seen, nanoseconds of the observer's clock.
    since_ns: u64,
}

impl SeenBeat {
    /// Records a first sight. `now_ns`: time after the read.
    pub fn new(count: Option<u64>, now_ns: u64) -> SeenBeat {
        SeenBeat { count, since_ns: now_ns }
    }

    /// Records another sight. `now_ns`: time after the read, so that the heartbeat was written before.
    pub fn see(&mut self, count: Option<u64>, now_ns: u64) {
        if count != self.count {
            *self = SeenBeat::new(count, now_ns);
        }
    }

    /// Returns the time from which the sender does not answer any more, unless it sends another heartbeat. `term`: the
    /// longer term of the two servers.
    pub fn silent_from_ns(&self, term: LeaseTerm) -> u64 {
        self.since_ns + term.ns
    }
}
