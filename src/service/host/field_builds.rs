//! Uploads of a scene's tools that build fields now, and their progress.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::sdf::{BuildProgress, BuildStage};

/// Uploads of a scene.
#[derive(Default)]
pub struct FieldBuilds(Mutex<Vec<Arc<FieldBuild>>>);

/// Progress of the fields of one tool.
pub struct FieldBuild {
    /// Name of the tool.
    pub tool: String,
    now: Mutex<BuildNow>,
}

/// The link whose field is being built, and its progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildNow {
    /// Name of the link.
    pub link: String,
    /// Progress, 0 to 1.
    pub share: f64,
}

/// An upload, until it is dropped.
pub struct OpenBuild<'a> {
    builds: &'a FieldBuilds,
    build: Arc<FieldBuild>,
}

/// Approximate share of a build's time for splitting, which takes most of it.
const SPLITTING_SHARE: f64 = 0.9;

impl FieldBuilds {
    /// Registers the upload of a tool.
    pub fn begin(&self, tool: &str) -> OpenBuild<'_> {
        let build = Arc::new(FieldBuild { tool: tool.to_owned(), now: Mutex::default() });
        self.0.lock().push(Arc::clone(&build));
        OpenBuild { builds: self, build }
    }

    /// Returns the tools that have a field to build, each with its current link, in order of arrival.
    pub fn now(&self) -> Vec<(String, BuildNow)> {
        let now = |build: &Arc<FieldBuild>| (build.tool.clone(), build.now.lock().clone());
        self.0.lock().iter().map(now).filter(|(_, now)| !now.link.is_empty()).collect()
    }
}

impl OpenBuild<'_> {
    /// Records the progress of a link's field. Any thread of the build calls it.
    pub fn note(&self, link: &str, progress: BuildProgress) {
        let share = match progress.stage {
            BuildStage::Splitting => SPLITTING_SHARE * progress.share,
            BuildStage::Sampling => SPLITTING_SHARE + (1.0 - SPLITTING_SHARE) * progress.share,
        };
        let mut now = self.build.now.lock();
        if now.link != link {
            *now = BuildNow { link: link.to_owned(), share: 0.0 };
        }
        // Threads get here in any order.
        now.share = now.share.max(share);
    }
}

impl Drop for OpenBuild<'_> {
    fn drop(&mut self) {
        self.builds.0.lock().retain(|build| !Arc::ptr_eq(build, &self.build));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_told_from_its_first_step_to_its_end() {
        let builds = FieldBuilds::default();
        let probe = builds.begin("probe");
        assert_eq!(builds.now(), [], "its mesh is read");
        let at = |stage, share| BuildProgress { stage, share, bytes: 0 };
        let told =
            |link: &str, share| ("probe".to_owned(), BuildNow { link: link.to_owned(), share });
        probe.note("tip", at(BuildStage::Splitting, 0.5));
        probe.note("tip", at(BuildStage::Splitting, 0.25));
        assert_eq!(builds.now(), [told("tip", 0.45)]);
        probe.note("tip", at(BuildStage::Sampling, 1.0));
        assert_eq!(builds.now(), [told("tip", 1.0)]);
        let other = builds.begin("grasper");
        other.note("jaw", at(BuildStage::Splitting, 0.0));
        probe.note("shaft", at(BuildStage::Splitting, 0.0));
        assert_eq!(builds.now()[0], told("shaft", 0.0));
        drop(probe);
        assert_eq!(builds.now()[0].0, "grasper");
        drop(other);
        assert_eq!(builds.now(), []);
    }
}
