//! Look-up of the leaves of the tree that contain given points.

use glam::{DVec3, UVec3};

use super::{
    field::Field, free_leaf::FreeLeaf, grid::Grid, octree_node::OctreeNode, options::DEPTH_MAX,
    region::Region,
};

/// A leaf of the tree: its node, its level and the point's cell.
#[derive(Clone, Copy)]
pub(super) struct LeafLocation {
    /// Morton code of the point's cell at the deepest level: three bits a level.
    code: u64,
    node: u32,
    /// Level of the leaf; 0 is the level of the smallest cells.
    level: u32,
}

/// Part of the field that a leaf refers to.
pub(super) enum LeafAnswer<'a> {
    Grid(&'a Grid),
    Free(Region, &'a FreeLeaf),
}

impl Field {
    /// Finds the leaves that contain points of the root.
    #[inline(always)]
    pub(super) fn locate<const N: usize>(&self, points: &[DVec3; N]) -> [LeafLocation; N] {
        const CELLS: f64 = (1u32 << DEPTH_MAX) as f64;
        // One Morton code serves all levels: a level's octant is three bits of it, so the descent compares with no
        // node's centre.
        let per_metre = CELLS / self.root.size();
        let mut locations = [LeafLocation { code: 0, node: 0, level: DEPTH_MAX }; N];
        for (location, p) in locations.iter_mut().zip(points) {
            let scaled = (*p - self.root.min) * per_metre;
            let cell = scaled.clamp(DVec3::ZERO, DVec3::splat(CELLS - 1.0)).as_uvec3();
            location.code = spread(cell.x) | spread(cell.y) << 1 | spread(cell.z) << 2;
        }
        let mut n_inner = N;
        while n_inner > 0 {
            // All points descend a level at a time, so that their waits for memory overlap.
            n_inner = 0;
            for location in &mut locations {
                if let OctreeNode::Inner(first) = self.nodes[location.node as usize].get() {
                    debug_assert!(location.level > 0, "the tree is deeper than {DEPTH_MAX}");
                    location.level -= 1;
                    location.node = first + (location.code >> (3 * location.level) & 7) as u32;
                    n_inner += 1;
                }
            }
        }
        locations
    }

    /// Returns the grid or free leaf for a located point.
    #[inline(always)]
    pub(super) fn leaf(&self, location: LeafLocation, p: DVec3) -> LeafAnswer<'_> {
        debug_assert!(self.root.contains(p), "{p} is outside the root");
        match self.nodes[location.node as usize].get() {
            OctreeNode::Kept(grid) => LeafAnswer::Grid(&self.grids[grid as usize]),
            OctreeNode::Deleted(leaf) => {
                // A free leaf's box is computed from its code and not stored: the leaf stores only its nine numbers.
                let size = self.root.size() / f64::from(1u32 << (DEPTH_MAX - location.level));
                let code = location.code >> (3 * location.level);
                let cell = UVec3::new(gather(code), gather(code >> 1), gather(code >> 2));
                let min = self.root.min + cell.as_dvec3() * size;
                LeafAnswer::Free(Region { min, max: min + size }, &self.free[leaf as usize])
            }
            OctreeNode::Inner(_) => unreachable!("{p} was located in a leaf"),
        }
    }
}

/// Inserts two zeros after each of the lower 21 bits.
fn spread(x: u32) -> u64 {
    let x = u64::from(x);
    let x = (x | x << 32) & 0x001f_0000_0000_ffff;
    let x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    let x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    let x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

/// Extracts every third bit: the inverse of [`spread`].
fn gather(x: u64) -> u32 {
    let x = x & 0x1249_2492_4924_9249;
    let x = (x | x >> 2) & 0x10c3_0c30_c30c_30c3;
    let x = (x | x >> 4) & 0x100f_00f0_0f00_f00f;
    let x = (x | x >> 8) & 0x001f_0000_ff00_00ff;
    let x = (x | x >> 16) & 0x001f_0000_0000_ffff;
    (x | x >> 32) as u32 & 0x001f_ffff
}
