//! Fields of uploaded links: shared with another link of the same mesh, read from the cache, or built.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::info;

use super::{
    build_threads::BuildThreads,
    field_build::{BuildTerms, build},
    quota::{Reservation, Share},
};
use crate::{
    sdf::{Field, FieldOptions},
    service::{metrics::Metrics, refused::Refused},
    store::{FieldCache, FieldKey, FieldOrigin},
    surface::Surface,
};

/// Source of the fields of links.
#[derive(Clone)]
pub struct Fields {
    cache: Option<FieldCache>,
    build_max: Duration,
    threads: BuildThreads,
    /// Fields that links have. The jaws of a grasper, or one instrument in each of sixty scenes, share a field.
    in_memory: Arc<Mutex<HashMap<FieldKey, Weak<Field>>>>,
    metrics: Arc<Metrics>,
}

/// A build, counted while it lasts.
struct CountedBuild<'a>(&'a AtomicU64);

impl CountedBuild<'_> {
    fn begin(metrics: &Metrics) -> CountedBuild<'_> {
        metrics.field_builds.fetch_add(1, Relaxed);
        CountedBuild(&metrics.field_builds)
    }
}

impl Drop for CountedBuild<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// A field and its origin.
pub struct Obtained {
    /// Field of the surface that was asked for.
    pub field: Arc<Field>,
    /// Origin of the field: shared, read or built.
    pub origin: FieldOrigin,
    /// Time to read or build the field.
    pub took: Duration,
    /// Room of the field, until it counts with its scene; empty if it is shared.
    pub room: Vec<Reservation>,
}

impl Fields {
    /// Creates a source of fields. Without a cache every field is built. No build takes longer than `build_max`. Short
    /// builds have the priority of the calling thread.
    pub fn new(cache: Option<FieldCache>, build_max: Duration, metrics: &Arc<Metrics>) -> Fields {
        let (threads, metrics) = (BuildThreads::start(), Arc::clone(metrics));
        Fields { cache, build_max, threads, in_memory: Arc::default(), metrics }
    }

    /// Maximum duration of a build.
    pub fn build_max(&self) -> Duration {
        self.build_max
    }

    /// Returns the field of a link's surface: work for the blocking pool.
    ///
    /// # Errors
    /// See [`build`].
    pub fn obtain(
        &self,
        link: &str,
        surface: &Surface,
        options: &FieldOptions,
        terms: &BuildTerms,
    ) -> Result<Obtained, Refused> {
        let start = Instant::now();
        let key = FieldKey::of(surface.mesh(), options);
        let shared = self.in_memory.lock().get(&key).and_then(Weak::upgrade);
        if let Some(field) = shared {
            info!(link, "field shared with another link");
            let (origin, took) = (FieldOrigin::Shared, start.elapsed());
            return Ok(Obtained { field, origin, took, room: Vec::new() });
        }
        let mut room = Vec::new();
        let mut build = || {
            let _counted = CountedBuild::begin(&self.metrics);
            let (field, taken) = build(link, surface, options, terms, &self.threads)?;
            room = taken;
            Ok::<_, Refused>(field)
        };
        // Room for the file and for the field in it, which is as large.
        let reserve =
            |file_bytes| Ok::<_, Refused>((terms.reserve)(Share::of_bytes(2 * file_bytes))?);
        let (field, origin) = match &self.cache {
            Some(cache) => cache.get_or_build(surface, options, reserve, build)?,
            None => (build()?, FieldOrigin::Built),
        };
        let (took, report) = (start.elapsed(), field.report());
        if origin == FieldOrigin::Cached {
            room.push((terms.reserve)(Share::of_bytes(report.bytes as u64))?);
        }
        info!(
            link,
            ?origin,
            ms = took.as_millis(),
            samples = report.samples,
            bytes = report.bytes,
            bound_m = report.bound_m,
            "field ready"
        );
        let field = self.share(key, field);
        Ok(Obtained { field, origin, took, room })
    }

    /// Returns the field, or the field that another upload obtained meanwhile.
    fn share(&self, key: FieldKey, field: Field) -> Arc<Field> {
        let mut in_memory = self.in_memory.lock();
        if let Some(other) = in_memory.get(&key).and_then(Weak::upgrade) {
            return other;
        }
        // Leaves as many entries as there are different links.
        in_memory.retain(|_, field| field.strong_count() > 0);
        let field = Arc::new(field);
        in_memory.insert(key, Arc::downgrade(&field));
        field
    }
}
