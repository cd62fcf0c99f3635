//! Which triangles' boxes pass a test.

use super::{
    block::Block,
    skip_list::{END, SkipList},
};
use crate::geometry::{Aabb, TriangleId};

/// A test on boxes that stays true when the box grows. Closures and boxes (overlap) are tests.
pub trait BoxTest {
    /// Whether something in the box may be wanted.
    fn passes(&self, b: &Aabb) -> bool;

    /// Bit n: the box in lane n of the block passes.
    #[doc(hidden)]
    fn lanes(&self, block: &BlockView) -> u32 {
        block
            .0
            .entries()
            .enumerate()
            .fold(0, |mask, (lane, e)| mask | u32::from(self.passes(&e.bounds)) << lane)
    }
}

/// The boxes of one block.
#[doc(hidden)]
pub struct BlockView<'a>(pub(super) &'a Block);

impl BoxTest for Aabb {
    fn passes(&self, b: &Aabb) -> bool {
        self.overlaps(b)
    }

    fn lanes(&self, block: &BlockView) -> u32 {
        block.0.overlap_mask(self)
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
        for band in self.bands.iter().filter(|b| test.passes(&b.bounds)) {
            visited += self.overlap_run(test, band.head, END, band.top, &mut visit);
        }
        visited
    }

    fn overlap_run(
        &self,
        test: &impl BoxTest,
        start: u32,
        end: u32,
        level: usize,
        visit: &mut impl FnMut(TriangleId),
    ) -> usize {
        let mut visited = 0;
        let mut n = start;
        while n != end {
            let link = self.link(n, level);
            visited += 1;
            if test.passes(&link.bounds) {
                if level > 0 {
                    visited += self.overlap_run(test, n, link.next, level - 1, visit);
                } else {
                    let block = &self.blocks[n as usize];
                    let mut lanes = test.lanes(&BlockView(block));
                    while lanes != 0 {
                        visit(block.triangles[lanes.trailing_zeros() as usize]);
                        lanes &= lanes - 1;
                    }
                }
            }
            n = link.next;
        }
        visited
    }
}
