//! The triangle nearest to a point or to another triangle.

use glam::{DVec3, Vec3};

use super::{
    block::{LANES, Lane, least, lesser},
    corners::Corners,
    frame::BANDS_MAX,
    skip_list::{HEAD_LEVELS, SkipList},
    strip::Strip,
};
use crate::geometry::{
    Aabb, TriangleId,
    point_triangle::{ClosestPoint, closest_point},
    tolerance::BOX_DISTANCE_SLACK,
    triangle_distance::{ClosestPair, closest_pair},
};

/// What a triangle can be near to.
pub trait NearestTo {
    /// What is known of the closest triangle.
    type Found: Copy;
    /// A box around it.
    fn bounds(&self) -> Aabb;
    /// The exact answer for one triangle.
    fn closest(&self, triangle: &[DVec3; 3]) -> Self::Found;
    /// Its squared distance, square metres.
    fn distance_squared(found: &Self::Found) -> f64;
    /// Squared distances of a block's triangles, never too large; infinite in unused lanes and nowhere else.
    /// `bounds` is the box, whose coordinates may be off by `slack`.
    #[doc(hidden)]
    fn below(&self, triangles: &BlockView, bounds: &Aabb, slack: f32) -> [f32; LANES] {
        triangles.0.boxes().distances_squared(bounds, slack)
    }

    /// True only when the triangle is farther than `limit`, square metres: cheaper than the exact answer.
    fn is_beyond(&self, _triangle: &[DVec3; 3], _limit: f64) -> bool {
        false
    }
}

/// The triangles of a block.
#[doc(hidden)]
pub struct BlockView<'a>(&'a Corners);

/// Nearest to a point.
pub struct Point(pub DVec3);

/// Nearest to a triangle; 0 where they cross.
pub struct Triangle(pub [DVec3; 3]);

impl NearestTo for Point {
    type Found = ClosestPoint;

    fn bounds(&self) -> Aabb {
        Aabb::around([self.0])
    }

    #[inline(always)]
    fn below(&self, triangles: &BlockView, bounds: &Aabb, slack: f32) -> [f32; LANES] {
        triangles.0.distances_squared_below(bounds.min, slack)
    }

    fn closest(&self, triangle: &[DVec3; 3]) -> ClosestPoint {
        closest_point(self.0, triangle)
    }

    fn distance_squared(found: &ClosestPoint) -> f64 {
        found.distance_squared
    }
}

impl NearestTo for Triangle {
    type Found = ClosestPair;

    fn bounds(&self) -> Aabb {
        Aabb::around(self.0)
    }

    fn closest(&self, triangle: &[DVec3; 3]) -> ClosestPair {
        closest_pair(&self.0, triangle)
    }

    fn distance_squared(found: &ClosestPair) -> f64 {
        found.distance_squared
    }

    /// By a slab between the two: along either's plane, or across the line from this one's middle to the
    /// other's nearest point.
    fn is_beyond(&self, triangle: &[DVec3; 3], limit: f64) -> bool {
        let by_plane = |flat: &[DVec3; 3], other: &[DVec3; 3]| {
            let (e1, e2) = (flat[1] - flat[0], flat[2] - flat[0]);
            let normal = e1.cross(e2);
            let longest = e1.length_squared().max(e2.length_squared());
            if normal.length_squared() < THIN * longest * longest {
                return false;
            }
            let heights = other.map(|p| (p - flat[0]).dot(normal));
            let (least, most) = (
                heights[0].min(heights[1]).min(heights[2]),
                heights[0].max(heights[1]).max(heights[2]),
            );
            let gap = least.max(-most);
            gap > 0.0 && gap * gap > limit * normal.length_squared() * (1.0 + GAP_ROUNDING)
        };
        if by_plane(triangle, &self.0) || by_plane(&self.0, triangle) {
            return true;
        }
        let middle = (self.0[0] + self.0[1] + self.0[2]) / 3.0;
        let across = closest_point(middle, triangle).point - middle;
        let height = |p: &DVec3| (*p - middle).dot(across);
        let far = triangle.iter().map(height).fold(f64::INFINITY, f64::min);
        let near = self.0.iter().map(height).fold(f64::NEG_INFINITY, f64::max);
        let gap = far - near;
        gap > 0.0 && gap * gap > limit * across.length_squared() * (1.0 + GAP_ROUNDING)
    }
}

