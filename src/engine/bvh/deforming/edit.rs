//! Inserts and removes triangles, for cuts.

use super::{DeformingTree, NONE, NodeContent, ROOT};
use crate::geometry::{Dop16, TriangleId, kdop::N_DIRECTIONS};

/// A path is too long if it exceeds this many times the logarithm of the number of triangles below its top; the
/// sub-tree below the top is then rebuilt. A split leaves at most 3/4 on a side, so a rebuilt tree stays below 2.41.
const STRETCH_MAX: f64 = 3.0;
/// Nodes out of use, as a multiple of those in use, at which all nodes are renumbered.
const OUT_OF_USE_MAX: usize = 3;

impl DeformingTree {
    /// Inserts a triangle next to the leaf found by least growth of boxes. O(log n), amortised.
    ///
    /// # Panics
    /// Panics if the triangle is already in the tree or its box is empty.
    pub fn insert(&mut self, t: TriangleId, dop: Dop16) {
        assert!(self.get(t).is_none(), "{t:?} is in the tree");
        assert!(!dop.is_empty(), "the box of {t:?} is empty");
        self.n_triangles += 1;
        self.edits += 1;
        let (mut n, mut depth) = (ROOT, 0);
        while let Some([left, right]) = self.children(n) {
            self.boxes[n as usize] = self.dop(n).union(&dop);
            let cost = |child: u32| growth(self.dop(child), &dop);
            n = if cost(right) < cost(left) { right } else { left };
            depth += 1;
        }
        // The leaf becomes a node above its triangle and the new one, so that entries that name it stay right.
        if let NodeContent::Leaf(old) = self.node(n).content {
            let old_dop = *self.dop(n);
            let left = self.push_node(n, old_dop, NodeContent::Leaf(old));
            let right = self.push_node(n, dop, NodeContent::Leaf(t));
            self.nodes[n as usize].content = NodeContent::Inner([left, right]);
            self.boxes[n as usize] = old_dop.union(&dop);
            self.set_leaf(old, left);
            self.set_leaf(t, right);
            self.balance(right, depth + 1);
        } else {
            self.nodes[n as usize].content = NodeContent::Leaf(t);
            self.boxes[n as usize] = dop;
            self.set_leaf(t, n);
        }
        self.tidy();
    }

    /// Removes a triangle.
    ///
    /// # Panics
    /// Panics if it is not in the tree.
    pub fn remove(&mut self, t: TriangleId) {
        let leaf = self.leaf_of[t.0 as usize];
        assert!(leaf != NONE, "{t:?} is not in the tree");
        self.leaf_of[t.0 as usize] = NONE;
        self.n_triangles -= 1;
        self.edits += 1;
        let parent = self.node(leaf).parent;
        if parent == NONE {
            self.nodes[leaf as usize].content = NodeContent::Empty;
            self.boxes[leaf as usize] = Dop16::EMPTY;
            return;
        }
        let sibling = self.sibling(leaf);
        self.nodes[leaf as usize].content = NodeContent::Removed;
        self.take_place(sibling, parent);
        self.mark_above(parent);
        self.refit_marked();
        self.tidy();
    }

    /// Puts a child into the position of its parent.
    fn take_place(&mut self, child: u32, parent: u32) {
        let content = self.node(child).content;
        match content {
            NodeContent::Inner(children) => {
                for c in children {
                    self.nodes[c as usize].parent = parent;
                }
            }
            NodeContent::Leaf(t) => self.set_leaf(t, parent),
            _ => unreachable!("a child in use"),
        }
        self.nodes[parent as usize].content = content;
        self.boxes[parent as usize] = *self.dop(child);
        // A front that names the node follows this link to its triangles.
        self.nodes[child as usize].content = NodeContent::Moved(parent);
    }

    /// Rebuilds the sub-tree below the lowest node whose path down to a leaf at this depth is too long.
    fn balance(&mut self, leaf: u32, depth: usize) {
        let longest = |n_below: usize| STRETCH_MAX * (n_below as f64).log2() + 1.0;
        // A well-formed tree with as many triangles may have a leaf at this depth.
        if depth as f64 <= longest(self.n_triangles) {
            return;
        }
        let (mut n, mut n_below) = (leaf, 1);
        for length in 1..=depth {
            let parent = self.node(n).parent;
            n_below += self.n_below(self.sibling(n));
            n = parent;
            if length as f64 > longest(n_below) {
                return self.rebuild_below(n);
            }
        }
    }

    fn sibling(&self, n: u32) -> u32 {
        let [left, right] = self.children(self.node(n).parent).expect("a parent");
        if left == n { right } else { left }
    }

    fn n_below(&self, n: u32) -> usize {
        self.children(n).map_or(1, |c| c.map(|c| self.n_below(c)).iter().sum())
    }

    /// Rebuilds a sub-tree. Its old nodes go out of use and point to its root.
    pub(super) fn rebuild_below(&mut self, n: u32) {
        debug_assert!(self.children(n).is_some(), "node {n} has nothing below");
        let mut items = Vec::new();
        self.collect(n, &mut items);
        let mut waiting: Vec<u32> = self.children(n).into_iter().flatten().collect();
        while let Some(below) = waiting.pop() {
            waiting.extend(self.children(below).into_iter().flatten());
            self.nodes[below as usize].content = NodeContent::Moved(n);
        }
        self.place(n, &mut items);
    }

    fn tidy(&mut self) {
        // Nodes out of use only cost memory, and forwarding keeps fronts valid, so they are cleared seldom.
        let in_use = (2 * self.n_triangles).max(64);
        if self.nodes.len() > (1 + OUT_OF_USE_MAX) * in_use {
            self.rebuild();
        }
    }
}

/// Growth of a box's summed extents by a union with another box, and its present sum, which breaks ties.
fn growth(dop: &Dop16, other: &Dop16) -> (f64, f64) {
    let size = |d: &Dop16| (0..N_DIRECTIONS).map(|i| f64::from(d.max[i] - d.min[i])).sum::<f64>();
    let before = size(dop);
    (size(&dop.union(other)) - before, before)
}
