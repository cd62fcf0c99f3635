//! Metrics of a server that shares its scenes with others.

use std::sync::atomic::AtomicU64;

/// Counters of a server that shares its data folder with others.
#[derive(Default)]
pub struct ClusterMetrics {
    /// Failed renewals of all its leases.
    pub renewals_failed: AtomicU64,
    /// Scenes that another server took: this one renewed too late, or an admin forced it.
    pub fenced: AtomicU64,
    /// Scenes that this server took.
    pub taken: AtomicU64,
    /// Scenes that this server released cleanly.
    pub given: AtomicU64,
}
