//! What being one of several servers takes.

use std::sync::atomic::AtomicU64;

/// Of a server that shares its data folder with others.
#[derive(Default)]
pub struct ClusterMetrics {
    /// Renewals of all its leases that failed.
    pub renewals_failed: AtomicU64,
    /// Scenes that it found to be another's: it was too late to renew, or an admin said so.
    pub fenced: AtomicU64,
    /// Scenes that it took.
    pub taken: AtomicU64,
    /// Scenes that it gave up in good order.
    pub given: AtomicU64,
}
