//! Invariants of a box tree.

use glam::DVec3;

use super::{
    tree::{BoxTree, DEPTH_MAX},
    volume::BoxNode,
};
use crate::geometry::{Dop16, TriangleMesh, lanes::LANES};

impl BoxTree {
    /// Asserts counts, links and depth, and that every box holds its triangles. O(n) a level.
    ///
    /// # Panics
    /// Panics if an invariant is violated.
    pub fn assert_well_formed(&self, mesh: &TriangleMesh) {
        let n = mesh.n_triangles();
        assert_eq!(self.nodes.len(), (2 * n).saturating_sub(1), "nodes of {n} triangles");
        assert_eq!(self.bounds, mesh.used_box(), "the root's box");
        let sizes = [self.triangles.len(), self.rectangles.len(), self.dops.len()];
        assert_eq!(sizes, [n; 3], "leaves");
        let mut found = Vec::new();
        let mut met = 0;
        if n > 0 {
            self.assert_below(0, 0, mesh, &mut found, &mut met);
        }
        assert_eq!(met, self.nodes.len(), "nodes met from the root");
        let mut triangles = self.triangles.clone();
        triangles.sort();
        assert!(triangles.into_iter().eq(mesh.triangle_ids()), "each triangle has one leaf");
        let (mut leaves, mut found) = (Vec::new(), Vec::new());
        if n > 0 {
            self.assert_wide_node(0, mesh, &mut leaves, &mut found);
        }
        leaves.sort();
        assert!(leaves.into_iter().eq(0..n as u32), "each leaf is in one wide_node");
    }

    /// Adds the leaves below a wide node to `leaves`, their vertices to `found`.
    fn assert_wide_node(
        &self,
        number: usize,
        mesh: &TriangleMesh,
        leaves: &mut Vec<u32>,
        found: &mut Vec<DVec3>,
    ) {
        let wide_node = &self.wide_nodes[number];
        // Lanes are filled from the first on, so all lanes after an unused one are unused.
        let unused = wide_node.below.partition_point(|below| *below != u32::MAX);
        for lane in 0..LANES {
            let (node, start) = (wide_node.get(lane), found.len());
            if lane >= unused {
                assert!(node.min > node.max, "an unused lane of wide_node {number} has a box");
            } else if let Some(leaf) = node.leaf() {
                leaves.push(leaf as u32);
                found.extend(mesh.triangle(self.triangles[leaf]));
            } else {
                assert!(node.below as usize > number, "wide_node {number} leads back");
                self.assert_wide_node(node.below as usize, mesh, leaves, found);
            }
            let all = found[start..].iter().all(|p| holds(&node, *p));
            assert!(all, "box {lane} of wide_node {number}");
        }
    }

    /// Adds the vertices under a node to `found`.
    fn assert_below(
        &self,
        at: usize,
        depth: usize,
        mesh: &TriangleMesh,
        found: &mut Vec<DVec3>,
        met: &mut usize,
    ) {
        assert!(depth <= DEPTH_MAX, "node {at} is {depth} deep");
        *met += 1;
        let node = &self.nodes[at];
        let start = found.len();
        if let Some(leaf) = node.leaf() {
            let corners = mesh.triangle(self.triangles[leaf]);
            assert!(self.dops[leaf].contains(&Dop16::around(corners)), "k-DOP of leaf {leaf}");
            found.extend(corners);
        } else {
            let first = node.below as usize;
            assert!(first > at && first + 1 < self.nodes.len(), "children of node {at}");
            self.assert_below(first, depth + 1, mesh, found, met);
            self.assert_below(first + 1, depth + 1, mesh, found, met);
        }
        assert!(found[start..].iter().all(|p| holds(node, *p)), "box of node {at}");
    }
}

fn holds(node: &BoxNode, p: DVec3) -> bool {
    (0..3).all(|k| {
        let along = node.axis(k).dot(p);
        f64::from(node.min[k]) <= along && along <= f64::from(node.max[k])
    })
}
