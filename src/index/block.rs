//! A bottom node's triangles: boxes and keys side by side, so that one pass tests them all.

use glam::Vec3;

use crate::geometry::{Aabb, TriangleId};

/// Triangles that a block holds. One wide pass over the boxes costs little more than one box.
pub(super) const LANES: usize = 16;

/// Where a triangle is filed in its band: sector in the upper half, radius in the lower.
pub(super) type Key = u32;

/// Up to [`LANES`] triangles in no order. Unused lanes hold [`Aabb::EMPTY`], which every test rejects.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) min: [[f32; LANES]; 3],
    pub(super) max: [[f32; LANES]; 3],
    pub(super) triangles: [TriangleId; LANES],
    pub(super) keys: [Key; LANES],
    len: u8,
}

/// A triangle with its box and key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) triangle: TriangleId,
    pub(super) key: Key,
    pub(super) bounds: Aabb,
}

impl Block {
    pub(super) const EMPTY: Block = Block {
        min: [[f32::INFINITY; LANES]; 3],
        max: [[f32::NEG_INFINITY; LANES]; 3],
        triangles: [TriangleId(u32::MAX); LANES],
        keys: [0; LANES],
        len: 0,
    };

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == LANES
    }

    pub(super) fn entry(&self, lane: usize) -> Entry {
        let at = |side: &[[f32; LANES]; 3]| Vec3::new(side[0][lane], side[1][lane], side[2][lane]);
        let bounds = Aabb { min: at(&self.min), max: at(&self.max) };
        Entry { triangle: self.triangles[lane], key: self.keys[lane], bounds }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.len()).map(|lane| self.entry(lane))
    }

    /// Adds an entry and says in which lane.
    pub(super) fn push(&mut self, entry: Entry) -> usize {
        let lane = self.len();
        self.triangles[lane] = entry.triangle;
        self.keys[lane] = entry.key;
        self.set_bounds(lane, &entry.bounds);
        self.len += 1;
        lane
    }

    /// Takes an entry out; the last one moves into its lane.
    pub(super) fn remove(&mut self, lane: usize) {
        let last = self.len() - 1;
        let moved = self.entry(last);
        self.triangles[lane] = moved.triangle;
        self.keys[lane] = moved.key;
        self.set_bounds(lane, &moved.bounds);
        self.set_bounds(last, &Aabb::EMPTY);
        self.len -= 1;
    }

    pub(super) fn set_bounds(&mut self, lane: usize, b: &Aabb) {
        for axis in 0..3 {
            self.min[axis][lane] = b.min[axis];
            self.max[axis][lane] = b.max[axis];
        }
    }

    /// The union of all boxes.
    pub(super) fn bounds(&self) -> Aabb {
        let least = |a: &[f32; LANES]| a.iter().copied().fold(f32::INFINITY, f32::min);
        let most = |a: &[f32; LANES]| a.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        Aabb {
            min: Vec3::new(least(&self.min[0]), least(&self.min[1]), least(&self.min[2])),
            max: Vec3::new(most(&self.max[0]), most(&self.max[1]), most(&self.max[2])),
        }
    }

    /// Bit n: the box in lane n overlaps `b`.
    pub(super) fn overlap_mask(&self, b: &Aabb) -> u32 {
        let mut hit = [true; LANES];
        for axis in 0..3 {
            for lane in 0..LANES {
                let apart =
                    self.min[axis][lane] > b.max[axis] || self.max[axis][lane] < b.min[axis];
                hit[lane] &= !apart;
            }
        }
        (0..self.len()).fold(0, |mask, lane| mask | u32::from(hit[lane]) << lane)
    }

    /// Squared distance of each box to `to`, each axis lessened by `slack` so that rounding never makes it
    /// too large; infinite in unused lanes.
    pub(super) fn distances_squared(&self, to: &Aabb, slack: f32) -> [f32; LANES] {
        let mut sum = [0.0; LANES];
        for axis in 0..3 {
            let (lo, hi) = (to.min[axis] - slack, to.max[axis] + slack);
            for lane in 0..LANES {
                let gap = (self.min[axis][lane] - hi).max(lo - self.max[axis][lane]).max(0.0);
                sum[lane] += gap * gap;
            }
        }
        sum
    }
}
