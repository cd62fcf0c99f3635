//! Which triangles' boxes pass a test.

use super::{
    block::Boxes,
    skip_list::{END, SkipList},
};
use crate::geometry::{Aabb, TriangleId};

/// A test on boxes that stays true when the box grows. Closures and boxes (overlap) are tests.
pub trait BoxTest {
    /// Whether something in the box may be wanted.
    fn passes(&self, b: &Aabb) -> bool;

    /// Bit n: box n of a few side by side passes. Unused ones may or may not.
    #[doc(hidden)]
    fn lanes(&self, boxes: &BoxesView) -> u32 {
        (0..boxes.used)
            .fold(0, |mask, lane| mask | u32::from(self.passes(&boxes.boxes.get(lane))) << lane)
    }
}

/// Some boxes side by side.
#[doc(hidden)]
pub struct BoxesView<'a> {
    boxes: &'a Boxes,
    used: usize,
}

impl BoxTest for Aabb {
    fn passes(&self, b: &Aabb) -> bool {
        self.overlaps(b)
    }

    fn lanes(&self, boxes: &BoxesView) -> u32 {
        boxes.boxes.overlap_mask(self)
    }
}

/// What overlaps a box, and passes a test that costs more.
impl<F: Fn(&Aabb) -> bool> BoxTest for (Aabb, F) {
    fn passes(&self, b: &Aabb) -> bool {
        self.0.overlaps(b) && self.1(b)
    }

    fn lanes(&self, boxes: &BoxesView) -> u32 {
        let (mut left, mut passed) = (boxes.boxes.overlap_mask(&self.0), 0);
        while left != 0 {
            let lane = left.trailing_zeros();
            passed |= u32::from(self.1(&boxes.boxes.get(lane as usize))) << lane;
            left &= left - 1;
        }
        passed
    }
}

impl<F: Fn(&Aabb) -> bool> BoxTest for F {
    fn passes(&self, b: &Aabb) -> bool {
        self(b)
    }
}

impl SkipList {
    /// Gives every triangle whose box passes to `visit`, in list order. Returns the links and blocks that
    /// were looked at: O(bands + found) for a test on a small box, O(n) at worst.
    pub fn overlap(&self, test: &impl BoxTest, mut visit: impl FnMut(TriangleId)) -> usize {
        let mut visited = self.bands.len();
        for strip in &self.band_table {
            for lane in passing(test, &strip.boxes, strip.len as usize) {
                let band = &self.bands[strip.nodes[lane] as usize];
                visited += self.overlap_run(test, band.strip, END, band.top, &mut visit);
            }
        }
        visited
    }

    fn overlap_run(
        &self,
        test: &impl BoxTest,
        strip: u32,
        end: u32,
        level: usize,
        visit: &mut impl FnMut(TriangleId),
    ) -> usize {
        let strip = &self.strips[strip as usize];
        let mut visited = strip.len as usize;
        for lane in passing(test, &strip.boxes, strip.len as usize) {
            visited += self.overlap_link(test, strip.nodes[lane], level, visit);
        }
        let mut n = strip.rest;
        while n != end && n != END {
            let link = self.link(n, level);
            visited += 1;
            if test.passes(&link.bounds) {
                visited += self.overlap_link(test, n, level, visit);
            }
            n = link.next;
        }
        visited
    }

    fn overlap_link(
        &self,
        test: &impl BoxTest,
        n: u32,
        level: usize,
        visit: &mut impl FnMut(TriangleId),
    ) -> usize {
        if level > 0 {
            let link = self.link(n, level);
            return self.overlap_run(test, link.strip, link.next, level - 1, visit);
        }
        let block = &self.blocks[n as usize];
        for lane in passing(test, &block.boxes, block.len()) {
            visit(block.triangles[lane]);
        }
        1
    }
}

/// The lanes whose boxes pass, ascending.
fn passing(test: &impl BoxTest, boxes: &Boxes, used: usize) -> impl Iterator<Item = usize> {
    let mut lanes = test.lanes(&BoxesView { boxes, used }) & ((1 << used) - 1);
    std::iter::from_fn(move || {
        let lane = lanes.trailing_zeros() as usize;
        let some = lanes != 0;
        lanes &= lanes.wrapping_sub(1);
        some.then_some(lane)
    })
}
