//! A bottom node's triangles.

use glam::Vec3;

use super::corners::Corners;
use crate::geometry::{Aabb, TriangleId, lanes::LANES};

/// Where a triangle is filed in its band: sector, then radius, then place in the cell.
pub(super) type FilingKey = u32;

/// When a leaf's box has grown by more than this since its triangles were filed, they no longer move together, and
/// their keys are computed again.
// What moves as a whole keeps its places and is only refitted: the 70 k liver waved by 1 mm files none elsewhere
// instead of 16 k, in a fifth to a seventh of the time.
const GROWTH: f32 = 1.25;

/// Up to [`LANES`] triangles in no order.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct ListLeaf {
    pub(super) corners: Corners,
    pub(super) triangles: [TriangleId; LANES],
    pub(super) keys: [FilingKey; LANES],
    len: u8,
    /// Sides of the box together, metres, when the triangles were last filed; NaN: to be taken at the next
    /// refit.
    filed_size: f32,
}

/// A triangle with its corners and key.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListEntry {
    pub(super) triangle: TriangleId,
    pub(super) key: FilingKey,
    pub(super) corners: [Vec3; 3],
}

impl ListLeaf {
    pub(super) const EMPTY: ListLeaf = ListLeaf {
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

    pub(super) fn entry(&self, lane: usize) -> ListEntry {
        ListEntry {
            triangle: self.triangles[lane],
            key: self.keys[lane],
            corners: self.corners.get(lane),
        }
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = ListEntry> + '_ {
        (0..self.len()).map(|lane| self.entry(lane))
    }

    /// Adds an entry and says in which lane.
    pub(super) fn push(&mut self, entry: ListEntry) -> usize {
        let lane = self.len();
        debug_assert!(!self.is_full(), "a full leaf takes no more");
        self.set(lane, &entry);
        self.len += 1;
        lane
    }

    /// Whether the leaf's box, now `bounds`, has grown by more than [`GROWTH`] since its triangles were filed or last
    /// found grown.
    pub(super) fn has_grown(&mut self, bounds: &Aabb) -> bool {
        let size = (bounds.max - bounds.min).element_sum();
        // NaN is never exceeded: a leaf that was just filled takes its size at the first refit.
        let grown = size > self.filed_size * GROWTH;
        if grown || self.filed_size.is_nan() {
            self.filed_size = size;
        }
        grown
    }

    /// Takes an entry out; the last one moves into its lane.
    pub(super) fn remove(&mut self, lane: usize) {
        debug_assert!(lane < self.len(), "lane {lane} of {}", self.len());
        let last = self.len() - 1;
        // Triangles of a leaf are in no order, so the last one fills the gap; the caller moves its handle.
        self.set(lane, &self.entry(last));
        self.corners.clear(last);
        self.len -= 1;
    }

    fn set(&mut self, lane: usize, entry: &ListEntry) {
        self.triangles[lane] = entry.triangle;
        self.keys[lane] = entry.key;
        self.corners.set(lane, &entry.corners);
    }
}
