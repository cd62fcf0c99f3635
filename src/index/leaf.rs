//! Boxes side by side, and a bottom node's triangles.

use glam::Vec3;

use super::corners::Corners;
use crate::geometry::{
    Aabb, TriangleId,
    lanes::{LANES, greater, lesser},
};

/// Where a triangle is filed in its band: sector, then radius, then place in the cell.
pub(super) type Key = u32;

/// One number of eight boxes or triangles.
pub(super) type Lane = [f32; LANES];

/// Boxes side by side, so that one pass tests them all. Unused lanes hold [`Aabb::EMPTY`] or NaN.
#[derive(Clone, Debug)]
pub(super) struct Boxes {
    pub(super) min: [Lane; 3],
    pub(super) max: [Lane; 3],
}

impl Boxes {
    pub(super) const EMPTY: Boxes =
        Boxes { min: [[f32::INFINITY; LANES]; 3], max: [[f32::NEG_INFINITY; LANES]; 3] };

    pub(super) fn get(&self, lane: usize) -> Aabb {
        let at = |[x, y, z]: &[Lane; 3]| Vec3::new(x[lane], y[lane], z[lane]);
        Aabb { min: at(&self.min), max: at(&self.max) }
    }

    pub(super) fn set(&mut self, lane: usize, b: &Aabb) {
        for axis in 0..3 {
            self.min[axis][lane] = b.min[axis];
            self.max[axis][lane] = b.max[axis];
        }
    }

    /// The union of all boxes.
    #[inline(always)]
    pub(super) fn union(&self) -> Aabb {
        let Boxes { min: [x, y, z], max } = self;
        let min = Vec3::new(least(x), least(y), least(z));
        let [x, y, z] = max;
        Aabb { min, max: Vec3::new(most(x), most(y), most(z)) }
    }

    /// The lanes whose boxes overlap `b`.
    #[inline(always)]
    pub(super) fn overlapping(&self, b: &Aabb) -> LaneSet {
        let mut overlaps = [true; LANES];
        for axis in 0..3 {
            for (lane, overlaps) in overlaps.iter_mut().enumerate() {
                *overlaps &= self.min[axis][lane] <= b.max[axis];
                *overlaps &= self.max[axis][lane] >= b.min[axis];
            }
        }
        LaneSet::of(|lane| overlaps[lane])
    }

    /// Squared distance of each box to `to`, each axis lessened by `slack` so that rounding never makes it
    /// too large; infinite for empty boxes and for nothing else.
    #[inline(always)]
    pub(super) fn distances_squared(&self, to: &Aabb, slack: f32) -> Lane {
        let Boxes { min, max } = self;
        let mut bounds = [0.0; LANES];
        for lane in 0..LANES {
            let gap = |axis: usize| {
                let (lo, hi) = (to.min[axis] - slack, to.max[axis] + slack);
                greater(greater(min[axis][lane] - hi, lo - max[axis][lane]), 0.0)
            };
            let (x, y, z) = (gap(0), gap(1), gap(2));
            let sum = lesser(x * x + y * y + z * z, f32::MAX);
            let used = min[0][lane] <= max[0][lane];
            bounds[lane] = if used { tagged(sum, lane) } else { f32::INFINITY };
        }
        bounds
    }
}

/// A bound, never more, that has its lane's number in its last bits: so the least of eight says where it is.
#[inline(always)]
pub(super) fn tagged(bound: f32, lane: usize) -> f32 {
    f32::from_bits(bound.to_bits() & !(LANES as u32 - 1) | lane as u32)
}

/// Some of the lanes, a byte each: packed so by a few wide instructions.
#[derive(Clone, Copy)]
pub(super) struct LaneSet(u64);

impl LaneSet {
    #[inline(always)]
    pub(super) fn of(is_in: impl Fn(usize) -> bool) -> LaneSet {
        LaneSet(u64::from_le_bytes(std::array::from_fn(|lane| u8::from(is_in(lane)))))
    }

