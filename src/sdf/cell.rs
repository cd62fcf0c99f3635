//! What one cell of a grid can promise, decided once when it is built.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::{
    build::{Exact, Source},
    region::Region,
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh, point_triangle::closest_point};

/// How a cell answers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Cell {
    /// By interpolation: the unsigned distance is at most `below` less and `above` more than the
    /// interpolated one, metres. The sign is that of every corner.
    Interpolate {
        /// Interpolated minus true, at most.
        below: f32,
        /// True minus interpolated, at most.
        above: f32,
    },
    /// Exactly, from the grid's list of this number.
    List(u32),
    /// By interpolation with no better bound than Lipschitz, and a sign that may change inside.
    Wide,
}

/// The triangles that can be nearest to some point of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ShortList {
    pub(super) triangles: Vec<TriangleId>,
    /// The winding number of all other triangles at the cell's corners, where the sign needs it.
    pub(super) far_winding: Option<[f32; 8]>,
}

/// A sample of the exact search at a corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    pub(super) at: DVec3,
    pub(super) signed_distance: f64,
    pub(super) triangle: TriangleId,
    pub(super) winding: Option<f64>,
}

/// What a cell came out as; the list is still to be numbered.
pub(super) enum Classified {
    Cell(Cell),
    List(ShortList),
}

/// Longest list that a cell answers from. Around a thin shaft every long triangle is in every list, and a
/// cell without a list there would not even know its side.
pub(super) const LIST_MAX: usize = 256;

/// Decides how a cell answers within the tolerance.
pub(super) fn classify(source: &Source, region: &Region, corners: &[Corner; 8]) -> Classified {
    let Source { mesh, exact, sides, tolerance, .. } = source;
    let (centre, radius) = (region.centre(), region.radius());
    let middle = (exact.distance)(centre, Some(corners[0].triangle));
    let distance = middle.signed_distance.abs();
    let one_side =
        corners.iter().all(|c| (c.signed_distance < 0.0) == (middle.signed_distance < 0.0));
    // Nothing of the surface is nearer than this to any point of the cell.
    let clearance = distance - radius;
    let mut interpolate = None;
    if clearance > 0.0 && one_side {
        let nearest = mesh.triangle(middle.triangle);
        let overshoot = region.size().length_squared() / (8.0 * clearance);
        let excess = corners.iter().map(|c| {
            closest_point(c.at, &nearest).distance_squared.sqrt() - c.signed_distance.abs()
        });
        let (below, above) = (overshoot.min(radius), excess.fold(0.0, f64::max).min(radius));
        let cell = Cell::Interpolate { below: round_up(below), above: round_up(above) };
        if below.max(above) <= *tolerance {
            return Classified::Cell(cell);
        }
        interpolate = Some(cell);
    }
    match short_list(mesh, exact, centre, distance + 2.0 * radius) {
        Some(triangles) => {
            let by_normals = sides.are_told_by_normals(mesh, &triangles, corners);
            let far_winding =
                if by_normals { None } else { far_winding(mesh, &triangles, corners) };
            Classified::List(ShortList { triangles, far_winding })
        }
        None => Classified::Cell(interpolate.unwrap_or(Cell::Wide)),
    }
}

/// All triangles within `reach` of the centre: with d the distance of the centre and r the cell's radius,
/// the nearest triangle of any point of the cell is within d + 2 r of the centre. `None`: too many.
fn short_list(
    mesh: &TriangleMesh,
    exact: &Exact,
    centre: DVec3,
    reach: f64,
) -> Option<Vec<TriangleId>> {
    let mut triangles = Vec::new();
    let reach = reach * (1.0 + REACH_ROUNDING);
    (exact.near)(&Aabb::around([centre]).grown(reach), &mut triangles);
    let within = |t: &TriangleId| {
        closest_point(centre, &mesh.triangle(*t)).distance_squared <= reach * reach
    };
    triangles.retain(within);
    triangles.sort_unstable();
    (triangles.len() <= LIST_MAX).then_some(triangles)
}

/// Covers the rounding of two distances and their sum.
const REACH_ROUNDING: f64 = 1e-12;

fn far_winding(
    mesh: &TriangleMesh,
    list: &[TriangleId],
    corners: &[Corner; 8],
) -> Option<[f32; 8]> {
    let mut far = [0.0; 8];
    for (far, corner) in far.iter_mut().zip(corners) {
        *far = (corner.winding? - list_winding(mesh, list, corner.at)) as f32;
    }
    Some(far)
}

/// The share of the winding number around `p` that a list's triangles have.
pub(super) fn list_winding(mesh: &TriangleMesh, list: &[TriangleId], p: DVec3) -> f64 {
    let angle = |t: &TriangleId| crate::geometry::winding::solid_angle(p, &mesh.triangle(*t));
    list.iter().map(angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}

fn round_up(x: f64) -> f32 {
    (x as f32).next_up()
}
