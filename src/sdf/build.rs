//! Building a field: split, merge, sample.

use std::sync::atomic::{AtomicUsize, Ordering};

use glam::DVec3;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    complexity::{Detail, Spread, dihedral_angles},
    field::Field,
    grid::Grid,
    merge::merge,
    octree::{Leaf, Octree},
    region::Region,
    sides::Sides,
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh};

/// How a field is laid out. The defaults suit an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldOptions {
    /// Largest certified error wanted, metres; `None`: 1e-3 of the surface's diagonal.
    pub tolerance_m: Option<f64>,
    /// A node with fewer vertices is a leaf.
    pub leaf_vertices: usize,
    /// Depth of the tree at most.
    pub depth_max: u32,
    /// Samples of a subspace for each of its vertices, before leaves are split for accuracy.
    pub samples_per_vertex: f64,
    /// Samples of a leaf at least, whatever its vertices: large faces have few of them.
    pub samples_min: f64,
    /// Weights of vertices and of dihedral variance in the complexity; `None`: see `complexity`.
    pub complexity_weights: Option<(f64, f64)>,
    /// Neighbours whose complexities differ by less are merged; `None`: the median difference.
    pub merge_threshold: Option<f64>,
}

impl Default for FieldOptions {
    fn default() -> FieldOptions {
        FieldOptions {
            tolerance_m: None,
            leaf_vertices: 32,
            depth_max: 10,
            samples_per_vertex: 8.0,
            samples_min: 216.0,
            complexity_weights: None,
            merge_threshold: None,
        }
    }
}

/// An exact answer at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactDistance {
    /// Metres, negative inside.
    pub signed_distance: f64,
    /// The nearest triangle.
    pub triangle: TriangleId,
    /// The winding number, where the sign is taken from it.
    pub winding: Option<f64>,
}

/// The exact search that a field is sampled from.
pub struct Exact<'a> {
    /// At a point, link frame; a triangle that is likely near may make it faster.
    pub distance: &'a (dyn Fn(DVec3, Option<TriangleId>) -> ExactDistance + Sync),
    /// The same without the side.
    pub nearest: &'a (dyn Fn(DVec3, Option<TriangleId>) -> (f64, TriangleId) + Sync),
    /// The side changes nowhere but at a triangle.
    pub closed: bool,
    /// Adds all triangles whose boxes meet a box; more do no harm.
    pub near: &'a (dyn Fn(&Aabb, &mut Vec<TriangleId>) + Sync),
}

/// What all parts of a build work from.
pub(super) struct Source<'a> {
    pub(super) mesh: &'a TriangleMesh,
    pub(super) exact: &'a Exact<'a>,
    pub(super) sides: Sides,
    pub(super) options: &'a FieldOptions,
    /// Metres.
    pub(super) tolerance: f64,
}

/// Raised with every change to what a field is made of or how it is built.
pub const FIELD_VERSION: u32 = 6;

/// Share of the longest edge by which the root is larger than the surface on every side: in the root a bound
/// is within a few hundredths of the distance, outside it only as good as the box of the triangles.
const ROOT_MARGIN: f64 = 0.5;
/// The root is larger than the surface by this at least, metres: a surface may be a single point, and cells
/// must still be far wider than the rounding of their coordinates.
const MARGIN_MIN: f64 = 1e-6;
/// Default tolerance as a share of the surface's diagonal.
const TOLERANCE_SHARE: f64 = 1e-3;

/// Builds the field of a surface that is not empty. `progress` is told (subspaces done, of how many). The
/// result does not depend on the number of threads.
pub fn build(
    mesh: &TriangleMesh,
    exact: &Exact,
    options: &FieldOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Field {
    let Frame { root, surface, tolerance } = Frame::of(mesh, options);
    let source = Source { mesh, exact, sides: Sides::of(mesh), options, tolerance };
    let mut octree = Octree::build(&source, root);
    let details = details(mesh, &octree.leaves);
    let weights = options.complexity_weights.unwrap_or_else(|| link_shares(mesh, &details));
    let complexity = |d: &Detail| d.complexity(weights, root.volume());
    let (subspaces, of_leaf) = merge(details, complexity, options.merge_threshold);
    let done = AtomicUsize::new(0);
    let grids = subspaces
        .par_iter()
        .map(|s| {
            let leaf = Leaf { region: s.region, vertices: s.vertices };
            let grid = Grid::build(&source, &leaf);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, subspaces.len());
            grid
        })
        .collect();
    let by_winding = (exact.distance)(root.min, None).winding.is_some();
    octree.name_subspaces(&of_leaf);
    let Octree { nodes, free, .. } = octree;
    Field { root, nodes, free, grids, surface, by_winding, tolerance }
}

/// What is known of a field before any distance is.
pub(super) struct Frame {
    pub(super) root: Region,
    pub(super) surface: Region,
    pub(super) tolerance: f64,
}

impl Frame {
    pub(super) fn of(mesh: &TriangleMesh, options: &FieldOptions) -> Frame {
        let bounds = mesh.used_box();
        let surface = Region { min: bounds.min.as_dvec3(), max: bounds.max.as_dvec3() };
        let tolerance = options.tolerance_m.unwrap_or(TOLERANCE_SHARE * bounds.diagonal());
        let half = surface.size().max_element() * (0.5 + ROOT_MARGIN) + tolerance.max(MARGIN_MIN);
        let half = DVec3::splat(half);
        let root = Region { min: surface.centre() - half, max: surface.centre() + half };
        Frame { root, surface, tolerance }
    }
}

fn details(mesh: &TriangleMesh, leaves: &[Leaf]) -> Vec<Detail> {
    let detail =
        |l: &Leaf| Detail { region: l.region, vertices: l.vertices, angles: Spread::default() };
    let mut details: Vec<Detail> = leaves.iter().map(detail).collect();
    for (midpoint, angle) in dihedral_angles(mesh) {
        // A midpoint in a shared face counts for the first leaf.
        if let Some(d) = details.iter_mut().find(|d| d.region.contains(midpoint)) {
            d.angles = d.angles.join(&Spread::of(angle));
        }
    }
    details
}

/// One over the link's vertices and one over its dihedral variance: both terms become shares.
fn link_shares(mesh: &TriangleMesh, details: &[Detail]) -> (f64, f64) {
    let angles = details.iter().fold(Spread::default(), |s, d| s.join(&d.angles));
    let share = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
    (share(mesh.positions().len() as f64), share(angles.variance()))
}
