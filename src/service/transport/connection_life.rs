//! What a connection has done, and whether it may go on; shared by its bytes, its calls and the table of all.

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

/// One connection's.
#[derive(Debug)]
pub struct ConnectionLife {
    opened_ns: u64,
    /// A call of it was let in.
    authorised: AtomicBool,
    /// Calls of it that were not.
    refused: AtomicU32,
    /// How often it was read before one was let in.
    turns: AtomicU32,
    /// When the headers began that have not ended; 0: none have.
    headers_since_ns: AtomicU64,
    /// When the socket took no more bytes; 0: it does.
    full_since_ns: AtomicU64,
    /// Of its calls, those that are over too until the next one begins.
    answers: Mutex<Vec<Weak<AnswerProgress>>>,
    closed: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

/// What of one answer is on its way to the client.
#[derive(Debug, Default)]
pub struct AnswerProgress {
    /// Bytes that the socket has not taken.
    waiting: AtomicU64,
    /// When it took some last, or began to wait.
    since_ns: AtomicU64,
}

/// Calls that may be refused before one is let in. Who has the wrong key tries again a few times.
const REFUSED_MAX: u32 = 16;

/// Times that a client is read until its first call is there.
const TURNS_TO_CALL: u32 = 2;

/// How long a connection may be in some ways.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Without a call that was let in.
    pub first_call: Duration,
    /// With headers that have not ended.
    pub headers: Duration,
    /// With answers that its client does not read.
    pub unread: Duration,
}

/// Why a connection was closed that had been let in; in the order of the metrics' `CLOSE_REASONS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// No call of it was let in.
    NoCall,
    /// Headers that did not end.
    Headers,
    /// Answers that were not read.
    Unread,
    /// Without a call that was let in, it made room for another.
    MadeRoom,
    /// Call after call of it was refused, and none was let in.
    Refused,
}

impl ConnectionLife {
    /// Of a connection that begins now.
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

    /// A call was let in.
    pub fn note_authorised(&self) {
        self.authorised.store(true, Relaxed);
    }

    /// Whether a call ever was.
    pub fn is_authorised(&self) -> bool {
        self.authorised.load(Relaxed)
    }

    /// A call was refused for its key.
    pub fn note_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Whether one ever was.
    pub fn is_refused(&self) -> bool {
        self.refused.load(Relaxed) > 0
    }

    /// It was read, and no call of it has been let in yet.
    pub fn note_turn(&self) {
        self.turns.fetch_add(1, Relaxed);
    }

    /// Whether a client would have made its call by now.
    pub fn was_heard(&self) -> bool {
        self.turns.load(Relaxed) >= TURNS_TO_CALL
    }

    /// Headers have begun, or ended.
    pub fn note_headers(&self, open: bool) {
        self.headers_since_ns.store(if open { now_ns() } else { 0 }, Relaxed);
    }

    /// The socket takes bytes, or does not.
    pub fn note_full(&self, full: bool) {
        if full != (self.full_since_ns.load(Relaxed) != 0) {
            self.full_since_ns.store(if full { now_ns() } else { 0 }, Relaxed);
        }
    }

    /// For the answer of a new call.
    pub fn answer_begins(&self) -> Arc<AnswerProgress> {
        let progress = Arc::default();
        let mut answers = self.answers.lock();
        answers.retain(|answer| answer.strong_count() > 0);
        answers.push(Arc::downgrade(&progress));
        progress
    }

    /// Why it is to be closed, at `now_ns`.
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

    /// Ends it: its bytes fail from now on.
    pub fn close(&self) {
        self.closed.store(true, Relaxed);
        self.reader.wake();
        self.writer.wake();
    }

    /// Whether bytes may still be read; wakes `waker` when that ends.
    ///
    /// # Errors
    /// When it was closed.
    pub fn check_reader(&self, waker: &Waker) -> io::Result<()> {
        self.reader.register(waker);
        self.check()
    }

    /// The same for who writes.
    ///
    /// # Errors
    /// When it was closed.
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
    /// So many bytes are on their way.
    pub fn begin(&self, bytes: usize) {
        self.since_ns.store(now_ns().max(1), Relaxed);
        self.waiting.fetch_add(bytes as u64, Relaxed);
    }

    /// So many were taken.
    pub fn end(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes as u64, Relaxed);
        self.since_ns.store(now_ns().max(1), Relaxed);
    }
}
