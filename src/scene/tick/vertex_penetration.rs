//! The vertex of a link that is deepest in a tissue.

use std::cell::Cell;

use glam::DVec3;

use super::contacts::Meeting;
use crate::scene::{coherence::distance_samples::Soundings, distance::to_surface};
use crate::{
    geometry::{Aabb, TriangleId, distance::point_triangle::closest_point},
    surface::SignedNearest,
};

/// The search: the link's index is walked, boxes that cannot hold a deeper vertex are left out.
pub(in crate::scene) struct DeepestVertex<'a> {
    meeting: &'a Meeting<'a>,
    best: Cell<Option<(u32, SignedNearest)>>,
    /// Metres; only deeper vertices are wanted.
    depth: Cell<f64>,
    /// The tissue triangle that was nearest last.
    near: Cell<Option<TriangleId>>,
    /// Boxes about open ends that may still be asked what only their side tells.
    looks_left: Cell<u32>,
    soundings: &'a Soundings,
}

/// Each takes the nearest triangle and a winding number; a tissue may be more hole than surface.
const LOOKS_MAX: u32 = 64;

impl DeepestVertex<'_> {
    /// The vertex and what is nearest to it, if any is deeper than `at_least` metres. `hint`: a vertex that is
    /// likely deep.
    pub(in crate::scene) fn of(
        meeting: &Meeting,
        at_least: f64,
        hint: Option<u32>,
        soundings: &Soundings,
    ) -> Option<(u32, SignedNearest)> {
        let search = DeepestVertex {
            meeting,
            best: Cell::new(None),
            depth: Cell::new(at_least),
            near: Cell::new(None),
            looks_left: Cell::new(LOOKS_MAX),
            soundings,
        };
        let (surface, mesh) = (&meeting.link.surface, meeting.link.surface.mesh());
        hint.into_iter().for_each(|v| search.offer(v));
        let may_be_deeper =
            |b: &Aabb| !b.is_empty() && search.may_be_deeper(b.centre(), b.size() * 0.5);
        surface.overlap(&may_be_deeper, |t| {
            // Each vertex is looked at with its first triangle; where that was left out, so is the vertex.
            let first = |v: &u32| mesh.ring(*v).next().is_some_and(|(first, _)| first == t);
            mesh.vertices(t).into_iter().filter(first).for_each(|v| search.offer(v));
        });
        search.best.get()
    }

    fn in_scene(&self, p: DVec3) -> DVec3 {
        self.meeting.scene_from_link.point(p)
    }

    fn offer(&self, v: u32) {
        let p = self.meeting.link.surface.mesh().position(v);
        if !self.may_be_deeper(p, DVec3::ZERO) {
            return;
        }
        let p = self.in_scene(p);
        let found = to_surface(&self.meeting.revision.surface, p, 0.0, self.near.get());
        let Some(found) = found.filter(|f| f.signed_distance < 0.0) else { return };
        self.near.set(Some(found.triangle));
        let is_deeper = match self.best.get() {
            Some((u, best)) => {
                best.signed_distance.total_cmp(&found.signed_distance).then(u.cmp(&v)).is_gt()
            }
            None => -found.signed_distance > self.depth.get(),
        };
        if is_deeper {
            self.best.set(Some((v, found)));
            self.depth.set(-found.signed_distance);
        }
    }

    /// False only when nothing in a box of the link, `half` of its sides from its centre, is deeper than what was
    /// found.
    fn may_be_deeper(&self, centre: DVec3, half: DVec3) -> bool {
        let tissue = &self.meeting.revision.surface;
        let (centre, radius) = (self.in_scene(centre), half.length());
        let reach = radius - self.depth.get();
        // Nothing outside the tissue's box is inside it; that a point near there is little deep, only closed ones say.
        let beyond = if tissue.is_closed() { reach.max(0.0) } else { radius };
        if tissue.bounds().distance_squared(centre) > beyond.powi(2) {
            return false;
        }
        if let Some(t) = self.near.get() {
            // No point is deeper than it is far from any triangle.
            let nearest = closest_point(centre, &tissue.mesh().triangle(t));
            let distance = nearest.distance_squared.sqrt();
            if distance < reach.abs() * (1.0 - ROUNDING) {
                return reach > 0.0;
            }
            if self.is_about(nearest.point, centre, half) {
                return false;
            }
        }
        if let Some(may_be) = self.soundings.may_be_deeper(centre, radius, self.depth.get()) {
            return may_be;
        }
        if radius == 0.0 {
            return true;
        }
        // Without a look left only vertices are asked for their side, boxes go by their distance.
        let is_blind = tissue.boundary().is_near(centre, radius) && !self.takes_a_look();
        let found = to_surface(tissue, centre, f64::INFINITY, self.near.get());
        let Some(found) = found else { return false };
        self.near.set(Some(found.triangle));
        let is_within = found.signed_distance <= reach;
        let holds = if tissue.boundary().is_empty() {
            f64::INFINITY
        } else if is_within || is_blind {
            0.0
        } else {
            tissue.side_reach(centre, found.certainty, radius)
        };
        self.soundings.note(centre, found.signed_distance, holds);
        (is_within || holds < radius && !is_blind)
            && !self.is_about(found.closest.point, centre, half)
    }

    /// Nothing in a box is farther from a point of the tissue's surface than the depth that was found, and so nothing
    /// is deeper, whatever is open.
    fn is_about(&self, on_surface: DVec3, centre: DVec3, half: DVec3) -> bool {
        let away = self.meeting.scene_from_link.rotation.transpose() * (on_surface - centre);
        (away.abs() + half).length() < self.depth.get() * (1.0 - ROUNDING)
    }

    /// Takes one of the looks that are left.
    fn takes_a_look(&self) -> bool {
        let left = self.looks_left.get();
        self.looks_left.set(left.saturating_sub(1));
        left > 0
    }
}

/// Covers the rounding of a distance and a radius, relative.
const ROUNDING: f64 = 1e-12;
