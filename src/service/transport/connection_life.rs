//! State of a connection and reasons to close it; shared by its byte stream, its calls and the table of connections.

use std::{
    io,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    task::Waker,
    time::Duration,
};

use atomic_waker::AtomicWaker;
use parking_lot::Mutex;

use crate::service::clock::now_ns;

/// State of one connection.
#[derive(Debug)]
pub struct ConnectionLife {
    opened_ns: u64,
    /// True once one of its calls was let in.
    authorised: AtomicBool,
    /// Number of its refused calls.
    refused: AtomicU32,
    /// Number of reads before a call was let in.
    turns: AtomicU32,
    /// Begin of the headers that have not ended; 0: none are open.
    headers_since_ns: AtomicU64,
    /// Time since which the socket accepts no bytes; 0: it does.
    full_since_ns: AtomicU64,
    /// Answers of its calls, including finished ones until the next call begins.
    answers: Mutex<Vec<Weak<AnswerProgress>>>,
    closed: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

/// Bytes of one answer in flight to the client.
#[derive(Debug, Default)]
pub struct AnswerProgress {
    /// Bytes that the socket has not accepted.
    waiting: AtomicU64,
    /// Time of the last accepted bytes, or of the begin of the wait.
    since_ns: AtomicU64,
}

/// Maximum refused calls before one is let in. A client with a wrong key retries a few times.
const REFUSED_MAX: u32 = 16;

/// Number of reads until a client's first call has arrived.
const TURNS_TO_CALL: u32 = 2;

/// Maximum times that a connection may be in certain states.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Without an admitted call.
    pub first_call: Duration,
    /// With headers that have not ended.
    pub headers: Duration,
    /// With answers that its client does not read.
    pub unread: Duration,
}

/// Reasons why an admitted connection was closed; in the order of the metrics' `CLOSE_REASONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// No call was let in.
    NoCall,
    /// Headers did not end.
    Headers,
    /// Answers were not read.
    Unread,
    /// Without an admitted call, it gave way to another connection.
    MadeRoom,
    /// Many calls were refused, and none was let in.
    Refused,
}

impl ConnectionLife {
    /// Creates the state of a connection that begins now.
    pub fn begin() -> ConnectionLife {
        ConnectionLife {
            opened_ns: now_ns(),
            authorised: AtomicBool::new(false),
            refused: AtomicU32::new(0),
            turns: AtomicU32::new(0),
            headers_since_ns: AtomicU64::new(0),
            full_since_ns: AtomicU64::new(0),
            answers: Mutex::default(),
            closed: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
        }
    }

    /// Records that a call was let in.
    pub fn note_authorised(&self) {
        self.authorised.store(true, Relaxed);
    }

    /// Returns true if a call was ever let in.
    pub fn is_authorised(&self) -> bool {
        self.authorised.load(Relaxed)
    }

    /// Records that a call was refused for its key.
    pub fn note_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Returns true if a call was ever refused.
    pub fn is_refused(&self) -> bool {
        self.refused.load(Relaxed) > 0
    }

    /// Records a read before a call was let in.
    pub fn note_turn(&self) {
        self.turns.fetch_add(1, Relaxed);
    }

    /// Returns true if a client would have made its call by now.
    pub fn was_heard(&self) -> bool {
        self.turns.load(Relaxed) >= TURNS_TO_CALL
    }

    /// Records that headers have begun, or ended.
    pub fn note_headers(&self, open: bool) {
        self.headers_since_ns.store(if open { now_ns() } else { 0 }, Relaxed);
    }

    /// Records that the socket accepts no bytes, or accepts them again.
    pub fn note_full(&self, full: bool) {
        if full != (self.full_since_ns.load(Relaxed) != 0) {
            self.full_since_ns.store(if full { now_ns() } else { 0 }, Relaxed);
        }
    }

    /// Registers the answer of a new call.
    pub fn answer_begins(&self) -> Arc<AnswerProgress> {
        let progress = Arc::default();
        let mut answers = self.answers.lock();
        answers.retain(|answer| answer.strong_count() > 0);
        answers.push(Arc::downgrade(&progress));
        progress
    }

    /// Returns the reason to close the connection, at `now_ns`.
    pub fn overdue(&self, now_ns: u64, patience: &Patience) -> Option<Overdue> {
        let longer = |since_ns: u64, than: Duration| {
            since_ns != 0 && u128::from(now_ns.saturating_sub(since_ns)) > than.as_nanos()
        };
        let is_stuck = |answer: &Arc<AnswerProgress>| {
            answer.waiting.load(Relaxed) > 0
                && longer(answer.since_ns.load(Relaxed), patience.unread)
        };
        if longer(self.headers_since_ns.load(Relaxed), patience.headers) {
            Some(Overdue::Headers)
        } else if longer(self.full_since_ns.load(Relaxed), patience.unread)
            || self.answers.lock().iter().filter_map(Weak::upgrade).any(|a| is_stuck(&a))
        {
            Some(Overdue::Unread)
        } else if !self.is_authorised() && self.refused.load(Relaxed) >= REFUSED_MAX {
            Some(Overdue::Refused)
        } else if !self.is_authorised() && longer(self.opened_ns, patience.first_call) {
            Some(Overdue::NoCall)
        } else {
            None
        }
    }

    /// Closes the connection: reads and writes fail from now on.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
        self.reader.wake();
        self.writer.wake();
    }

    /// Checks that bytes may still be read; wakes `waker` when the connection is closed.
    ///
    /// # Errors
    /// Returns an error if the connection was closed.
    pub fn check_reader(&self, waker: &Waker) -> io::Result<()> {
        self.reader.register(waker);
        self.check()
    }

    /// As [`ConnectionLife::check_reader`], for the writer.
    ///
    /// # Errors
    /// Returns an error if the connection was closed.
    pub fn check_writer(&self, waker: &Waker) -> io::Result<()> {
        self.writer.register(waker);
        self.check()
    }

    fn check(&self) -> io::Result<()> {
        if self.closed.load(Relaxed) {
            Err(io::ErrorKind::ConnectionAborted.into())
        } else {
            Ok(())
        }
    }
}

impl AnswerProgress {
    /// Records bytes in flight.
    pub fn begin(&self, bytes: usize) {
        self.since_ns.store(now_ns().max(1), Relaxed);
        self.waiting.fetch_add(bytes as u64, Relaxed);
    }

    /// Records bytes that were accepted.
    pub fn end(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes as u64, Relaxed);
        self.since_ns.store(now_ns().max(1), Relaxed);
    }
}
