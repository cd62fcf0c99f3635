//! Lower bounds of the distances from a point to eight triangles, in lanes.
//!
//! Computed in `f32`, so that one pass serves eight; each bound is lessened by the largest possible rounding error. A
//! search computes in `f64` only if the bound does not decide.

use glam::{DVec3, Vec3};

#[cfg(target_arch = "x86_64")]
use crate::geometry::lanes::are_wide;
use crate::geometry::{
    lanes::{LANES, cross, dot, greater, lesser, minus},
    tolerance::SINGLE_DISTANCE_ROUNDING as ROUNDING,
};

/// Eight triangles; each coordinate of a corner has a lane for each triangle.
#[derive(Clone, Debug)]
pub struct TriangleLanes {
    corners: [[[f32; LANES]; 3]; 3],
    len: usize,
}

impl TriangleLanes {
    /// Stores up to eight triangles.
    #[inline(always)]
    pub fn new(triangles: impl ExactSizeIterator<Item = [Vec3; 3]>) -> TriangleLanes {
        let mut lanes = TriangleLanes { corners: [[[0.0; LANES]; 3]; 3], len: triangles.len() };
        assert!(lanes.len <= LANES, "{} triangles", lanes.len);
        for (lane, corners) in triangles.enumerate() {
            for (to, from) in lanes.corners.iter_mut().zip(corners) {
                (to[0][lane], to[1][lane], to[2][lane]) = (from.x, from.y, from.z);
            }
        }
        lanes
    }

