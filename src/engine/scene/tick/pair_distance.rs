//! Distance between a link and a tissue, or the depth of one in the other.
//!
//! The answer is the deepest point of either inside the other, else the closest points of the two surfaces. Surfaces
//! that do not cross leave little to decide: each body of the link is inside as a whole or not at all, so that one of
//! its vertices decides. Only through an open end may a part of it have come in without crossing anything.

use std::cell::Cell;

use super::{
    answer::Contact,
    closest_pair::{closest_of, closest_pair, touching_m},
    collision_pair::{CollisionPair, VertexInside},
    contacts::ContactTurn,
    pose_knowledge::ClosestCandidates,
    vertex_penetration::DeepestVertex,
};
use crate::{
    scene::coherence::{distance_samples::DistanceSamples, near_list::NearList},
    time_left::TimeLeft,
};

/// Maximum checks of the time in a glance: a thousand steps of a search for the nearest point.
const GLANCE: u64 = 64;

/// Last closest or deepest result: changes the work of the next search, never its answer.
#[derive(Debug)]
pub(super) struct PairMemory {
    near: NearList,
    deepest_vertex: Option<u32>,
    samples: DistanceSamples,
    /// Bound of the depth of a link's vertex that was not checked, metres.
    depth_max: Option<f64>,
    /// Distance of the two surfaces, metres; infinite if they are farther apart than was searched.
    pub(super) apart_m: f64,
    /// Cursor of a search for contacts that took longer than its tick.
    pub(super) contact_turn: ContactTurn,
}

impl PairMemory {
    /// Creates an empty memory.
    pub(super) fn new() -> PairMemory {
        PairMemory {
            near: NearList::new(),
            deepest_vertex: None,
            samples: DistanceSamples::new(),
            depth_max: None,
            apart_m: f64::INFINITY,
            contact_turn: ContactTurn::START,
        }
    }

    /// Bound of the depth in the tissue of a link's vertex that was not checked, metres.
    pub(super) fn depth_max(&self) -> Option<f64> {
        self.depth_max
    }
}

