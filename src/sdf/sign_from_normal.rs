//! Where the normal of the nearest triangle alone tells inside from outside.

use super::exact::Corner;
use crate::geometry::{
    TriangleId, TriangleMesh,
    distance::point_triangle::closest_point,
    mesh::{
        pseudonormal::pseudonormal,
        topology::{body_of_each, visit_edges},
    },
    side::Side,
};

/// What the sign near a triangle depends on, for surfaces whose sign is a winding number.
pub(super) struct SignFromNormal {
    body: Vec<TriangleId>,
    /// By triangle: it has an edge that is open, shared by more than two, or traversed twice in one direction.
    improper: Vec<bool>,
}

/// The rest of the surface may turn around a corner by this much of a whole winding at most: a quarter,
/// half of what would change the sign.
const BACKGROUND_MAX: f64 = 0.25;

impl SignFromNormal {
    pub(super) fn of(mesh: &TriangleMesh) -> SignFromNormal {
        let mut improper = vec![false; mesh.triangle_id_end() as usize];
        visit_edges(mesh, |_, uses| {
            if !matches!(uses, [a, b] if a.ascending != b.ascending) {
                uses.iter().for_each(|u| improper[u.triangle.0 as usize] = true);
            }
        });
        SignFromNormal { body: body_of_each(mesh), improper }
    }

    /// The triangles are proper and of one body, and at every corner the normal of the nearest of them says
    /// what the winding number says but for a small background.
    pub(super) fn holds(
        &self,
        mesh: &TriangleMesh,
        list: &[TriangleId],
        corners: &[Corner; 8],
    ) -> bool {
        let body = |t: &TriangleId| self.body[t.0 as usize];
        // A normal tells sides of its own body only: of two bodies that cross, the nearest face of one says nothing
        // of the other.
        let one_body = list.windows(2).all(|pair| body(&pair[0]) == body(&pair[1]));
        let proper = list.iter().all(|t| !self.improper[t.0 as usize]);
        one_body && proper && corners.iter().all(|c| self.background(mesh, c) <= BACKGROUND_MAX)
    }

    fn background(&self, mesh: &TriangleMesh, corner: &Corner) -> f64 {
        let closest = closest_point(corner.at, &mesh.triangle(corner.triangle));
        let normal = pseudonormal(mesh, corner.triangle, closest.feature);
        let side = Side::of(corner.at - closest.point, &normal, None, false);
        corner.winding.map_or(0.0, |w| (w - f64::from(side.inside)).abs())
    }
}
