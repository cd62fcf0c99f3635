//! Part of a surface that is reachable from outside without passing a self-crossing.
//!
//! Next to a triangle that nothing crosses, the winding number has one value on its front and one more on its back,
//! identical along all triangles that are joined by edges and crossed by nothing. At the surface's farthest point along
//! an axis there is nothing beyond, so along all triangles joined to that point the front is outside and the back
//! inside.

use glam::DVec3;

use super::pseudonormal::pseudonormal;
use crate::geometry::{TriangleId, TriangleMesh, distance::point_triangle::Feature};

/// Triangle, of the ids given, that is farthest along x. `None` if others cross the surface there, or it faces inwards.
/// `crosses`: by id, triangles that meet others of the body in more than they share.
pub fn outermost(
    mesh: &TriangleMesh,
    triangles: impl Iterator<Item = TriangleId>,
    crosses: &[bool],
) -> Option<TriangleId> {
    let along = |v: u32| mesh.positions()[v as usize].x;
    let corners = triangles.flat_map(|t| {
        let vertices = mesh.vertices(t);
        (0..3).map(move |k| (t, k, along(vertices[k])))
    });
    let (first, corner, _) = corners.max_by(|a, b| a.2.total_cmp(&b.2))?;
    let outwards = pseudonormal(mesh, first, Feature::Vertex(corner as u8));
    let mut about = mesh.around(mesh.vertices(first)[corner]);
    let is_crossed = about.any(|(t, _)| crosses[t.0 as usize]);
    let faces_outwards = outwards.complete && outwards.direction.dot(DVec3::X) > 0.0;
    (!is_crossed && faces_outwards).then_some(first)
}

/// Outer sheet of a closed surface, without triangles that share a vertex with a triangle that crosses it. `triangles`:
/// of the surface, a body of the mesh. Empty if it has no [`outermost`] triangle. O(triangles).
pub fn outer_sheet(
    mesh: &TriangleMesh,
    triangles: impl Iterator<Item = TriangleId>,
    crosses: &[bool],
) -> Vec<TriangleId> {
    let is_crossed = |t: TriangleId| crosses[t.0 as usize];
    let Some(first) = outermost(mesh, triangles, crosses) else { return Vec::new() };
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
    // The normal at an edge or a vertex depends on all triangles there.
    let mut is_beside = vec![false; mesh.positions().len()];
    for t in mesh.triangle_ids().filter(|t| is_crossed(*t)) {
        mesh.joined_vertices(t).iter().for_each(|v| is_beside[*v as usize] = true);
    }
    sheet.retain(|t| mesh.joined_vertices(*t).iter().all(|v| !is_beside[*v as usize]));
    sheet
}
