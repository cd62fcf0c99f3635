//! Lower bounds of the distances to eight triangles that hold for every point: tangents, in lanes.
//!
//! For a vector g no longer than 1 and a triangle T with corners v_k
//!
//! ```text
//! dist(p, T) >= g.p - max_k g.v_k,                                  (1)
//! ```
//!
//! because for any y of T |p - y| >= g.(p - y), and g.y is at most that of some corner. The distance to a triangle is
//! convex: with g the unit vector that leads from T's closest point to a point q, (1) is exact at q and the tangent
//! there. Bounding a point that moves a little takes three multiplications, while T stays fixed.

use glam::{DVec3, Vec3};

use super::point_triangles::{nearer, on_segment};
use crate::geometry::{
    lanes::{LANES, cross, dot, greater, lesser, minus},
    tolerance::{SINGLE_DISTANCE_ROUNDING as ROUNDING, SINGLE_NORMAL_SQUARED_MIN},
};

/// Tangents of up to eight triangles, relative to a common origin. NaN, which is within no limit, in unused lanes.
#[derive(Clone, Debug)]
#[repr(align(32))]
pub struct TangentPlanes {
    /// g: a row of lanes for each axis.
    along: [[f32; LANES]; 3],
    /// Bound at the origin: -max_k g.v_k, lessened by the largest possible rounding error.
    offset: [f32; LANES],
}

impl TangentPlanes {
    /// Tangents of no triangle.
    pub const NONE: TangentPlanes =
        TangentPlanes { along: [[0.0; LANES]; 3], offset: [f32::NAN; LANES] };

    /// Tangents at the origin, which is `at` with each coordinate off by at most `slack`. `corners` is indexed by
    /// corner, axis and lane, with NaN in unused lanes. Coordinates are finite, and so are their squares.
    #[inline(always)]
    pub fn towards(corners: &[[[f32; LANES]; 3]; 3], at: Vec3, slack: f32) -> TangentPlanes {
        let [a, b, c] = corners;
        let mut planes = TangentPlanes::NONE;
        for lane in 0..LANES {
            let seen = |corner: &[[f32; LANES]; 3]| {
                Vec3::new(corner[0][lane] - at.x, corner[1][lane] - at.y, corner[2][lane] - at.z)
            };
            let (along, offset) = tangent([seen(a), seen(b), seen(c)], slack);
            planes.along[0][lane] = along.x;
            planes.along[1][lane] = along.y;
            planes.along[2][lane] = along.z;
            planes.offset[lane] = offset;
        }
        planes
    }

    /// Bound at the origin, metres.
    #[inline(always)]
    pub fn at_origin(&self, lane: usize) -> f32 {
        self.offset[lane]
    }

    /// Bounds at `p`, relative to the origin. Too large by at most [`SINGLE_DISTANCE_ROUNDING`](ROUNDING) of themselves
    /// and of the coordinates of `p` together: `p` was rounded to `f32`, and products and sums lose some 8 units more.
    #[inline(always)]
    pub fn below(&self, p: Vec3) -> [f32; LANES] {
        let [x, y, z] = &self.along;
        let mut below = [0.0; LANES];
        for lane in 0..LANES {
            // No fused multiply-add, as in `dot`.
            below[lane] = dot(Vec3::new(x[lane], y[lane], z[lane]), p) + self.offset[lane];
        }
        below
    }

    /// Copies one lane of tangents with an identical origin.
    #[inline(always)]
    pub fn copy_lane(&mut self, lane: usize, from: &TangentPlanes, from_lane: usize) {
        for (to, from) in self.along.iter_mut().zip(&from.along) {
            to[lane] = from[from_lane];
        }
        self.offset[lane] = from.offset[from_lane];
    }

    /// Sets the tangent of a lane; `away` is the unit vector from the triangle to the point. The corners are relative
    /// to the origin.
    pub fn replant(&mut self, lane: usize, away: DVec3, corners: &[DVec3; 3]) {
        // Shortened, because rounding may make it too long by a unit of 2^-24.
        let along = (away * f64::from(1.0 - ROUNDING)).as_vec3();
        let support = corners.map(|v| along.as_dvec3().dot(v));
        let far = corners.iter().fold(0.0, |far: f64, v| far.max(v.length()));
        // The corners were rounded to 2^-53 of their distance, and the bound is rounded to 2^-24 of no more than that.
        let bound = -support[0].max(support[1]).max(support[2]) - f64::from(ROUNDING) * far;
        for (axis, along) in self.along.iter_mut().zip(along.to_array()) {
            axis[lane] = along;
        }
        self.offset[lane] = (bound as f32).next_down();
    }
}

