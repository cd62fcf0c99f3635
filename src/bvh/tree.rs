//! The tree: nodes and leaves in arenas.

use super::{volume::BoxNode, wide_node::WideBoxNode};
use crate::geometry::{Aabb, Dop16, TriangleId, triangle_triangle::Rectangle};

/// Levels below the root at most; see [`BoxTree::build`].
pub(super) const DEPTH_MAX: usize = 96;

/// The box tree of a rigid mesh: n leaves of one triangle, 2n - 1 nodes. Holds volumes, not vertices.
#[derive(Clone, Debug)]
pub struct BoxTree {
    /// The root first; children side by side.
    pub(super) nodes: Vec<BoxNode>,
    /// The same nodes side by side, the one of the root first.
    // For queries of one triangle or box, which are alone in a pass over eight. Two trees go down by nodes, as there
    // a pair is tested at a time.
    pub(super) wide_nodes: Vec<WideBoxNode>,
    /// Of leaf n: its triangle.
    pub(super) triangles: Vec<TriangleId>,
    /// `None` for a triangle that has no frame.
    // Beside the boxes and not in them: a leaf is reached seldom, and boxes fill a cache line each.
    pub(super) rectangles: Vec<Option<Rectangle>>,
    pub(super) dops: Vec<Dop16>,
    /// What the root holds.
    pub(super) bounds: Aabb,
}

impl BoxTree {
    /// The box of all triangles, exact; the root of the tree.
    pub fn bounds(&self) -> &Aabb {
        &self.bounds
    }

    /// Twice the triangles, less one; 0 for an empty mesh.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// One a triangle.
    pub fn n_leaves(&self) -> usize {
        self.triangles.len()
    }

    /// What it has allocated.
    pub fn heap_bytes(&self) -> usize {
        let BoxTree { nodes, wide_nodes, triangles, rectangles, dops, bounds: _ } = self;
        size_of_val(&nodes[..])
            + size_of_val(&wide_nodes[..])
            + size_of_val(&triangles[..])
            + size_of_val(&rectangles[..])
            + size_of_val(&dops[..])
    }

    /// Bounds the sum of a point's coordinates, without signs; metres.
    pub(super) fn farthest(&self) -> f32 {
        let b = &self.bounds;
        if b.is_empty() { 0.0 } else { b.min.abs().max(b.max.abs()).element_sum() }
    }
}
