//! Small holes of a mesh, and the triangles that fill them.
//!
//! An instrument is mostly meant to be closed, and its file has a hole where two parts of a model meet. Near an open
//! end inside turns to outside without a triangle between, which costs every distance there a winding number.

use super::{boundary::loops_of, cap::Cap};
use crate::geometry::{Aabb, TriangleMesh};

/// Triangles that fill holes.
pub(super) struct Filling {
    /// By existing vertices, wound like the triangles around them.
    pub(super) triangles: Vec<[u32; 3]>,
    pub(super) n_holes: u32,
}

/// Least diagonal that fills all holes, metres, rounded up to two digits as people type it. `None` if `filled_m`
/// already fills all.
pub fn filling_all_m(mesh: &TriangleMesh, filled_m: f64) -> Option<f64> {
    let (edges, ends) = loops_of(mesh);
    let diagonals = each(&edges, &ends).map(|hole| diagonal_m(mesh, hole));
    let largest_m = diagonals.reduce(f64::max).filter(|m| *m > filled_m)?;
    let digit = 10f64.powf(largest_m.log10().floor() - 1.0);
    Some(((largest_m / digit).floor() + 1.0) * digit)
}

/// Fills each hole whose open edges are in a box with a diagonal of at most `diagonal_max_m` metres. 0 fills none.
pub(super) fn fill(mesh: &TriangleMesh, diagonal_max_m: f64) -> Filling {
    if diagonal_max_m == 0.0 {
        return Filling { triangles: Vec::new(), n_holes: 0 };
    }
    let (edges, ends) = loops_of(mesh);
    let is_small = |hole: &&[[u32; 2]]| diagonal_m(mesh, hole) <= diagonal_max_m;
    let holes = each(&edges, &ends).filter(is_small);
    let mut n_holes = 0;
    let cap = Cap::over(mesh, holes.inspect(|_| n_holes += 1));
    Filling { triangles: cap.triangles().to_vec(), n_holes }
}

fn each<'a>(edges: &'a [[u32; 2]], ends: &'a [usize]) -> impl Iterator<Item = &'a [[u32; 2]]> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    starts.zip(ends).map(|(start, end)| &edges[start..*end])
}

fn diagonal_m(mesh: &TriangleMesh, hole: &[[u32; 2]]) -> f64 {
    Aabb::around(hole.iter().map(|[from, _]| mesh.position(*from))).diagonal()
}
