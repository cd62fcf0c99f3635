//! Building a field: split, merge, sample.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{
    complexity::{Detail, Spread, dihedral_angles},
    exact::Exact,
    field::Field,
    grid::Grid,
    merge::merge,
    octree::{KeptLeaf, Octree},
    options::{FieldFrame, FieldOptions},
    sign_from_normal::SignFromNormal,
    source::FieldSource,
};
use crate::geometry::TriangleMesh;

/// Builds the field of a surface that is not empty. `progress` is told (subspaces done, of how many). The
/// result does not depend on the number of threads.
pub fn build(
    mesh: &TriangleMesh,
    exact: &Exact,
    options: &FieldOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Field {
    let FieldFrame { root, surface, tolerance } = FieldFrame::of(mesh, options);
    debug_assert!(tolerance >= 0.0, "tolerance {tolerance} m");
    let source =
        FieldSource { mesh, exact, sign_from_normal: SignFromNormal::of(mesh), options, tolerance };
    // Split first, then merge what is alike, then sample: a sample is the dearest step, and each is taken once.
    let mut octree = Octree::build(&source, root);
    let details = details(mesh, &octree.leaves);
    let weights = options.complexity_weights.unwrap_or_else(|| link_shares(mesh, &details));
    let complexity = |d: &Detail| d.complexity(weights, root.volume());
    let (subspaces, of_leaf) = merge(details, complexity, options.merge_threshold);
    let done = AtomicUsize::new(0);
    let grids = subspaces
        .par_iter()
        .map(|s| {
            let grid = Grid::build(&source, s.region, s.vertices);
            // The order of this count is of no consequence; the grids are collected in the order of the subspaces.
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, subspaces.len());
            grid
        })
        .collect();
    // The search itself says which rule it goes by: at the root's corner, outside whatever the surface is.
    let by_winding = (exact.distance)(root.min, None).winding.is_some();
    debug_assert_eq!(of_leaf.len(), octree.leaves.len(), "each kept leaf has its subspace");
    octree.name_subspaces(&of_leaf);
    let Octree { nodes, free, .. } = octree;
    Field { root, nodes, free, grids, surface, by_winding, tolerance }
}

fn details(mesh: &TriangleMesh, leaves: &[KeptLeaf]) -> Vec<Detail> {
    let detail =
        |l: &KeptLeaf| Detail { region: l.region, vertices: l.vertices, angles: Spread::default() };
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
