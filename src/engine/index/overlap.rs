//! Finds the triangles whose boxes pass a test.

use super::{
    box_lanes::{BoxLanes, LaneSet},
    link_run::LinkRun,
    skip_list::SkipList,
};
use crate::{
    geometry::{Aabb, TriangleId},
    time_left::{Visited, note_step},
};
use std::ops::ControlFlow;

/// A test on boxes that stays true if the box grows. Closures and boxes (overlap) are tests.
pub trait BoxTest {
    /// Returns true if something in the box may be wanted.
    fn passes(&self, b: &Aabb) -> bool;

    /// Lanes that pass, of a few boxes in lanes.
    #[doc(hidden)]
    fn lanes(&self, boxes: &BoxesView) -> Passing {
        Passing(LaneSet::of(|lane| lane < boxes.used && self.passes(&boxes.boxes.get(lane))))
    }
}

/// Some boxes in lanes.
#[doc(hidden)]
pub struct BoxesView<'a> {
    boxes: &'a BoxLanes,
    used: usize,
}

/// Lanes of boxes that pass.
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

/// Passes boxes that overlap a box and pass a second, more expensive test.
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
    /// Passes every triangle whose box passes to `visit`, in list order, until `visit` stops the search. Returns the
    /// number of visited links and leaves: O(lists + found) for a test on a small box, O(n) at worst. A test that
    /// checks the time ends the search when it is over: no box passes any more, and a few on each level remain to be
    /// rejected.
    pub fn overlap<V: Visited>(
        &self,
        test: &impl BoxTest,
        mut visit: impl FnMut(TriangleId) -> V,
    ) -> usize {
        let mut visited = 0;
        let _ = self.overlap_run(test, self.root, &mut visited, &mut visit);
        visited
    }

    fn overlap_run<V: Visited>(
        &self,
        test: &impl BoxTest,
        run: u32,
        visited: &mut usize,
        visit: &mut impl FnMut(TriangleId) -> V,
    ) -> ControlFlow<()> {
        note_step();
        let LinkRun { boxes, below, level, .. } = self.run(run);
        let len = self.run(run).len();
        // Counts visited and not found nodes: the count measures the wear of a list.
        *visited += len;
        for lane in passing(test, boxes, len) {
            match level {
                0 => {
                    *visited += 1;
                    self.overlap_leaf(test, below[lane], visit)?;
                }
                _ => self.overlap_run(test, below[lane], visited, visit)?,
            }
        }
        ControlFlow::Continue(())
    }

    fn overlap_leaf<V: Visited>(
        &self,
        test: &impl BoxTest,
        leaf: u32,
        visit: &mut impl FnMut(TriangleId) -> V,
    ) -> ControlFlow<()> {
        note_step();
        let leaf = self.leaf(leaf);
        let mut passing = passing(test, &leaf.corners.boxes(), leaf.len());
        passing.try_for_each(|lane| visit(leaf.triangles[lane]).flow())
    }
}

/// Lanes whose boxes pass, ascending.
#[inline(always)]
fn passing(test: &impl BoxTest, boxes: &BoxLanes, used: usize) -> LaneSet {
    test.lanes(&BoxesView { boxes, used }).0
}
