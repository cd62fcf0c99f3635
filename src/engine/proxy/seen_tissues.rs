//! The tissues as a proxy last saw them, and their motion to where they are now.
//!
//! A proxy keeps the positions of the last revision that it saw, because a tissue may be deformed any number of times
//! between two ticks, and the tissue's own history ends after a few. A new revision costs a pass over its vertices. The
//! kept positions are not always those of a revision: tissues that leave the proxy no feasible pose are displaced by as
//! much as it takes (`giving_way`).

use glam::{DVec3, Vec3};

use super::{
    giving_place::{Push, giving_place, make_room},
    tissue_velocity::TissueVelocity,
    tissue_view::TissueView,
};
use crate::geometry::{Aabb, TriangleId, tolerance::SINGLE_LENGTH_COVER};
use crate::scene::{Revision, RevisionGuard, TissueId};

/// Revision number of positions that no revision has.
const NO_REVISION: u64 = u64::MAX;

/// A tissue as it was seen last.
#[derive(Debug)]
pub(super) struct SeenTissue {
    pub(super) id: TissueId,
    geometry_revision: u64,
    topology_revision: u64,
    positions: Vec<Vec3>,
    /// Positions to move to while the tissue gives way; empty if they are those of the newest revision.
    goal: Vec<Vec3>,
    /// Upper bound of the motion of any vertex from the positions to the goal, metres.
    displacement_m: f64,
    /// While the tissue gives way: upper bound of the distance of any vertex from the newest revision, metres.
    off_m: f64,
    /// Velocity of the tissue from revision to revision.
    pub(super) velocity: TissueVelocity,
    /// None of the tissue constrains the proxy, until the proxy is outside it once.
    pub(super) is_embedding: bool,
    /// Triangles that were placed through the proxy, ascending: they and the tissue about them do not constrain the
    /// proxy, until the proxy is outside the tissue once.
    pub(super) put_through: Vec<TriangleId>,
    /// The tissue was added since the last tick: it may have been placed through the proxy.
    pub(super) is_new: bool,
}

impl SeenTissue {
    fn new(id: TissueId, revision: &Revision) -> SeenTissue {
        let mut seen = SeenTissue {
            id,
            geometry_revision: 0,
            topology_revision: 0,
            positions: Vec::new(),
            goal: Vec::new(),
            displacement_m: 0.0,
            off_m: 0.0,
            velocity: TissueVelocity::at_rest(revision),
            is_embedding: false,
            put_through: Vec::new(),
            is_new: true,
        };
        seen.take(revision);
        seen
    }

    /// Measures how far the tissue has moved.
    fn look(&mut self, revision: &Revision, dt_s: f64) {
        self.aim_at_newest(revision);
        self.velocity.look(revision, self.displacement_m, dt_s);
    }

    /// Aims the motion at the newest revision.
    pub(super) fn aim_at_newest(&mut self, revision: &Revision) {
        self.goal.clear();
        self.displacement_m = 0.0;
        if revision.geometry_revision != self.geometry_revision {
            self.displacement_m = farthest(&self.positions, revision.surface.mesh().positions());
        }
    }

    /// Aims the motion at the newest revision, displaced as far as the contacts that push the tissue are violated:
    /// every vertex in a box, and those of triangles `near` the proxy.
    pub(super) fn aim_beside_newest(
        &mut self,
        revision: &Revision,
        pushes: &[Push],
        about: &Aabb,
        near: impl Iterator<Item = TriangleId>,
    ) {
        let mesh = revision.surface.mesh();
        let newest = mesh.positions();
        self.goal.clear();
        self.goal.extend_from_slice(newest);
        for (goal, p) in self.goal.iter_mut().zip(newest).filter(|(_, p)| is_in(about, **p)) {
            *goal = giving_place(p.as_dvec3(), pushes);
        }
        for v in near.flat_map(|t| mesh.vertices(t)) {
            self.goal[v as usize] = giving_place(mesh.position(v), pushes);
        }
        make_room(&mut self.goal, mesh, pushes);
        let known = self.positions.len().min(newest.len());
        self.positions.truncate(known);
        self.positions.extend_from_slice(&newest[known..]);
        self.displacement_m = farthest(&self.positions, &self.goal);
        self.off_m = farthest(&self.positions, newest).max(farthest(&self.goal, newest));
        self.geometry_revision = NO_REVISION;
    }

