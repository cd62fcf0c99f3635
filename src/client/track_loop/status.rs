//! State of a loop.

use std::time::Duration;

/// State of a loop so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopStatus {
    /// True while a stream is open.
    pub is_open: bool,
    /// Times that the loop reconnected.
    pub reconnected: u64,
    /// Reconnections after the session was over, so that a new one continued from its last answer: contacts have new
    /// ids, friction and grips start again.
    pub sessions_lost: u64,
    /// Ticks that were never sent, because the transport did not keep up.
    pub dropped: u64,
    /// Time since the newest answer came, or since the loop was opened. After 50 ms its force must not be felt any
    /// more.
    pub age: Duration,
}
