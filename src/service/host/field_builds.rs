//! The uploads of a scene's tools that build fields now, and how far they are.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::sdf::{BuildProgress, BuildStage};

/// A scene's uploads.
#[derive(Default)]
pub struct FieldBuilds(Mutex<Vec<Arc<FieldBuild>>>);

/// How far the fields of one tool are.
pub struct FieldBuild {
    /// The tool's name.
    pub tool: String,
    now: Mutex<BuildNow>,
}

/// The link whose field is built, and how far it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildNow {
    /// The link's name.
    pub link: String,
    /// 0 to 1.
    pub share: f64,
}

/// An upload, until it is dropped.
pub struct OpenBuild<'a> {
    builds: &'a FieldBuilds,
    build: Arc<FieldBuild>,
}

/// Of a build's time, about: splitting takes most of it.
const SPLITTING_SHARE: f64 = 0.9;

impl FieldBuilds {
    /// A tool is uploaded.
    pub fn begin(&self, tool: &str) -> OpenBuild<'_> {
        let build = Arc::new(FieldBuild { tool: tool.to_owned(), now: Mutex::default() });
        self.0.lock().push(Arc::clone(&build));
        OpenBuild { builds: self, build }
    }

    /// The tools that have a field to build, with the name of each, in the order in which they came.
    pub fn now(&self) -> Vec<(String, BuildNow)> {
        let now = |build: &Arc<FieldBuild>| (build.tool.clone(), build.now.lock().clone());
        self.0.lock().iter().map(now).filter(|(_, now)| !now.link.is_empty()).collect()
    }
}

impl OpenBuild<'_> {
    /// Notes how far the field of a link is. Any thread of the build calls it.
    pub fn note(&self, link: &str, progress: BuildProgress) {
        let share = match progress.stage {
            BuildStage::Splitting => SPLITTING_SHARE * progress.share,
            BuildStage::Sampling => SPLITTING_SHARE + (1.0 - SPLITTING_SHARE) * progress.share,
        };
        let mut now = self.build.now.lock();
        if now.link != link {
            *now = BuildNow { link: link.to_owned(), share: 0.0 };
        }
        // Threads come here in any order.
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
