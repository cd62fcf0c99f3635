//! One link and one tissue by brute force: how deep points of either are in the other, and how far apart the
//! two surfaces are.

use std::collections::HashSet;

use glam::DVec3;
use palpate::{
    geometry::{Aabb, Pose, TriangleId, TriangleMesh},
    oracle::{brute_force, solid_angle::winding_number},
    scene::TissueId,
};

use super::bound::distance_error;

/// Around an open surface the engine may see far parts with this error in the winding number, and then
/// claims no certainty.
const WINDING_DOUBT: f64 = 0.15;

/// A mesh and its triangles whose side says nothing.
#[derive(Clone, Copy)]
pub struct Body<'a> {
    pub mesh: &'a TriangleMesh,
    pub crossings: &'a HashSet<TriangleId>,
}

/// A link at its place and a tissue.
pub struct CollisionPair<'a> {
    pub id: TissueId,
    pub tissue: Body<'a>,
    pub link: Body<'a>,
    pub scene_from_link: Pose,
    pub margin: f64,
    /// Contacts are looked for to this, metres.
    pub tolerance: f64,
}

/// Where a point is against the other surface.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Metres, negative inside.
    pub signed_distance: f64,
    /// On the surface to rounding, or its side cannot be told.
    pub doubtful: bool,
}

/// Points of a triangle that stand for all of it: vertices, middles of edges, centroid, as weights.
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
    /// A scene point against the link; `None` beyond the margin of its box.
    pub fn in_link(&self, p: DVec3) -> Option<Depth> {
        self.depth(self.link, self.scene_from_link.inverse().point(p))
    }

    /// A scene point against the tissue; `None` beyond the margin of its box.
    pub fn in_tissue(&self, p: DVec3) -> Option<Depth> {
        self.depth(self.tissue, p)
    }

    /// The deepest of each tissue triangle's samples in the link, where one is within the margin for certain.
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

    /// The deepest of the link's vertices in the tissue, 0 when none is inside for certain.
    pub fn deepest_link_vertex(&self) -> f64 {
        let mesh = self.link.mesh;
        (0..mesh.positions().len() as u32)
            .filter(|v| mesh.ring(*v).next().is_some())
            .filter_map(|v| self.in_tissue(self.scene_from_link.point(mesh.position(v))))
            .filter(|d| !d.doubtful)
            .fold(0.0, |least, d| d.signed_distance.min(least))
    }

    /// Of the two surfaces, 0 where they cross.
    pub fn surface_distance(&self) -> f64 {
        let link = brute_force::placed(self.link.mesh, &self.scene_from_link);
        let tissue = brute_force::placed(self.tissue.mesh, &Pose::IDENTITY);
        brute_force::surface_distance(&tissue, &link)
    }

    /// `seen`: in the frame of the body.
    fn depth(&self, body: Body, seen: DVec3) -> Option<Depth> {
        let to_box = body.mesh.used_box().distance_squared(seen).sqrt();
        if to_box > self.margin + self.tolerance + 1e-9 {
            return None;
        }
        let nearest = brute_force::nearest(body.mesh, seen).expect("has triangles");
        // Carried into the other frame first, which rounds once more at the size of the pose.
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
