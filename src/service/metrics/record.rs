//! Metrics of recordings.

use std::sync::{Arc, atomic::AtomicU64};

/// Counters over all recorded scenes.
#[derive(Default)]
pub struct RecordMetrics {
    /// Bytes written to files.
    pub bytes: Arc<AtomicU64>,
    /// Ticks written to a file.
    pub ticks: AtomicU64,
    /// Ticks that were omitted because the disk was too slow.
    pub dropped_ticks: Arc<AtomicU64>,
    /// Recordings that ended before their scene did.
    pub ended_early: AtomicU64,
}
