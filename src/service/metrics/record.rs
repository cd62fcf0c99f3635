//! What recording takes, and what it leaves out.

use std::sync::{Arc, atomic::AtomicU64};

/// Of all recorded scenes.
#[derive(Default)]
pub struct RecordMetrics {
    /// Written to files.
    pub bytes: Arc<AtomicU64>,
    /// Ticks that are in a file.
    pub ticks: AtomicU64,
    /// Ticks that were left out, as the disk did not keep up.
    pub dropped_ticks: Arc<AtomicU64>,
    /// Recordings that ended before their scene did.
    pub ended_early: AtomicU64,
}
