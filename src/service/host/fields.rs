//! The fields of uploaded links: from the cache, or built with the log told how far it is.

use std::time::{Duration, Instant};

use tracing::info;

use crate::{
    scene::tool::field::field_of,
    sdf::{Field, FieldOptions},
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

/// A build is heard of this many times on its way.
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
    field_of(surface, options, &|done, of| {
        let step = |done: usize| done * STEPS / of;
        // The last step is said by `obtain`, with what the field costs.
        if step(done) > step(done - 1) && done < of {
            info!(link, percent = 100 * done / of, "building a field");
        }
    })
}
