//! Angle-weighted pseudonormals: the sign of a distance from the closest feature alone.
//!
//! Baerentzen and Aanaes, Signed distance computation using the angle weighted pseudonormal, 2005. Exact for closed
//! meshes of one body. Only hubs (`hubs`) store normals: any other normal is computed from the current positions, so it
//! is valid after any move, at the cost of one vertex ring for each query that ends at a vertex.

use glam::DVec3;

pub use super::hubs::Pseudonormal;
use super::topology::has_three_vertices;
use crate::{
    geometry::{TriangleId, TriangleMesh, direction::direction, distance::point_triangle::Feature},
    time_left::note_step,
};

/// Pseudonormal at a feature of a triangle of the mesh.
pub fn pseudonormal(mesh: &TriangleMesh, t: TriangleId, feature: Feature) -> Pseudonormal {
    let mut sum = DVec3::ZERO;
    let mut complete = true;
    // A triangle that names a vertex twice bounds nothing and is left out. Normals are computed at the query from the
    // ring and not stored: valid after any move, at no cost to an update, which has the tightest targets. For a rigid
    // link, normals stored at all vertices were tried: a probe's tick took 1 % less.
    let mut add = |t: TriangleId, weight: f64| {
        note_step();
        if !has_three_vertices(mesh.joined_vertices(t)) {
            return;
        }
        let n = unit_normal(mesh, t);
        complete &= n != DVec3::ZERO;
        sum += n * weight;
    };
    match feature {
        Feature::Face => add(t, 1.0),
        Feature::Edge(k) => {
            let vertices = mesh.vertices(t);
            let (a, b) = (vertices[k as usize], vertices[(k as usize + 1) % 3]);
            mesh.at_edge(a, b).for_each(|s| add(s, 1.0));
        }
        Feature::Vertex(k) => {
            let v = mesh.joined(mesh.vertices(t)[k as usize]);
            if let Some(noted) = mesh.hubs.normal(v) {
                return noted;
            }
            for (s, corner) in mesh.around(v) {
                add(s, corner_angle(&mesh.triangle(s), corner));
            }
        }
    }
    // Normals of a doubled triangle cancel at its edges: either of its two faces is equally right.
    let direction = direction(sum);
    complete &= direction.is_some();
    Pseudonormal { direction: direction.unwrap_or_else(|| some_normal(mesh, t)), complete }
}

/// Unit normal of the triangle; if it has no area, a unit vector perpendicular to its longest edge, or any if it is a
/// point.
pub fn some_normal(mesh: &TriangleMesh, t: TriangleId) -> DVec3 {
    let [a, b, c] = mesh.triangle(t);
    let edges = [b - a, c - b, a - c];
    let longest =
        edges.into_iter().max_by(|u, v| u.length_squared().total_cmp(&v.length_squared()));
    let square_to = |edge: DVec3| direction(edge).map(|e| e.any_orthonormal_vector());
    let normal = direction((b - a).cross(c - a));
    normal.or_else(|| longest.and_then(square_to)).unwrap_or(DVec3::Z)
}

/// Unit normal of the triangle, zero if it has no area.
pub fn unit_normal(mesh: &TriangleMesh, t: TriangleId) -> DVec3 {
    let [a, b, c] = mesh.triangle(t);
    (b - a).cross(c - a).normalize_or_zero()
}

/// Angle of a triangle at one of its corners, radians.
pub fn corner_angle(triangle: &[DVec3; 3], k: usize) -> f64 {
    let (u, v) = (triangle[(k + 1) % 3] - triangle[k], triangle[(k + 2) % 3] - triangle[k]);
    // Exact at small and at flat angles, unlike an arc cosine.
    u.cross(v).length().atan2(u.dot(v))
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::geometry::MeshData;

    /// Triangles without area, and a doubled one that is back to back with itself.
    #[test]
    fn a_normal_is_unit_whatever_the_triangles_are() {
        let positions = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::X * 0.3, Vec3::X * 1e-30];
        for triangles in [
            vec![[0, 1, 2], [2, 1, 0]],
            vec![[0, 1, 3]],
            vec![[0, 0, 1]],
            vec![[2, 2, 2]],
            vec![[0, 4, 0]],
        ] {
            let data = MeshData { positions: positions.to_vec(), triangles };
            let mesh = TriangleMesh::new(data);
            let corners = (0..3).flat_map(|k| [Feature::Vertex(k), Feature::Edge(k)]);
            for t in mesh.triangle_ids() {
                for feature in corners.clone() {
                    let Pseudonormal { direction, complete } = pseudonormal(&mesh, t, feature);
                    assert!((direction.length() - 1.0).abs() < 1e-12, "{direction}");
                    assert!(!complete, "no normal can be trusted at {feature:?} of {t:?}");
                }
                let face = pseudonormal(&mesh, t, Feature::Face).direction;
                assert!((face.length() - 1.0).abs() < 1e-12, "{face}");
            }
        }
    }
}
