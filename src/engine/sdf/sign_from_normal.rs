//! Cells in which the normal of the nearest triangle alone tells inside from outside.

use glam::DVec3;

use super::exact::{Corner, Exact};
use crate::geometry::{
    TriangleId, TriangleMesh,
    distance::point_triangle::closest_point,
    mesh::{
        outer_sheet::outer_sheet,
        pseudonormal::{pseudonormal, unit_normal},
        topology::{body_of_each, visit_edges},
    },
    side::{Side, SideWitness},
    triangle_triangle::meet_beyond_shared,
};

/// Data for the sign near a triangle, for surfaces whose sign is a winding number.
pub(super) struct SignFromNormal {
    body: Vec<TriangleId>,
    /// By triangle: true if it has an edge that is open, shared by more than two, or traversed twice in one direction,
    /// or is off the outer sheet of a body that crosses itself.
    improper: Vec<bool>,
}

/// Maximum winding of the rest of the surface around a corner, in whole windings: a quarter, half of what would change
/// the sign.
const BACKGROUND_MAX: f64 = 0.25;

impl SignFromNormal {
    pub(super) fn of(mesh: &TriangleMesh, exact: &Exact) -> SignFromNormal {
        let mut improper = vec![false; mesh.triangle_id_end() as usize];
        visit_edges(mesh, |_, uses| {
            if !matches!(uses, [a, b] if a.ascending != b.ascending) {
                uses.iter().for_each(|u| improper[u.triangle.0 as usize] = true);
            }
        });
        let body = body_of_each(mesh);
        for t in off_the_outer_sheets(mesh, exact, &body) {
            improper[t.0 as usize] = true;
        }
        SignFromNormal { body, improper }
    }

    /// Returns true if the triangles are proper and of one body, and at every corner the normal of the nearest of them
    /// agrees with the winding number except for a small background.
    pub(super) fn holds(
        &self,
        mesh: &TriangleMesh,
        list: &[TriangleId],
        corners: &[Corner; 8],
    ) -> bool {
        let body = |t: &TriangleId| self.body[t.0 as usize];
        // A normal decides sides of its own body only: of two bodies that cross, the nearest face of one does not
        // describe the other.
        let one_body = list.windows(2).all(|pair| body(&pair[0]) == body(&pair[1]));
        let proper = list.iter().all(|t| !self.improper[t.0 as usize]);
        one_body && proper && corners.iter().all(|c| self.background(mesh, c) <= BACKGROUND_MAX)
    }

    fn background(&self, mesh: &TriangleMesh, corner: &Corner) -> f64 {
        let closest = closest_point(corner.at, &mesh.triangle(corner.triangle));
        let normal = pseudonormal(mesh, corner.triangle, closest.feature);
        let side = Side::of(corner.at - closest.point, &SideWitness::Normal(normal), false);
        corner.winding.map_or(0.0, |w| (w - f64::from(side.inside)).abs())
    }
}

/// Triangles of bodies that cross themselves, except for their outer sheets: on other triangles the normal of the
/// nearest feature does not describe the body's other sheets, at any distance from the crossing.
fn off_the_outer_sheets(
    mesh: &TriangleMesh,
    exact: &Exact,
    body: &[TriangleId],
) -> Vec<TriangleId> {
    let mut crosses = vec![false; body.len()];
    let (mut near, mut bodies) = (Vec::new(), Vec::new());
    let of = |t: TriangleId| (mesh.joined_vertices(t), mesh.triangle(t));
    // Triangles without area bound nothing, and files of instruments are full of them.
    let has_area = |t: TriangleId| unit_normal(mesh, t) != DVec3::ZERO;
    for t in mesh.triangle_ids().filter(|t| has_area(*t)) {
        near.clear();
        (exact.near)(&mesh.triangle_box(t), &mut near);
        let own = body[t.0 as usize];
        for u in near.iter().filter(|u| **u > t && body[u.0 as usize] == own && has_area(**u)) {
            if meet_beyond_shared(&of(t), &of(*u)) {
                (crosses[t.0 as usize], crosses[u.0 as usize]) = (true, true);
                bodies.push(own);
            }
        }
    }
    bodies.sort_unstable();
    bodies.dedup();
    let mut off = Vec::new();
    for own in bodies {
        let all: Vec<_> = mesh.triangle_ids().filter(|t| body[t.0 as usize] == own).collect();
        let mut sheet = outer_sheet(mesh, all.iter().copied(), &crosses);
        sheet.sort_unstable();
        off.extend(all.into_iter().filter(|t| sheet.binary_search(t).is_err()));
    }
    off
}
