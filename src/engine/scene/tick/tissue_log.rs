//! The tissues as the ticks of a session saw them, with a bound of their motion.
//!
//! A sweep knows how each vertex moved since the last answered tick. Work that a sweep could not finish in its tick is
//! older than that: for it only one bound of the motion is known, for all tissues.

use crate::scene::{Revision, RevisionGuard, TissueId, tissue::vertex_history::MotionSince};

/// Tissues that the answered ticks saw.
#[derive(Debug, Default)]
pub(super) struct TissueLog {
    seen: Vec<LoggedTissue>,
    travel_m: f64,
}

/// A tissue in the last answered tick.
#[derive(Debug)]
struct LoggedTissue {
    tissue: TissueId,
    /// First tick that saw the tissue.
    first_tick: u64,
    geometry_revision: u64,
    travel_m: f64,
}

impl TissueLog {
    /// Begins an answered tick: notes which tissues there are, and how far they have moved since the last one.
    pub(super) fn begin_tick(&mut self, tick: u64, tissues: &[(TissueId, RevisionGuard)]) {
        self.seen.retain(|seen| tissues.iter().any(|(id, _)| *id == seen.tissue));
        let mut moved = 0.0f64;
        for (tissue, revision) in tissues {
            let travel_m = revision.travel_m();
            match self.seen.iter_mut().find(|seen| seen.tissue == *tissue) {
                Some(seen) => {
                    moved = moved.max(travel_m - seen.travel_m);
                    seen.travel_m = travel_m;
                }
                None => self.seen.push(LoggedTissue {
                    tissue: *tissue,
                    first_tick: tick,
                    geometry_revision: revision.geometry_revision,
                    travel_m,
                }),
            }
        }
        debug_assert!(moved >= 0.0, "moved by {moved} m");
        self.travel_m += moved;
    }

    /// Ends a tick: the next tick's motion begins at its revisions.
    pub(super) fn end_tick(&mut self, tissues: &[(TissueId, RevisionGuard)]) {
        for seen in &mut self.seen {
            let now = tissues.iter().find(|(id, _)| *id == seen.tissue);
            seen.geometry_revision =
                now.map_or(seen.geometry_revision, |(_, r)| r.geometry_revision);
        }
    }

    /// Bound of motion, metres: no vertex of a tissue has moved farther between two ticks than this has grown.
    pub(super) fn travel_m(&self) -> f64 {
        self.travel_m
    }

    /// Returns true if a tissue was there in a tick already.
    pub(super) fn has_seen(&self, tissue: TissueId, tick: u64) -> bool {
        self.seen.iter().any(|seen| seen.tissue == tissue && seen.first_tick <= tick)
    }

    /// Returns the motion of the vertices since the last answered tick; `None` if more deformations ago than are
    /// remembered.
    pub(super) fn motion<'a>(
        &self,
        tissue: TissueId,
        revision: &'a Revision,
    ) -> Option<MotionSince<'a>> {
        let seen = self.seen.iter().find(|seen| seen.tissue == tissue)?;
        revision.since(seen.geometry_revision)
    }
}