    /// Only the first lanes.
    #[inline(always)]
    pub(super) fn first(self, n: usize) -> LaneSet {
        LaneSet(if n < LANES { self.0 & ((1 << (8 * n)) - 1) } else { self.0 })
    }

    /// Those for which `is_in` holds too.
    pub(super) fn only(self, is_in: impl Fn(usize) -> bool) -> LaneSet {
        let out = self.filter(|lane| !is_in(*lane)).map(|lane| 1 << (8 * lane));
        LaneSet(self.0 & !out.fold(0, |out, byte| out | byte))
    }
}

impl Iterator for LaneSet {
    type Item = usize;

    /// The lowest lane, which is taken out.
    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let lowest = (self.0 != 0).then(|| self.0.trailing_zeros() as usize / 8);
        self.0 &= self.0.wrapping_sub(1);
        lowest
    }
}

/// The least of eight numbers, or infinity; NaN is none.
#[inline(always)]
pub(super) fn least(of: &Lane) -> f32 {
    let [a, b, c, d, e, f, g, h] = *of;
    let l = |a, b| lesser(a, lesser(b, f32::INFINITY));
    lesser(lesser(l(a, e), l(c, g)), lesser(l(b, f), l(d, h)))
}

/// The greatest of eight numbers, or negative infinity; NaN is none.
#[inline(always)]
fn most(of: &Lane) -> f32 {
    let [a, b, c, d, e, f, g, h] = *of;
    let m = |a, b| greater(a, greater(b, f32::NEG_INFINITY));
    greater(greater(m(a, e), m(c, g)), greater(m(b, f), m(d, h)))
}

/// A block whose box has grown by more than this since its triangles were filed has their places looked at
/// again: they no longer move together.
const GROWTH: f32 = 1.25;

/// Up to [`LANES`] triangles in no order.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Block {
    pub(super) corners: Corners,
    pub(super) triangles: [TriangleId; LANES],
    pub(super) keys: [Key; LANES],
    len: u8,
    /// Sides of the box together, metres, when the triangles were last filed; NaN: to be taken at the next
    /// refit.
    filed_size: f32,
}

/// A triangle with its corners and key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) triangle: TriangleId,
    pub(super) key: Key,
    pub(super) corners: [Vec3; 3],
}

impl Block {
    pub(super) const EMPTY: Block = Block {
        corners: Corners::EMPTY,
        triangles: [TriangleId(u32::MAX); LANES],
        keys: [0; LANES],
        len: 0,
        filed_size: f32::NAN,
    };

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == LANES
    }

    pub(super) fn entry(&self, lane: usize) -> Entry {
        Entry {
            triangle: self.triangles[lane],
            key: self.keys[lane],
            corners: self.corners.get(lane),
        }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.len()).map(|lane| self.entry(lane))
    }

    /// Adds an entry and says in which lane.
    pub(super) fn push(&mut self, entry: Entry) -> usize {
        let lane = self.len();
        self.set(lane, &entry);
        self.len += 1;
        lane
    }

    /// Whether the block, now of this box, has grown by more than [`GROWTH`] since it was last asked that
    /// with this answer.
    pub(super) fn has_grown(&mut self, bounds: &Aabb) -> bool {
        let size = (bounds.max - bounds.min).element_sum();
        let grown = size > self.filed_size * GROWTH;
        if grown || self.filed_size.is_nan() {
            self.filed_size = size;
        }
        grown
    }

    /// Takes an entry out; the last one moves into its lane.
    pub(super) fn remove(&mut self, lane: usize) {
        let last = self.len() - 1;
        self.set(lane, &self.entry(last));
        self.corners.clear(last);
        self.len -= 1;
    }

    fn set(&mut self, lane: usize, entry: &Entry) {
        self.triangles[lane] = entry.triangle;
        self.keys[lane] = entry.key;
        self.corners.set(lane, &entry.corners);
    }
}
