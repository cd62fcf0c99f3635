//! Threads that set themselves up and then start at one instant.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

/// Between the word to start and the first tick, so that no thread begins late.
const HEAD_START: Duration = Duration::from_millis(20);
/// How often a thread that ended instead of getting ready is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A thread's side: says that it is ready, and waits for the instant.
pub struct Starter {
    ready: Sender<()>,
    go: Receiver<Instant>,
}

impl Starter {
    /// `None` when there will be no start.
    pub fn wait(self) -> Option<Instant> {
        self.ready.send(()).ok()?;
        self.go.recv().ok()
    }
}

/// Starts them all.
pub struct Gate {
    ready: (Sender<()>, Receiver<()>),
    go: Vec<Sender<Instant>>,
}

impl Gate {
    /// For no thread yet.
    pub fn new() -> Gate {
        Gate { ready: channel(), go: Vec::new() }
    }

    /// One more thread to wait for.
    pub fn starter(&mut self) -> Starter {
        let (go, told) = channel();
        self.go.push(go);
        Starter { ready: self.ready.0.clone(), go: told }
    }

    /// Waits until all are ready and gives them the instant; `false`, and no start, when one has ended.
    pub fn open(self, any_ended: impl Fn() -> bool) -> bool {
        let mut n_ready = 0;
        while n_ready < self.go.len() {
            match self.ready.1.recv_timeout(POLL_INTERVAL) {
                Ok(()) => n_ready += 1,
                // Asked here, because the channel does not tell: the gate holds a sender itself, so it is never
                // closed.
                Err(_) if any_ended() => return false,
                Err(_) => {}
            }
        }
        // Known before it comes: each thread computes its instants from it, and none from when it was woken.
        let started = Instant::now() + HEAD_START;
        self.go.iter().all(|go| go.send(started).is_ok())
    }
}

impl Default for Gate {
    fn default() -> Gate {
        Gate::new()
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{JoinHandle, spawn};

    use super::*;

    #[test]
    fn all_start_at_one_instant() {
        let mut gate = Gate::new();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let starter = gate.starter();
                spawn(move || starter.wait())
            })
            .collect();
        assert!(gate.open(|| threads.iter().any(JoinHandle::is_finished)));
        let instants: Vec<_> = threads.into_iter().map(|t| t.join().expect("waits")).collect();
        assert!(instants[0].is_some() && instants.iter().all(|i| *i == instants[0]));
    }

    #[test]
    fn nobody_starts_when_one_gave_up() {
        let mut gate = Gate::new();
        let (waits, gives_up) = (gate.starter(), gate.starter());
        let threads = [
            spawn(move || waits.wait()),
            spawn(move || {
                drop(gives_up);
                None
            }),
        ];
        assert!(!gate.open(|| threads.iter().any(JoinHandle::is_finished)));
        assert!(threads.into_iter().all(|t| t.join().expect("ends").is_none()));
    }
}