    /// Lower bounds of the distances of the triangles to `p`, metres; infinite in lanes without a triangle.
    pub fn distances_below(&self, p: DVec3) -> [f32; LANES] {
        #[cfg(target_arch = "x86_64")]
        if are_wide() {
            // SAFETY: lanes are wide only if the processor has AVX2.
            return unsafe { self.distances_below_wide(p) };
        }
        self.distances_below_by(p)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn distances_below_wide(&self, p: DVec3) -> [f32; LANES] {
        self.distances_below_by(p)
    }

    #[inline(always)]
    fn distances_below_by(&self, p: DVec3) -> [f32; LANES] {
        let at = p.as_vec3();
        // The point itself is rounded to f32; the resulting shift is subtracted from each bound.
        let moved = at.as_dvec3().distance(p) as f32;
        let [a, b, c] = &self.corners;
        let mut below = [f32::INFINITY; LANES];
        for lane in 0..LANES {
            let seen = |corner: &[[f32; LANES]; 3]| {
                Vec3::new(corner[0][lane] - at.x, corner[1][lane] - at.y, corner[2][lane] - at.z)
            };
            below[lane] = distance_below(seen(a), seen(b), seen(c)) - moved * (1.0 + ROUNDING);
        }
        below[self.len..].fill(f32::INFINITY);
        below
    }
}

/// Lower bound of a triangle's distance from the origin; without branches, so that the lanes vectorise.
#[inline(always)]
fn distance_below(a: Vec3, b: Vec3, c: Vec3) -> f32 {
    let (ab, bc, ca) = (minus(b, a), minus(c, b), minus(a, c));
    let far_squared = greater(greater(dot(a, a), dot(b, b)), dot(c, c));
    let long_squared = greater(greater(dot(ab, ab), dot(bc, bc)), dot(ca, ca));
    let far = far_squared.sqrt();
    let on_edges = nearer(nearer(on_segment(a, ab), on_segment(b, bc)), on_segment(c, ca));
    let edges = dot(on_edges, on_edges).sqrt();
    let to_edges = edges - ROUNDING * far;
    let normal = cross(ab, bc);
    // With u = 2^-24, corners are off by u of the farthest corner's distance f, edges by u (2 f + l), l being the
    // longest, the normal n by 6 u l (f + l), and a point q of an edge by u (4 f + 3 l).
    let long = long_squared.sqrt();
    let of_normal = long * (far + long);
    // The foot on the plane may be inside; the plane is never farther than the triangle. Doubt counts as inside: the
    // plane's distance is the lower one.
    let may_be_in = |b: Vec3, c: Vec3| {
        let area = cross(b, c);
        // The area w is off by 5 u f^2, and the product by 3 u |n| |w|. One bound for all terms, u l^2 f^2, would let
        // planes answer for a shaft's long facets: lists were then read by twelve exact distances instead of two.
        let error =
            of_normal * (taxicab(area) + ROUNDING * far_squared) + far_squared * taxicab(normal);
        dot(normal, area) >= -(ROUNDING * error + f32::MIN_POSITIVE)
    };
    let inside = may_be_in(b, c) & may_be_in(c, a) & may_be_in(a, b);
    // Measured from the nearest point of the edges: from a corner 0.1 m away, rounding takes all of a height of 0.1 mm.
    let long_normal = dot(normal, normal).sqrt();
    let slack = ROUNDING * (of_normal * edges + long_normal * (far + long));
    let height = greater(dot(normal, on_edges).abs() - slack, 0.0);
    let to_plane = height / (long_normal + f32::MIN_POSITIVE) * (1.0 - ROUNDING);
    if inside { lesser(to_plane, to_edges) } else { to_edges }
}

/// An upper bound of the vector's length.
#[inline(always)]
fn taxicab(v: Vec3) -> f32 {
    v.x.abs() + v.y.abs() + v.z.abs()
}

/// Point of the segment from `a` nearest to the origin.
#[inline(always)]
pub(super) fn on_segment(a: Vec3, along: Vec3) -> Vec3 {
    // The least normal number prevents a division by zero for an edge without length.
    let s = -dot(a, along) / greater(dot(along, along), f32::MIN_POSITIVE);
    let s = lesser(greater(s, 0.0), 1.0);
    Vec3::new(a.x + along.x * s, a.y + along.y * s, a.z + along.z * s)
}

/// The point nearer to the origin.
#[inline(always)]
pub(super) fn nearer(a: Vec3, b: Vec3) -> Vec3 {
    if dot(a, a) < dot(b, b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use glam::DVec2;

    use super::*;
    use crate::{geometry::distance::point_triangle::closest_point, oracle::Random};

    /// Compared with the distance in `f64`: triangles of all sizes and shapes, points on and near them.
    #[test]
    fn never_above_the_distance_and_seldom_far_below() {
        let seed = 11;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let (mut loose, mut all) = (0, 0);
        const ROUNDS: usize = 40_000;
        for round in 0..ROUNDS {
            let place = random.unit_vector() * 10f64.powf(random.range(-4.0, 1.0));
            let size = 10f64.powf(random.range(-6.0, 0.0));
            let flat = if round % 3 == 0 { 10f64.powf(random.range(-8.0, 0.0)) } else { 1.0 };
            let along = random.unit_vector();
            let mut triangle = || {
                std::array::from_fn(|_| {
                    let v = random.unit_vector();
                    let v = along * v.dot(along) + (v - along * v.dot(along)) * flat;
                    (place + v * size).as_vec3()
                })
            };
            let triangles: [[Vec3; 3]; LANES] = std::array::from_fn(|_| triangle());
            let p = match round % 4 {
                0 => triangles[0][0].as_dvec3(),
                1 => triangles[0].map(Vec3::as_dvec3).iter().sum::<DVec3>() / 3.0,
                2 => place + random.unit_vector() * size * random.range(0.0, 2.0),
                _ => place + random.unit_vector() * random.range(0.0, 0.1),
            };
            let n = 1 + round % LANES;
            let below = TriangleLanes::new(triangles[..n].iter().copied()).distances_below(p);
            assert!(below[n..].iter().all(|d| *d == f32::INFINITY));
            for (triangle, below) in triangles.iter().zip(&below[..n]) {
                let truth = closest_point(p, &triangle.map(Vec3::as_dvec3)).distance_squared.sqrt();
                let below = f64::from(*below);
                assert!(below <= truth, "{below}, in truth {truth}: {triangle:?} from {p}");
                all += 1;
                loose += usize::from(below < truth * 0.99 - 1e-6 * place.length());
            }
        }
        // Slivers and triangles of a few units in the last place have loose bounds.
        assert!(loose < all / 4, "{loose} of {all}");
    }

    /// In and near a long thin shaft few of its facets may be nearest by their bounds, as few are.
    #[test]
    fn facets_of_a_shaft_are_told_apart() {
        let seed = 12;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        const ROUNDS: usize = 1_000;
        const SIDES: usize = 16;
        let mut wanted = 0;
        for _ in 0..ROUNDS {
            let radius = 10f64.powf(random.range(-4.0, -3.0));
            let (place, spin) = (random.unit_vector() * 0.05, random.range(0.0, 6.0));
            let at = |k: usize, z: f64| {
                let turn =
                    DVec2::from_angle(spin + std::f64::consts::TAU * k as f64 / SIDES as f64);
                (place + (turn * radius).extend(z)).as_vec3()
            };
            let facets: Vec<[Vec3; 3]> = (0..SIDES)
                .flat_map(|k| {
                    let [a, b, c, d] = [at(k, 0.0), at(k + 1, 0.0), at(k + 1, 0.1), at(k, 0.1)];
                    [[a, b, c], [a, c, d]]
                })
                .collect();
            let off = DVec2::from_angle(random.range(0.0, 6.0)) * radius * random.range(0.0, 2.0);
            let p = place + off.extend(random.range(0.0, 0.1));
            let truth = |t: &[Vec3; 3]| closest_point(p, &t.map(Vec3::as_dvec3)).distance_squared;
            let nearest = facets.iter().map(truth).fold(f64::INFINITY, f64::min).sqrt();
            for eight in facets.chunks(LANES) {
                let below = TriangleLanes::new(eight.iter().copied()).distances_below(p);
                wanted += below.iter().filter(|d| f64::from(**d) <= nearest).count();
            }
        }
        // One facet, or two if an edge is nearest, and facets that are equally near to rounding. With one bound for all
        // rounding it was sixteen.
        assert!(wanted < 3 * ROUNDS, "{wanted} in {ROUNDS} rounds");
    }
}
