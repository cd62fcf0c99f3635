//! Distance of a link from points and boxes: bounds from its field, exact answers from its surface.
//!
//! The field answers fast and within a certified interval; the surface answers exactly, by the link's box tree. The
//! field decides the position, the surface the depth and the way out, so that neither depth nor normal jumps when a
//! contact passes from one subspace of the field to the next.

use glam::DVec3;

use super::Link;
use crate::{
    bvh::{Guess, NearestInTree},
    geometry::{
        Aabb, Pose, TriangleId,
        direction::direction,
        distance::point_triangle::{ClosestPoint, closest_point},
        tolerance::BOUND_COVER,
    },
    sdf::Reading,
    time_left::{TimeLeft, note_step},
};

impl Link {
    /// Returns false only if everything in the box, which is in scene frame, is farther than `reach` metres from the
    /// link.
    pub(crate) fn may_be_near(&self, link_from_scene: &Pose, b: &Aabb, reach: f64) -> bool {
        !b.is_empty()
            && self.may_be_within(link_from_scene.point(b.centre()), b.diagonal() * 0.5 + reach)
    }

    /// Returns false only if the link is farther than `radius` metres from a point in its frame.
    pub(in crate::scene) fn may_be_within(&self, p: DVec3, radius: f64) -> bool {
        debug_assert!(p.is_finite() && radius >= 0.0, "{radius} m about {p}");
        let to_box = self.surface.bounds().distance_squared(p).sqrt();
        to_box <= radius && self.field.may_be_within(self.surface.mesh(), p, radius)
    }

    /// Reads the field at a point in link frame, or the exact surface if the field's interval is wider than `slack`
    /// metres. `near`: a triangle that is likely near.
    pub(in crate::scene) fn read(
        &self,
        p: DVec3,
        slack: f64,
        near: Option<TriangleId>,
        time: &TimeLeft,
    ) -> Reading {
        note_step();
        let reading = self.field.read(self.surface.mesh(), p);
        let is_narrow = reading.upper - reading.lower <= slack;
        if is_narrow { reading } else { self.refined(p, reading, near, time) }
    }

    /// Reads the exact surface at a point where the field was read. If the field is sure of the side, searches only for
    /// the nearest point, no farther than the field allows. Once the time is over, returns the field's reading.
    pub(in crate::scene) fn refined(
        &self,
        p: DVec3,
        reading: Reading,
        near: Option<TriangleId>,
        time: &TimeLeft,
    ) -> Reading {
        debug_assert!(reading.lower <= reading.upper, "{reading:?} at {p}");
        let is_sure = reading.certainty == 1.0 && (reading.lower > 0.0 || reading.upper < 0.0);
        if is_sure && reading.exact.is_some() {
            return reading;
        }
        // Uses the box tree and not the surface's index: with a near triangle known, the direction to it is one more
        // axis along which nearly all else is farther.
        let near = reading.exact.map(|(t, _)| t).or(near);
        let reach = reading.lower.abs().max(reading.upper.abs()) * BOUND_COVER;
        let guess = Guess { triangle: near, direction: -reading.value * reading.gradient };
        let found = self.tree.nearest(self.surface.mesh(), &p, reach, guess, time);
        if time.was_over() {
            return reading;
        }
        let Some(found) = found else {
            return self.exactly_at(p, guess, time).unwrap_or(reading);
        };
        // The side costs a pseudonormal or a winding number; the field often knows it.
        let Some(away) = direction(p - found.closest.point).filter(|_| is_sure) else {
            return self.signed(p, found, time).unwrap_or(reading);
        };
        let side = if reading.lower > 0.0 { 1.0 } else { -1.0 };
        let distance = found.closest.distance_squared.sqrt();
        exact_reading(distance * side, away * side, (found.triangle, found.closest), 1.0)
    }

    /// Reads the exact surface at a point in link frame; `None` if the time is over before it is known.
    pub(in crate::scene) fn exactly_at(
        &self,
        p: DVec3,
        guess: Guess,
        time: &TimeLeft,
    ) -> Option<Reading> {
        let found = self.tree.nearest(self.surface.mesh(), &p, f64::INFINITY, guess, time);
        if time.was_over() {
            return None;
        }
        self.signed(p, found.expect("a link has triangles"), time)
    }

