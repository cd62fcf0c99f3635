//! Boxes side by side: the triangles of a bottom node, and the links of a run.

use glam::Vec3;

use crate::geometry::{Aabb, TriangleId};

/// Boxes that one wide pass tests; it costs little more than one box alone.
pub(super) const LANES: usize = 8;

/// Where a triangle is filed in its band: sector in the upper half, radius in the lower.
pub(super) type Key = u32;

/// Boxes side by side, so that one pass tests them all. Unused lanes hold [`Aabb::EMPTY`].
#[derive(Clone, Debug)]
pub(super) struct Boxes {
    min: [[f32; LANES]; 3],
    max: [[f32; LANES]; 3],
}

impl Boxes {
    pub(super) const EMPTY: Boxes =
        Boxes { min: [[f32::INFINITY; LANES]; 3], max: [[f32::NEG_INFINITY; LANES]; 3] };

    pub(super) fn get(&self, lane: usize) -> Aabb {
        let at = |side: &[[f32; LANES]; 3]| Vec3::new(side[0][lane], side[1][lane], side[2][lane]);
        Aabb { min: at(&self.min), max: at(&self.max) }
    }

    pub(super) fn set(&mut self, lane: usize, b: &Aabb) {
        for axis in 0..3 {
            self.min[axis][lane] = b.min[axis];
            self.max[axis][lane] = b.max[axis];
        }
    }

    /// The union of all boxes.
    pub(super) fn union(&self) -> Aabb {
        let least = |a: &[f32; LANES]| a.iter().copied().fold(f32::INFINITY, f32::min);
        let most = |a: &[f32; LANES]| a.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        Aabb {
            min: Vec3::new(least(&self.min[0]), least(&self.min[1]), least(&self.min[2])),
            max: Vec3::new(most(&self.max[0]), most(&self.max[1]), most(&self.max[2])),
        }
    }

    /// Bit n: the box in lane n overlaps `b`.
    pub(super) fn overlap_mask(&self, b: &Aabb) -> u32 {
        let mut apart = [0u32; LANES];
        for axis in 0..3 {
            for (lane, apart) in apart.iter_mut().enumerate() {
                *apart |= u32::from(self.min[axis][lane] > b.max[axis]);
                *apart |= u32::from(self.max[axis][lane] < b.min[axis]);
            }
        }
        (0..LANES).fold(0, |mask, lane| mask | (apart[lane] ^ 1) << lane)
    }

    /// Squared distance of each box to `to`, each axis lessened by `slack` so that rounding never makes it
    /// too large; infinite in unused lanes.
    pub(super) fn distances_squared(&self, to: &Aabb, slack: f32) -> [f32; LANES] {
        let mut sum = [0.0; LANES];
        for axis in 0..3 {
            let (lo, hi) = (to.min[axis] - slack, to.max[axis] + slack);
            for (lane, sum) in sum.iter_mut().enumerate() {
                let (below, above) = (self.min[axis][lane] - hi, lo - self.max[axis][lane]);
                let gap = if below > above { below } else { above };
                let gap = if gap > 0.0 { gap } else { 0.0 };
                *sum += gap * gap;
            }
        }
        sum
    }
}

/// Up to [`LANES`] triangles in no order.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) boxes: Boxes,
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
        boxes: Boxes::EMPTY,
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
        Entry { triangle: self.triangles[lane], key: self.keys[lane], bounds: self.boxes.get(lane) }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.len()).map(|lane| self.entry(lane))
    }

    /// Adds an entry and says in which lane.
    pub(super) fn push(&mut self, entry: Entry) -> usize {
        let lane = self.len();
        self.triangles[lane] = entry.triangle;
        self.keys[lane] = entry.key;
        self.boxes.set(lane, &entry.bounds);
        self.len += 1;
        lane
    }

    /// Takes an entry out; the last one moves into its lane.
    pub(super) fn remove(&mut self, lane: usize) {
        let last = self.len() - 1;
        let moved = self.entry(last);
        self.triangles[lane] = moved.triangle;
        self.keys[lane] = moved.key;
        self.boxes.set(lane, &moved.bounds);
        self.boxes.set(last, &Aabb::EMPTY);
        self.len -= 1;
    }
}

/// The boxes of a run of links side by side: what the link above them spans.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    pub(super) boxes: Boxes,
    /// The nodes that the links belong to, or the bands of a table of bands.
    pub(super) nodes: [u32; LANES],
    pub(super) len: u32,
    /// Where a run that is longer than a strip goes on.
    pub(super) rest: u32,
}

impl Strip {
    pub(super) const EMPTY: Strip =
        Strip { boxes: Boxes::EMPTY, nodes: [u32::MAX; LANES], len: 0, rest: u32::MAX };
}

/// Lanes with a bound of at most `limit`, least first: (lane, bound) pairs.
pub(super) struct NearLanes {
    lanes: [(u32, f32); LANES],
    len: usize,
    next: usize,
}

impl NearLanes {
    pub(super) fn new(bounds: &[f32; LANES], used: usize, limit: f64) -> NearLanes {
        let mut near = NearLanes { lanes: [(0, 0.0); LANES], len: 0, next: 0 };
        for (lane, &bound) in bounds[..used].iter().enumerate() {
            if f64::from(bound) <= limit {
                let mut at = near.len;
                while at > 0 && near.lanes[at - 1].1 > bound {
                    near.lanes[at] = near.lanes[at - 1];
                    at -= 1;
                }
                near.lanes[at] = (lane as u32, bound);
                near.len += 1;
            }
        }
        near
    }

    /// The next lane whose bound is still at most `limit`.
    pub(super) fn next(&mut self, limit: f64) -> Option<usize> {
        let (lane, bound) = *self.lanes[..self.len].get(self.next)?;
        self.next += 1;
        (f64::from(bound) <= limit).then_some(lane as usize)
    }
}
