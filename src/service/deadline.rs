//! Deadlines of calls. One decision per change: either it is made, or the caller learns that nothing was changed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::AcqRel, Ordering::Acquire},
    },
    time::{Duration, Instant},
};

use http::HeaderMap;

/// Deadline and state of a call; shared by its handler and the sender of its answer.
#[derive(Clone, Debug, Default)]
pub struct CallDeadline(Arc<CallState>);

#[derive(Debug, Default)]
struct CallState {
    /// Time of the deadline; `None`: the caller waits without limit.
    at: Option<Instant>,
    /// Number of changes whose answer has not been sent, or [`ENDED`].
    // A single word, so that "it is done" and "it is too late" cannot both win.
    unanswered: AtomicU32,
}

const ENDED: u32 = u32::MAX;

/// The deadline has passed, or nobody waits for the answer any more.
#[derive(Debug, thiserror::Error)]
#[error("the call's deadline has passed, or its caller has gone; nothing was changed")]
pub struct DeadlinePassed;

/// Ends a call when dropped: its caller has gone.
pub struct EndedOnDrop(pub CallDeadline);

impl CallDeadline {
    /// Parses the caller's `grpc-timeout`. An unreadable value means no deadline, as everywhere in gRPC.
    pub fn of(headers: &HeaderMap) -> CallDeadline {
        let timeout = headers.get("grpc-timeout").and_then(|value| timeout(value.as_bytes()));
        let at = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        CallDeadline(Arc::new(CallState { at, unanswered: AtomicU32::new(0) }))
    }

    /// Returns the time of the deadline.
    pub fn at(&self) -> Option<Instant> {
        self.0.at
    }

    /// Marks the last moment before a change: from here on the call is not ended before its answer is sent.
    ///
    /// # Errors
    /// Returns an error if it is too late: nothing may be changed.
    pub fn commit(&self) -> Result<(), DeadlinePassed> {
        if self.is_late() {
            self.end();
        }
        let more = |n: u32| (n != ENDED).then(|| (n + 1).min(ENDED - 1));
        let committed = self.0.unanswered.fetch_update(AcqRel, Acquire, more);
        committed.map(drop).map_err(|_| DeadlinePassed)
    }

    /// Records that a change's answer was sent.
    pub fn note_answer(&self) {
        // A call that only reads has no change to subtract.
        let _ = self.0.unanswered.fetch_update(AcqRel, Acquire, |n| match n {
            0 | ENDED => None,
            n => Some(n - 1),
        });
    }

    /// Ends the call and returns true; returns false if it has made a change whose answer was not sent.
    pub fn end(&self) -> bool {
        self.0.unanswered.compare_exchange(0, ENDED, AcqRel, Acquire).is_ok()
    }

    /// Checks that a call that has changed nothing yet should continue.
    ///
    /// # Errors
    /// Returns an error if it should not.
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

/// Returns the deadline of a request, as determined before its handler ran.
pub fn deadline<T>(request: &tonic::Request<T>) -> CallDeadline {
    request.extensions().get().cloned().unwrap_or_default()
}

/// Parses at most eight digits and a unit, as gRPC specifies.
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

    /// The first of both wins, and the other learns it.
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
