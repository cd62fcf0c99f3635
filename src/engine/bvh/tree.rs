//! The tree: nodes and leaves in arenas.

use super::{volume::BoxNode, wide_node::WideBoxNode};
use crate::geometry::{Aabb, Dop16, TriangleId, triangle_triangle::Rectangle};

/// Maximum number of levels below the root; see [`BoxTree::build`].
pub(super) const DEPTH_MAX: usize = 96;

/// The box tree of a rigid mesh: n leaves of one triangle, 2n - 1 nodes. Holds volumes, not vertices.
#[derive(Clone, Debug)]
pub struct BoxTree {
    /// The root first; the two children of a node are adjacent.
    pub(super) nodes: Vec<BoxNode>,
    /// Nodes of the tree in lanes of eight, the root's wide node first.
    // Used by queries of one triangle or box, which fill a pass over eight. Two trees are traversed by `nodes`, since a
    // pair is tested at a time there.
    pub(super) wide_nodes: Vec<WideBoxNode>,
    /// Triangle of leaf n.
    pub(super) triangles: Vec<TriangleId>,
    /// Rectangle of leaf n; `None` for a triangle that has no frame.
    // Stored apart from the boxes: a leaf is reached seldom, and boxes fill a cache line each.
    pub(super) rectangles: Vec<Option<Rectangle>>,
    pub(super) dops: Vec<Dop16>,
    /// Box of the root.
    pub(super) bounds: Aabb,
}

impl BoxTree {
    /// Exact bounding box of all triangles; the root of the tree.
    pub fn bounds(&self) -> &Aabb {
        &self.bounds
    }

    /// Number of nodes: twice the triangles, less one; 0 for an empty mesh.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Number of leaves: one for each triangle.
    pub fn n_leaves(&self) -> usize {
        self.triangles.len()
    }

    /// Bytes allocated.
    pub fn heap_bytes(&self) -> usize {
        let BoxTree { nodes, wide_nodes, triangles, rectangles, dops, bounds: _ } = self;
        size_of_val(&nodes[..])
            + size_of_val(&wide_nodes[..])
            + size_of_val(&triangles[..])
            + size_of_val(&rectangles[..])
            + size_of_val(&dops[..])
    }

    /// Bounds the sum of the absolute coordinates of a point; metres.
    pub(super) fn farthest(&self) -> f32 {
        let b = &self.bounds;
        if b.is_empty() { 0.0 } else { b.min.abs().max(b.max.abs()).element_sum() }
    }
}
