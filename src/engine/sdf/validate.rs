//! Validation of a field that comes from elsewhere: safe to read, and the field of a given surface.

use glam::{DVec3, UVec3};

use super::{
    cell::Cell,
    exact::Exact,
    field::Field,
    free_leaf::FreeLeaf,
    grid::Grid,
    octree_node::OctreeNode,
    options::DEPTH_MAX,
    options::{FieldFrame, FieldOptions},
    region::Region,
};
use crate::geometry::TriangleMesh;

impl Field {
    /// Returns true if every index and every number is valid, and frame, sign rule and some samples of every subspace
    /// equal those of the field that would be built from `mesh`. A field that passes never panics when it is read.
    pub fn is_of(&self, mesh: &TriangleMesh, exact: &Exact, options: &FieldOptions) -> bool {
        let frame = FieldFrame::of(mesh, options);
        let by_winding = (exact.distance)(frame.root.min, None).winding.is_some();
        self.root == frame.root
            && self.surface == frame.surface
            && self.tolerance == frame.tolerance
            && self.by_winding == by_winding
            && self.tree_is_well_formed()
            && self.grids.iter().all(|g| g.is_well_formed(mesh, by_winding) && g.agrees(exact))
    }

    /// Returns true if the descent meets every node once, and every grid covers the leaves that name it.
    fn tree_is_well_formed(&self) -> bool {
        let mut met = vec![false; self.nodes.len()];
        let mut open = vec![(0, self.root, 0)];
        while let Some((at, region, depth)) = open.pop() {
            let Some(node) = self.nodes.get(at) else { return false };
            // A node met twice would make a loop, and a tree that never ends.
            if met[at] || depth > DEPTH_MAX {
                return false;
            }
            met[at] = true;
            match node.get() {
                OctreeNode::Inner(first) => {
                    open.extend((0..8).map(|i| (first as usize + i, region.octant(i), depth + 1)))
                }
                OctreeNode::Kept(grid) => match self.grids.get(grid as usize) {
                    Some(grid) if grid.region.union(&region) == grid.region => {}
                    _ => return false,
                },
                OctreeNode::Deleted(leaf) => {
                    if !self.free.get(leaf as usize).is_some_and(FreeLeaf::is_well_formed) {
                        return false;
                    }
                }
            }
        }
        met.into_iter().all(|met| met)
    }
}

impl Grid {
    fn is_well_formed(&self, mesh: &TriangleMesh, by_winding: bool) -> bool {
        let Region { min, max } = self.region;
        let product = |n: UVec3| u128::from(n.x) * u128::from(n.y) * u128::from(n.z);
        min.is_finite()
            && max.is_finite()
            && min.cmplt(max).all()
            && self.dims.cmpge(UVec3::splat(3)).all()
            && product(self.dims) == self.samples.len() as u128
            && product(self.dims - 1) == self.cells.len() as u128
            && self.step == self.region.size() / (self.dims - 1).as_dvec3()
            && self.per_metre == self.step.recip()
            && self.rounding >= 0.0
            && self.rounding.is_finite()
            && self.samples.iter().all(|d| d.is_finite())
            && self.cells().all(|c| c.is_well_formed(self.lists.len()))
            && self.lists.is_well_formed(mesh, by_winding)
    }

    /// Returns true if a few samples equal the exact search.
    fn agrees(&self, exact: &Exact) -> bool {
        // The first, the middle and the last sample: a field of another surface fails at once; damage since the field
        // was checked at writing is not the concern of this test.
        let places = [UVec3::ZERO, self.dims / 2, self.dims - 1];
        places.into_iter().all(|i| {
            let at: DVec3 = self.region.min + i.as_dvec3() * self.step;
            let signed_distance = (exact.distance)(at, None).signed_distance as f32;
            self.samples[self.sample_index(i)] == signed_distance
        })
    }
}

impl Cell {
    fn is_well_formed(&self, n_lists: usize) -> bool {
        match *self {
            Cell::Interpolate { below, above } => below.is_well_formed() && above.is_well_formed(),
            Cell::List(n) => (n as usize) < n_lists,
            Cell::Wide => true,
        }
    }
}