    /// Returns the tissue at its newest revision.
    pub(super) fn newest<'a>(&'a self, revision: &'a Revision) -> TissueView<'a> {
        TissueView {
            put_through: &self.put_through,
            ..TissueView::newest(self.id, &revision.surface)
        }
    }

    /// Returns the tissue as it was last seen.
    pub(super) fn as_seen<'a>(&'a self, revision: &'a Revision) -> TissueView<'a> {
        self.at(0.0, revision)
    }

    fn at<'a>(&'a self, time: f64, revision: &'a Revision) -> TissueView<'a> {
        let is_giving = !self.goal.is_empty();
        if !is_giving && (time == 1.0 || self.displacement_m == 0.0) {
            return self.newest(revision);
        }
        let slack_m = if is_giving { self.off_m } else { self.displacement_m * (1.0 - time) };
        let (surface, seen, goal) = (&revision.surface, &self.positions, &self.goal);
        TissueView {
            id: self.id,
            surface,
            seen,
            goal,
            time,
            slack_m,
            put_through: &self.put_through,
        }
    }

    /// Returns true if the proxy sees the tissue displaced from its newest revision, for want of room.
    pub(super) fn gives_way(&self) -> bool {
        !self.goal.is_empty()
    }

    /// Returns true if the tissue, or part of it, does not constrain the proxy: the proxy is inside it.
    pub(super) fn embeds(&self) -> bool {
        self.is_embedding || !self.put_through.is_empty()
    }

    /// Lets all of the tissue constrain the proxy.
    pub(super) fn set_free(&mut self) {
        self.is_embedding = false;
        self.put_through.clear();
    }

    /// Returns true if the proxy does not see the tissue at its newest revision.
    pub(super) fn has_moved(&self) -> bool {
        self.displacement_m > 0.0 || !self.goal.is_empty()
    }

    /// Moves the seen positions by `see`: the tissue moves from there to its newest revision.
    pub(super) fn see(&mut self, revision: &Revision, see: impl FnOnce(&mut [Vec3])) {
        let newest = revision.surface.mesh().positions();
        self.positions.clear();
        self.positions.extend_from_slice(newest);
        see(&mut self.positions);
        self.geometry_revision = NO_REVISION;
        self.aim_at_newest(revision);
    }

    /// Stores the positions at a time of the tissue's motion, which ended there.
    fn stay_at(&mut self, time: f64, revision: &Revision) {
        let newest = revision.surface.mesh().positions();
        let goal = if self.goal.is_empty() { newest } else { &self.goal };
        if time == 1.0 {
            self.positions.clear();
            self.positions.extend_from_slice(goal);
        } else if time > 0.0 {
            for (seen, goal) in self.positions.iter_mut().zip(goal) {
                *seen = seen.as_dvec3().lerp(goal.as_dvec3(), time).as_vec3();
            }
        }
        // Belongs to no revision: the next tick measures how far the tissue has yet to go.
        self.geometry_revision = NO_REVISION;
    }

    /// Stores the positions that the tissue has come to, which are the newest revision's unless it gives way.
    fn stand(&mut self, revision: &Revision) {
        let newest = revision.surface.mesh().positions();
        self.off_m = farthest(&self.positions, newest);
        self.goal.clear();
        if self.off_m > 0.0 {
            self.goal.extend_from_slice(&self.positions);
            self.displacement_m = 0.0;
        } else {
            self.take(revision);
        }
    }

    /// Stores the newest positions.
    pub(super) fn take(&mut self, revision: &Revision) {
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
        self.goal.clear();
    }
}

fn is_in(about: &Aabb, p: Vec3) -> bool {
    p.cmpge(about.min).all() && p.cmple(about.max).all()
}

