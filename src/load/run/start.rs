//! Threads that set themselves up and then start at one instant.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

/// Time between the signal to start and the first tick, so that no thread begins late.
const HEAD_START: Duration = Duration::from_millis(20);
/// Interval of the checks for a thread that ended instead of getting ready.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A thread's side: signals readiness, and waits for the start.
pub struct Starter {
    ready: Sender<()>,
    go: Receiver<Instant>,
}

impl Starter {
    /// Waits for the start; returns `None` if there will be none.
    pub fn wait(self) -> Option<Instant> {
        self.ready.send(()).ok()?;
        self.go.recv().ok()
    }
}

/// Starts all threads.
pub struct Gate {
    ready: (Sender<()>, Receiver<()>),
    go: Vec<Sender<Instant>>,
}

impl Gate {
    /// Creates a gate without threads.
    pub fn new() -> Gate {
        Gate { ready: channel(), go: Vec::new() }
    }

    /// Adds one thread to wait for.
    pub fn starter(&mut self) -> Starter {
        let (go, told) = channel();
        self.go.push(go);
        Starter { ready: self.ready.0.clone(), go: told }
    }

    /// Waits until all threads are ready and sends them the start; returns `false`, without a start, if one has ended.
    pub fn open(self, any_ended: impl Fn() -> bool) -> bool {
        let mut n_ready = 0;
        while n_ready < self.go.len() {
            match self.ready.1.recv_timeout(POLL_INTERVAL) {
                Ok(()) => n_ready += 1,
                // The check is necessary, because the channel never closes: the gate itself holds a sender.
                Err(_) if any_ended() => return false,
                Err(_) => {}
            }
        }
        // The start lies in the future: each thread computes its instants from it, and not from its own wake.
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
