//! The triangle nearest to a point or to another triangle.

use glam::{DVec3, Vec3};

use super::{
    block::LANES,
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
}

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
        let bound = |i: usize| self.lower_bound(&list.bands[i].bounds);
        let Some(first) = (0..list.bands.len()).min_by(|&i, &j| bound(i).total_cmp(&bound(j)))
        else {
            return;
        };
        self.visited += list.bands.len();
        let others = (0..list.bands.len()).filter(|i| *i != first);
        for i in std::iter::once(first).chain(others) {
            let band = &list.bands[i];
            if f64::from(self.lower_bound(&band.bounds)) <= self.limit {
                self.run(band.head, END, band.top);
            }
        }
    }

    /// The links at `level` from `start` up to `end`, nearest first.
    fn run(&mut self, start: u32, end: u32, level: usize) {
        // Runs are 8 links long in the mean; a longer one is taken in pieces.
        const PIECE: usize = 16;
        let mut n = start;
        while n != end {
            let mut piece = [(f32::INFINITY, END); PIECE];
            let mut len = 0;
            while n != end && len < PIECE {
                let link = self.list.link(n, level);
                self.visited += 1;
                let bound = self.lower_bound(&link.bounds);
                if f64::from(bound) <= self.limit {
                    let at = piece[..len].partition_point(|(b, _)| *b <= bound);
                    piece.copy_within(at..len, at + 1);
                    piece[at] = (bound, n);
                    len += 1;
                }
                n = link.next;
            }
            for &(bound, node) in &piece[..len] {
                if f64::from(bound) > self.limit {
                    break;
                }
                if level > 0 {
                    let end = self.list.link(node, level).next;
                    self.run(node, end, level - 1);
                } else {
                    self.block(node);
                }
            }
        }
    }

    fn block(&mut self, node: u32) {
        let block = &self.list.blocks[node as usize];
        let bounds = block.distances_squared(&self.bounds, self.slack);
        // The bound of an unused lane is infinite, and so may the limit be.
        let used = (1u32 << block.len()) - 1;
        let mut left: u32 = used
            & (0..LANES).fold(0, |m, i| m | u32::from(f64::from(bounds[i]) <= self.limit) << i);
        while left != 0 {
            let mut nearest = left.trailing_zeros() as usize;
            let mut rest = left & (left - 1);
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                if bounds[lane] < bounds[nearest] {
                    nearest = lane;
                }
                rest &= rest - 1;
            }
            if f64::from(bounds[nearest]) > self.limit {
                return;
            }
            left &= !(1 << nearest);
            self.offer(block.triangles[nearest]);
        }
    }

    fn offer(&mut self, t: TriangleId) {
        let closest = self.to.closest(&self.mesh.triangle(t));
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
