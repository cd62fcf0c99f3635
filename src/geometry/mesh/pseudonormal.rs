//! Angle-weighted pseudonormals: the sign of a distance from the closest feature alone.
//!
//! Baerentzen and Aanaes, Signed distance computation using the angle weighted pseudonormal, 2005. Exact
//! for closed meshes of one body. Nothing is stored: a normal is computed from the positions as they are,
//! so it is current for whatever moved, at the cost of one vertex ring for each query that ends at a vertex.

use glam::DVec3;

use super::topology::has_three_vertices;
use crate::geometry::{TriangleId, TriangleMesh, distance::point_triangle::Feature};

/// The direction out of the surface at a feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pseudonormal {
    /// Unit; zero when nothing at the feature has an area.
    pub direction: DVec3,
    /// Every triangle at the feature had an area, so the direction can be trusted.
    pub complete: bool,
}

/// The pseudonormal at a feature of a triangle of the mesh.
pub fn pseudonormal(mesh: &TriangleMesh, t: TriangleId, feature: Feature) -> Pseudonormal {
    let mut sum = DVec3::ZERO;
    let mut complete = true;
    // A triangle that names a vertex twice bounds nothing and has no say.
    // Computed at the query from the ring and not stored: current for whatever moved, at no cost to an update, which
    // is where the targets are tightest.
    let mut add = |t: TriangleId, weight: f64| {
        if !has_three_vertices(mesh.vertices(t)) {
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
            for (s, _) in mesh.ring(a).filter(|(s, _)| mesh.vertices(*s).contains(&b)) {
                add(s, 1.0);
            }
        }
        Feature::Vertex(k) => {
            for (s, corner) in mesh.ring(mesh.vertices(t)[k as usize]) {
                add(s, corner_angle(&mesh.triangle(s), corner));
            }
        }
    }
    Pseudonormal { direction: sum.normalize_or_zero(), complete }
}

/// The triangle's unit normal, zero when it has no area.
pub fn unit_normal(mesh: &TriangleMesh, t: TriangleId) -> DVec3 {
    let [a, b, c] = mesh.triangle(t);
    (b - a).cross(c - a).normalize_or_zero()
}

fn corner_angle(triangle: &[DVec3; 3], k: usize) -> f64 {
    let (u, v) = (triangle[(k + 1) % 3] - triangle[k], triangle[(k + 2) % 3] - triangle[k]);
    // Exact at small and at flat angles, where an arc cosine is not.
    u.cross(v).length().atan2(u.dot(v))
}
