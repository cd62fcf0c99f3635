//! Finds the contacts of a link with a tissue: each tissue triangle that it touches, at that triangle's deepest point.
//!
//! A search that takes longer than its tick continues in the next one. It then checks the triangles of known contacts
//! first and goes round the others by their ids, so that each has its turn.

use std::ops::ControlFlow;

use glam::DVec3;

use super::{
    answer::Contact,
    collision_pair::CollisionPair,
    contact_ids::ContactTracker,
    penetration::{DeepestPoint, OPEN_READS, SearchedTriangle, at, deepest_point},
    triangle_blocks::{BlockCursor, Wanted},
};
use crate::{
    geometry::{Aabb, Pose, TriangleId},
    scene::{coherence::depth_bounds::DepthBounds, distance::SurfacePoint},
    time_left::TimeLeft,
};

/// Share of a search's time that goes to known contacts first.
const KNOWN_SHARE: f64 = 0.5;

/// Cursor of a search that took longer than its tick.
#[derive(Debug)]
pub(super) struct ContactTurn {
    known: TriangleId,
    others: BlockCursor,
}

impl ContactTurn {
    pub(super) const START: ContactTurn =
        ContactTurn { known: TriangleId(0), others: BlockCursor::START };
}

/// A search for the contacts of a link and a tissue.
pub(super) struct ContactSearch<'a> {
    pair: &'a CollisionPair<'a>,
    link_from_scene: Pose,
    contacts: &'a mut Vec<Contact>,
    /// Bounds of the last tick.
    depth_bounds: &'a mut DepthBounds,
    time: &'a TimeLeft<'a>,
    /// A triangle of the link that the last contact was at. Consecutive triangles are mostly neighbours, and touch the
    /// link near each other.
    hint: Option<TriangleId>,
    /// Remaining reads about open ends.
    open_reads: usize,
}

