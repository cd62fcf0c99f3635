//! Progress and cancellation of a build.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::options::DEPTH_MAX;

/// Stages of a build, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStage {
    /// Space is split into leaves; takes most of the time.
    Splitting,
    /// Merged leaves are sampled.
    Sampling,
}

/// Progress of a build.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BuildProgress {
    /// Current stage.
    pub stage: BuildStage,
    /// Completed share of the stage, 0 to 1. For splitting it is the completed volume, which takes longest near the
    /// surface.
    pub share: f64,
    /// Size of the field so far, bytes.
    pub bytes: usize,
}

/// The caller stopped the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the build of a field was stopped")]
pub struct BuildStopped;

/// Progress counters shared by the threads of one build.
pub(super) struct ProgressCounter<'a> {
    goes_on: &'a (dyn Fn(BuildProgress) -> bool + Sync),
    /// Completed volume in smallest octants; [`VOLUME_UNITS`] at the end.
    volume: AtomicU64,
    subspaces: AtomicUsize,
    bytes: AtomicUsize,
    is_stopped: AtomicBool,
}

/// Volume of the root in smallest octants.
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

    /// Returns false if splitting must stop. Called at each node.
    pub(super) fn goes_on(&self) -> bool {
        let share = self.volume.load(Relaxed) as f64 / VOLUME_UNITS as f64;
        self.ask(BuildStage::Splitting, share)
    }

    /// Counts a completed leaf at this depth, of `bytes` bytes.
    pub(super) fn leaf_done(&self, depth: u32, bytes: usize) {
        debug_assert!(depth <= DEPTH_MAX, "depth {depth}");
        self.volume.fetch_add(VOLUME_UNITS >> (3 * depth), Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts a sampled subspace of `of`. Returns false if sampling must stop.
    // The order in which threads count does not matter: the parts are collected in their own order.
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
        // The callback is not called again after it returned false: each thread of the build has to see that.
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
