//! Computes the vertex positions of a tissue that gives way to the proxy.
//!
//! Each violated contact pushes the tissue back along its normal. A vertex follows the contacts that it is behind, the
//! nearest most: so flat tissue stays flat, and each side of a fold that closes on a needle goes its own way, however
//! coarse its triangles are.

use glam::{DVec3, Vec3};

use crate::geometry::{TriangleId, TriangleMesh, tolerance::STAND_OFF_M};

/// Sweeps over the contacts, each of which moves a triangle that its vertices alone did not push far enough.
const SWEEPS: usize = 4;

/// A contact that pushes tissue, scene frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Push {
    /// Index of the tissue.
    pub(super) tissue: usize,
    pub(super) triangle: TriangleId,
    pub(super) weights: DVec3,
    /// Position of the tissue's point in the newest revision.
    pub(super) at: DVec3,
    /// Unit, from tissue to tool.
    pub(super) normal: DVec3,
    /// Distance to push back, metres, >= 0.
    pub(super) depth_m: f64,
}

/// Returns the position for a vertex that the newest revision has at `p`.
pub(super) fn giving_place(p: DVec3, pushes: &[Push]) -> Vec3 {
    let (mut sum, mut weights) = (DVec3::ZERO, 0.0);
    for push in pushes {
        let off = p - push.at;
        // Weighted by distance, and by how far the vertex is in front of the contact's plane: 1 behind it.
        let before = (push.normal.dot(off) / STAND_OFF_M).max(1.0);
        let weight = 1.0 / ((off.length_squared() + STAND_OFF_M * STAND_OFF_M) * before * before);
        sum -= push.normal * (push.depth_m * weight);
        weights += weight;
    }
    (p + sum / weights).as_vec3()
}

/// Pushes each contact's triangle on until its point is far enough back.
pub(super) fn make_room(places: &mut [Vec3], mesh: &TriangleMesh, pushes: &[Push]) {
    for _ in 0..SWEEPS {
        for push in pushes {
            let vertices = mesh.vertices(push.triangle);
            let corners = vertices.map(|v| places[v as usize].as_dvec3());
            let w = push.weights;
            let at = corners[0] * w.x + corners[1] * w.y + corners[2] * w.z;
            let missing_m = push.depth_m + push.normal.dot(at - push.at);
            if missing_m > 0.0 {
                for (v, corner) in vertices.into_iter().zip(corners) {
                    places[v as usize] = (corner - push.normal * missing_m).as_vec3();
                }
            }
        }
    }
}
