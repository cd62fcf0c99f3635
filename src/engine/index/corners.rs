//! Corners of triangles in lanes: the data of a leaf's triangles.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use glam::Vec3;

use super::box_lanes::{BoxLanes, Lane, tagged};
use crate::geometry::{
    Aabb,
    distance::tangent_planes::TangentPlanes,
    lanes::{LANES, cross, dot, greater, lesser, minus},
    tolerance::{SINGLE_DISTANCE_ROUNDING as ROUNDING, SINGLE_NORMAL_SQUARED_MIN},
};

/// Vertices of up to eight triangles, corner by corner.
pub(super) type Vertices = [[u32; LANES]; 3];

/// Corners of up to eight triangles; a search reads nothing else. Unused lanes hold NaN, which fails every comparison.
#[derive(Clone, Debug)]
// Corners instead of boxes: a search reads nothing else, and one pass bounds eight distances by plane and box, 3.7
// exact tests for a coherent point instead of 15.8 by boxes alone. Eight lanes instead of sixteen: a query touches
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
        for ([x, y, z], at) in self.0.iter_mut().zip(triangle) {
            (x[lane], y[lane], z[lane]) = (at.x, at.y, at.z);
        }
    }

    pub(super) fn clear(&mut self, lane: usize) {
        self.set(lane, &[Vec3::NAN; 3]);
    }

    /// Reads the corners of the first `len` triangles from their vertices, and returns the box of all.
    #[inline(always)]
    pub(super) fn refill(&mut self, vertices: &Vertices, positions: &[Vec3], len: usize) -> Aabb {
        let unused = UNUSED[len];
        let mut bounds = BoxLanes::EMPTY;
        for (corner, vertices) in self.0.iter_mut().zip(vertices) {
            let at = vertices.map(|v| positions[v as usize]);
            let axes = [at.map(|p| p.x), at.map(|p| p.y), at.map(|p| p.z)];
            for (axis, at) in axes.iter().enumerate() {
                for lane in 0..LANES {
                    let x = f32::from_bits(at[lane].to_bits() | unused[lane]);
                    corner[axis][lane] = x;
                    bounds.min[axis][lane] = lesser(x, bounds.min[axis][lane]);
                    bounds.max[axis][lane] = greater(x, bounds.max[axis][lane]);
                }
            }
        }
        bounds.union()
    }

    /// As [`Corners::refill`], but by whole positions, which are transposed to lanes in registers and written from
    /// there to both leaf and box.
    // One coordinate at a time, the compiler's choice, is limited by the one port that shuffles: 34 ns a leaf.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn refill_wide(
        &mut self,
        vertices: &Vertices,
        positions: &[Vec3],
        len: usize,
    ) -> Aabb {
        let most = vertices.as_flattened().iter().fold(0, |most, v| most.max(*v));
        // No position follows the last one, whose read would pass the end.
        if most as usize + 1 >= positions.len() {
            return self.refill(vertices, positions, len);
        }
        // SAFETY: three numbers and the first of the next position, which exists.
        let at = |v: u32| unsafe { _mm_loadu_ps(positions.as_ptr().add(v as usize).cast()) };
        // SAFETY: reads eight numbers each.
        let load = |lane: &[u32; LANES]| unsafe { _mm256_loadu_ps(lane.as_ptr().cast()) };
        // SAFETY: the lane holds eight numbers.
        let store = |lane: &mut Lane, x| unsafe { _mm256_storeu_ps(lane.as_mut_ptr(), x) };
        let unused = load(&UNUSED[len]);
        let mut low = [_mm256_set1_ps(f32::INFINITY); 3];
        let mut high = [_mm256_set1_ps(f32::NEG_INFINITY); 3];
        for (corner, v) in self.0.iter_mut().zip(vertices) {
            let two = |lane: usize| {
                let lower = _mm256_castps128_ps256(at(v[lane]));
                _mm256_insertf128_ps::<1>(lower, at(v[lane + LANES / 2]))
            };
            let (a, b, c, d) = (two(0), two(1), two(2), two(3));
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (ab_z, cd_z) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            let x = _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd);
            let y = _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd);
            let z = _mm256_shuffle_ps::<0b01_00_01_00>(ab_z, cd_z);
            for (axis, x) in [x, y, z].into_iter().enumerate() {
                let x = _mm256_or_ps(x, unused);
                store(&mut corner[axis], x);
                // The instruction returns the second operand if the first is NaN.
                low[axis] = _mm256_min_ps(x, low[axis]);
                high[axis] = _mm256_max_ps(x, high[axis]);
            }
        }
        Aabb {
            min: least_of_each(low, |a, b| _mm_min_ps(a, b)),
            max: least_of_each(high, |a, b| _mm_max_ps(a, b)),
        }
    }

    /// Boxes of the triangles; NaN in unused lanes.
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

    /// Squared distances to `at` that are never too large, if each coordinate of `at` is off by at most `slack`.
    /// Computed from the plane of each triangle, and from its box and the foot on that plane: without branches, so that
    /// the lanes vectorise. Infinite in unused lanes and nowhere else.
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

    /// Tangents of the distances to `at`, each coordinate of which is off by at most `slack`.
    #[inline(always)]
    pub(super) fn tangent_planes(&self, at: Vec3, slack: f32) -> TangentPlanes {
        TangentPlanes::towards(&self.0, at, slack)
    }
}

