//! Refits the boxes above moved triangles, bottom-up.

use super::{DeformingTree, NONE};
use crate::geometry::{Dop16, TriangleId};

/// If at least one node in this many is to be refitted, a pass over all nodes in order is faster than sorting.
const MANY: usize = 8;

impl DeformingTree {
    /// Sets new boxes of triangles: of those that moved during the step, and of those that moved in the step before,
    /// whose boxes are too large now. O(moved log n).
    ///
    /// # Panics
    /// Panics if a triangle is not in the tree or a box is empty.
    pub fn refit(&mut self, moved: impl IntoIterator<Item = (TriangleId, Dop16)>) {
        for (t, dop) in moved {
            let leaf = self.leaf_of[t.0 as usize];
            assert!(!dop.is_empty(), "the box of {t:?} is empty");
            debug_assert!(leaf != NONE, "{t:?} is not in the tree");
            self.boxes[leaf as usize] = dop;
            self.mark_above(leaf);
        }
        self.refit_marked();
    }

    /// Marks the nodes above a node.
    pub(super) fn mark_above(&mut self, n: u32) {
        let mut above = self.node(n).parent;
        // All nodes above a marked node are already marked.
        while above != NONE && !self.is_dirty[above as usize] {
            self.is_dirty[above as usize] = true;
            self.dirty.push(above);
            above = self.node(above).parent;
        }
    }

    /// Refits the marked nodes. Children have greater numbers, so they are refitted before their parent.
    pub(super) fn refit_marked(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        if dirty.len() * MANY > self.nodes.len() {
            for n in (0..self.nodes.len() as u32).rev() {
                if !self.is_dirty[n as usize] {
                    continue;
                }
                self.boxes[n as usize] = self.union_of_children(n);
            }
        } else {
            // Sorted by falling number instead of a heap: the list is complete before the first refit.
            dirty.sort_unstable_by(|a, b| b.cmp(a));
            for n in &dirty {
                self.boxes[*n as usize] = self.union_of_children(*n);
            }
        }
        for n in dirty.drain(..) {
            self.is_dirty[n as usize] = false;
        }
        self.dirty = dirty;
    }

    fn union_of_children(&self, n: u32) -> Dop16 {
        let [left, right] = self.children(n).expect("only inner nodes are above others");
        self.dop(left).union(self.dop(right))
    }
}
