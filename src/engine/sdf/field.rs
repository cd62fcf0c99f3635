//! The field of one link, with its parts.

use serde::{Deserialize, Serialize};

use super::{
    cell::Cell, free_leaf::FreeLeaf, grid::Grid, octree_node::PackedNode, region::Region,
    short_bound::ShortBound,
};
use crate::geometry::Aabb;

/// Signed distance field of a rigid surface, in the surface's frame. Reading it requires the mesh that it was built
/// from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Field {
    pub(super) root: Region,
    // Leaves are split instead of gridded finer, since detail of a surface is local. The transform of a subspace is one
    // scale and shift after the pose: precomposing each with the pose would save nothing, since the subspace is looked
    // up in the link's frame.
    pub(super) nodes: Vec<PackedNode>,
    pub(super) free: Vec<FreeLeaf>,
    pub(super) grids: Vec<Grid>,
    /// Box of the triangles.
    pub(super) surface: Region,
    /// True if the sign is by winding number, else by pseudonormal.
    pub(super) by_winding: bool,
    pub(super) tolerance: f64,
}

/// Size and accuracy of a field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FieldReport {
    /// Subspaces, one grid each.
    pub subspaces: usize,
    /// Exterior leaves without a grid.
    pub deleted_leaves: usize,
    /// Number of stored distances.
    pub samples: usize,
    /// Memory of the whole field, bytes.
    pub bytes: usize,
    /// Cells that interpolate within the tolerance.
    pub interpolated_cells: usize,
    /// Cells with an exact result from a candidate list.
    pub exact_cells: usize,
    /// Cells that do neither: their interval is wider than the tolerance.
    pub wide_cells: usize,
    /// Requested error, metres.
    pub tolerance_m: f64,
    /// Largest certified error of any cell, metres.
    pub bound_m: f64,
}

impl Field {
    /// Reports size and accuracy.
    pub fn report(&self) -> FieldReport {
        let cells = || self.grids.iter().flat_map(Grid::cells);
        let is_small = |error: ShortBound| error.value() <= self.tolerance;
        let within = |c: &Cell| matches!(c, Cell::Interpolate { below, above } if is_small(*below) && is_small(*above));
        let exact_cells = cells().filter(|c| matches!(c, Cell::List(_))).count();
        let interpolated_cells = cells().filter(|c| within(c)).count();
        FieldReport {
            subspaces: self.grids.len(),
            deleted_leaves: self.free.len(),
            samples: self.grids.iter().map(|g| g.samples.len()).sum(),
            bytes: self.grids.iter().map(Grid::bytes).sum::<usize>()
                + size_of_val(&self.nodes[..])
                + size_of_val(&self.free[..]),
            interpolated_cells,
            exact_cells,
            wide_cells: cells().count() - exact_cells - interpolated_cells,
            tolerance_m: self.tolerance,
            bound_m: self.grids.iter().map(Grid::bound).fold(0.0, f64::max),
        }
    }

    /// Error that the cells were built for, metres.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Space that has grids; beyond it only bounds are known.
    pub fn bounds(&self) -> Aabb {
        Aabb::around([self.root.min, self.root.max])
    }

    /// Boxes of the subspaces, for display.
    pub fn subspaces(&self) -> impl Iterator<Item = (glam::DVec3, glam::DVec3)> + '_ {
        self.grids.iter().map(|g| (g.region.min, g.region.max))
    }
}
