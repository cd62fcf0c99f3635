//! Splitting the link's box: by vertex count where triangles are, by distance where none are.

use std::collections::HashSet;

use super::{
    exact::ExactDistance,
    free_leaf::FreeLeaf,
    grid::Grid,
    octree_node::{OctreeNode, PackedNode},
    options::DEPTH_MAX,
    progress::BuildStopped,
    region::Region,
    source::FieldSource,
};
use crate::geometry::{
    TriangleId, TriangleMesh, tolerance::OCTANT_INFLATION, triangle_box::triangle_meets_box,
};
use glam::DVec3;
use rayon::prelude::*;

/// A leaf that is kept, before leaves are merged.
#[derive(Clone, Debug)]
pub(super) struct KeptLeaf {
    pub(super) region: Region,
    pub(super) vertices: u32,
}

/// The tree and its kept leaves; `OctreeNode::Kept` counts them.
pub(super) struct Octree {
    pub(super) nodes: Vec<PackedNode>,
    pub(super) free: Vec<FreeLeaf>,
    pub(super) leaves: Vec<KeptLeaf>,
}

/// What a node's centre tells its children.
#[derive(Clone, Copy)]
struct Near {
    /// Nearest to the centre.
    triangle: Option<TriangleId>,
    /// 1 outside and -1 inside, where no triangle is in the node and so none between two sides.
    side: Option<f64>,
}

/// A node with its children, before all are laid out in one row.
enum SubTree {
    Inner(Vec<SubTree>),
    Kept(KeptLeaf),
    Deleted(FreeLeaf),
}

/// What a node holds while it is being split.
struct SplitContent {
    triangles: Vec<TriangleId>,
    vertices: Vec<u32>,
}

impl Octree {
    pub(super) fn build(source: &FieldSource, root: Region) -> Result<Octree, BuildStopped> {
        let mesh = source.mesh;
        let triangles: Vec<TriangleId> = mesh.triangle_ids().collect();
        // Vertices that no triangle uses would split nodes where there is no surface.
        let used: HashSet<u32> = triangles.iter().flat_map(|t| mesh.vertices(*t)).collect();
        let mut vertices: Vec<u32> = used.into_iter().collect();
        vertices.sort_unstable();
        let nowhere = Near { triangle: None, side: None };
        let tree = source.split(root, &SplitContent { triangles, vertices }, 0, nowhere);
        let root_node = PackedNode::of(OctreeNode::Inner(0));
        let mut octree = Octree { nodes: vec![root_node], free: Vec::new(), leaves: Vec::new() };
        octree.lay_out(0, tree);
        if source.progress.is_stopped() { Err(BuildStopped) } else { Ok(octree) }
    }

    /// The first kept leaf that a point is in; a point in a shared face is in several.
    pub(super) fn first_leaf_at(&self, root: Region, p: DVec3) -> Option<u32> {
        self.first_leaf_below(0, root, p)
    }

    fn first_leaf_below(&self, node: usize, region: Region, p: DVec3) -> Option<u32> {
        match self.nodes[node].get() {
            // Leaves are numbered in the order of this walk, so that the first one met has the smallest number.
            OctreeNode::Inner(first) => (0..8).find_map(|i| {
                let octant = region.octant(i);
                let is_in = octant.contains(p);
                is_in.then(|| self.first_leaf_below(first as usize + i, octant, p)).flatten()
            }),
            OctreeNode::Kept(leaf) => Some(leaf),
            OctreeNode::Deleted(_) => None,
        }
    }

    fn lay_out(&mut self, node: usize, tree: SubTree) {
        let laid_out = match tree {
            SubTree::Deleted(leaf) => {
                self.free.push(leaf);
                OctreeNode::Deleted(self.free.len() as u32 - 1)
            }
            SubTree::Kept(leaf) => {
                self.leaves.push(leaf);
                OctreeNode::Kept(self.leaves.len() as u32 - 1)
            }
            SubTree::Inner(children) => {
                let first = self.nodes.len();
                self.nodes.resize(first + 8, PackedNode::of(OctreeNode::Inner(0)));
                for (i, child) in children.into_iter().enumerate() {
                    self.lay_out(first + i, child);
                }
                OctreeNode::Inner(first as u32)
            }
        };
        self.nodes[node] = PackedNode::of(laid_out);
    }

    /// The nodes, with each kept leaf naming its subspace.
    pub(super) fn name_subspaces(&mut self, subspace_of_leaf: &[u32]) {
        for node in &mut self.nodes {
            if let OctreeNode::Kept(leaf) = node.get() {
                debug_assert!((leaf as usize) < subspace_of_leaf.len(), "leaf {leaf}");
                *node = PackedNode::of(OctreeNode::Kept(subspace_of_leaf[leaf as usize]));
            }
        }
    }
}

