//! Splits the link's box: by vertex count if it contains triangles, by distance otherwise.

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

/// The tree and its kept leaves; `OctreeNode::Kept` is an index into them.
pub(super) struct Octree {
    pub(super) nodes: Vec<PackedNode>,
    pub(super) free: Vec<FreeLeaf>,
    pub(super) leaves: Vec<KeptLeaf>,
}

/// Results at a node's centre, for its children.
#[derive(Clone, Copy)]
struct Near {
    /// Nearest triangle to the centre.
    triangle: Option<TriangleId>,
    /// 1 outside and -1 inside, if no triangle is in the node and so none between two sides.
    side: Option<f64>,
}

/// A node with its children, before all nodes are laid out in one array.
enum SubTree {
    Inner(Vec<SubTree>),
    Kept(KeptLeaf),
    Deleted(FreeLeaf),
}

/// Content of a node during its split.
struct SplitContent {
    triangles: Vec<TriangleId>,
    vertices: Vec<u32>,
}

impl Octree {
    pub(super) fn build(source: &FieldSource, root: Region) -> Result<Octree, BuildStopped> {
        let mesh = source.mesh;
        let triangles: Vec<TriangleId> = mesh.triangle_ids().collect();
        // Vertices that no triangle uses would split nodes that contain no surface.
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

    /// First kept leaf that contains a point; a point in a shared face is in several.
    pub(super) fn first_leaf_at(&self, root: Region, p: DVec3) -> Option<u32> {
        self.first_leaf_below(0, root, p)
    }

    fn first_leaf_below(&self, node: usize, region: Region, p: DVec3) -> Option<u32> {
        match self.nodes[node].get() {
            // Leaves are numbered in the order of this traversal, so that the first one met has the smallest number.
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

    /// Replaces the leaf number in each kept node by the leaf's subspace.
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
    /// `near`: results for the node around this one.
    fn split(&self, region: Region, content: &SplitContent, depth: u32, near: Near) -> SubTree {
        let is_free = content.triangles.is_empty();
        let vertices = content.vertices.len() as u32;
        let leaf = KeptLeaf { region, vertices };
        if !self.progress.goes_on() {
            // The laid-out tree is discarded.
            return SubTree::Kept(leaf);
        }
        // One search for each node, whose triangle is a good hint for the node's children.
        let centre = self.distance(region.centre(), &near);
        let distance = centre.signed_distance;
        let near = Near { triangle: Some(centre.triangle), side: self.side(&centre, is_free) };
        debug_assert!(distance.is_finite(), "{distance} m at {}", region.centre());
        let is_outside = is_free && distance > 0.0;
        // A free leaf is split until its error is within the tolerance or 1.5 % of the distance; nearer to the surface
        // the tolerance decides, farther away the share.
        let is_loose = is_outside
            && overshoot(&region, distance) > self.tolerance.max(FREE_OVERSHOOT_MAX * distance);
        let may_split = depth < self.options.depth_max.min(DEPTH_MAX);
        let keeps_grid = is_loose
            && may_split
            && self.is_flush(&region, distance, &near)
            && !self.is_too_coarse(&leaf);
        let splits = may_split
            && if is_outside {
                is_loose && !keeps_grid
            } else {
                content.vertices.len() >= self.options.leaf_vertices || self.is_too_coarse(&leaf)
            };
        if splits {
            let children = (0..8).into_par_iter().map(|i| {
                // Octants run in parallel; each is laid out in order afterwards, so the result does not depend on the
                // number of threads.
                let octant = region.octant(i);
                self.split(octant, &content.within(self.mesh, &region, i, &octant), depth + 1, near)
            });
            return SubTree::Inner(children.collect());
        }
        if is_outside && !keeps_grid {
            let corners: [f64; 8] =
                std::array::from_fn(|i| self.distance(region.corner(i), &near).signed_distance);
            // Near an open end the side may change without a triangle: such a leaf is kept.
            if corners.iter().all(|d| *d > 0.0) {
                self.progress.leaf_done(depth, size_of::<FreeLeaf>() + size_of::<PackedNode>());
                return SubTree::Deleted(FreeLeaf::new(self.mesh, &region, &centre, corners));
            }
        }
        self.progress.leaf_done(depth, size_of::<KeptLeaf>() + size_of::<PackedNode>());
        SubTree::Kept(leaf)
    }

    fn distance(&self, p: DVec3, near: &Near) -> ExactDistance {
        // If no triangle is in a node, its centre decides its side, and the search needs none.
        let Some(side) = near.side else { return (self.exact.distance)(p, near.triangle) };
        let (distance, triangle) = (self.exact.nearest)(p, near.triangle);
        ExactDistance { signed_distance: distance * side, triangle, winding: None }
    }

    /// Side of a whole node, if its centre decides it.
    fn side(&self, centre: &ExactDistance, is_free: bool) -> Option<f64> {
        let decided = |w: f64| (w - 0.5).abs() >= DECIDED;
        // The sign is unknown if the surface is open and the winding number near a half.
        let is_told = self.exact.closed || centre.winding.is_none_or(decided);
        (is_free && is_told).then_some(centre.signed_distance.signum())
    }

    /// Returns true if one side of a free exterior leaf lies along the surface: a flat face of a part that is parallel
    /// to the axes. Splitting such a leaf until it is tight makes a layer of tiny leaves over the whole face, and one
    /// grid describes the same distances.
    fn is_flush(&self, region: &Region, distance: f64, near: &Near) -> bool {
        let close = FLUSH_SHARE * region.radius();
        if distance > close + region.size().max_element() {
            return false;
        }
        let is_close: [bool; 8] = std::array::from_fn(|i| {
            (0.0..=close).contains(&self.distance(region.corner(i), near).signed_distance)
        });
        (0..3).any(|axis| {
            [0, 1 << axis]
                .iter()
                .any(|side| (0..8).filter(|i| i & (1 << axis) == *side).all(|i| is_close[i]))
        })
    }

    /// Returns true if a grid over the leaf would leave too many cells wide.
    fn is_too_coarse(&self, leaf: &KeptLeaf) -> bool {
        leaf.region.radius() > RADIUS_MIN * self.tolerance
            && Grid::build(self, leaf.region, leaf.vertices).is_poor(self.tolerance)
    }
}

/// Minimum radius, in tolerances, of a leaf that is split for accuracy: interpolation over cells a few tolerances wide
/// is within the tolerance by the Lipschitz bound alone.
const RADIUS_MIN: f64 = 8.0;

/// A free exterior leaf is split until its bound is too low by at most this share of its distance, or by the tolerance.
const FREE_OVERSHOOT_MAX: f64 = 0.015;

/// Maximum distance, as a share of a leaf's radius, of the four corners of a side that lies along the surface.
const FLUSH_SHARE: f64 = 0.125;

/// A winding number this far from a half at the centre of a free node decides the side of the whole node: it grows to a
/// half in the mouth of a hole, over the hole's radius a by at most 0.5 / a, and a free node as near to its boundary is
/// smaller than half of that.
const DECIDED: f64 = 0.25;

/// Upper bound of the overshoot of the interpolated distances inside a free region.
fn overshoot(region: &Region, distance: f64) -> f64 {
    debug_assert!(distance > 0.0, "{distance} m in a free leaf");
    let (radius, clearance) = (region.radius(), distance - region.radius());
    if clearance > 0.5 * radius { radius * radius / (2.0 * clearance) } else { radius }
}

impl SplitContent {
    /// Part of the content in an octant: a vertex is in one octant only, a triangle in each whose inflated closed box
    /// it meets.
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
