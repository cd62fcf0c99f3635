//! What became of a loop.

use std::time::Duration;

/// What became of a loop so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopStatus {
    /// A stream is open.
    pub is_open: bool,
    /// How often the loop came back.
    pub reconnected: u64,
    /// How often its session was over by then, and another went on from its last answer: contacts have new ids, friction
    /// and grips begin anew.
    pub sessions_lost: u64,
    /// Ticks that never left, because the transport did not keep up.
    pub dropped: u64,
    /// Since the newest answer came, or since the loop was opened. After 50 ms its force is not to be felt any more.
    pub age: Duration,
}