/// The plane of a triangle whose height is less than 1 % of its edges is not asked: its rounding grows with
/// edge over height.
const THIN: f64 = 1e-4;

/// Covers the rounding of a slab's width, relative: a triangle exactly at the limit is not lost.
const GAP_ROUNDING: f64 = 1e-9;

/// The nearest triangle; the smallest id among equally near ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestTriangle<F> {
    /// Which one.
    pub triangle: TriangleId,
    /// Where on it.
    pub closest: F,
}

/// Strips above one another: the levels of the tallest tower, and of a table of as many bands as can be.
const DEPTH: usize = HEAD_LEVELS + BANDS_MAX.ilog(LANES) as usize;

/// A query under way.
struct Search<'a, T: NearestTo> {
    list: &'a SkipList,
    to: &'a T,
    bounds: Aabb,
    slack: f32,
    /// Nothing farther is wanted, square metres; as near is.
    limit: f64,
    /// The same, not less, and finite.
    limit_above: f32,
    best: Option<NearestTriangle<T::Found>>,
}

/// What is left of a strip.
#[derive(Clone, Copy)]
struct Run {
    near: NearLanes,
    strip: u32,
    rest: u32,
}

impl SkipList {
    /// The nearest triangle within `max_distance` metres. `hint`: a triangle that is likely near; it changes
    /// the work, never the answer.
    pub fn nearest<T: NearestTo>(
        &self,
        to: &T,
        max_distance: f64,
        hint: Option<TriangleId>,
    ) -> Option<NearestTriangle<T::Found>> {
        let mut search = self.search(to, max_distance);
        if let Some((n, lane)) = hint.and_then(|t| self.handle(t)) {
            search.offer(n, lane);
        }
        search.descend();
        search.best
    }

    fn search<'a, T: NearestTo>(&'a self, to: &'a T, max_distance: f64) -> Search<'a, T> {
        let bounds = to.bounds();
        let limit = max_distance * max_distance;
        let (slack, limit_above) = (self.slack(&bounds), above(limit));
        Search { list: self, to, slack, bounds, limit, limit_above, best: None }
    }

    /// How much an `f32` distance along one axis between the two boxes may be too large, metres.
    fn slack(&self, bounds: &Aabb) -> f32 {
        let reach = |b: &Aabb| b.min.abs().max(b.max.abs()).max_element();
        let own = if self.bounds.is_empty() { 0.0 } else { reach(&self.bounds) };
        own.max(reach(bounds)) * BOX_DISTANCE_SLACK
    }
}

/// [`Search::descend_by`] with eight lanes to an instruction instead of four.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn descend_wide<T: NearestTo>(search: &mut Search<'_, T>) {
    search.descend_by();
}