    /// Reads the exact surface if the nearest triangle is known.
    fn signed(
        &self,
        p: DVec3,
        nearest: NearestInTree<ClosestPoint>,
        time: &TimeLeft,
    ) -> Option<Reading> {
        let d = self.surface.signed(p, nearest.triangle, nearest.closest, time)?;
        Some(exact_reading(d.signed_distance, d.normal, (d.triangle, d.closest), d.certainty))
    }

    /// Bound: nothing between three points (link frame) is deeper than this, metres (negative inside). `near`:
    /// triangles of the link.
    pub(in crate::scene) fn depth_bound(
        &self,
        near: &[Option<TriangleId>; 2],
        corners: &[DVec3; 3],
    ) -> f64 {
        // No point is deeper than its distance from either of two triangles, and these distances are convex, so they
        // are at most as their values at the corners interpolate between them. Over weights, the most of the lesser of
        // two linear functions is the least over l in [0, 1] of the most of l a + (1 - l) b at the corners. A third
        // triangle, or those nearest to the corners, saved no reads of the field.
        let far = |t: TriangleId| {
            let t = self.surface.mesh().triangle(t);
            corners.map(|c| closest_point(c, &t).distance_squared.sqrt())
        };
        let most = |a: &[f64; 3]| a.iter().fold(0.0f64, |m, x| m.max(*x));
        let [Some(first), second] = near else { return f64::NEG_INFINITY };
        let a = far(*first);
        let Some(b) = second.map(far) else { return -most(&a) };
        let mixed = |l: f64| most(&std::array::from_fn(|i| l * a[i] + (1.0 - l) * b[i]));
        // The least is at an end or where two of the three lines in l cross.
        let crossing = |(i, j): (usize, usize)| (b[j] - b[i]) / ((a[i] - b[i]) - (a[j] - b[j]));
        let crossings = [(0, 1), (1, 2), (2, 0)].map(crossing).into_iter();
        let between = crossings.filter(|l| (0.0..=1.0).contains(l)).map(mixed);
        let bound = -between.fold(mixed(0.0).min(mixed(1.0)), f64::min);
        debug_assert!(bound <= 0.0, "nothing is deeper than {bound} m");
        bound
    }
}

/// Returns a reading of the exact surface: an interval of no width.
pub(in crate::scene) fn exact_reading(
    signed_distance: f64,
    gradient: DVec3,
    nearest: (TriangleId, ClosestPoint),
    certainty: f64,
) -> Reading {
    debug_assert!(signed_distance.is_finite(), "{signed_distance} m at {nearest:?}");
    debug_assert!((0.0..=1.0).contains(&certainty), "certainty {certainty}");
    Reading {
        value: signed_distance,
        lower: signed_distance,
        upper: signed_distance,
        gradient,
        exact: Some(nearest),
        certainty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::{LoadOptions, mesh::load::load},
        oracle::{Random, brute_force, shapes, solid_angle::winding_number},
        scene::tool::field::field_of,
        sdf::FieldOptions,
    };

    /// In the cavity of a hook of few large faces, where a cell of the field is as wide as the cavity, points are
    /// reported beyond a radius if they are, and only then.
    #[test]
    fn what_is_in_a_cavity_is_beyond_what_is_nearer() {
        let hook = load(shapes::hook(), &LoadOptions::default()).expect("a mesh");
        let field = |surface: &crate::surface::Surface| field_of(surface, &FieldOptions::default());
        let link = Link::new("hook".to_owned(), hook, Pose::IDENTITY, field);
        let mesh = link.surface.mesh();
        let mut random = Random::new(31);
        let (mut n_beyond, mut n_told) = (0, 0);
        for _ in 0..4_000 {
            let p = random.point(DVec3::new(-7e-3, -5e-3, -2e-3), DVec3::new(7e-3, 5e-3, 25e-3));
            let is_inside = winding_number(mesh, p) > 0.5;
            let distance = brute_force::nearest(mesh, p).expect("a mesh").distance;
            let radius = random.range(0.0, 4e-3);
            let may_be = link.may_be_within(p, radius);
            assert!(may_be || !is_inside && distance > radius, "{p}, {radius}: {distance}");
            let is_in_cavity = p.x.abs() < 4e-3 && p.y.abs() < 2e-3 && (0.0..0.02).contains(&p.z);
            if is_in_cavity && distance > 1.3 * radius {
                n_beyond += 1;
                n_told += u32::from(!may_be);
            }
        }
        assert!(n_beyond > 200 && 20 * n_told > 19 * n_beyond, "{n_told} of {n_beyond}");
    }
}
