//! The fields of uploaded links: from the cache, or built.

use std::time::{Duration, Instant};

use tracing::info;

use super::{
    field_build::{BuildTerms, build},
    quota::{Reservation, Share},
};
use crate::{
    sdf::{Field, FieldOptions},
    service::refused::Refused,
    store::{FieldCache, FieldOrigin},
    surface::Surface,
};

/// Where links get their fields from.
#[derive(Clone)]
pub struct Fields {
    cache: Option<FieldCache>,
    build_max: Duration,
}

/// A field and how it was come by.
pub struct Obtained {
    /// Of the surface that was asked for.
    pub field: Field,
    /// Read or built.
    pub origin: FieldOrigin,
    /// To read or build it.
    pub took: Duration,
    /// What it takes, until it counts with its scene.
    pub room: Vec<Reservation>,
}

impl Fields {
    /// Without a cache every field is built. No build takes longer than `build_max`.
    pub fn new(cache: Option<FieldCache>, build_max: Duration) -> Fields {
        Fields { cache, build_max }
    }

    /// The longest that a build may take.
    pub fn build_max(&self) -> Duration {
        self.build_max
    }

    /// The field of a link's surface: work for the blocking pool.
    ///
    /// # Errors
    /// As [`build`].
    pub fn obtain(
        &self,
        link: &str,
        surface: &Surface,
        options: &FieldOptions,
        terms: &BuildTerms,
    ) -> Result<Obtained, Refused> {
        let start = Instant::now();
        let mut room = Vec::new();
        let mut build = || {
            let (field, taken) = build(link, surface, options, terms)?;
            room = taken;
            Ok::<_, Refused>(field)
        };
        let (field, origin) = match &self.cache {
            Some(cache) => cache.get_or_build(surface, options, build)?,
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
        Ok(Obtained { field, origin, took, room })
    }
}
