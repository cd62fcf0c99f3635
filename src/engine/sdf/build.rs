//! Builds a field: split, merge, sample.

use rayon::prelude::*;

use super::{
    complexity::{Detail, Spread, dihedral_angles},
    exact::Exact,
    field::Field,
    grid::Grid,
    merge::merge,
    octree::{KeptLeaf, Octree},
    options::{FieldFrame, FieldOptions},
    progress::{BuildProgress, BuildStopped, ProgressCounter},
    region::Region,
    sign_from_normal::SignFromNormal,
    source::FieldSource,
};
use crate::geometry::TriangleMesh;

/// Builds the field of a surface that is not empty, on the threads of the rayon pool that it is called in. The result
/// does not depend on their number. `goes_on` receives the progress of the build, many times, and returns false to stop
/// it.
///
/// # Errors
/// Returns [`BuildStopped`] if `goes_on` returned false.
pub fn build(
    mesh: &TriangleMesh,
    exact: &Exact,
    options: &FieldOptions,
    goes_on: &(dyn Fn(BuildProgress) -> bool + Sync),
) -> Result<Field, BuildStopped> {
    let FieldFrame { root, surface, tolerance } = FieldFrame::of(mesh, options);
    debug_assert!(tolerance >= 0.0, "tolerance {tolerance} m");
    let sign_from_normal = SignFromNormal::of(mesh, exact);
    let progress = &ProgressCounter::new(goes_on);
    let source = FieldSource { mesh, exact, sign_from_normal, options, tolerance, progress };
    // Split first, then merge similar leaves, then sample: sampling is the most expensive step, and each sample is
    // taken once.
    let mut octree = Octree::build(&source, root)?;
    let details = details(mesh, root, &octree);
    let weights = options.complexity_weights.unwrap_or_else(|| link_shares(mesh, &details));
    let complexity = |d: &Detail| d.complexity(weights, root.volume());
    let (subspaces, of_leaf) = merge(details, complexity, options.merge_threshold);
    let sample = |s: &Detail| {
        let grid = Grid::build(&source, s.region, s.vertices);
        let goes_on = progress.subspace_done(subspaces.len(), grid.bytes());
        if goes_on { Ok(grid) } else { Err(BuildStopped) }
    };
    let grids = subspaces.par_iter().map(sample).collect::<Result<_, _>>()?;
    // The search itself shows its sign rule: at the root's corner, which is outside for any surface.
    let by_winding = (exact.distance)(root.min, None).winding.is_some();
    debug_assert_eq!(of_leaf.len(), octree.leaves.len(), "each kept leaf has its subspace");
    octree.name_subspaces(&of_leaf);
    let Octree { mut nodes, mut free, .. } = octree;
    nodes.shrink_to_fit();
    free.shrink_to_fit();
    Ok(Field { root, nodes, free, grids, surface, by_winding, tolerance })
}

fn details(mesh: &TriangleMesh, root: Region, octree: &Octree) -> Vec<Detail> {
    let detail =
        |l: &KeptLeaf| Detail { region: l.region, vertices: l.vertices, angles: Spread::default() };
    let mut details: Vec<Detail> = octree.leaves.iter().map(detail).collect();
    for (midpoint, angle) in dihedral_angles(mesh) {
        if let Some(leaf) = octree.first_leaf_at(root, midpoint) {
            let d = &mut details[leaf as usize];
            d.angles = d.angles.join(&Spread::of(angle));
        }
    }
    details
}

/// The inverse of the link's vertices and of its dihedral variance: both terms become shares.
fn link_shares(mesh: &TriangleMesh, details: &[Detail]) -> (f64, f64) {
    let angles = details.iter().fold(Spread::default(), |s, d| s.join(&d.angles));
    let share = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
    (share(mesh.positions().len() as f64), share(angles.variance()))
}
