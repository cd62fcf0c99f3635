//! A link and a tissue by brute force: depths of points of either in the other, and the distance of the two surfaces.

use std::collections::HashSet;

use glam::DVec3;
use palpate::{
    geometry::{Aabb, Pose, TriangleId, TriangleMesh},
    oracle::{brute_force, solid_angle::winding_number},
    scene::TissueId,
};

use super::bound::distance_error;

/// Error of the winding number that far parts of an open surface may cause in the engine, which then claims no
/// certainty.
const WINDING_DOUBT: f64 = 0.15;

/// A mesh, and its triangles whose side decides nothing.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    pub mesh: &'a TriangleMesh,
    pub crossings: &'a HashSet<TriangleId>,
}

/// A posed link and a tissue.
pub struct CollisionPair<'a> {
    pub id: TissueId,
    pub tissue: Body<'a>,
    pub link: Body<'a>,
    pub scene_from_link: Pose,
    pub margin: f64,
    /// Tolerance of the search for contacts, metres.
    pub tolerance: f64,
}

/// Signed distance of a point to the other surface.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Metres, negative inside.
    pub signed_distance: f64,
    /// The point is on the surface to rounding, or its side cannot be decided.
    pub doubtful: bool,
}

/// Sample points of a triangle that stand for all of it: vertices, middles of edges, centroid, as weights.
const SAMPLES: [DVec3; 7] = [
    DVec3::X,
    DVec3::Y,
    DVec3::Z,
    DVec3::new(0.5, 0.5, 0.0),
    DVec3::new(0.0, 0.5, 0.5),
    DVec3::new(0.5, 0.0, 0.5),
    DVec3::new(1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0),
];

impl CollisionPair<'_> {
    /// Returns the depth of a scene point in the link; `None` beyond the margin of its box.
    pub fn in_link(&self, p: DVec3) -> Option<Depth> {
        self.depth(self.link, self.scene_from_link.inverse().point(p))
    }

    /// Returns the depth of a scene point in the tissue; `None` beyond the margin of its box.
    pub fn in_tissue(&self, p: DVec3) -> Option<Depth> {
        self.depth(self.tissue, p)
    }

    /// Returns the deepest sample in the link of each tissue triangle that has a sample within the margin for certain.
    pub fn touching_triangles(&self) -> Vec<(TriangleId, f64)> {
        let mesh = self.tissue.mesh;
        let link_from_scene = self.scene_from_link.inverse();
        let reach = self.link.mesh.used_box().grown(self.margin);
        let near = |t: &TriangleId| {
            Aabb::around(mesh.triangle(*t).map(|p| link_from_scene.point(p))).overlaps(&reach)
        };
        let deepest = |t: TriangleId| {
            let [a, b, c] = mesh.triangle(t);
            let samples = SAMPLES.iter().filter_map(|w| self.in_link(a * w.x + b * w.y + c * w.z));
            let certain = samples.filter(|d| !d.doubtful).map(|d| d.signed_distance);
            (t, certain.fold(f64::INFINITY, f64::min))
        };
        let wanted = |(_, depth): &(TriangleId, f64)| *depth <= self.margin - self.tolerance;
        mesh.triangle_ids().filter(near).map(deepest).filter(wanted).collect()
    }

    /// Returns the depth of the link's deepest vertex in the tissue, 0 if none is inside for certain.
    pub fn deepest_link_vertex(&self) -> f64 {
        let mesh = self.link.mesh;
        (0..mesh.positions().len() as u32)
            .filter(|v| mesh.ring(*v).next().is_some())
            .filter_map(|v| self.in_tissue(self.scene_from_link.point(mesh.position(v))))
            .filter(|d| !d.doubtful)
            .fold(0.0, |least, d| d.signed_distance.min(least))
    }

    /// Distance of the two surfaces, 0 if they cross.
    pub fn surface_distance(&self) -> f64 {
        let link = brute_force::placed(self.link.mesh, &self.scene_from_link);
        let tissue = brute_force::placed(self.tissue.mesh, &Pose::IDENTITY);
        brute_force::surface_distance(&tissue, &link)
    }

    /// `seen`: the point in the frame of the body.
    fn depth(&self, body: Body, seen: DVec3) -> Option<Depth> {
        let to_box = body.mesh.used_box().distance_squared(seen).sqrt();
        if to_box > self.margin + self.tolerance + 1e-9 {
            return None;
        }
        let nearest = brute_force::nearest(body.mesh, seen).expect("has triangles");
        // The point is first transformed into the other frame, which rounds once more at the size of the pose.
        let error = distance_error(body.mesh, nearest.triangle, seen)
            + 64.0 * f64::EPSILON * self.scene_from_link.translation.length();
        let winding = if to_box > 0.0 { 0.0 } else { winding_number(body.mesh, seen) };
        let side = if winding > 0.5 { -1.0 } else { 1.0 };
        let doubtful = (winding - 0.5).abs() < WINDING_DOUBT
            || nearest.distance <= error
            || body.crossings.contains(&nearest.triangle);
        Some(Depth { signed_distance: nearest.distance * side, doubtful })
    }
}
