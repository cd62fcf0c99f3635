//! Corners of triangles side by side: what a leaf stores of its triangles.

use glam::Vec3;

use super::box_lanes::{BoxLanes, Lane, tagged};
use crate::geometry::{
    Aabb,
    lanes::{LANES, are_wide, cross, dot, greater, lesser, minus},
    tolerance::{SINGLE_DISTANCE_ROUNDING as ROUNDING, SINGLE_NORMAL_SQUARED_MIN},
};

/// Corners of up to eight triangles, so that a search reads nothing else. Unused lanes hold NaN, which fails
/// every comparison.
#[derive(Clone, Debug)]
// Corners and not boxes: a search reads nothing else, and one pass bounds eight distances by plane and box, 3.7
// exact tests for a coherent point instead of 15.8 by boxes alone. Eight and not sixteen lanes: a query touches
// fewer cache lines.
pub(super) struct Corners([[Lane; 3]; 3]);

impl Corners {
    pub(super) const EMPTY: Corners = Corners([[[f32::NAN; LANES]; 3]; 3]);

    pub(super) fn get(&self, lane: usize) -> [Vec3; 3] {
        let at = |[x, y, z]: &[Lane; 3]| Vec3::new(x[lane], y[lane], z[lane]);
        let [a, b, c] = &self.0;
        [at(a), at(b), at(c)]
    }

    pub(super) fn set(&mut self, lane: usize, triangle: &[Vec3; 3]) {
        for (corner, at) in triangle.iter().enumerate() {
            self.set_corner(lane, corner, *at);
        }
    }

    pub(super) fn set_corner(&mut self, lane: usize, corner: usize, at: Vec3) {
        let [x, y, z] = &mut self.0[corner];
        (x[lane], y[lane], z[lane]) = (at.x, at.y, at.z);
    }

    pub(super) fn clear(&mut self, lane: usize) {
        self.set(lane, &[Vec3::NAN; 3]);
    }

    /// The box of all triangles, by the widest instructions that the processor has.
    pub(super) fn bounds(&self) -> Aabb {
        #[cfg(target_arch = "x86_64")]
        if are_wide() {
            // SAFETY: lanes are wide only where the processor has AVX2.
            return unsafe { bounds_wide(self) };
        }
        self.boxes().union()
    }

    /// The triangles' boxes; NaN in unused lanes.
    #[inline(always)]
    pub(super) fn boxes(&self) -> BoxLanes {
        let [a, b, c] = &self.0;
        let mut boxes = BoxLanes::EMPTY;
        for axis in 0..3 {
            for lane in 0..LANES {
                let (a, b, c) = (a[axis][lane], b[axis][lane], c[axis][lane]);
                boxes.min[axis][lane] = lesser(lesser(a, b), c);
                boxes.max[axis][lane] = greater(greater(a, b), c);
            }
        }
        boxes
    }

    /// Squared distances to `at` that are never too large, when each coordinate of `at` is off by at most
    /// `slack`. By the plane of each triangle, and by its box from the foot on that plane: without branches,
    /// so that lanes go side by side. Infinite in unused lanes and nowhere else.
    #[inline(always)]
    pub(super) fn distances_squared_below(&self, at: Vec3, slack: f32) -> Lane {
        let [a, b, c] = &self.0;
        let mut below = [0.0; LANES];
        for lane in 0..LANES {
            let seen = |corner: &[Lane; 3]| {
                Vec3::new(corner[0][lane] - at.x, corner[1][lane] - at.y, corner[2][lane] - at.z)
            };
            let squared = distance_squared_below([seen(a), seen(b), seen(c)], slack);
            below[lane] = if a[0][lane].is_nan() { f32::INFINITY } else { tagged(squared, lane) };
        }
        below
    }
}

/// [`Corners::bounds`] with eight lanes to an instruction instead of four.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn bounds_wide(corners: &Corners) -> Aabb {
    corners.boxes().union()
}

