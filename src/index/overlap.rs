//! Which triangles' boxes pass a test.

use super::{
    box_lanes::{BoxLanes, LaneSet},
    skip_list::SkipList,
};
use crate::geometry::{Aabb, TriangleId, lanes::LANES};

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
    /// were looked at: O(bands + found) for a test on a small box, O(n) at worst.
    pub fn overlap(&self, test: &impl BoxTest, mut visit: impl FnMut(TriangleId)) -> usize {
        self.overlap_run(test, self.root(), &mut visit)
    }

    fn overlap_run(
        &self,
        test: &impl BoxTest,
        wide_node: u32,
        visit: &mut impl FnMut(TriangleId),
    ) -> usize {
        let wide_node = &self.wide_nodes[wide_node as usize];
        debug_assert!(wide_node.len as usize <= LANES, "{} lanes", wide_node.len);
        // Counted in what was looked at and not in what was found: the count is the measure of a worn list.
        let mut visited = wide_node.len as usize;
        for lane in passing(test, &wide_node.boxes, wide_node.len as usize) {
            visited += self.overlap_below(test, wide_node.level, wide_node.below[lane], visit);
        }
        let mut n = wide_node.rest;
        // Insertions make runs longer than a wide node; a rebuild makes them short again.
        while n != wide_node.end {
            let link = self.link(n, wide_node.level as usize);
            visited += 1;
            if test.passes(&link.bounds) {
                let below = if wide_node.level == 0 { n } else { link.wide_node };
                visited += self.overlap_below(test, wide_node.level, below, visit);
            }
            n = link.next;
        }
        visited
    }

    fn overlap_below(
        &self,
        test: &impl BoxTest,
        level: u32,
        below: u32,
        visit: &mut impl FnMut(TriangleId),
    ) -> usize {
        if level > 0 {
            return self.overlap_run(test, below, visit);
        }
        let leaf = &self.leaves[below as usize];
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
