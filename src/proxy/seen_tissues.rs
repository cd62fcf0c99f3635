//! The tissues as a proxy last saw them, and as they move to where they are now.
//!
//! A proxy keeps the positions of the last revision that it saw, because a tissue may be deformed any number of times
//! between two ticks, and its own history ends after a few. A new revision costs a pass over its vertices. Those positions
//! are not always of a revision: where tissues leave the proxy no room they are as far off as it takes (`giving_way`).

use glam::{DVec3, Vec3};

use super::{
    giving_place::{Push, giving_place, make_room},
    tissue_velocity::TissueVelocity,
    tissue_view::TissueView,
};
use crate::geometry::{Aabb, TriangleId, tolerance::SINGLE_LENGTH_COVER};
use crate::scene::{Revision, RevisionGuard, TissueId};

/// Of positions that no revision has.
const NO_REVISION: u64 = u64::MAX;

/// A tissue as it was seen last.
#[derive(Debug)]
pub(super) struct SeenTissue {
    pub(super) id: TissueId,
    geometry_revision: u64,
    topology_revision: u64,
    positions: Vec<Vec3>,
    /// Where it moves to while it gives way; empty when that is where the newest revision has it.
    goal: Vec<Vec3>,
    /// No vertex moves farther from the positions to the goal, metres.
    displacement_m: f64,
    /// While it gives way: no vertex is farther from where the newest revision has it, metres.
    off_m: f64,
    /// How fast it moves from revision to revision.
    pub(super) velocity: TissueVelocity,
    /// It has no say at all, until the proxy is outside it once.
    pub(super) is_embedding: bool,
    /// Its triangles that were put through the proxy, ascending: with what is about them they have no say, until the proxy
    /// is outside it once.
    pub(super) put_through: Vec<TriangleId>,
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

    /// Finds out how far it has moved.
    fn look(&mut self, revision: &Revision, dt_s: f64) {
        self.aim_at_newest(revision);
        self.velocity.look(revision, self.displacement_m, dt_s);
    }

    /// It moves to where the newest revision has it.
    pub(super) fn aim_at_newest(&mut self, revision: &Revision) {
        self.goal.clear();
        self.displacement_m = 0.0;
        if revision.geometry_revision != self.geometry_revision {
            self.displacement_m = farthest(&self.positions, revision.surface.mesh().positions());
        }
    }

    /// It moves to beside where the newest revision has it, as far as the contacts that push it are violated: every
    /// vertex in a box, and those of triangles `near` the proxy.
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

    /// As the newest revision has it.
    pub(super) fn newest<'a>(&'a self, revision: &'a Revision) -> TissueView<'a> {
        TissueView {
            put_through: &self.put_through,
            ..TissueView::newest(self.id, &revision.surface)
        }
    }

    /// As it was seen last.
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

    /// The proxy sees it beside where it is, for want of room.
    pub(super) fn gives_way(&self) -> bool {
        !self.goal.is_empty()
    }

    /// It has no say, or part of it has none: the proxy is inside it.
    pub(super) fn embeds(&self) -> bool {
        self.is_embedding || !self.put_through.is_empty()
    }

    /// It has its say, all of it.
    pub(super) fn set_free(&mut self) {
        self.is_embedding = false;
        self.put_through.clear();
    }

    /// It is not where the newest revision has it, as far as the proxy sees it.
    pub(super) fn has_moved(&self) -> bool {
        self.displacement_m > 0.0 || !self.goal.is_empty()
    }

    /// It was where `see` moves its vertices to, and moves from there to where it is.
    pub(super) fn see(&mut self, revision: &Revision, see: impl FnOnce(&mut [Vec3])) {
        let newest = revision.surface.mesh().positions();
        self.positions.clear();
        self.positions.extend_from_slice(newest);
        see(&mut self.positions);
        self.geometry_revision = NO_REVISION;
        self.aim_at_newest(revision);
    }

    /// Remembers it as it was at a time of its motion, where that ended.
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
        // Of no revision: the next tick looks how far it has yet to go.
        self.geometry_revision = NO_REVISION;
    }

    /// Stands where it has come to, which is where the newest revision has it unless it gives way.
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

    /// Remembers it as it is now.
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

/// No vertex is farther from one place to the other, metres.
fn farthest(from: &[Vec3], to: &[Vec3]) -> f64 {
    let squared = from.iter().zip(to).map(|(a, b)| a.distance_squared(*b));
    f64::from(squared.fold(0.0, f32::max).sqrt()) * SINGLE_LENGTH_COVER
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

/// Remembers all tissues as they are now, but for those that give way.
pub(super) fn take_arrived(seen: &mut [SeenTissue], tissues: &[(TissueId, RevisionGuard)]) {
    for (seen, (_, revision)) in seen.iter_mut().zip(tissues).filter(|(s, _)| s.goal.is_empty()) {
        seen.take(revision);
    }
}

/// Remembers all tissues where they have come to.
pub(super) fn stand_all(seen: &mut [SeenTissue], tissues: &[(TissueId, RevisionGuard)]) {
    for (seen, (_, revision)) in seen.iter_mut().zip(tissues).filter(|(s, _)| s.has_moved()) {
        seen.stand(revision);
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

/// Takes all their say from tissues that have part of it, where more is near than a search may hold. True when there are
/// any.
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
        self.seen[place].at(self.time, &self.tissues[place].1)
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
