//! Finds the vertex of a link that is deepest in an organ: in one tissue, or in all parts that share borders.
//!
//! The search goes through the link's index and leaves out boxes that cannot hold a deeper vertex. Each signed distance
//! that it queries of the tissue bounds other boxes too, in this tick and the next ones ([`DistanceSamples`]). About an
//! open end of the tissue no distance bounds depth; there a box is left out only if the winding number says that the
//! side of its centre holds as far as the box reaches.

use std::{cell::Cell, ops::ControlFlow};

use glam::DVec3;

use super::collision_pair::{CollisionPair, VertexInside};
use crate::scene::{coherence::distance_samples::DistanceSamples, organ::OfPart};
use crate::{
    geometry::{Aabb, distance::point_triangle::closest_point, tolerance::RADIUS_ROUNDING},
    surface::Surface,
    time_left::TimeLeft,
};

/// A search in progress.
pub(super) struct DeepestVertex<'a> {
    pair: &'a CollisionPair<'a>,
    best: Cell<Option<VertexInside>>,
    /// Depth, metres; only deeper vertices are wanted.
    depth: Cell<f64>,
    /// The tissue triangle that was nearest last.
    near: Cell<Option<OfPart>>,
    /// Remaining boxes about open ends whose side may be queried.
    queries_left: Cell<u32>,
    /// Bound: no vertex of the boxes that were left out without a query is deeper than this, metres.
    unasked_depth: Cell<f64>,
    samples: &'a DistanceSamples,
    time: &'a TimeLeft<'a>,
}

/// Maximum boxes about open ends whose side is queried: each takes the nearest triangle and a winding number, and a
/// tissue that is more hole than surface would query everywhere.
const SIDE_QUERIES_MAX: u32 = 64;

