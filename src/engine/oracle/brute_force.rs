//! Queries of whole meshes, one triangle at a time, in `f64`, by formulas that the engine does not use.

use std::collections::HashSet;

use glam::DVec3;

use super::{
    separating_axis::triangle_meets_box,
    triangle::{closest_on_triangle, triangle_distance},
};
use crate::geometry::{Aabb, Pose, TriangleId, TriangleMesh};

/// The nearest point of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BruteNearest {
    /// Metres, unsigned.
    pub distance: f64,
    /// Nearest point on the mesh.
    pub point: DVec3,
    /// Its triangle, the smallest id among equally near ones.
    pub triangle: TriangleId,
}

/// Nearest point of the mesh to `p`; `None` for a mesh without triangles.
pub fn nearest(mesh: &TriangleMesh, p: DVec3) -> Option<BruteNearest> {
    let mut best: Option<BruteNearest> = None;
    for triangle in mesh.triangle_ids() {
        let point = closest_on_triangle(p, &mesh.triangle(triangle));
        let distance = p.distance(point);
        // Ids ascend, so the first of equally near triangles stays.
        if best.is_none_or(|b| distance < b.distance) {
            best = Some(BruteNearest { distance, point, triangle });
        }
    }
    best
}

/// Triangles whose boxes overlap the box, ascending. Touching counts.
pub fn box_overlaps(mesh: &TriangleMesh, b: &Aabb) -> Vec<TriangleId> {
    let overlaps = |t: &TriangleId| {
        let corners = mesh.vertices(*t).map(|v| mesh.positions()[v as usize]);
        (0..3).all(|axis| {
            // Computed corner by corner and not by the engine's boxes, so that an error there shows here.
            let along = corners.map(|p| p[axis]);
            along.iter().any(|x| *x <= b.max[axis]) && along.iter().any(|x| *x >= b.min[axis])
        })
    };
    mesh.triangle_ids().filter(overlaps).collect()
}

/// Triangles that have a point in the box, ascending.
pub fn triangles_in_box(mesh: &TriangleMesh, b: &Aabb) -> Vec<TriangleId> {
    mesh.triangle_ids().filter(|t| triangle_meets_box(&mesh.triangle(*t), b)).collect()
}

/// Triangles of the mesh, transformed by a pose.
pub fn placed(mesh: &TriangleMesh, pose: &Pose) -> Vec<[DVec3; 3]> {
    mesh.triangle_ids().map(|t| mesh.triangle(t).map(|p| pose.point(p))).collect()
}

/// Least distance between a triangle of one surface and one of the other: 0 if they cross, infinite if one has none.
/// Pairs whose boxes are farther apart than the least so far are not computed.
pub fn surface_distance(a: &[[DVec3; 3]], b: &[[DVec3; 3]]) -> f64 {
    let extent = |t: &[DVec3; 3]| (t[0].min(t[1]).min(t[2]), t[0].max(t[1]).max(t[2]));
    let boxes: Vec<_> = b.iter().map(extent).collect();
    // A first guess from corners alone: with it most pairs of boxes are skipped, and the result still covers all pairs.
    let first = |t: &[DVec3; 3]| t[0].distance(closest_of_corners(t[0], b));
    let mut least = a.iter().map(first).fold(f64::INFINITY, f64::min);
    for s in a {
        let (low, high) = extent(s);
        for (t, (t_low, t_high)) in b.iter().zip(&boxes) {
            // At most one of the two differences is positive on an axis; neither is if the boxes overlap.
            let gap = (low - *t_high).max(*t_low - high).max(DVec3::ZERO);
            if gap.length_squared() <= least * least {
                least = least.min(triangle_distance(s, t));
            }
        }
    }
    least
}

/// Triangles that cross one they share no vertex with, and those around them. The side of such a face is unreliable for
/// inside and outside.
pub fn beside_crossings(mesh: &TriangleMesh) -> HashSet<TriangleId> {
    let all: Vec<_> = mesh.triangle_ids().map(|t| (t, mesh.triangle_box(t))).collect();
    let share = |a: TriangleId, b: TriangleId| {
        mesh.vertices(a).iter().any(|v| mesh.vertices(b).contains(v))
    };
    let crosses = |a: TriangleId, b: TriangleId| {
        !share(a, b) && triangle_distance(&mesh.triangle(a), &mesh.triangle(b)) == 0.0
    };
    let mut beside = HashSet::new();
    for (i, (a, a_box)) in all.iter().enumerate() {
        for (b, b_box) in &all[i + 1..] {
            // Boxes are tested first, or a few thousand triangles would take minutes.
            if a_box.overlaps(b_box) && crosses(*a, *b) {
                let corners = [mesh.vertices(*a), mesh.vertices(*b)].concat();
                beside.extend(corners.into_iter().flat_map(|v| mesh.ring(v)).map(|(t, _)| t));
            }
        }
    }
    beside
}

fn closest_of_corners(p: DVec3, triangles: &[[DVec3; 3]]) -> DVec3 {
    let corners = triangles.iter().flatten().copied();
    corners
        .min_by(|a, b| p.distance_squared(*a).total_cmp(&p.distance_squared(*b)))
        .unwrap_or(DVec3::INFINITY)
}
