//! The tissues as a proxy last saw them, and as they move to where they are now.
//!
//! A proxy keeps the positions of the last revision that it saw, because a tissue may be deformed any number of times
//! between two ticks, and its own history ends after a few. A new revision costs a pass over its vertices.

use glam::{DVec3, Vec3};

use super::{tissue_velocity::TissueVelocity, tissue_view::TissueView};
use crate::geometry::tolerance::SINGLE_LENGTH_COVER;
use crate::scene::{Revision, RevisionGuard, TissueId};

/// A tissue as it was seen last.
#[derive(Debug)]
pub(super) struct SeenTissue {
    pub(super) id: TissueId,
    geometry_revision: u64,
    topology_revision: u64,
    positions: Vec<Vec3>,
    /// No vertex has moved farther since, metres.
    displacement_m: f64,
    /// How fast it moves from revision to revision.
    pub(super) velocity: TissueVelocity,
    /// It has no say, until the proxy is outside it once.
    pub(super) is_embedding: bool,
    /// It was added since the last tick: it may have been put through the proxy.
    pub(super) is_new: bool,
}

impl SeenTissue {
    fn new(id: TissueId, revision: &Revision) -> SeenTissue {
        let mut seen = SeenTissue {
            id,
            geometry_revision: 0,
            topology_revision: 0,
            positions: Vec::new(),
            displacement_m: 0.0,
            velocity: TissueVelocity::at_rest(revision),
            is_embedding: false,
            is_new: true,
        };
        seen.take(revision);
        seen
    }

    /// Finds out how far it has moved.
    fn look(&mut self, revision: &Revision, dt_s: f64) {
        self.displacement_m = 0.0;
        if revision.geometry_revision != self.geometry_revision {
            let now = revision.surface.mesh().positions();
            let squared = self.positions.iter().zip(now).map(|(a, b)| a.distance_squared(*b));
            self.displacement_m =
                f64::from(squared.fold(0.0, f32::max).sqrt()) * SINGLE_LENGTH_COVER;
        }
        self.velocity.look(revision, self.displacement_m, dt_s);
    }

    /// It is not where it was seen last.
    pub(super) fn has_moved(&self) -> bool {
        self.displacement_m > 0.0
    }

    /// Remembers it as it was at a time of its motion, where a late tick had to leave it.
    fn stay_at(&mut self, time: f64, revision: &Revision) {
        for (seen, now) in self.positions.iter_mut().zip(revision.surface.mesh().positions()) {
            *seen = seen.as_dvec3().lerp(now.as_dvec3(), time).as_vec3();
        }
        // Of no revision: the next tick looks how far it has yet to go.
        self.geometry_revision = u64::MAX;
    }

    /// Remembers it as it is now.
    fn take(&mut self, revision: &Revision) {
        let now = revision.surface.mesh().positions();
        let is_same = self.geometry_revision == revision.geometry_revision
            && self.positions.len() == now.len();
        if !is_same {
            self.positions.clear();
            self.positions.extend_from_slice(now);
        }
        self.geometry_revision = revision.geometry_revision;
        self.topology_revision = revision.topology_revision;
        self.displacement_m = 0.0;
    }
}

/// Brings what was seen in line with the tissues of a tick: one for each, in their order. `dt_s`: since the last tick.
pub(super) fn follow(seen: &mut Vec<SeenTissue>, tissues: &[(TissueId, RevisionGuard)], dt_s: f64) {
    seen.retain(|s| tissues.iter().any(|(id, _)| *id == s.id));
    for (place, (id, revision)) in tissues.iter().enumerate() {
        // Both are ordered by id, and ids are never used again.
        if seen.get(place).is_none_or(|s| s.id != *id) {
            seen.insert(place, SeenTissue::new(*id, revision));
        }
        seen[place].look(revision, dt_s);
    }
    debug_assert_eq!(seen.len(), tissues.len(), "a tissue for each seen one");
}

/// Remembers all tissues as they are now.
pub(super) fn take_all(seen: &mut [SeenTissue], tissues: &[(TissueId, RevisionGuard)]) {
    for (seen, (_, revision)) in seen.iter_mut().zip(tissues) {
        seen.take(revision);
    }
}

/// Remembers all tissues as they were at a time of their motion.
pub(super) fn stay_all_at(
    seen: &mut [SeenTissue],
    tissues: &[(TissueId, RevisionGuard)],
    time: f64,
) {
    for (seen, (_, revision)) in seen.iter_mut().zip(tissues).filter(|(s, _)| s.has_moved()) {
        seen.stay_at(time, revision);
    }
}

/// The tissues of a tick at some time of their motion since they were seen last.
#[derive(Clone, Copy)]
pub(super) struct TissuesInMotion<'a> {
    pub(super) tissues: &'a [(TissueId, RevisionGuard)],
    pub(super) seen: &'a [SeenTissue],
    /// 0 as seen last, 1 as they are now.
    pub(super) time: f64,
}

impl<'a> TissuesInMotion<'a> {
    /// With their places; those that embed the proxy are left out.
    pub(super) fn views(&self) -> impl Iterator<Item = (usize, TissueView<'a>)> + use<'a> {
        let this = *self;
        let has_say = move |place: &usize| !this.seen[*place].is_embedding;
        (0..this.tissues.len()).filter(has_say).map(move |place| (place, this.view(place)))
    }

    pub(super) fn view(&self, place: usize) -> TissueView<'a> {
        let (id, revision) = &self.tissues[place];
        let seen = &self.seen[place];
        let (surface, displacement_m) = (&revision.surface, seen.displacement_m);
        if self.time == 1.0 || displacement_m == 0.0 {
            return TissueView::newest(*id, surface);
        }
        TissueView { id: *id, surface, seen: &seen.positions, time: self.time, displacement_m }
    }

    /// The topology revision of a tissue.
    pub(super) fn topology(&self, place: usize) -> u64 {
        self.tissues[place].1.topology_revision
    }

    /// No tissue with a say moves faster, m/s.
    pub(super) fn speed_max(&self) -> f64 {
        let with_say = self.seen.iter().filter(|s| !s.is_embedding);
        with_say.map(|s| s.velocity.speed_m_s).fold(0.0, f64::max)
    }

    /// Of a vertex of a tissue, m/s.
    pub(super) fn velocity(&self, place: usize, v: u32) -> DVec3 {
        self.seen[place].velocity.of(&self.tissues[place].1, v)
    }

    /// No vertex of a tissue with a say moves farther from time 0 to 1, metres.
    pub(super) fn displacement_max(&self) -> f64 {
        let with_say = self.seen.iter().filter(|s| !s.is_embedding);
        with_say.map(|s| s.displacement_m).fold(0.0, f64::max)
    }
}