impl CollisionPair<'_> {
    /// Returns the closest points of link and tissue within `max_distance` metres, given the contacts: the deepest
    /// point of either inside the other, else the closest points of the two surfaces. Without time, the result of a
    /// glance.
    pub(super) fn closest(
        &self,
        contacts: &[Contact],
        max_distance: f64,
        memory: &mut PairMemory,
        time: &TimeLeft,
    ) -> Option<Contact> {
        if !time.is_over_now() {
            return self.closest_of_all(contacts, max_distance, memory, time);
        }
        let at_a_glance = self.at_a_glance(max_distance, memory, time);
        let deepest = contacts.iter().min_by(|a, b| a.by_depth(b)).copied();
        at_a_glance.into_iter().chain(deepest).min_by(Contact::by_depth)
    }

    fn closest_of_all(
        &self,
        contacts: &[Contact],
        max_distance: f64,
        memory: &mut PairMemory,
        time: &TimeLeft,
    ) -> Option<Contact> {
        let deepest = contacts.iter().min_by(|a, b| a.by_depth(b)).copied();
        memory.depth_max = None;
        let is_divided = self.organ.is_divided();
        if let Some(in_link) = deepest.filter(|c| c.signed_distance_m < 0.0) {
            if is_divided {
                return Some(in_link);
            }
            // A blunt link that presses on a fine mesh is deepest at one of its own vertices.
            let in_tissue = self.deepest_vertex(-in_link.signed_distance_m, memory, time);
            return Some(in_tissue.filter(|v| v.by_depth(&in_link).is_lt()).unwrap_or(in_link));
        }
        let reach = deepest.map_or(max_distance, |c| c.signed_distance_m.min(max_distance));
        // The nearest contact may be in reach when by rounding its triangle is not. Its certainty is that of the link's
        // side alone.
        let with_both = |c: Contact| {
            let (p, nearest) = (c.on_tool.position, c.on_tissue.triangle);
            let of_tissue = self.organ.certainty_about(p, nearest, time);
            Contact { sign_certainty: c.sign_certainty.min(of_tissue), ..c }
        };
        let in_reach = || deepest.filter(|c| c.signed_distance_m <= max_distance).map(with_both);
        let apart = self.apart(reach, memory, time).or_else(in_reach);
        if is_divided {
            memory.apart_m = apart.map_or(f64::INFINITY, |apart| apart.signed_distance_m);
            return apart;
        }
        // Surfaces that cross may do so at triangles that are nearly beside each other, and for a vertex that nearly
        // touches it is undecidable if its body is inside.
        let touching_m = touching_m(self.link, &self.scene_from_link);
        let crosses = apart.is_some_and(|a| a.signed_distance_m <= touching_m);
        if crosses || self.has_come_in(memory.deepest_vertex, time) {
            return self.deepest_vertex(0.0, memory, time).or(apart);
        }
        apart
    }

    /// Returns the vertex of the link that is deepest in a divided organ, if any is deeper than `depth_m` metres, the
    /// depth of the contacts of the parts. `apart_m`: distance of the surfaces of link and parts.
    pub(super) fn deepest_in_organ(
        &self,
        depth_m: f64,
        apart_m: f64,
        memory: &mut PairMemory,
        time: &TimeLeft,
    ) -> Option<Contact> {
        if time.is_over_now() {
            return None;
        }
        let crosses = depth_m > 0.0 || apart_m <= touching_m(self.link, &self.scene_from_link);
        let may_be_in = crosses || self.has_come_in(memory.deepest_vertex, time);
        may_be_in.then(|| self.deepest_vertex(depth_m, memory, time)).flatten()
    }

    /// Answers for a tick without time: the pair of triangles that was closest last, or one vertex of the link if that
    /// is inside the tissue, the one that was deepest last, if so few steps decide. Takes some microseconds.
    fn at_a_glance(
        &self,
        max_distance: f64,
        memory: &mut PairMemory,
        time: &TimeLeft,
    ) -> Option<Contact> {
        memory.depth_max = None;
        let apart = self.apart(max_distance, memory, time);
        let tried = memory.deepest_vertex.into_iter().chain(self.link.vertex_of_each_body());
        let asked = Cell::new(0);
        let clock = || asked.replace(asked.get() + 1);
        let glance = TimeLeft::until(&clock, GLANCE).read_each_time();
        let inside = self.first_inside(tried.take(1), &glance);
        inside.map(|inside| self.contact_of_vertex(&inside)).or(apart)
    }

    /// Returns true if a link that crosses nothing is inside the tissue: one of its bodies, or a tip that came in
    /// through an open end. `last`: the vertex that was deepest last.
    fn has_come_in(&self, last: Option<u32>, time: &TimeLeft) -> bool {
        // A link may have as many bodies as triangles.
        let bodies = self.link.vertex_of_each_body().take_while(|_| !time.is_over_now());
        if self.first_inside(bodies, time).is_some() {
            return true;
        }
        // Far from any open end the first vertices have decided. Near one the tips may be on the other side; the rest
        // of the link is searched only if one of them is inside.
        let bounds = self.link_bounds();
        let is_open = || self.organ.is_open_near(bounds.centre(), 0.5 * bounds.diagonal());
        let tips = self.link.extremes.iter().copied().chain(last);
        let is_closed = self.revision.surface.is_closed();
        !is_closed && is_open() && self.first_inside(tips, time).is_some()
    }

    /// Returns the closest points of the two surfaces, sign aside.
    fn apart(
        &self,
        max_distance: f64,
        memory: &mut PairMemory,
        time: &TimeLeft,
    ) -> Option<Contact> {
        let CollisionPair { tissue, revision, link, scene_from_link: ref pose, .. } = *self;
        let (known, name) = self.known;
        let found = match ClosestCandidates::of(known, name, tissue, touching_m(link, pose)) {
            Some(candidates) => {
                let found = closest_of(candidates.pairs(), revision, link, pose, max_distance);
                memory.near.pair = found.map(|f| (f.tissue_triangle, f.link_triangle));
                found
            }
            None => {
                let near = &mut memory.near;
                closest_pair((tissue, revision), link, pose, max_distance, near, time)
            }
        };
        found.map(|found| self.contact_of_closest(&found, time))
    }

    /// Returns the vertex of the link that is deepest in the tissue, if any is deeper than `at_least` metres.
    fn deepest_vertex(
        &self,
        at_least: f64,
        memory: &mut PairMemory,
        time: &TimeLeft,
    ) -> Option<Contact> {
        debug_assert!(at_least >= 0.0, "{at_least} m is no depth");
        memory.samples.follow(self.tissue, self.revision);
        if self.organ.is_divided() {
            // The other parts may have moved.
            memory.samples.forget();
        }
        let (found, depth_max) =
            DeepestVertex::of(self, at_least, memory.deepest_vertex, &memory.samples, time);
        memory.depth_max = depth_max;
        if let Some(VertexInside { vertex, nearest, .. }) = &found {
            debug_assert!(nearest.signed_distance < -at_least, "{nearest:?}");
            memory.deepest_vertex = Some(*vertex);
        }
        found.map(|found| self.contact_of_vertex(&found))
    }
}
