//! Builds a field on the server: on its own threads, while somebody waits for it and there is room.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tracing::info;

use super::{
    build_threads::{BuildThreads, note_work},
    quota::{Reservation, RoomRefused, Share},
};
use crate::{
    scene::tool::field::build_field,
    sdf::{BuildProgress, BuildStage, Field, FieldOptions},
    service::{catch_panic::Panicked, refused::Refused},
    surface::Surface,
};

/// Callbacks and limit of a build while it runs.
pub struct BuildTerms<'a> {
    /// Returns an error if nobody waits for the build any more.
    pub check: &'a (dyn Fn() -> Result<(), Refused> + Sync),
    /// Reserves memory, before it is taken.
    pub reserve: &'a (dyn Fn(Share) -> Result<Reservation, RoomRefused> + Sync),
    /// Maximum duration of the build.
    pub time_max: Duration,
    /// Receives the progress of a link's field.
    pub told: &'a (dyn Fn(&str, BuildProgress) + Sync),
}

/// A build took longer than the limit.
#[derive(Debug, thiserror::Error)]
#[error(
    "the field of link {link:?} is not built after {limit:?}, the limit; expected a coarser tolerance_m or fewer triangles"
)]
pub struct BuildTookTooLong {
    link: String,
    limit: Duration,
}

/// Step in which room is reserved, bytes.
const ROOM_STEP: usize = 256 << 10;
/// Number of progress logs of each stage of a build.
const STEPS: usize = 4;

struct BuildWatch<'a> {
    link: &'a str,
    terms: &'a BuildTerms<'a>,
    started: Instant,
    /// Steps that were logged; those of the second stage follow those of the first.
    told: AtomicUsize,
    rooms: Mutex<Vec<Reservation>>,
    /// Reason why the build was stopped.
    refused: Mutex<Option<Refused>>,
}

/// Builds the field of a link's surface. The caller holds the returned room until the field counts with its scene.
///
/// # Errors
/// Returns an error if nobody waits for the build any more, it takes too long or there is no room for it.
pub fn build(
    link: &str,
    surface: &Surface,
    options: &FieldOptions,
    terms: &BuildTerms,
    threads: &BuildThreads,
) -> Result<(Field, Vec<Reservation>), Refused> {
    info!(link, triangles = surface.mesh().n_triangles(), "building a field");
    let watch = BuildWatch {
        link,
        terms,
        started: Instant::now(),
        told: AtomicUsize::new(0),
        rooms: Mutex::default(),
        refused: Mutex::default(),
    };
    // Each build has its own threads: in a shared pool, the build that came first delays all others to its end. Here
    // the system shares the cores among them.
    let pool = threads.pool().map_err(|_| Refused::from(Panicked))?;
    let built = pool.run(|| build_field(surface, options, &|progress| watch.goes_on(progress)));
    let BuildWatch { rooms, refused, .. } = watch;
    match (built, refused.into_inner()) {
        (Ok(field), _) => Ok((field, rooms.into_inner())),
        (Err(_), refused) => Err(refused.expect("a build that is stopped is told why")),
    }
}

impl BuildWatch<'_> {
    fn goes_on(&self, progress: BuildProgress) -> bool {
        note_work();
        (self.terms.told)(self.link, progress);
        self.tell(progress);
        match self.check(progress.bytes) {
            Ok(()) => true,
            Err(refused) => {
                // Several threads get here at once; the first reason is as good as any.
                self.refused.lock().get_or_insert(refused);
                false
            }
        }
    }

    fn check(&self, bytes: usize) -> Result<(), Refused> {
        (self.terms.check)()?;
        let limit = self.terms.time_max;
        if self.started.elapsed() >= limit {
            return Err(BuildTookTooLong { link: self.link.to_owned(), limit }.into());
        }
        let mut rooms = self.rooms.lock();
        while rooms.len() * ROOM_STEP < bytes {
            rooms.push((self.terms.reserve)(Share::of_bytes(ROOM_STEP as u64))?);
        }
        Ok(())
    }

    fn tell(&self, progress: BuildProgress) {
        let before = match progress.stage {
            BuildStage::Splitting => 0,
            BuildStage::Sampling => STEPS,
        };
        let step = before + (progress.share * STEPS as f64) as usize;
        // Logged by the thread that raises the step. The end of a stage is logged by what comes after it.
        if self.told.fetch_max(step, Relaxed) < step && progress.share < 1.0 {
            let (stage, percent) = (progress.stage, (100.0 * progress.share) as u32);
            info!(link = self.link, ?stage, percent, bytes = progress.bytes, "building a field");
        }
    }
}