/// Upper bound of the distance of any vertex between two sets of positions, metres.
fn farthest(from: &[Vec3], to: &[Vec3]) -> f64 {
    let squared = from.iter().zip(to).map(|(a, b)| a.distance_squared(*b));
    f64::from(squared.fold(0.0, f32::max).sqrt()) * SINGLE_LENGTH_COVER
}

/// Matches the seen tissues to those of a tick: one for each, in their order. `dt_s`: seconds since the last tick.
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

/// Stores the newest positions of all tissues.
pub(super) fn take_all(seen: &mut [SeenTissue], tissues: &[(TissueId, RevisionGuard)]) {
    for (seen, (_, revision)) in seen.iter_mut().zip(tissues) {
        seen.take(revision);
    }
}

/// Stores the newest positions of all tissues that do not give way.
pub(super) fn take_arrived(seen: &mut [SeenTissue], tissues: &[(TissueId, RevisionGuard)]) {
    for (seen, (_, revision)) in seen.iter_mut().zip(tissues).filter(|(s, _)| s.goal.is_empty()) {
        seen.take(revision);
    }
}

/// Stores the positions that all tissues have come to.
pub(super) fn stand_all(seen: &mut [SeenTissue], tissues: &[(TissueId, RevisionGuard)]) {
    for (seen, (_, revision)) in seen.iter_mut().zip(tissues).filter(|(s, _)| s.has_moved()) {
        seen.stand(revision);
    }
}

/// Stores the positions of all tissues at a time of their motion.
pub(super) fn stay_all_at(
    seen: &mut [SeenTissue],
    tissues: &[(TissueId, RevisionGuard)],
    time: f64,
) {
    for (seen, (_, revision)) in seen.iter_mut().zip(tissues).filter(|(s, _)| s.has_moved()) {
        seen.stay_at(time, revision);
    }
}

/// Excludes tissues that constrain the proxy only in part from its constraints, for when more is near than a search may
/// hold. Returns true if there are any.
pub(super) fn embed_wholly(seen: &mut [SeenTissue]) -> bool {
    let mut found = false;
    for seen in seen.iter_mut().filter(|s| !s.put_through.is_empty()) {
        seen.put_through.clear();
        (seen.is_embedding, found) = (true, true);
    }
    found
}

/// The tissues of a tick at some time of their motion since they were seen last.
#[derive(Clone, Copy)]
pub(super) struct TissuesInMotion<'a> {
    pub(super) tissues: &'a [(TissueId, RevisionGuard)],
    pub(super) seen: &'a [SeenTissue],
    /// Time of the motion: 0 as last seen, 1 as the tissues are now.
    pub(super) time: f64,
}

impl<'a> TissuesInMotion<'a> {
    /// Returns the tissues with their indices, without those that embed the proxy.
    pub(super) fn views(&self) -> impl Iterator<Item = (usize, TissueView<'a>)> + use<'a> {
        let this = *self;
        let has_say = move |place: &usize| !this.seen[*place].is_embedding;
        (0..this.tissues.len()).filter(has_say).map(move |place| (place, this.view(place)))
    }

    pub(super) fn view(&self, place: usize) -> TissueView<'a> {
        self.seen[place].at(self.time, &self.tissues[place].1)
    }

    /// Returns the topology revision of a tissue.
    pub(super) fn topology(&self, place: usize) -> u64 {
        self.tissues[place].1.topology_revision
    }

    /// Upper bound of the speed of tissues that constrain the proxy, m/s.
    pub(super) fn speed_max(&self) -> f64 {
        let with_say = self.seen.iter().filter(|s| !s.is_embedding);
        with_say.map(|s| s.velocity.speed_m_s).fold(0.0, f64::max)
    }

    /// Velocity of a vertex of a tissue, m/s.
    pub(super) fn velocity(&self, place: usize, v: u32) -> DVec3 {
        self.seen[place].velocity.of(&self.tissues[place].1, v)
    }

    /// Upper bound of the motion of any vertex of tissues that constrain the proxy, from time 0 to 1, metres.
    pub(super) fn displacement_max(&self) -> f64 {
        let with_say = self.seen.iter().filter(|s| !s.is_embedding);
        with_say.map(|s| s.displacement_m).fold(0.0, f64::max)
    }
}