/// For each number of triangles, bits that turn the other lanes into NaN: all lanes are read, without a branch.
const UNUSED: [[u32; LANES]; LANES + 1] = {
    let mut unused = [[u32::MAX; LANES]; LANES + 1];
    let mut len = 0;
    while len <= LANES {
        let mut lane = 0;
        while lane < len {
            unused[len][lane] = 0;
            lane += 1;
        }
        len += 1;
    }
    unused
};

/// Least lane, by `lesser`, of each axis.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn least_of_each(axes: [__m256; 3], lesser: impl Fn(__m128, __m128) -> __m128) -> Vec3 {
    let [x, y, z] = axes.map(|a| lesser(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a)));
    let xy = lesser(_mm_unpacklo_ps(x, y), _mm_unpackhi_ps(x, y));
    let xy = lesser(xy, _mm_movehl_ps(xy, xy));
    let z = lesser(z, _mm_movehl_ps(z, z));
    let z = lesser(z, _mm_shuffle_ps::<1>(z, z));
    let y = _mm_shuffle_ps::<1>(xy, xy);
    Vec3::new(_mm_cvtss_f32(xy), _mm_cvtss_f32(y), _mm_cvtss_f32(z))
}

/// Lower bound of the squared distance to the origin, each of whose coordinates is off by at most `slack`.
///
/// For a point x of the triangle and the origin's foot q on its plane: |x|^2 = |q|^2 + |x - q|^2, and x - q is no
/// shorter than q is far from the triangle's box.
#[inline(always)]
fn distance_squared_below([a, b, c]: [Vec3; 3], slack: f32) -> f32 {
    let of_three = |f: fn(f32, f32) -> f32| {
        Vec3::new(f(f(a.x, b.x), c.x), f(f(a.y, b.y), c.y), f(f(a.z, b.z), c.z))
    };
    let (lo, hi) = (of_three(lesser), of_three(greater));
    debug_assert!(slack >= 0.0, "slack {slack}");
    // Farthest distance of any corner, by the sum of its coordinates: an upper bound that needs no root.
    let far = greater(hi.x, -lo.x) + greater(hi.y, -lo.y) + greater(hi.z, -lo.z);
    let normal = cross(minus(b, a), minus(c, a));
    let (normal_squared, along) = (dot(normal, normal), dot(normal, a));
    let normal_length = normal_squared.sqrt();
    let size = minus(hi, lo);
    // A cross product of two edges is off by their product times the rounding of a coordinate.
    let normal_slack = ROUNDING * dot(size, size);
    // Lessening each of several perpendicular distances lessens their combination by at least as much.
    let moved = 2.0 * slack + ROUNDING * far;
    let height =
        (along.abs() - normal_slack * far) / (normal_length + normal_slack) * (1.0 - ROUNDING);
    let height = greater(height - moved, 0.0);
    // The foot is off by less than the rotation of the normal times the distance; times 8, nothing is left of a gap if
    // a rotation of a quarter turn is possible.
    let foot = along / normal_squared;
    let moved = moved + 8.0 * far * (normal_slack / normal_length);
    let gap = |lo: f32, hi: f32, foot: f32| greater(greater(lo - foot, foot - hi) - moved, 0.0);
    let x = gap(lo.x, hi.x, normal.x * foot);
    let y = gap(lo.y, hi.y, normal.y * foot);
    let z = gap(lo.z, hi.z, normal.z * foot);
    let sum = (height * height + x * x + y * y + z * z) * (1.0 - ROUNDING);
    // NaN is unknown. A triangle without area has no plane to bound its distance, and a bound of 0 leaves it to the
    // exact test.
    let known = normal_squared > SINGLE_NORMAL_SQUARED_MIN && sum > 0.0;
    if known { lesser(sum, f32::MAX) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::{distance::point_triangle::closest_point, tolerance::BOX_DISTANCE_SLACK},
        oracle::{Random, triangle_cloud::TriangleCloud},
    };

    /// Refills with four and with eight lanes to an instruction are identical, the last vertex and unused lanes
    /// included.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn narrow_and_wide_refill_alike() {
        if !is_x86_feature_detected!("avx2") {
            return;
        }
        let mut random = Random::new(13);
        for round in 0..2_000 {
            let n_vertices = 3 + random.below(60);
            let positions: Vec<Vec3> =
                (0..n_vertices).map(|_| (random.unit_vector() * 0.1).as_vec3()).collect();
            let len = round % (LANES + 1);
            let vertices: Vertices = std::array::from_fn(|_| {
                let any =
                    |lane: usize| if lane < len { random.below(n_vertices) as u32 } else { 0 };
                std::array::from_fn(any)
            });
            let [mut narrow, mut wide] = [Corners::EMPTY, Corners::EMPTY];
            let bounds = narrow.refill(&vertices, &positions, len);
            // SAFETY: the processor has AVX2.
            assert_eq!(unsafe { wide.refill_wide(&vertices, &positions, len) }, bounds);
            let bits = |c: &Corners| c.0.map(|corner| corner.map(|axis| axis.map(f32::to_bits)));
            assert_eq!(bits(&narrow), bits(&wide));
            for lane in 0..LANES {
                let corners = vertices.map(|corner| positions[corner[lane] as usize]);
                if lane < len {
                    assert_eq!(wide.get(lane), corners);
                } else {
                    assert!(wide.get(lane).iter().all(|p| p.is_nan()));
                }
            }
            let used = |lane| wide.get(lane);
            assert_eq!(bounds, Aabb::of_points((0..len).flat_map(used)));
        }
    }

    /// Triangles of all sizes and shapes, points on and near them, compared with the distance in `f64`.
    #[test]
    fn never_above_the_distance_and_seldom_far_below() {
        let seed = 12;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let (mut loose, mut all) = (0, 0);
        for round in 0..40_000 {
            let cloud = TriangleCloud::any(round, &mut random);
            let n = 1 + round % LANES;
            let mut corners = Corners::EMPTY;
            for lane in 0..n {
                corners.set(lane, &cloud.triangle(&mut random));
            }
            let p = cloud.point(corners.get(0), round, 22.0, &mut random);
            let TriangleCloud { place, size, flatness, .. } = cloud;
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
                if size > 1e-4 && flatness == 1.0 && reach < 100.0 {
                    all += 1;
                    loose += usize::from(below.sqrt() < truth.sqrt() * 0.7 - 1e-5 * reach);
                }
            }
        }
        // Seen from the side, a slanting triangle's box gives a loose bound, and a sliver gives none.
        assert!(loose < all / 4, "{loose} of {all}");
    }
}
