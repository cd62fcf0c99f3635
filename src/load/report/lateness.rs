//! Who made ticks late: this machine, the server, or nobody who can be named.
//!
//! Each question is what would have been otherwise: had the machine not stalled, or had the server taken its usual
//! time, would the tick have been in time?

use std::time::{Duration, Instant};

use super::stalls::Stalls;

/// Late ticks that a client keeps to be explained; those beyond are counted without an explanation.
// At 1 kHz that is 16 s of nothing but late ticks; a run so late has no need of single explanations.
const KEPT_MAX: usize = 16_384;

/// A tick whose answer came too late.
#[derive(Clone, Copy, Debug)]
pub struct LateTick {
    /// When it should have been sent.
    pub intended: Instant,
    /// When it was handed to the transport.
    pub sent: Instant,
    /// When its answer was there.
    pub answered: Instant,
    /// What the server worked for this client's stream in between, as its answers say.
    pub server: Duration,
}

/// The late ticks of one client, or of all.
#[derive(Clone, Debug, Default)]
pub struct LateTicks {
    kept: Vec<LateTick>,
    n: u64,
}

/// How many late ticks have which explanation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The machine stopped a thread for at least as long as the tick was late.
    pub by_machine: u64,
    /// The server's own time made it late.
    pub by_server: u64,
    /// Neither.
    pub unexplained: u64,
}

impl LateTicks {
    /// One more.
    pub fn note(&mut self, tick: LateTick) {
        debug_assert!(tick.intended <= tick.sent && tick.intended <= tick.answered, "{tick:?}");
        self.n += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(tick);
        }
    }

    /// Those of another client.
    pub fn add(&mut self, other: &LateTicks) {
        self.kept.extend(&other.kept);
        self.n += other.n;
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// Explains each: `deadline` is the time that a tick has, `usual` what the server takes for one.
    pub fn explain(&self, stalls: &Stalls, usual: Duration, deadline: Duration) -> Lateness {
        let mut lateness =
            Lateness { unexplained: self.n - self.kept.len() as u64, ..Default::default() };
        for tick in &self.kept {
            // The machine first: a stall that hits the server is in the server's own time as well, which would take
            // the blame.
            if tick.is_by_machine(stalls, deadline) {
                lateness.by_machine += 1;
            } else if tick.is_by_server(usual, deadline) {
                lateness.by_server += 1;
            } else {
                lateness.unexplained += 1;
            }
        }
        lateness
    }
}

impl LateTick {
    fn excess(&self, deadline: Duration) -> Duration {
        (self.answered - self.intended).saturating_sub(deadline)
    }

    /// The client's own thread woke so late, or the meter's did in the meantime. The two are not added up: they may
    /// have been one stall.
    fn is_by_machine(&self, stalls: &Stalls, deadline: Duration) -> bool {
        let excess = self.excess(deadline);
        let woke_late = self.sent - self.intended;
        woke_late >= excess || stalls.longest_within(self.intended, self.answered) >= excess
    }

    /// It took more than its usual time by as much, or longer than a tick has anyway.
    fn is_by_server(&self, usual: Duration, deadline: Duration) -> bool {
        self.server >= deadline || self.server.saturating_sub(usual) >= self.excess(deadline)
    }
}
