//! Fields of tools that are being built, and their progress.

use std::{collections::BTreeMap, sync::Arc};

use palpate::{
    scene::tool::field::build_field,
    sdf::{BuildProgress, BuildStage, Field, FieldOptions},
    surface::Surface,
};
use parking_lot::Mutex;

/// Progress of the field of each tool that is being added, 0 to 1.
#[derive(Default)]
pub(super) struct FieldBuilds(Arc<Mutex<BTreeMap<String, f64>>>);

/// A tool that is being added, until it is dropped.
pub(super) struct FieldBuild {
    builds: Arc<Mutex<BTreeMap<String, f64>>>,
    tool: String,
}

/// Approximate share of a build's time for splitting, which takes most of it.
const SPLITTING_SHARE: f64 = 0.9;

impl FieldBuilds {
    pub(super) fn begin(&self, tool: &str) -> FieldBuild {
        FieldBuild { builds: Arc::clone(&self.0), tool: tool.to_owned() }
    }

    pub(super) fn progress(&self, tool: &str) -> Option<f64> {
        self.0.lock().get(tool).copied()
    }
}

impl FieldBuild {
    /// Builds the field of a link, and publishes the progress.
    pub(super) fn field(&self, surface: &Surface) -> Field {
        self.publish(0.0, f64::min);
        let note = |progress: BuildProgress| {
            let share = match progress.stage {
                BuildStage::Splitting => SPLITTING_SHARE * progress.share,
                BuildStage::Sampling => SPLITTING_SHARE + (1.0 - SPLITTING_SHARE) * progress.share,
            };
            // Several threads build: the progress of a link never falls.
            self.publish(share, f64::max);
            true
        };
        build_field(surface, &FieldOptions::default(), &note).expect("nobody stops it")
    }

    fn publish(&self, share: f64, with: fn(f64, f64) -> f64) {
        let mut builds = self.builds.lock();
        let now = builds.entry(self.tool.clone()).or_insert(share);
        *now = with(*now, share);
    }
}

impl Drop for FieldBuild {
    fn drop(&mut self) {
        self.builds.lock().remove(&self.tool);
    }
}
