//! The fields of uploaded links: from the cache, or built with the log told how far it is.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use tracing::info;

use crate::{
    scene::tool::field::build_field,
    sdf::{BuildProgress, BuildStage, Field, FieldOptions},
    store::{FieldCache, FieldOrigin},
    surface::Surface,
};

/// Where links get their fields from.
#[derive(Clone, Debug)]
pub struct Fields {
    cache: Option<FieldCache>,
}

/// A field and how it was come by.
pub struct Obtained {
    /// Of the surface that was asked for.
    pub field: Field,
    /// Read or built.
    pub origin: FieldOrigin,
    /// To read or build it.
    pub took: Duration,
}

/// Each stage of a build is heard of this many times.
const STEPS: usize = 4;

impl Fields {
    /// Without a cache every field is built.
    pub fn new(cache: Option<FieldCache>) -> Fields {
        Fields { cache }
    }

    /// The field of a link's surface: work for the blocking pool.
    pub fn obtain(&self, link: &str, surface: &Surface, options: &FieldOptions) -> Obtained {
        let start = Instant::now();
        let build = || build(link, surface, options);
        let (field, origin) = match &self.cache {
            Some(cache) => cache.get_or_build(surface, options, build),
            None => (build(), FieldOrigin::Built),
        };
        let (took, report) = (start.elapsed(), field.report());
        info!(
            link,
            ?origin,
            ms = took.as_millis(),
            samples = report.samples,
            bytes = report.bytes,
            bound_m = report.bound_m,
            "field ready"
        );
        Obtained { field, origin, took }
    }
}

fn build(link: &str, surface: &Surface, options: &FieldOptions) -> Field {
    info!(link, triangles = surface.mesh().n_triangles(), "building a field");
    // Steps of a stage that were told, the second stage's behind the first's.
    let told = AtomicUsize::new(0);
    let goes_on = |progress: BuildProgress| {
        let before = match progress.stage {
            BuildStage::Splitting => 0,
            BuildStage::Sampling => STEPS,
        };
        let step = before + (progress.share * STEPS as f64) as usize;
        // Threads of the build come here together: the one that raises it says so. The last step of a stage is said by
        // what comes after it.
        if told.fetch_max(step, Relaxed) < step && progress.share < 1.0 {
            let percent = (100.0 * progress.share) as u32;
            info!(link, stage = ?progress.stage, percent, bytes = progress.bytes, "building a field");
        }
        true
    };
    build_field(surface, options, &goes_on).expect("nobody stops it")
}
