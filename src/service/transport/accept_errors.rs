//! What an accept loop does while the system gives it no connection, as without free descriptors.

use std::{
    io,
    time::{Duration, Instant},
};

use tokio::time::sleep;
use tracing::warn;

/// After the first error in a row, doubled after each further one.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// From one line of the log to the next.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// The errors of one accept loop.
pub struct AcceptErrors {
    /// What the connections are for.
    of: &'static str,
    pause: Duration,
    /// Since the last line of the log.
    unlogged: u64,
    logged: Option<Instant>,
}

impl AcceptErrors {
    /// None yet. `of`: what the connections are for.
    pub fn new(of: &'static str) -> AcceptErrors {
        AcceptErrors { of, pause: PAUSE_MIN, unlogged: 0, logged: None }
    }

    /// A connection was accepted.
    pub fn clear(&mut self) {
        self.pause = PAUSE_MIN;
    }

    /// Logs an error, at most once a minute, and waits before the next attempt.
    pub async fn wait(&mut self, error: &io::Error) {
        let (pause, to_log) = self.note(Instant::now());
        if let Some(n) = to_log {
            warn!(errors = n, "no connection for {} can be accepted: {error}", self.of);
        }
        sleep(pause).await;
    }

    /// How long to wait, and the number of errors that a line of the log is due for.
    fn note(&mut self, now: Instant) -> (Duration, Option<u64>) {
        let pause = self.pause;
        self.pause = (2 * pause).min(PAUSE_MAX);
        self.unlogged += 1;
        if self.logged.is_some_and(|logged| now - logged < BETWEEN_LINES) {
            return (pause, None);
        }
        self.logged = Some(now);
        (pause, Some(std::mem::take(&mut self.unlogged)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_in_a_row_wait_longer_and_fill_no_log() {
        let mut errors = AcceptErrors::new("ticks");
        let begun = Instant::now();
        let (mut now, mut logged) = (begun, Vec::new());
        while now - begun < 2 * BETWEEN_LINES {
            let (pause, to_log) = errors.note(now);
            logged.extend(to_log);
            now += pause;
        }
        // The pauses are 50, 100, 200, 400 and 800 ms, then a second each.
        assert_eq!(logged, [1, 64]);
        errors.clear();
        assert_eq!(errors.note(now).0, PAUSE_MIN);
    }
}
