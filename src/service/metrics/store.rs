//! Metrics of scenes on disk.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::histogram::Histogram;

/// Counters over all durable scenes.
#[derive(Default)]
pub struct StoreMetrics {
    /// Time from the first byte of a write to the journal until it is on the disk.
    pub commit: Histogram,
    /// Failed writes of journals.
    pub failures: AtomicU64,
    /// Failed writes of snapshots.
    pub snapshot_failures: AtomicU64,
    /// Time by which all newest positions must be on the disk next: nanoseconds of the process's clock.
    pub due_ns: AtomicU64,
    /// Files found damaged at the start.
    pub damaged: AtomicU64,
    /// Time from the start until all scenes had been read, nanoseconds.
    pub recovery_ns: AtomicU64,
}

impl StoreMetrics {
    /// Returns the delay of the newest positions on the disk, nanoseconds.
    pub fn lag_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.due_ns.load(Relaxed))
    }
}
