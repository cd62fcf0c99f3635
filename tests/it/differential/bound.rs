//! Largest difference of two correct answers.

use glam::DVec3;
use palpate::{
    geometry::{TriangleId, TriangleMesh},
    oracle::triangle::{least_height, longest_edge},
};

/// Roundings from a vertex to a distance, in units of 2^-52: some thirty of each side.
const ROUNDINGS: f64 = 64.0 * f64::EPSILON;

/// Height, in longest edges, below which the engine may answer with the edges of a triangle alone, which is wrong by
/// half the height.
const SLIVER_HEIGHT: f64 = 1e-6;

/// Largest error of a correct distance from `p` to the triangle, metres.
///
/// All lengths that are subtracted lose some roundings of their size; the plane of a triangle is known to as many
/// roundings of its edge, times the edge over the height.
pub fn distance_error(mesh: &TriangleMesh, t: TriangleId, p: DVec3) -> f64 {
    let corners = mesh.triangle(t);
    let reach = corners.iter().map(|c| c.length()).fold(p.length(), f64::max);
    let (edge, height) = (longest_edge(&corners), least_height(&corners));
    let of_shape =
        if height <= SLIVER_HEIGHT * edge { height } else { ROUNDINGS * edge * (edge / height) };
    ROUNDINGS * reach + of_shape
}
