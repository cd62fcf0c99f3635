//! Invariants of a deforming tree.

use super::{DeformingTree, NONE, NodeContent, ROOT};

impl DeformingTree {
    /// Asserts that every triangle has one leaf and every inner node two children of greater number and rank whose
    /// boxes it holds exactly.
    pub fn assert_well_formed(&self) {
        let (mut n_leaves, mut n_inner) = (0, 0);
        assert_eq!(self.node(ROOT).parent, NONE);
        assert!(self.dirty.is_empty() && self.is_dirty.iter().all(|d| !d));
        let mut waiting = vec![ROOT];
        while let Some(n) = waiting.pop() {
            match self.node(n).content {
                NodeContent::Empty => {
                    assert!(n == ROOT && self.n_triangles == 0, "node {n} is empty")
                }
                NodeContent::Leaf(t) => {
                    n_leaves += 1;
                    assert_eq!(self.leaf_of[t.0 as usize], n, "leaf of {t:?}");
                    assert!(!self.dop(n).is_empty(), "box of {t:?}");
                }
                NodeContent::Inner(children) => {
                    n_inner += 1;
                    for child in children {
                        assert!(child > n && self.node(child).rank > self.node(n).rank);
                        assert_eq!(self.node(child).parent, n, "parent of {child}");
                    }
                    let [left, right] = children.map(|c| self.dop(c));
                    assert_eq!(*self.dop(n), left.union(right), "box of node {n}");
                    waiting.extend(children);
                }
                out_of_use => panic!("node {n} in the tree is {out_of_use:?}"),
            }
        }
        assert_eq!(n_leaves, self.n_triangles);
        assert_eq!(self.leaf_of.iter().filter(|n| **n != NONE).count(), n_leaves);
        assert_eq!(n_inner, n_leaves.saturating_sub(1));
    }
}