impl<'a> ContactSearch<'a> {
    /// Creates a search that adds contacts to `contacts`.
    pub(super) fn new(
        pair: &'a CollisionPair<'a>,
        contacts: &'a mut Vec<Contact>,
        depth_bounds: &'a mut DepthBounds,
        time: &'a TimeLeft<'a>,
    ) -> ContactSearch<'a> {
        debug_assert!(pair.margin >= 0.0, "margin {} m", pair.margin);
        let link_from_scene = pair.scene_from_link.inverse();
        let (hint, open_reads) = (None, OPEN_READS);
        ContactSearch { pair, link_from_scene, contacts, depth_bounds, time, hint, open_reads }
    }

    /// Adds a contact for every tissue triangle that is inside the link or within the margin of it: at its point
    /// deepest in the link. Returns false if the time was over before all were found.
    pub(super) fn all(mut self) -> bool {
        let (pair, time, link_from_scene) = (self.pair, self.time, self.link_from_scene);
        let near = |b: &Aabb| !time.is_over() && pair.may_touch(&link_from_scene, b);
        let bounds = pair.link_bounds().grown(pair.margin);
        pair.revision.surface.overlap(&(bounds, near), |t| {
            if time.is_over_now() {
                return ControlFlow::Break(());
            }
            self.look_at(t);
            ControlFlow::Continue(())
        });
        !time.was_over()
    }

    /// Runs [`ContactSearch::all`] after a tick that had too little time for it: first at the triangles of `known`
    /// contacts, then at the others, each from where the last tick stopped and round.
    pub(super) fn in_turn(
        mut self,
        known: &mut ContactTracker,
        turn: &mut ContactTurn,
        block: &mut Vec<TriangleId>,
    ) -> bool {
        let all_known = self.known_in_turn(known, turn);
        let all_others = self.others_in_turn(known, &mut turn.others, block);
        all_known && all_others
    }

    /// Checks known contacts in a share of the time: many of them must not keep new ones from being found.
    fn known_in_turn(&mut self, known: &mut ContactTracker, turn: &mut ContactTurn) -> bool {
        let mesh = self.pair.revision.surface.mesh();
        let all = self.time;
        let share = all.share(KNOWN_SHARE);
        let tissue = self.pair.tissue;
        let mut n_done = 0;
        let left = known.check_each(tissue, turn.known, |t| {
            if share.is_over_now() {
                return false;
            }
            if mesh.get(t).is_some() {
                self.look_at(t);
            }
            n_done += 1;
            !all.was_over()
        });
        // A triangle that takes all of a tick must not keep the others from their turn.
        let passed = u32::from(n_done == 1 && all.was_over());
        turn.known = left.map_or(TriangleId(0), |t| TriangleId(t.0 + passed));
        left.is_none()
    }

    fn others_in_turn(
        &mut self,
        known: &ContactTracker,
        cursor: &mut BlockCursor,
        block: &mut Vec<TriangleId>,
    ) -> bool {
        let (pair, time, link_from_scene) = (self.pair, self.time, self.link_from_scene);
        let mesh = pair.revision.surface.mesh();
        let near = |b: &Aabb| pair.may_touch(&link_from_scene, b);
        let region = pair.link_bounds().grown(pair.margin);
        let wanted = Wanted { region: &region, near: &near };
        let id_end = TriangleId(mesh.triangle_id_end());
        let (begin, mut is_round, mut n_done) = (cursor.next, cursor.is_at_start(), 0);
        loop {
            let Some(end) = cursor.block(&pair.revision.surface, &wanted, block, time) else {
                return false;
            };
            for t in block.iter().copied().filter(|t| !known.knows((pair.tissue, *t))) {
                if is_round && begin > TriangleId(0) && t >= begin {
                    break;
                }
                cursor.next = t;
                if time.is_over_now() {
                    return false;
                }
                self.look_at(t);
                if time.was_over() {
                    // A triangle that takes all of a tick must not keep the others from their turn.
                    let passed = u32::from(n_done == 0);
                    cursor.next = TriangleId(t.0 + passed);
                    return false;
                }
                n_done += 1;
            }
            cursor.next = end;
            if is_round && (end >= begin && begin > TriangleId(0) || end >= id_end) {
                *cursor = BlockCursor::START;
                return true;
            }
            if end >= id_end {
                (cursor.next, is_round) = (TriangleId(0), true);
            }
        }
    }

    /// Checks one triangle.
    pub(super) fn look_at(&mut self, t: TriangleId) {
        let ContactSearch { pair, time, hint, .. } = *self;
        let triangle = pair.revision.surface.mesh().triangle(t);
        let triangle = self.link_from_scene.triangle(&triangle);
        let key = (pair.tissue, t);
        let known = self.depth_bounds.get(key);
        let open_reads = &mut self.open_reads;
        let SearchedTriangle { found, bound, depth_max } =
            deepest_point(pair.link, &triangle, pair.margin, known, hint, open_reads, time);
        self.depth_bounds.note(key, bound);
        self.depth_bounds.note_loose(depth_max);
        if let Some(contact) = found.and_then(|found| pair.contact_at(t, &triangle, &found)) {
            self.hint = Some(contact.on_tool.triangle);
            self.contacts.push(Contact { depth_max_m: depth_max, ..contact });
        }
    }
}

impl CollisionPair<'_> {
    /// Returns false only if nothing in a box of the scene touches the link.
    fn may_touch(&self, link_from_scene: &Pose, b: &Aabb) -> bool {
        // About an open end the side changes without a triangle, so that no distance rules a box out.
        self.link.may_be_near(link_from_scene, b, self.margin)
            || self.link.is_open_near(link_from_scene.point(b.centre()), 0.5 * b.diagonal())
    }

    /// Returns the contact of a tissue triangle, given in link frame, at its deepest point, unless that is too far.
    fn contact_at(
        &self,
        t: TriangleId,
        triangle: &[DVec3; 3],
        found: &DeepestPoint,
    ) -> Option<Contact> {
        let exact = &found.reading;
        let (on_link, closest) = exact.exact?;
        // The field chose the point, to its tolerance: a contact may be that much beyond the margin in truth.
        if exact.value > self.margin + self.link.field.tolerance() {
            return None;
        }
        let on_tissue = SurfacePoint {
            position: self.scene_from_link.point(at(triangle, found.barycentric)),
            triangle: t,
            barycentric: found.barycentric,
        };
        let on_tool = SurfacePoint {
            position: self.scene_from_link.point(closest.point),
            triangle: on_link,
            barycentric: closest.barycentric,
        };
        let normal = -self.scene_from_link.vector(exact.gradient);
        Some(self.contact(on_tissue, on_tool, normal, (exact.value, exact.certainty)))
    }
}
