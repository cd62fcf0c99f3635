//! The closest points of a link and a tissue whose surfaces are apart.

use std::cell::Cell;

use glam::DVec3;

use super::{Link, Revision, deepest::quarters};
use crate::{
    geometry::{Aabb, Pose, TriangleId, triangle_distance::ClosestPair},
    index::{Point, Triangle},
};

/// A tissue triangle and a link triangle with their closest points: A is the tissue's, in link frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) tissue_triangle: TriangleId,
    pub(super) link_triangle: TriangleId,
    pub(super) closest: ClosestPair,
}

/// The closest pair of triangles within `max_distance` metres; 0 apart when the surfaces cross. `hint`: the
/// pair of the last tick.
pub(super) fn closest_pair(
    revision: &Revision,
    link: &Link,
    scene_from_link: &Pose,
    max_distance: f64,
    hint: Option<(TriangleId, TriangleId)>,
) -> Option<Pair> {
    let (tissue, link_surface) = (&revision.surface, &link.surface);
    let link_from_scene = scene_from_link.inverse();
    let best: Cell<Option<Pair>> = Cell::new(None);
    let reach = || best.get().map_or(max_distance, |b| b.closest.distance_squared.sqrt() * COVER);
    let offer = |t: TriangleId, link_hint: Option<TriangleId>| {
        let corners = tissue.mesh().triangle(t).map(|p| link_from_scene.point(p));
        if !link.may_be_near_triangle(&corners, reach()) {
            return;
        }
        let Some(found) = link_surface.nearest(&Triangle(corners), reach(), link_hint) else {
            return;
        };
        let pair =
            Pair { tissue_triangle: t, link_triangle: found.triangle, closest: found.closest };
        if best.get().is_none_or(|b| is_before(&pair, &b)) {
            best.set(Some(pair));
        }
    };
    if let Some((t, l)) = hint.filter(|(t, _)| tissue.mesh().get(*t).is_some()) {
        offer(t, Some(l));
    } else {
        let mut far = max_distance + link_surface.bounds().diagonal();
        let mut nearest = None;
        for v in &link.extremes {
            let p = scene_from_link.point(link_surface.mesh().position(*v));
            if let Some(found) = tissue.nearest(&Point(p), far, None) {
                far = found.closest.distance_squared.sqrt();
                nearest = Some(found.triangle);
            }
        }
        nearest.into_iter().for_each(|t| offer(t, None));
    }
    let bounds = scene_from_link.aabb(link_surface.bounds()).grown(reach());
    let within_reach = |b: &Aabb| link.may_be_near(&link_from_scene, b, reach());
    tissue.overlap(&(bounds, &within_reach), |t| {
        if within_reach(&tissue.mesh().triangle_box(t)) {
            offer(t, best.get().map(|b| b.link_triangle));
        }
    });
    best.get()
}

impl Link {
    /// False only when everything in the box, which is in scene frame, is farther than `reach` metres from
    /// the link: signed distance changes by no more than the distance gone.
    pub(super) fn may_be_near(&self, link_from_scene: &Pose, b: &Aabb, reach: f64) -> bool {
        if b.is_empty() {
            return false;
        }
        let centre = link_from_scene.point(b.centre());
        let radius = b.diagonal() * 0.5;
        let to_box = self.surface.bounds().distance_squared(centre).sqrt();
        to_box <= radius + reach && self.field.lower_bound(centre) <= radius + reach
    }

    /// The same for a triangle in link frame, part by part; true when that takes too long to tell.
    fn may_be_near_triangle(&self, corners: &[DVec3; 3], reach: f64) -> bool {
        let mut waiting = [*corners; PARTS_MAX];
        let mut n_waiting = 1;
        while n_waiting > 0 {
            n_waiting -= 1;
            let [a, b, c] = waiting[n_waiting];
            let middle = (a + b + c) / 3.0;
            let radius =
                [a, b, c].map(|p| p.distance_squared(middle)).into_iter().fold(0.0, f64::max);
            let radius = radius.sqrt() * COVER;
            let lower = self.field.lower_bound(middle);
            if lower > radius + reach {
                continue;
            }
            if lower <= reach {
                return true;
            }
            if self.field_bound(&[a, b, c], lower - radius) > reach {
                continue;
            }
            if n_waiting + 4 > PARTS_MAX {
                return true;
            }
            waiting[n_waiting..n_waiting + 4].copy_from_slice(&quarters(&[a, b, c]));
            n_waiting += 4;
        }
        false
    }

    /// No point of a triangle that is nowhere nearer than `clearance` metres is nearer than this: there the
    /// distance bends by 1 / clearance at most, so on the triangle it is at least what the corners' distances
    /// give less sum(w_i |c_i - x|^2) / (2 clearance), and that sum is at most a third of the longest edge
    /// squared.
    fn field_bound(&self, corners: &[DVec3; 3], clearance: f64) -> f64 {
        if clearance <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let [a, b, c] = *corners;
        let edges = [a.distance_squared(b), b.distance_squared(c), c.distance_squared(a)];
        let longest = edges.into_iter().fold(0.0, f64::max);
        let least = self.field.lower_bounds(corners).into_iter().fold(f64::INFINITY, f64::min);
        least - longest / (6.0 * clearance) * COVER
    }
}

/// Parts of a triangle that wait at most: four quarterings.
const PARTS_MAX: usize = 13;

/// Covers the rounding of a radius and a bound, relative: a pair that is exactly in reach is not lost.
const COVER: f64 = 1.0 + 1e-9;

/// Nearer first, then the smaller ids: the answer does not depend on the order of the search.
fn is_before(a: &Pair, b: &Pair) -> bool {
    let key = |p: &Pair| (p.tissue_triangle, p.link_triangle);
    a.closest
        .distance_squared
        .total_cmp(&b.closest.distance_squared)
        .then_with(|| key(a).cmp(&key(b)))
        .is_lt()
}