/// Computes g and the bound at the origin for a triangle near the origin; without branches, so that the lanes
/// vectorise.
#[inline(always)]
fn tangent([a, b, c]: [Vec3; 3], slack: f32) -> (Vec3, f32) {
    let (ab, bc, ca) = (minus(b, a), minus(c, b), minus(a, c));
    let edges = [on_segment(a, ab), on_segment(b, bc), on_segment(c, ca)];
    let on_edges = nearer(nearer(edges[0], edges[1]), edges[2]);
    let normal = cross(ab, bc);
    let normal_squared = dot(normal, normal);
    let areas = [cross(b, c), cross(c, a), cross(a, b)].map(|area| dot(normal, area));
    let least_area = lesser(lesser(areas[0], areas[1]), areas[2]);
    let is_foot = least_area >= 0.0 && normal_squared > SINGLE_NORMAL_SQUARED_MIN;
    let foot = times(normal, dot(normal, a) / normal_squared);
    // The closest point, or a point near it if rounding decides: the bound is then a little lower, and still true.
    let closest = if is_foot { foot } else { on_edges };
    let length_squared = dot(closest, closest);
    // Normalising is off by 8 units of 2^-24, of which the factor takes away 64: |g| <= 1. A g of zero bounds nothing,
    // so that the triangle is always tested exactly.
    let is_away = length_squared > f32::MIN_POSITIVE;
    let scale = if is_away { (1.0 - ROUNDING) / length_squared.sqrt() } else { 0.0 };
    let along = times(closest, -scale);
    let support = greater(greater(dot(along, a), dot(along, b)), dot(along, c));
    let reach = |v: Vec3| v.x.abs() + v.y.abs() + v.z.abs();
    let far = greater(greater(reach(a), reach(b)), reach(c));
    // Each coordinate of the origin is off by `slack`, and g's coordinates add up to no more than the root of 3.
    // Differences, products and sums lose some 8 units of the farthest corner's distance.
    (along, -support - (2.0 * slack + ROUNDING * far))
}

#[inline(always)]
fn times(v: Vec3, factor: f32) -> Vec3 {
    Vec3::new(v.x * factor, v.y * factor, v.z * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::{
            direction::direction,
            distance::point_triangle::{ClosestPoint, closest_point},
            tolerance::BOX_DISTANCE_SLACK,
        },
        oracle::{Random, triangle_cloud::TriangleCloud},
    };

    /// Asserts that the bound holds at a point, relative to the origin.
    fn assert_below(planes: &TangentPlanes, lane: usize, p: DVec3, truth: f64, about: &str) {
        let x = p.as_vec3();
        let below = f64::from(planes.below(x)[lane]);
        let rounding = f64::from(ROUNDING) * (truth + f64::from(x.abs().element_sum()));
        assert!(below <= truth + rounding, "{about}: {below}, in truth {truth}, at {p}");
    }

    /// Triangles of all sizes and shapes, and points on and near them, compared with the distance in `f64`: at the
    /// origin, near it and far from it, and after the tangent was replaced by that at another point.
    #[test]
    fn never_above_the_distance_and_tight_where_they_touch() {
        let seed = 14;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut loose = [0; 2];
        let mut all = 0;
        for round in 0..40_000 {
            let cloud = TriangleCloud::any(round, &mut random);
            let n = 1 + round % LANES;
            let mut corners = [[[f32::NAN; LANES]; 3]; 3];
            let mut triangles = Vec::new();
            for lane in 0..n {
                let triangle = cloud.triangle(&mut random);
                for (corner, v) in corners.iter_mut().zip(triangle) {
                    (corner[0][lane], corner[1][lane], corner[2][lane]) = (v.x, v.y, v.z);
                }
                triangles.push(triangle);
            }
            let p = cloud.point(triangles[0], round, 12.0, &mut random);
            let TriangleCloud { place, size, flatness, .. } = cloud;
            let reach = (place.abs().max_element() + size).max(p.abs().max_element());
            let slack = reach as f32 * BOX_DISTANCE_SLACK;
            let mut planes = TangentPlanes::towards(&corners, p.as_vec3(), slack);
            assert!((n..LANES).all(|lane| planes.at_origin(lane).is_nan()));
            // At a large distance, rounding decides whether the foot is inside.
            let is_plain = size > 1e-4 && flatness == 1.0 && p.distance(place) < 100.0 * size;
            for (lane, triangle) in triangles.iter().enumerate() {
                let triangle = &triangle.map(Vec3::as_dvec3);
                let about = format!("round {round}: {triangle:?} from {p}");
                let closest = |q: DVec3| closest_point(q, triangle);
                let truth = |q: DVec3| closest(q).distance_squared.sqrt();
                let mut near = |p: DVec3| {
                    p + random.unit_vector() * size * 10f64.powf(random.range(-3.0, 1.0))
                };
                let q = near(p);
                let far = near(q);
                for q in [p, q, far] {
                    assert_below(&planes, lane, q - p, truth(q), &about);
                }
                let is_loose = |planes: &TangentPlanes, at: DVec3| {
                    let below = f64::from(planes.below((at - p).as_vec3())[lane]);
                    // Amount subtracted: no corner is farther from the origin than 12 sizes and the distance, the sum
                    // of its coordinates is at most 1.8 times that, the length of g is less by as much, and the slack
                    // is a quarter of the reach.
                    let taken = f64::from(ROUNDING) * (3.0 * truth(at) + 22.0 * size + reach);
                    usize::from(is_plain && below < truth(at) - taken)
                };
                all += usize::from(is_plain);
                loose[0] += is_loose(&planes, p);
                let ClosestPoint { point, .. } = closest(q);
                let Some(away) = direction(q - point) else { continue };
                planes.replant(lane, away, &triangle.map(|v| v - p));
                for q in [p, q, far] {
                    assert_below(&planes, lane, q - p, truth(q), &about);
                }
                loose[1] += is_loose(&planes, q);
            }
        }
        assert!(all > 1_000 && loose.iter().all(|n| *n < all / 100), "{loose:?} of {all}");
    }
}