impl DeepestVertex<'_> {
    /// Returns the vertex and its nearest point, if any is deeper than `at_least` metres; and a bound of the depth of
    /// any other, metres, if that is deeper by more than twice the tolerance of the link's field. `hint`: a vertex that
    /// is likely deep. Once the time is over the result is the deepest of the vertices that were checked.
    pub(super) fn of(
        pair: &CollisionPair,
        at_least: f64,
        hint: Option<u32>,
        samples: &DistanceSamples,
        time: &TimeLeft,
    ) -> (Option<VertexInside>, Option<f64>) {
        let search = DeepestVertex {
            pair,
            best: Cell::new(None),
            depth: Cell::new(at_least),
            // A vertex is near the vertex before it, and so are their nearest triangles.
            near: Cell::new(None),
            queries_left: Cell::new(SIDE_QUERIES_MAX),
            unasked_depth: Cell::new(0.0),
            samples,
            time,
        };
        let (surface, mesh) = (&pair.link.surface, pair.link.surface.mesh());
        // A deep vertex first: every box is then compared with its depth.
        hint.into_iter().for_each(|v| search.offer(v));
        let may_be_deeper = |b: &Aabb| {
            !b.is_empty() && !time.is_over() && search.may_be_deeper(b.centre(), b.size() * 0.5)
        };
        surface.overlap(&may_be_deeper, |t| {
            // Each vertex is offered with its first triangle; if that was left out, the vertex is too shallow.
            let first = |v: &u32| mesh.around(*v).next().is_some_and(|(first, _)| first == t);
            mesh.vertices(t).into_iter().filter(first).for_each(|v| search.offer(v));
            if time.was_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let told = search.depth.get() + 2.0 * pair.link.field.tolerance();
        (search.best.get(), Some(search.unasked_depth.get()).filter(|depth| *depth > told))
    }

    fn in_scene(&self, p: DVec3) -> DVec3 {
        self.pair.scene_from_link.point(p)
    }

    fn offer(&self, v: u32) {
        let p = self.pair.link.surface.mesh().position(v);
        if !self.may_be_deeper(p, DVec3::ZERO) {
            return;
        }
        let p = self.in_scene(p);
        // A distance takes longer than reading the clock.
        if self.time.is_over_now() {
            return;
        }
        let found = self.pair.inside(p, self.near.get(), self.time);
        let Some((part, found)) = found else { return };
        self.near.set(Some((part, found.triangle)));
        let is_deeper = match self.best.get() {
            Some(VertexInside { vertex, nearest, .. }) => {
                let by_depth = nearest.signed_distance.total_cmp(&found.signed_distance);
                by_depth.then(vertex.cmp(&v)).is_gt()
            }
            None => -found.signed_distance > self.depth.get(),
        };
        if is_deeper {
            debug_assert!(-found.signed_distance >= self.depth.get(), "{found:?} is less deep");
            self.best.set(Some(VertexInside { vertex: v, part, nearest: found }));
            self.depth.set(-found.signed_distance);
        }
    }

    /// Returns false only if nothing in a box of the link, `half` of its sides from its centre, is deeper than the
    /// vertex that was found.
    fn may_be_deeper(&self, centre: DVec3, half: DVec3) -> bool {
        let organ = &self.pair.organ;
        let (centre, radius) = (self.in_scene(centre), half.length());
        debug_assert!(centre.is_finite() && radius >= 0.0, "{radius} m about {centre}");
        let reach = radius - self.depth.get();
        // A box outside the organ's holds nothing inside. One that sticks out of it holds little depth, but only in a
        // closed tissue: in an open one the side may change far from the surface.
        let is_closed = organ.whole().is_some_and(Surface::is_closed);
        let beyond = if is_closed { reach.max(0.0) } else { radius };
        if organ.inside_distance_squared(centre) > beyond.powi(2) {
            return false;
        }
        if let Some((part, t)) = self.near.get() {
            // No point is deeper than its distance from any triangle.
            let nearest = closest_point(centre, &organ.part(part).mesh().triangle(t));
            let distance = nearest.distance_squared.sqrt();
            if distance < reach.abs() * (1.0 - RADIUS_ROUNDING) {
                return reach > 0.0;
            }
            if self.is_covered(nearest.point, centre, half) {
                return false;
            }
        }
        if let Some(may_be) = self.samples.may_be_deeper(centre, radius, self.depth.get()) {
            return may_be;
        }
        if radius == 0.0 {
            return true;
        }
        if self.time.is_over_now() {
            return false;
        }
        // About an open end the side changes without a triangle, so that distance alone leaves no box out. With no
        // query left, boxes still go by their distance, and only vertices are queried for their side.
        let is_blind = organ.is_open_near(centre, radius) && !self.takes_a_query();
        let found = organ.signed_distance(centre, f64::INFINITY, self.near.get(), self.time);
        let Some((part, found)) = found else { return false };
        self.near.set(Some((part, found.triangle)));
        let is_within = found.signed_distance <= reach;
        let side_reach = if organ.whole().is_some_and(|tissue| tissue.boundary().is_empty()) {
            f64::INFINITY
        } else if is_within || is_blind {
            0.0
        } else {
            organ.side_reach(centre, found.certainty, radius)
        };
        self.samples.note(centre, found.signed_distance, side_reach);
        let is_covered = || self.is_covered(found.closest.point, centre, half);
        if is_blind && !is_within && !is_covered() {
            let depth = found.signed_distance + radius;
            self.unasked_depth.set(self.unasked_depth.get().max(depth));
        }
        (is_within || side_reach < radius && !is_blind) && !is_covered()
    }

    /// Returns true if nothing in a box is farther from a point of the tissue's surface than the depth that was found,
    /// and so nothing is deeper, whatever is open.
    fn is_covered(&self, on_surface: DVec3, centre: DVec3, half: DVec3) -> bool {
        let away = self.pair.scene_from_link.rotation.transpose() * (on_surface - centre);
        (away.abs() + half).length() < self.depth.get() * (1.0 - RADIUS_ROUNDING)
    }

    /// Takes one of the queries that are left.
    fn takes_a_query(&self) -> bool {
        let left = self.queries_left.get();
        self.queries_left.set(left.saturating_sub(1));
        left > 0
    }
}
