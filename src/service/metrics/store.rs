//! What keeping scenes on disk takes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::histogram::Histogram;

/// Of all durable scenes.
#[derive(Default)]
pub struct StoreMetrics {
    /// From the first byte of a write to the journal until it is on the disk.
    pub commit: Histogram,
    /// Writes of journals that failed.
    pub failures: AtomicU64,
    /// Snapshots that could not be written.
    pub snapshot_failures: AtomicU64,
    /// When all newest positions are to be on the disk the next time: nanoseconds of the process's clock.
    pub due_ns: AtomicU64,
    /// Files that were found damaged at the start.
    pub damaged: AtomicU64,
    /// From the start until all scenes had been read.
    pub recovery_ns: AtomicU64,
}

impl StoreMetrics {
    /// By how much the newest positions are late on the disk, nanoseconds.
    pub fn lag_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.due_ns.load(Relaxed))
    }
}