impl FieldSource<'_> {
    /// `near`: what is known of the node around this one.
    fn split(&self, region: Region, content: &SplitContent, depth: u32, near: Near) -> SubTree {
        let is_free = content.triangles.is_empty();
        let vertices = content.vertices.len() as u32;
        let leaf = KeptLeaf { region, vertices };
        if !self.progress.goes_on() {
            // What is laid out of it is dropped.
            return SubTree::Kept(leaf);
        }
        // One search a node, whose triangle is a good hint for the node's children.
        let centre = self.distance(region.centre(), &near);
        let distance = centre.signed_distance;
        let near = Near { triangle: Some(centre.triangle), side: self.side(&centre, is_free) };
        debug_assert!(distance.is_finite(), "{distance} m at {}", region.centre());
        let splits = depth < self.options.depth_max.min(DEPTH_MAX)
            && if is_free && distance > 0.0 {
                // A free leaf is split until what it answers is within the tolerance or 1.5 % of the distance;
                // nearer to the surface the tolerance decides, farther away the share.
                overshoot(&region, distance) > self.tolerance.max(FREE_OVERSHOOT_MAX * distance)
            } else {
                content.vertices.len() >= self.options.leaf_vertices || self.is_too_coarse(&leaf)
            };
        if splits {
            let children = (0..8).into_par_iter().map(|i| {
                // In parallel over octants; each is laid out in order afterwards, so the number of threads shows
                // nowhere.
                let octant = region.octant(i);
                self.split(octant, &content.within(self.mesh, &region, i, &octant), depth + 1, near)
            });
            return SubTree::Inner(children.collect());
        }
        if is_free && distance > 0.0 {
            let corners: [f64; 8] =
                std::array::from_fn(|i| self.distance(region.corner(i), &near).signed_distance);
            // About an open end the side may change without a triangle: such a leaf is kept.
            if corners.iter().all(|d| *d > 0.0) {
                self.progress.leaf_done(depth, size_of::<FreeLeaf>() + size_of::<PackedNode>());
                return SubTree::Deleted(FreeLeaf::new(self.mesh, &region, &centre, corners));
            }
        }
        self.progress.leaf_done(depth, size_of::<KeptLeaf>() + size_of::<PackedNode>());
        SubTree::Kept(leaf)
    }

    fn distance(&self, p: DVec3, near: &Near) -> ExactDistance {
        // Where no triangle is in a node, its side is known from its centre and the search needs none.
        let Some(side) = near.side else { return (self.exact.distance)(p, near.triangle) };
        let (distance, triangle) = (self.exact.nearest)(p, near.triangle);
        ExactDistance { signed_distance: distance * side, triangle, winding: None }
    }

    /// The side of a whole node, where its centre tells.
    fn side(&self, centre: &ExactDistance, is_free: bool) -> Option<f64> {
        let decided = |w: f64| (w - 0.5).abs() >= DECIDED;
        // Nothing is known of the sign where the surface is open and the winding number near a half.
        let is_told = self.exact.closed || centre.winding.is_none_or(decided);
        (is_free && is_told).then_some(centre.signed_distance.signum())
    }

    /// A grid over the leaf would leave too many cells wide.
    fn is_too_coarse(&self, leaf: &KeptLeaf) -> bool {
        leaf.region.radius() > RADIUS_MIN * self.tolerance
            && Grid::build(self, leaf.region, leaf.vertices).is_poor(self.tolerance)
    }
}

/// Leaves are not split for accuracy below this many tolerances: interpolation over cells a few tolerances
/// wide is within the tolerance by the Lipschitz bound alone.
const RADIUS_MIN: f64 = 8.0;

/// A free exterior leaf is split until its bound is too low by this share of its distance at most, or by
/// the tolerance.
const FREE_OVERSHOOT_MAX: f64 = 0.015;

/// A winding number this far from a half at the centre of a free node tells the side of all of it: it grows
/// to a half in the mouth of a hole, over the hole's radius a by 0.5 / a at most, and a free node as near to
/// its boundary is smaller than half of that.
const DECIDED: f64 = 0.25;

/// By how much the distances of a free region's corners may overshoot inside it.
fn overshoot(region: &Region, distance: f64) -> f64 {
    debug_assert!(distance > 0.0, "{distance} m in a free leaf");
    let (radius, clearance) = (region.radius(), distance - region.radius());
    if clearance > 0.5 * radius { radius * radius / (2.0 * clearance) } else { radius }
}

impl SplitContent {
    /// The part of it in an octant: a vertex is in one octant only, a triangle in each whose inflated closed box it
    /// meets.
    fn within(
        &self,
        mesh: &TriangleMesh,
        parent: &Region,
        i: usize,
        octant: &Region,
    ) -> SplitContent {
        debug_assert!(i < 8 && parent.contains(octant.centre()), "octant {i} of {parent:?}");
        let inflated = octant.size() * 0.5
            + DVec3::splat(OCTANT_INFLATION) * parent.max.abs().max(parent.min.abs());
        let meets =
            |t: &&TriangleId| triangle_meets_box(&mesh.triangle(**t), octant.centre(), inflated);
        let here = |v: &&u32| parent.octant_of(mesh.position(**v)) == i;
        SplitContent {
            triangles: self.triangles.iter().filter(meets).copied().collect(),
            vertices: self.vertices.iter().filter(here).copied().collect(),
        }
    }
}
