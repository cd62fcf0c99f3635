//! The triangle and tissue near a probe last time: changes the work of the next search, never its answer.

use super::last_seen::LastSeen;
use crate::{
    geometry::TriangleId,
    scene::{Revision, TissueId},
    surface::TrackedPoint,
};

/// The tissue that was nearest to a probe, and the results about it.
///
/// One tissue only: a probe is seldom about two, and its memory takes 1.5 kB.
#[derive(Debug)]
pub(in crate::scene) struct ProbeMemory {
    tissue: Option<TissueId>,
    point: TrackedPoint,
    seen: LastSeen,
}

impl ProbeMemory {
    /// Creates an empty memory.
    pub(in crate::scene) fn new() -> ProbeMemory {
        ProbeMemory { tissue: None, point: TrackedPoint::NEW, seen: LastSeen::default() }
    }

    /// Returns the results about a tissue, updated to its revision; `None` for any tissue but the nearest.
    pub(in crate::scene) fn follow(
        &mut self,
        tissue: TissueId,
        revision: &Revision,
    ) -> Option<&mut TrackedPoint> {
        if self.tissue != Some(tissue) {
            return None;
        }
        if !self.seen.is(tissue, revision) {
            match self.seen.follow(tissue, revision) {
                Some(moved) => self.point.loosen(moved),
                None => self.point.forget(),
            }
        }
        Some(&mut self.point)
    }

    /// Notes that this tissue is nearest now, at this triangle.
    pub(in crate::scene) fn go_to(&mut self, tissue: TissueId, triangle: TriangleId) {
        if self.tissue != Some(tissue) {
            self.tissue = Some(tissue);
            self.point.start_at(triangle);
        }
    }
}
