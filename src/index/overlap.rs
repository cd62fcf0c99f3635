//! Which triangles' boxes pass a test.

use super::{
    box_lanes::{BoxLanes, LaneSet},
    link_run::LinkRun,
    skip_list::SkipList,
};
use crate::geometry::{Aabb, TriangleId};

/// A test on boxes that stays true when the box grows. Closures and boxes (overlap) are tests.
pub trait BoxTest {
    /// Whether something in the box may be wanted.
    fn passes(&self, b: &Aabb) -> bool;

    /// Which of a few boxes side by side pass.
    #[doc(hidden)]
    fn lanes(&self, boxes: &BoxesView) -> Passing {
        Passing(LaneSet::of(|lane| lane < boxes.used && self.passes(&boxes.boxes.get(lane))))
    }
}

/// Some boxes side by side.
#[doc(hidden)]
pub struct BoxesView<'a> {
    boxes: &'a BoxLanes,
    used: usize,
}

/// Some of them.
#[doc(hidden)]
pub struct Passing(LaneSet);

impl BoxTest for Aabb {
    fn passes(&self, b: &Aabb) -> bool {
        self.overlaps(b)
    }

    #[inline(always)]
    fn lanes(&self, boxes: &BoxesView) -> Passing {
        Passing(boxes.boxes.overlapping(self).first(boxes.used))
    }
}

/// What overlaps a box, and passes a test that costs more.
impl<F: Fn(&Aabb) -> bool> BoxTest for (Aabb, F) {
    fn passes(&self, b: &Aabb) -> bool {
        self.0.overlaps(b) && self.1(b)
    }

    #[inline(always)]
    fn lanes(&self, boxes: &BoxesView) -> Passing {
        let overlapping = boxes.boxes.overlapping(&self.0).first(boxes.used);
        // Closures see few boxes: eight overlaps are tested at once before them.
        Passing(overlapping.only(|lane| self.1(&boxes.boxes.get(lane))))
    }
}

impl<F: Fn(&Aabb) -> bool> BoxTest for F {
    fn passes(&self, b: &Aabb) -> bool {
        self(b)
    }
}

impl SkipList {
    /// Gives every triangle whose box passes to `visit`, in list order. Returns the links and leaves that
    /// were looked at: O(lists + found) for a test on a small box, O(n) at worst.
    pub fn overlap(&self, test: &impl BoxTest, mut visit: impl FnMut(TriangleId)) -> usize {
        self.overlap_run(test, self.root, &mut visit)
    }

    fn overlap_run(
        &self,
        test: &impl BoxTest,
        run: u32,
        visit: &mut impl FnMut(TriangleId),
    ) -> usize {
        let LinkRun { boxes, below, level, .. } = self.run(run);
        let len = self.run(run).len();
        // Counted in what was looked at and not in what was found: the count is the measure of a worn list.
        let mut visited = len;
        for lane in passing(test, boxes, len) {
            visited += match level {
                0 => self.overlap_leaf(test, below[lane], visit),
                _ => self.overlap_run(test, below[lane], visit),
            };
        }
        visited
    }

    fn overlap_leaf(
        &self,
        test: &impl BoxTest,
        leaf: u32,
        visit: &mut impl FnMut(TriangleId),
    ) -> usize {
        let leaf = self.leaf(leaf);
        for lane in passing(test, &leaf.corners.boxes(), leaf.len()) {
            visit(leaf.triangles[lane]);
        }
        1
    }
}

/// The lanes whose boxes pass, ascending.
#[inline(always)]
fn passing(test: &impl BoxTest, boxes: &BoxLanes, used: usize) -> LaneSet {
    test.lanes(&BoxesView { boxes, used }).0
}
