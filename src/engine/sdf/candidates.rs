//! Triangles that can be nearest to some point of a cell, found when a field is built.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::{
    exact::{Corner, Exact},
    region::Region,
    short_bound::ShortBound,
    sign_from_normal::SignFromNormal,
};
use crate::geometry::{
    Aabb, TriangleId, TriangleMesh, distance::point_triangle::closest_point, lanes::LANES,
    tolerance::CANDIDATE_ROUNDING, winding::solid_angles,
};

/// Maximum triangles of a cell's list. Around a thin shaft every long triangle is in every list, and a cell without a
/// list there would not even have a known side.
const CANDIDATES_MAX: usize = 256;
/// Number of shells that a byte can distinguish.
const SHELLS: f64 = 256.0;

/// Content of a cell's list.
pub(super) struct Candidates {
    /// Triangles, nearest to the cell's centre first.
    pub(super) triangles: Vec<TriangleId>,
    /// Width of a shell around the centre, metres.
    pub(super) shell: ShortBound,
    /// For every eighth triangle, the shell of its nearest point to the centre.
    pub(super) shells: Vec<u8>,
    pub(super) side: ListSide<FarWinding>,
}

/// Rule that decides the side of a point in a list's cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ListSide<W> {
    /// The cell is all inside: it contains no surface.
    Inside,
    Outside,
    /// The normal of the nearest feature decides.
    Normal,
    /// The winding number around the point decides.
    Winding(W),
}

/// Winding number of all triangles that are not in a list, at the corners of its cell.
pub(super) type FarWinding = [f32; 8];

impl Candidates {
    /// With d the distance of the centre and r the cell's radius, no point of the cell is farther than d + r from the
    /// surface: its nearest triangle is within d + r of the cell, and within d + 2 r of the centre. `None` if there are
    /// too many.
    pub(super) fn around(
        mesh: &TriangleMesh,
        exact: &Exact,
        cell: &Region,
        distance: f64,
    ) -> Option<Candidates> {
        let (centre, radius) = (cell.centre(), cell.radius());
        let from_cell = (distance + radius) * (1.0 + CANDIDATE_ROUNDING);
        let reach = (distance + 2.0 * radius) * (1.0 + CANDIDATE_ROUNDING);
        let mut near = Vec::new();
        (exact.near)(&Aabb::around([cell.min, cell.max]).grown(from_cell), &mut near);
        near.retain(|t| cell.distance_below(&mesh.triangle(*t)) <= from_cell);
        let from_centre =
            |t: TriangleId| (closest_point(centre, &mesh.triangle(t)).distance_squared.sqrt(), t);
        let mut near: Vec<(f64, TriangleId)> =
            near.into_iter().map(from_centre).filter(|(d, _)| *d <= reach).collect();
        // Given up before anything is stored: the cell is then split, or wide.
        if near.len() > CANDIDATES_MAX {
            return None;
        }
        // Sorted by shells of distance from the centre, so that a search ends early: in the demo's ticks it visits 8 of
        // 31 triangles.
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        debug_assert!(!near.is_empty(), "nothing within {from_cell} m of {cell:?}");
        let shell = ShortBound::above(reach / SHELLS);
        let shell_of = |&(d, _): &(f64, TriangleId)| (d / shell.value()).min(SHELLS - 1.0) as u8;
        Some(Candidates {
            shells: near.iter().step_by(LANES).map(shell_of).collect(),
            triangles: near.into_iter().map(|(_, t)| t).collect(),
            shell,
            side: ListSide::Normal,
        })
    }

    /// List of a cell that is all inside, or all outside.
    pub(super) fn on_side(self, is_inside: bool) -> Candidates {
        let side = if is_inside { ListSide::Inside } else { ListSide::Outside };
        Candidates { side, ..self }
    }

    /// Adds the data for the side if normals alone do not decide it.
    pub(super) fn with_sign(
        mut self,
        mesh: &TriangleMesh,
        sign_from_normal: &SignFromNormal,
        corners: &[Corner; 8],
    ) -> Candidates {
        if !sign_from_normal.holds(mesh, &self.triangles, corners) {
            // The winding number of triangles that are not in the list has no singularity in the cell, so it is smooth
            // there and interpolated between the corners; that of the list is computed at the point.
            let own = |p: DVec3| winding_of(mesh, self.triangles.iter().copied(), p);
            let far = corners.each_ref().map(|c| Some((c.winding? - own(c.at)) as f32));
            if far.iter().all(Option::is_some) {
                self.side = ListSide::Winding(far.map(|w| w.expect("checked")));
            }
        }
        self
    }
}

/// Share of some triangles in the winding number around `p`.
pub(super) fn winding_of(
    mesh: &TriangleMesh,
    triangles: impl Iterator<Item = TriangleId>,
    p: DVec3,
) -> f64 {
    // Half angles are multiplied as complex numbers and their turns counted: one atan2 a list.
    solid_angles(p, triangles.map(|t| mesh.triangle(t))) / (4.0 * std::f64::consts::PI)
}