/// From the origin, each of whose coordinates is off by at most `slack`.
///
/// A point x of the triangle, the origin's foot q on its plane: |x|^2 = |q|^2 + |x - q|^2, and x - q is no
/// shorter than q is far from the triangle's box.
#[inline(always)]
fn distance_squared_below([a, b, c]: [Vec3; 3], slack: f32) -> f32 {
    let of_three = |f: fn(f32, f32) -> f32| {
        Vec3::new(f(f(a.x, b.x), c.x), f(f(a.y, b.y), c.y), f(f(a.z, b.z), c.z))
    };
    let (lo, hi) = (of_three(lesser), of_three(greater));
    debug_assert!(slack >= 0.0, "slack {slack}");
    // The farthest that any corner is away, by the sum of its coordinates: an upper bound that needs no root.
    let far = greater(hi.x, -lo.x) + greater(hi.y, -lo.y) + greater(hi.z, -lo.z);
    let normal = cross(minus(b, a), minus(c, a));
    let (normal_squared, along) = (dot(normal, normal), dot(normal, a));
    let normal_length = normal_squared.sqrt();
    let size = minus(hi, lo);
    // A cross product of two edges is off by their product times the rounding of a coordinate.
    let normal_slack = ROUNDING * dot(size, size);
    // Lessening each of several perpendicular distances lessens what they make together by as much at least.
    let moved = 2.0 * slack + ROUNDING * far;
    let height =
        (along.abs() - normal_slack * far) / (normal_length + normal_slack) * (1.0 - ROUNDING);
    let height = greater(height - moved, 0.0);
    // The foot is off by less than the turn of the normal times the distance; times 8, nothing is left of a gap
    // where a turn of a quarter is possible.
    let foot = along / normal_squared;
    let moved = moved + 8.0 * far * (normal_slack / normal_length);
    let gap = |lo: f32, hi: f32, foot: f32| greater(greater(lo - foot, foot - hi) - moved, 0.0);
    let x = gap(lo.x, hi.x, normal.x * foot);
    let y = gap(lo.y, hi.y, normal.y * foot);
    let z = gap(lo.z, hi.z, normal.z * foot);
    let sum = (height * height + x * x + y * y + z * z) * (1.0 - ROUNDING);
    // What is not a number is not known.
    // A triangle without area has no plane to be far from, and a bound of 0 leaves it to the exact test.
    let known = normal_squared > SINGLE_NORMAL_SQUARED_MIN && sum > 0.0;
    if known { lesser(sum, f32::MAX) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::{
        geometry::{distance::point_triangle::closest_point, tolerance::BOX_DISTANCE_SLACK},
        oracle::Random,
    };

    /// Triangles of all sizes and shapes, points on and about them, against the distance in `f64`.
    #[test]
    fn never_above_the_distance_and_seldom_far_below() {
        let seed = 12;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let (mut loose, mut all) = (0, 0);
        for round in 0..40_000 {
            let place = random.unit_vector() * 10f64.powf(random.range(-4.0, 1.0));
            let size = 10f64.powf(random.range(-18.0, 1.0));
            let flat = if round % 3 == 0 { 10f64.powf(random.range(-8.0, 0.0)) } else { 1.0 };
            let along = random.unit_vector();
            let n = 1 + round % LANES;
            let mut corners = Corners::EMPTY;
            for lane in 0..n {
                let triangle = std::array::from_fn(|_| {
                    let v = random.unit_vector();
                    let v = along * v.dot(along) + (v - along * v.dot(along)) * flat;
                    (place + v * size).as_vec3()
                });
                corners.set(lane, &triangle);
            }
            let p: DVec3 = match round % 4 {
                0 => corners.get(0)[0].as_dvec3(),
                1 => corners.get(0).map(Vec3::as_dvec3).iter().sum::<DVec3>() / 3.0,
                2 => place + random.unit_vector() * size * random.range(0.0, 2.0),
                _ => place + random.unit_vector() * 10f64.powf(random.range(-3.0, 22.0)),
            };
            let reach = (place.abs().max_element() + size).max(p.abs().max_element());
            let slack = reach as f32 * BOX_DISTANCE_SLACK;
            let below = corners.distances_squared_below(p.as_vec3(), slack);
            assert!(below[n..].iter().all(|d| *d == f32::INFINITY));
            for (lane, below) in below[..n].iter().enumerate() {
                let triangle = corners.get(lane);
                let truth = closest_point(p, &triangle.map(Vec3::as_dvec3)).distance_squared;
                let below = f64::from(*below);
                // The lane's number is in the last bits, of zero too.
                assert!(below <= truth || below < 1e-44, "{below}, {truth}: {triangle:?} from {p}");
                if size > 1e-4 && flat == 1.0 && reach < 100.0 {
                    all += 1;
                    loose += usize::from(below.sqrt() < truth.sqrt() * 0.7 - 1e-5 * reach);
                }
            }
        }
        // From aside of a slanting triangle its box tells little, and of a sliver nothing is known.
        assert!(loose < all / 4, "{loose} of {all}");
    }
}
