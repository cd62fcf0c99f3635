//! Backoff of an accept loop while the system gives it no connection, for example without free descriptors.

use std::{
    io,
    time::{Duration, Instant},
};

use tokio::time::sleep;
use tracing::warn;

/// Pause after the first error in a row; doubles after each further one.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Minimum interval of log lines.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// Errors of one accept loop.
pub struct AcceptErrors {
    /// Purpose of the connections, for the log.
    of: &'static str,
    pause: Duration,
    /// Errors since the last log line.
    unlogged: u64,
    logged: Option<Instant>,
}

impl AcceptErrors {
    /// Creates the state without errors. `of`: purpose of the connections.
    pub fn new(of: &'static str) -> AcceptErrors {
        AcceptErrors { of, pause: PAUSE_MIN, unlogged: 0, logged: None }
    }

    /// Records that a connection was accepted.
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

    /// Returns the pause, and the number of errors if a log line is due.
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
