//! The part of a surface that can be reached from outside without passing where it crosses itself.
//!
//! Off a triangle that nothing crosses the winding number is one on its front and one more on its back, the same along
//! all triangles that are joined by edges and crossed by nothing. Where the surface is farthest along an axis there is
//! nothing beyond, so along all that is joined to that place the front is outside and the back inside.

use glam::DVec3;

use super::pseudonormal::pseudonormal;
use crate::geometry::{TriangleId, TriangleMesh, distance::point_triangle::Feature};

/// By triangle id: of the outer sheet of a closed surface, and apart from what crosses it by a vertex at least.
/// `triangles`: of the surface, a body of the mesh. `crosses`: by id, those that meet others of the body in more than
/// they share. Empty when the surface is crossed, or faces inwards, where it is farthest along x. O(triangles).
pub fn outer_sheet(
    mesh: &TriangleMesh,
    triangles: &[TriangleId],
    crosses: &[bool],
) -> Vec<TriangleId> {
    let is_crossed = |t: TriangleId| crosses[t.0 as usize];
    let along = |t: TriangleId, k: usize| mesh.triangle(t)[k].x;
    let corners = triangles.iter().flat_map(|t| (0..3).map(|k| (*t, k)));
    let farthest = corners.max_by(|a, b| along(a.0, a.1).total_cmp(&along(b.0, b.1)));
    let Some((first, corner)) = farthest else { return Vec::new() };
    let outwards = pseudonormal(mesh, first, Feature::Vertex(corner as u8));
    let about = || mesh.ring(mesh.vertices(first)[corner]).map(|(t, _)| t);
    if about().any(is_crossed) || !outwards.complete || outwards.direction.dot(DVec3::X) <= 0.0 {
        return Vec::new();
    }
    let mut is_met = vec![false; crosses.len()];
    let mut sheet = vec![first];
    is_met[first.0 as usize] = true;
    let mut next = 0;
    while let Some(t) = sheet.get(next).copied() {
        next += 1;
        let vertices = mesh.vertices(t);
        for (a, b) in (0..3).map(|k| (vertices[k], vertices[(k + 1) % 3])) {
            for other in mesh.at_edge(a, b) {
                if !is_crossed(other) && !std::mem::replace(&mut is_met[other.0 as usize], true) {
                    sheet.push(other);
                }
            }
        }
    }
    // The normal at an edge or a vertex is that of all triangles there.
    let mut is_beside = vec![false; mesh.positions().len()];
    for t in mesh.triangle_ids().filter(|t| is_crossed(*t)) {
        mesh.vertices(t).iter().for_each(|v| is_beside[*v as usize] = true);
    }
    sheet.retain(|t| mesh.vertices(*t).iter().all(|v| !is_beside[*v as usize]));
    sheet
}