impl<T: NearestTo> Search<'_, T> {
    /// By the widest instructions that the processor has; the answer is the same.
    fn descend(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { descend_wide(self) };
        }
        self.descend_by();
    }

    /// Depth first from the table of the bands, nearest first.
    #[inline(always)]
    fn descend_by(&mut self) {
        let list = self.list;
        let mut runs = [self.run(list.root()); DEPTH];
        let mut depth = 0;
        loop {
            let run = &mut runs[depth];
            let strip = &list.strips[run.strip as usize];
            let below = if let Some(lane) = run.near.next(self.limit_above) {
                strip.below[lane]
            } else if run.rest != strip.end {
                let n = run.rest;
                let link = list.link(n, strip.level as usize);
                run.rest = link.next;
                if self.lower_bound(&link.bounds) > self.limit_above {
                    continue;
                }
                if strip.level == 0 { n } else { link.strip }
            } else if depth > 0 {
                depth -= 1;
                continue;
            } else {
                return;
            };
            if strip.level == 0 {
                self.block(below);
            } else {
                depth += 1;
                runs[depth] = self.run(below);
            }
        }
    }

    #[inline(always)]
    fn run(&self, strip: u32) -> Run {
        let Strip { boxes, rest, .. } = &self.list.strips[strip as usize];
        let near = NearLanes(boxes.distances_squared(&self.bounds, self.slack));
        Run { near, strip, rest: *rest }
    }

    #[inline(always)]
    fn block(&mut self, n: u32) {
        let block = &self.list.blocks[n as usize];
        let mut near =
            NearLanes(self.to.below(&BlockView(&block.corners), &self.bounds, self.slack));
        while let Some(lane) = near.next(self.limit_above) {
            self.offer(n, lane);
        }
    }

    fn offer(&mut self, n: u32, lane: usize) {
        let block = &self.list.blocks[n as usize];
        let t = block.triangles[lane];
        if self.best.is_some_and(|b| b.triangle == t) {
            return;
        }
        let triangle = block.corners.get(lane).map(|p| p.as_dvec3());
        if self.to.is_beyond(&triangle, self.limit) {
            return;
        }
        let closest = self.to.closest(&triangle);
        let d = T::distance_squared(&closest);
        let ties =
            self.best.is_some_and(|b| T::distance_squared(&b.closest) == d && b.triangle < t);
        if d <= self.limit && !ties {
            self.limit = d;
            self.limit_above = above(d);
            self.best = Some(NearestTriangle { triangle: t, closest });
        }
    }

    /// Squared distance of two boxes, never too large.
    fn lower_bound(&self, b: &Aabb) -> f32 {
        let slack = Vec3::splat(self.slack);
        let gap = (b.min - self.bounds.max).max(self.bounds.min - b.max) - slack;
        lesser(gap.max(Vec3::ZERO).length_squared(), f32::MAX)
    }
}

/// Squared distances of the lanes that are left; infinite in the others.
#[derive(Clone, Copy)]
struct NearLanes(Lane);

impl NearLanes {
    /// The nearest lane within the limit, which is taken out.
    #[inline(always)]
    fn next(&mut self, limit: f32) -> Option<usize> {
        let nearest = least(&self.0);
        if nearest > limit {
            return None;
        }
        let lane = nearest.to_bits() as usize % LANES;
        self.0[lane] = f32::INFINITY;
        Some(lane)
    }
}

/// Not less, in single precision, a lane's number in its last bits included; finite, so that no lane without
/// a box is within it.
fn above(limit: f64) -> f32 {
    let rounded = limit as f32;
    let above = if f64::from(rounded) < limit { rounded.next_up() } else { rounded };
    f32::from_bits(lesser(above, f32::MAX).to_bits() | (LANES - 1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::TriangleMesh,
        index::FrameOptions,
        oracle::{Random, shapes},
    };

    /// Four lanes to an instruction and eight answer the same.
    #[test]
    fn narrow_and_wide_agree() {
        let mesh = TriangleMesh::new(shapes::organ(5_000, 3));
        let list = SkipList::build(&mesh, &FrameOptions::default(), false);
        let mut random = Random::new(4);
        for _ in 0..1_000 {
            let p = random.point(list.bounds().min.as_dvec3(), list.bounds().max.as_dvec3());
            let point = Point(p);
            let [mut narrow, mut wide] = [(); 2].map(|()| list.search(&point, f64::INFINITY));
            narrow.descend_by();
            wide.descend();
            assert!(narrow.best.is_some() && narrow.best == wide.best, "at {p}");
        }
    }
}
