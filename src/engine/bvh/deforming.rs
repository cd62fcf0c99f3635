//! Source 000: a binary tree of 16-DOPs over moving triangles, and the front of the last traversal.
//!
//! Patent publication CN102708017 of Zhejiang University (Tang, Du, Tong, Zhao), 2012. Differences from the source: the
//! owner chooses a leaf's box, so that it can hold the triangle's sweep during a step and not only one instant; depth
//! decides which node of a pair is opened, instead of always the first, so that pairs stay of similar size and a pair's
//! parent is known without being stored; and the tree follows cuts.
//!
//! ```text
//! node 0  ---- inner ---- inner ---- leaf      a child has a greater number than its parent, so going through
//!                    \         \---- leaf      numbers downwards meets children first
//!                     \--- leaf
//! ```
//! A node that goes out of use keeps its number and points to the node that has its triangles now, for the fronts that
//! still name it. The tree does not depend on positions, meshes or time.

mod build;
mod edit;
mod front;
mod pairs;
mod refit;
mod validate;

use crate::geometry::{Dop16, TriangleId};

pub use front::Front;
pub use pairs::Trees;

const NONE: u32 = u32::MAX;
const ROOT: u32 = 0;

/// A tree over some triangles by their boxes.
///
/// To find contacts during a step, give each triangle the box of its corners at both ends. To find triangles within a
/// distance, grow the boxes of one tree by that distance.
#[derive(Clone, Debug)]
pub struct DeformingTree {
    boxes: Vec<Dop16>,
    // Stored apart from the boxes: a traversal that only compares boxes never reads nodes.
    nodes: Vec<DopNode>,
    /// Indexed by triangle id.
    leaf_of: Vec<u32>,
    n_triangles: usize,
    /// Insertions and removals so far.
    edits: u64,
    /// Number of times that all nodes were renumbered.
    generation: u64,
    /// Nodes to be refitted; `is_dirty` flags them by node.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
}

/// A node's position in the tree.
#[derive(Clone, Copy, Debug)]
struct DopNode {
    /// `NONE` if the node is the root.
    parent: u32,
    /// Greater than the parent's; equal to the depth if nothing was removed.
    // Not the depth itself: a removal lifts whole sub-trees, and renumbering them would take as long as they are large.
    rank: u32,
    content: NodeContent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeContent {
    /// Only the root of a tree without triangles.
    Empty,
    Leaf(TriangleId),
    Inner([u32; 2]),
    /// Out of use: its triangles are below this node now.
    Moved(u32),
    /// Out of use, and its triangle was removed.
    Removed,
}

impl DeformingTree {
    /// Triangles in the tree.
    pub fn n_triangles(&self) -> usize {
        self.n_triangles
    }

    /// Box that holds all boxes.
    pub fn bounds(&self) -> &Dop16 {
        &self.boxes[ROOT as usize]
    }

    /// The box of a triangle, `None` if it is not in the tree.
    pub fn get(&self, t: TriangleId) -> Option<&Dop16> {
        let leaf = *self.leaf_of.get(t.0 as usize)?;
        (leaf != NONE).then(|| self.dop(leaf))
    }

    fn dop(&self, n: u32) -> &Dop16 {
        &self.boxes[n as usize]
    }

    fn node(&self, n: u32) -> &DopNode {
        &self.nodes[n as usize]
    }

    fn children(&self, n: u32) -> Option<[u32; 2]> {
        match self.node(n).content {
            NodeContent::Inner(children) => Some(children),
            _ => None,
        }
    }

    fn push_node(&mut self, parent: u32, dop: Dop16, content: NodeContent) -> u32 {
        let n = self.nodes.len() as u32;
        debug_assert_eq!(n as usize, self.boxes.len(), "a box for each node");
        let rank = if parent == NONE { 0 } else { self.node(parent).rank + 1 };
        self.boxes.push(dop);
        self.nodes.push(DopNode { parent, rank, content });
        self.is_dirty.push(false);
        n
    }

    fn set_leaf(&mut self, t: TriangleId, n: u32) {
        if self.leaf_of.len() <= t.0 as usize {
            self.leaf_of.resize(t.0 as usize + 1, NONE);
        }
        self.leaf_of[t.0 as usize] = n;
    }
}
