//! The triangle nearest to a point or to another triangle.

use glam::{DVec3, Vec3};

use super::{
    block::{Boxes, NearLanes},
    skip_list::{END, SkipList},
};
use crate::geometry::{
    Aabb, TriangleId, TriangleMesh,
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
    /// True only when the triangle is farther than `limit`, square metres: cheaper than the exact answer.
    fn is_beyond(&self, _triangle: &[DVec3; 3], _limit: f64) -> bool {
        false
    }
}

/// Nearest to a point.
pub struct Point(pub DVec3);

/// Nearest to a triangle; 0 where they cross.
pub struct Triangle(pub [DVec3; 3]);

impl NearestTo for Point {
    type Found = ClosestPoint;

    fn bounds(&self) -> Aabb {
        Aabb::around([self.0])
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

/// A query under way.
struct Search<'a, T: NearestTo> {
    list: &'a SkipList,
    mesh: &'a TriangleMesh,
    to: &'a T,
    bounds: Aabb,
    slack: f32,
    /// Nothing farther is wanted, square metres; as near is.
    limit: f64,
    best: Option<NearestTriangle<T::Found>>,
    visited: usize,
}

impl SkipList {
    /// The nearest triangle within `max_distance` metres, and the links and blocks that were looked at.
    /// `hint`: a triangle that is likely near; it changes the work, never the answer.
    pub fn nearest<T: NearestTo>(
        &self,
        mesh: &TriangleMesh,
        to: &T,
        max_distance: f64,
        hint: Option<TriangleId>,
    ) -> (Option<NearestTriangle<T::Found>>, usize) {
        let bounds = to.bounds();
        let mut search = Search {
            list: self,
            mesh,
            to,
            slack: self.slack(&bounds),
            bounds,
            limit: max_distance * max_distance,
            best: None,
            visited: 0,
        };
        if let Some(t) = hint.filter(|t| self.handle(*t).is_some()) {
            search.offer(t);
        }
        search.bands();
        (search.best, search.visited)
    }

    /// How much an `f32` distance along one axis between the two boxes may be too large, metres.
    fn slack(&self, bounds: &Aabb) -> f32 {
        let reach = |b: &Aabb| b.min.abs().max(b.max.abs()).max_element();
        let own = if self.bounds.is_empty() { 0.0 } else { reach(&self.bounds) };
        own.max(reach(bounds)) * BOX_DISTANCE_SLACK
    }
}

impl<T: NearestTo> Search<'_, T> {
    /// The band with the nearest box first, then the others that may hold something as near.
    fn bands(&mut self) {
        let list = self.list;
        self.visited += list.bands.len();
        let mut first = (f32::INFINITY, END);
        for strip in &list.band_table {
            let bounds = strip.boxes.distances_squared(&self.bounds, self.slack);
            for (bound, band) in bounds.iter().zip(strip.nodes).take(strip.len as usize) {
                // A bound may be infinite, when its square is beyond single precision.
                if first.1 == END || *bound < first.0 {
                    first = (*bound, band);
                }
            }
        }
        if first.1 == END {
            return;
        }
        if f64::from(first.0) <= self.limit {
            self.band(first.1);
        }
        for strip in &list.band_table {
            let mut near = self.near_lanes(&strip.boxes, strip.len as usize);
            while let Some(lane) = near.next(self.limit) {
                if strip.nodes[lane] != first.1 {
                    self.band(strip.nodes[lane]);
                }
            }
        }
    }

    fn band(&mut self, band: u32) {
        let band = &self.list.bands[band as usize];
        self.run(band.strip, END, band.top);
    }

    /// The links at `level` of a run that ends at `end`, nearest first.
    fn run(&mut self, strip: u32, end: u32, level: usize) {
        let strip = &self.list.strips[strip as usize];
        self.visited += strip.len as usize;
        let mut near = self.near_lanes(&strip.boxes, strip.len as usize);
        while let Some(lane) = near.next(self.limit) {
            self.link(strip.nodes[lane], level);
        }
        let mut n = strip.rest;
        while n != end && n != END {
            let link = self.list.link(n, level);
            self.visited += 1;
            if f64::from(self.lower_bound(&link.bounds)) <= self.limit {
                self.link(n, level);
            }
            n = link.next;
        }
    }

    fn link(&mut self, n: u32, level: usize) {
        if level == 0 {
            let block = &self.list.blocks[n as usize];
            let mut near = self.near_lanes(&block.boxes, block.len());
            while let Some(lane) = near.next(self.limit) {
                self.offer(block.triangles[lane]);
            }
        } else {
            let link = self.list.link(n, level);
            self.run(link.strip, link.next, level - 1);
        }
    }

    fn near_lanes(&self, boxes: &Boxes, used: usize) -> NearLanes {
        NearLanes::new(&boxes.distances_squared(&self.bounds, self.slack), used, self.limit)
    }

    fn offer(&mut self, t: TriangleId) {
        let triangle = self.mesh.triangle(t);
        if self.to.is_beyond(&triangle, self.limit) {
            return;
        }
        let closest = self.to.closest(&triangle);
        let d = T::distance_squared(&closest);
        let ties =
            self.best.is_some_and(|b| T::distance_squared(&b.closest) == d && b.triangle <= t);
        if d <= self.limit && !ties {
            self.limit = d;
            self.best = Some(NearestTriangle { triangle: t, closest });
        }
    }

    /// Squared distance of two boxes, never too large.
    fn lower_bound(&self, b: &Aabb) -> f32 {
        let slack = Vec3::splat(self.slack);
        let gap = (b.min - self.bounds.max).max(self.bounds.min - b.max) - slack;
        gap.max(Vec3::ZERO).length_squared()
    }
}
