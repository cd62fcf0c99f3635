//! A node of the tree in four bytes, so that the eight children of a node fill half a cache line.

use serde::{Deserialize, Serialize};

/// Kind of a node; children of a node are adjacent, by octant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OctreeNode {
    /// Index of the first of eight children.
    Inner(u32),
    /// Index of the subspace whose grid covers the leaf.
    Kept(u32),
    /// Outside and free of triangles: index of its [`super::free_leaf::FreeLeaf`], which is stored separately.
    Deleted(u32),
}

/// Two bits hold the kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PackedNode(u32);

const KIND_SHIFT: u32 = 30;
const KEPT: u32 = 1;
const DELETED: u32 = 2;

impl PackedNode {
    pub(super) fn of(node: OctreeNode) -> PackedNode {
        let (kind, n) = match node {
            OctreeNode::Inner(first) => (0, first),
            OctreeNode::Kept(n) => (KEPT, n),
            OctreeNode::Deleted(n) => (DELETED, n),
        };
        assert!(n < 1 << KIND_SHIFT, "more nodes than a tree may have");
        PackedNode(kind << KIND_SHIFT | n)
    }

    #[inline(always)]
    pub(super) fn get(self) -> OctreeNode {
        let n = self.0 & ((1 << KIND_SHIFT) - 1);
        match self.0 >> KIND_SHIFT {
            0 => OctreeNode::Inner(n),
            KEPT => OctreeNode::Kept(n),
            _ => OctreeNode::Deleted(n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_back() {
        for n in [0, 1, (1 << KIND_SHIFT) - 1] {
            for node in [OctreeNode::Inner(n), OctreeNode::Kept(n), OctreeNode::Deleted(n)] {
                assert_eq!(PackedNode::of(node).get(), node);
            }
        }
    }
}
