//! Whether a call may still change something, decided once: either it does, or its caller is told that it did not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire},
    },
    time::{Duration, Instant},
};

use http::HeaderMap;

/// A call's deadline and what has come of it; shared by its handler and by who sends its answer.
#[derive(Clone, Debug, Default)]
pub struct CallDeadline(Arc<CallState>);

#[derive(Debug, Default)]
struct CallState {
    /// `None`: the caller waits without end.
    at: Option<Instant>,
    /// Changes whose answer has not been sent, or [`ENDED`].
    // One word, so that "it is done" and "it is too late" cannot both win.
    unanswered: AtomicU32,
}

const ENDED: u32 = u32::MAX;

/// The time is over, or nobody waits for the answer any more.
#[derive(Debug, thiserror::Error)]
#[error("the call's deadline has passed, or its caller has gone; nothing was changed")]
pub struct DeadlinePassed;

/// Ends a call when it is dropped: its caller has gone.
pub struct EndedOnDrop(pub CallDeadline);

impl CallDeadline {
    /// As the caller's `grpc-timeout` says. One that cannot be read is none, as everywhere in gRPC.
    pub fn of(headers: &HeaderMap) -> CallDeadline {
        let timeout = headers.get("grpc-timeout").and_then(|value| timeout(value.as_bytes()));
        let at = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        CallDeadline(Arc::new(CallState { at, unanswered: AtomicU32::new(0) }))
    }

    /// When it is over.
    pub fn at(&self) -> Option<Instant> {
        self.0.at
    }

    /// The last moment before something is changed: from here on the call is not ended before its answer is sent.
    ///
    /// # Errors
    /// When it is too late: nothing may be changed.
    pub fn commit(&self) -> Result<(), DeadlinePassed> {
        if self.is_late() {
            self.end();
        }
        let more = |n: u32| (n != ENDED).then(|| (n + 1).min(ENDED - 1));
        let committed = self.0.unanswered.fetch_update(AcqRel, Acquire, more);
        committed.map(drop).map_err(|_| DeadlinePassed)
    }

    /// A change's answer was sent.
    pub fn note_answer(&self) {
        // None was changed, where a call only looks.
        let _ = self.0.unanswered.fetch_update(AcqRel, Acquire, |n| match n {
            0 | ENDED => None,
            n => Some(n - 1),
        });
    }

    /// Ends the call, unless it has changed something whose answer was not sent: then `false`.
    pub fn end(&self) -> bool {
        self.0.unanswered.compare_exchange(0, ENDED, AcqRel, Acquire).is_ok()
    }

    /// Whether there is a point in going on with a call that has changed nothing yet.
    ///
    /// # Errors
    /// When there is none.
    pub fn check(&self) -> Result<(), DeadlinePassed> {
        let is_over = self.is_late() || self.0.unanswered.load(Acquire) == ENDED;
        if is_over { Err(DeadlinePassed) } else { Ok(()) }
    }

    fn is_late(&self) -> bool {
        self.0.at.is_some_and(|at| Instant::now() >= at)
    }
}

impl Drop for EndedOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The deadline of a request, as found out before its handler ran.
pub fn deadline<T>(request: &tonic::Request<T>) -> CallDeadline {
    request.extensions().get().cloned().unwrap_or_default()
}

/// At most eight digits and a unit, as gRPC has it.
fn timeout(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let n: u64 = str::from_utf8(digits).ok()?.parse().ok()?;
    match unit {
        b'H' => Some(Duration::from_secs(3600 * n)),
        b'M' => Some(Duration::from_secs(60 * n)),
        b'S' => Some(Duration::from_secs(n)),
        b'm' => Some(Duration::from_millis(n)),
        b'u' => Some(Duration::from_micros(n)),
        b'n' => Some(Duration::from_nanos(n)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn reads_what_grpc_writes() {
        for (text, expected) in [
            ("250m", Some(Duration::from_millis(250))),
            ("99999999S", Some(Duration::from_secs(99_999_999))),
            ("1H", Some(Duration::from_secs(3600))),
            ("7u", Some(Duration::from_micros(7))),
            ("", None),
            ("m", None),
            ("123456789S", None),
            ("1", None),
            ("-1S", None),
            ("1s", None),
        ] {
            assert_eq!(timeout(text.as_bytes()), expected, "{text:?}");
        }
    }

    /// Whoever is first wins, and the other learns it.
    #[test]
    fn a_call_is_either_done_or_ended() {
        let mut done = 0;
        for _ in 0..2_000 {
            let call = CallDeadline::default();
            let other = call.clone();
            let commits = thread::spawn(move || other.commit().is_ok());
            let ended = call.end();
            let committed = commits.join().expect("no panic");
            assert_ne!(ended, committed);
            done += u32::from(committed);
        }
        println!("{done} of 2,000 were done before they were ended");
    }

    #[test]
    fn a_stream_may_end_between_two_answers_only() {
        let call = CallDeadline::default();
        for _ in 0..3 {
            call.commit().expect("in time");
            assert!(!call.end(), "its answer is on its way");
            call.note_answer();
        }
        assert!(call.end());
        call.note_answer();
        call.commit().expect_err("too late");
        call.check().expect_err("too late");
    }
}
