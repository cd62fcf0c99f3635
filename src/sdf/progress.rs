//! How far a build is, and whether it goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::options::DEPTH_MAX;

/// What a build does: one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStage {
    /// Space is split into leaves: most of the time.
    Splitting,
    /// Merged leaves are sampled.
    Sampling,
}

/// How far a build is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuildProgress {
    /// The stage that it is in.
    pub stage: BuildStage,
    /// Of the stage, 0 to 1. Of splitting it is the volume that is done, which takes longest where the surface is.
    pub share: f64,
    /// What the field takes so far, bytes.
    pub bytes: usize,
}

/// The caller of a build wanted no more of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the build of a field was stopped")]
pub struct BuildStopped;

/// Counts what the threads of one build have done.
pub(super) struct ProgressCounter<'a> {
    goes_on: &'a (dyn Fn(BuildProgress) -> bool + Sync),
    /// Of [`VOLUME_UNITS`] each.
    volume: AtomicU64,
    subspaces: AtomicUsize,
    bytes: AtomicUsize,
    is_stopped: AtomicBool,
}

/// The root's volume in those of the smallest octants.
const VOLUME_UNITS: u64 = 1 << (3 * DEPTH_MAX);

impl<'a> ProgressCounter<'a> {
    pub(super) fn new(goes_on: &'a (dyn Fn(BuildProgress) -> bool + Sync)) -> ProgressCounter<'a> {
        ProgressCounter {
            goes_on,
            volume: AtomicU64::new(0),
            subspaces: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Whether to split on. Asked at each node.
    pub(super) fn goes_on(&self) -> bool {
        let share = self.volume.load(Relaxed) as f64 / VOLUME_UNITS as f64;
        self.ask(BuildStage::Splitting, share)
    }

    /// A leaf at this depth is done, which takes so many bytes.
    pub(super) fn leaf_done(&self, depth: u32, bytes: usize) {
        debug_assert!(depth <= DEPTH_MAX, "depth {depth}");
        self.volume.fetch_add(VOLUME_UNITS >> (3 * depth), Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// A subspace of `of` is sampled. Whether to go on.
    // The order in which threads count is of no consequence: the parts are collected in their own order.
    pub(super) fn subspace_done(&self, of: usize, bytes: usize) -> bool {
        self.bytes.fetch_add(bytes, Relaxed);
        let done = self.subspaces.fetch_add(1, Relaxed) + 1;
        self.ask(BuildStage::Sampling, done as f64 / of as f64)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    fn ask(&self, stage: BuildStage, share: f64) -> bool {
        debug_assert!((0.0..=1.0).contains(&share), "{share} of {stage:?}");
        // Asked no more once it said no: each thread of the build has to hear of it.
        if self.is_stopped() {
            return false;
        }
        let goes_on =
            (self.goes_on)(BuildProgress { stage, share, bytes: self.bytes.load(Relaxed) });
        if !goes_on {
            self.is_stopped.store(true, Relaxed);
        }
        goes_on
    }
}
