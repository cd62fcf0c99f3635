//! A contact as a plane, and a bound of the tissue's deviation from it.

use std::array;

use glam::DVec3;

use super::{near_contact::NearContact, seen_tissues::TissuesInMotion, shading::Shaded};
use crate::coupling::posture::Posture;
use crate::geometry::{TriangleId, TriangleMesh, distance::segment_segment::closest_parameters};

/// Maximum triangles of a patch that is examined; a patch of more is not bounded.
const PATCH_MAX: usize = 64;
/// Cosine of the steepest triangle of a patch: a wall beside a contact does not belong to its patch.
const STEEPEST: f64 = 0.1;

/// A contact as a plane, scene frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContactPlane {
    pub(super) link: usize,
    pub(super) tissue: usize,
    pub(super) triangle: TriangleId,
    /// Point of the plane under the tool's point: the contact's point of the tissue, or a point of the smooth surface
    /// near it.
    pub(super) on_tissue: DVec3,
    pub(super) on_tool: DVec3,
    /// Unit, from tissue to tool.
    pub(super) normal: DVec3,
    /// Velocity of the tissue along the normal, m/s.
    pub(super) velocity_m_s: f64,
    /// Distance of that point from the tissue, metres.
    pub(super) aside_m: f64,
    /// Bound of the plane's error, metres.
    pub(super) error_m: f64,
}

impl ContactPlane {
    /// Returns the plane of the smooth surface at a contact.
    pub(super) fn of(
        (contact, shaded): (&NearContact, &Shaded),
        posture: &Posture,
        motion: &TissuesInMotion,
    ) -> ContactPlane {
        let mesh = motion.tissues[contact.tissue].1.surface.mesh();
        let vertices = mesh.vertices(contact.tissue_triangle);
        let velocities = vertices.map(|v| motion.velocity(contact.tissue, v));
        let w = contact.tissue_weights;
        let velocity = velocities[0] * w.x + velocities[1] * w.y + velocities[2] * w.z;
        let on_tool = posture.scene_from_link(contact.key.link).point(contact.of_link);
        let normal = shaded.normal;
        let is_shaded = normal != contact.normal || shaded.height_m != 0.0;
        let on_plane = if is_shaded {
            let gap_m = normal.dot(on_tool - contact.on_tissue) - shaded.height_m;
            on_tool - normal * gap_m
        } else {
            contact.on_tissue
        };
        ContactPlane {
            link: contact.key.link,
            tissue: contact.tissue,
            triangle: contact.tissue_triangle,
            on_tissue: on_plane,
            on_tool,
            normal,
            velocity_m_s: normal.dot(velocity),
            aside_m: on_plane.distance(contact.on_tissue),
            error_m: 0.0,
        }
    }

    /// Bounds the distance of the tissue from the plane, below or above a point that is moved `radius` metres along it,
    /// `time_s` seconds later; never more than the radius, the distance of the point from a known position of the
    /// tissue, and of the plane's point from that.
    ///
    /// A path along the tissue above a straight line in the plane continues from triangle to triangle while none is
    /// steep and it meets no border. So over a length r it is at most r tan(steepest) from the plane, and no farther
    /// than a vertex of the triangles that it may meet.
    pub(super) fn unevenness(&self, motion: &TissuesInMotion, radius: f64, time_s: f64) -> f64 {
        let (mesh, view) = (motion.tissues[self.tissue].1.surface.mesh(), motion.view(self.tissue));
        let mut patch = [self.triangle; PATCH_MAX];
        let (mut n, mut at) = (1, 0);
        let (mut slope, mut height, mut drift) = (0.0f64, 0.0f64, 0.0f64);
        let radius = radius + self.aside_m;
        while at < n {
            let t = patch[at];
            at += 1;
            let corners = view.triangle_at(t, view.time);
            let cross = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
            let cosine = cross.dot(self.normal).abs() / cross.length();
            // Also if a triangle without area has no cosine.
            if cosine.is_nan() || cosine < STEEPEST {
                return radius;
            }
            slope = slope.max((1.0 - cosine * cosine).max(0.0).sqrt() / cosine);
            for (p, v) in corners.iter().zip(mesh.vertices(t)) {
                height = height.max(self.normal.dot(*p - self.on_tissue).abs());
                let faster = self.normal.dot(motion.velocity(self.tissue, v)) - self.velocity_m_s;
                drift = drift.max(faster.abs() * time_s);
            }
            for edge in 0..3 {
                let [p, q] = [corners[edge], corners[(edge + 1) % 3]];
                // The path stays within r of the point along the plane and, on slopes up to 1, within 2 r in all.
                let (s, _) = closest_parameters(p, q, self.on_tissue, self.on_tissue);
                if p.lerp(q, s).distance(self.on_tissue) > 2.0 * radius {
                    continue;
                }
                let Some(other) = across(mesh, t, edge) else { return radius };
                if patch[..n].contains(&other) {
                    continue;
                }
                if n == PATCH_MAX {
                    return radius;
                }
                patch[n] = other;
                n += 1;
            }
        }
        ((radius * slope + self.aside_m).min(height) + drift).min(radius)
    }
}

/// Returns the triangle on the other side of an edge; `None` if there is none or several.
fn across(mesh: &TriangleMesh, t: TriangleId, edge: usize) -> Option<TriangleId> {
    let vertices = mesh.vertices(t);
    let [a, b]: [u32; 2] = array::from_fn(|k| vertices[(edge + k) % 3]);
    let mut others = mesh.at_edge(a, b).filter(|o| *o != t);
    let other = others.next();
    other.filter(|_| others.next().is_none())
}
