//! The causes of late ticks: this machine, the server, or unexplained.
//!
//! Each test asks if the tick would have been in time had the machine not stalled, or had the server taken its usual
//! time.

use std::time::{Duration, Instant};

use super::stalls::Stalls;

/// Late ticks that a client keeps for an explanation; further ones are counted as unexplained.
// At 1 kHz this is 16 s of nothing but late ticks; a run that late needs no individual explanations.
const KEPT_MAX: usize = 16_384;

/// A tick whose answer came too late.
#[derive(Clone, Copy, Debug)]
pub struct LateTick {
    /// Instant at which the tick should have been sent.
    pub intended: Instant,
    /// Instant at which the tick was handed to the transport.
    pub sent: Instant,
    /// Instant at which the answer arrived.
    pub answered: Instant,
    /// Server time spent on this client's stream in between, as reported by its answers.
    pub server: Duration,
}

/// The late ticks of one client, or of all.
#[derive(Clone, Debug, Default)]
pub struct LateTicks {
    kept: Vec<LateTick>,
    n: u64,
}

/// Numbers of late ticks by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The machine stopped a thread for at least as long as the tick was late.
    pub by_machine: u64,
    /// The server's own time made the tick late.
    pub by_server: u64,
    /// Neither cause applies.
    pub unexplained: u64,
}

impl LateTicks {
    /// Adds a late tick.
    pub fn note(&mut self, tick: LateTick) {
        debug_assert!(tick.intended <= tick.sent && tick.intended <= tick.answered, "{tick:?}");
        self.n += 1;
        if self.kept.len() < KEPT_MAX {
            self.kept.push(tick);
        }
    }

    /// Adds the late ticks of another client.
    pub fn add(&mut self, other: &LateTicks) {
        self.kept.extend(&other.kept);
        self.n += other.n;
    }

    /// Returns the number of late ticks.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// Assigns a cause to each late tick. `deadline`: time that a tick has; `usual`: the server's usual time for one
    /// tick.
    pub fn explain(&self, stalls: &Stalls, usual: Duration, deadline: Duration) -> Lateness {
        let mut lateness =
            Lateness { unexplained: self.n - self.kept.len() as u64, ..Default::default() };
        for tick in &self.kept {
            // The machine is tested first: a stall that hits the server also increases the server's own time, which
            // would take the blame.
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

    /// The client's own thread woke that late, or the meter's thread did in the meantime. The two are not added up:
    /// they may have been one stall.
    fn is_by_machine(&self, stalls: &Stalls, deadline: Duration) -> bool {
        let excess = self.excess(deadline);
        let woke_late = self.sent - self.intended;
        woke_late >= excess || stalls.longest_within(self.intended, self.answered) >= excess
    }

    /// The server exceeded its usual time by the tick's excess, or took longer than a tick's whole deadline.
    fn is_by_server(&self, usual: Duration, deadline: Duration) -> bool {
        self.server >= deadline || self.server.saturating_sub(usual) >= self.excess(deadline)
    }
}
