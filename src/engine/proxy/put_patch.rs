//! The part of a tissue that was placed through the proxy: triangles that cross it, and all triangles near the proxy
//! that are connected to them.

use super::tissue_view::TissueView;
use crate::geometry::TriangleId;

/// Near triangles of one tissue by connectivity. Kept from search to search to reuse the memory.
#[derive(Debug, Default)]
pub(super) struct PutPatch {
    /// Ascending.
    vertices: Vec<u32>,
    /// Parent of each vertex, as an index: a forest of disjoint sets.
    parents: Vec<u32>,
    /// Roots of the sets that were placed through the proxy, ascending.
    roots: Vec<u32>,
}

impl PutPatch {
    /// Finds the triangles near a proxy that are connected to those placed through it. O(n log n).
    pub(super) fn find(
        &mut self,
        near: impl Iterator<Item = TriangleId> + Clone,
        tissue: &TissueView,
    ) {
        let mesh = tissue.surface.mesh();
        self.vertices.clear();
        self.vertices.extend(near.clone().flat_map(|t| mesh.vertices(t)));
        self.vertices.sort_unstable();
        self.vertices.dedup();
        self.parents.clear();
        self.parents.extend(0..self.vertices.len() as u32);
        for [a, b, c] in near.map(|t| mesh.vertices(t)) {
            self.unite(a, b);
            self.unite(a, c);
        }
        self.roots.clear();
        for v in tissue.put_through.iter().filter_map(|t| mesh.get(*t)).flatten() {
            if let Some(root) = self.root(v) {
                self.roots.push(root);
            }
        }
        self.roots.sort_unstable();
        self.roots.dedup();
    }

    /// Returns true if a near triangle with this vertex belongs to the patch.
    pub(super) fn holds(&mut self, v: u32) -> bool {
        self.root(v).is_some_and(|root| self.roots.binary_search(&root).is_ok())
    }

    fn unite(&mut self, a: u32, b: u32) {
        if let (Some(a), Some(b)) = (self.root(a), self.root(b)) {
            self.parents[a.max(b) as usize] = a.min(b);
        }
    }

    fn root(&mut self, v: u32) -> Option<u32> {
        let mut at = self.vertices.binary_search(&v).ok()?;
        while self.parents[at] as usize != at {
            // Each second step is cut short, so that paths stay short.
            let next = self.parents[at] as usize;
            self.parents[at] = self.parents[next];
            at = next;
        }
        Some(at as u32)
    }
}
