//! A contact about a proxy: a local minimum of distance between a tissue and a link.

use glam::{DVec3, Vec3};

use super::seen_tissues::TissuesInMotion;
use crate::geometry::TriangleId;
use crate::scene::{RevisionGuard, TissueId};

/// The features that meet: equal for a contact found from any of its triangles. Vertices ascend; `u32::MAX` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ContactKey {
    pub(super) tissue: TissueId,
    pub(super) link: usize,
    pub(super) on_tissue: [u32; 3],
    pub(super) on_link: [u32; 3],
}

impl ContactKey {
    /// Returns a hash.
    pub(super) fn mixed(&self) -> u32 {
        let vertices = self.on_tissue.iter().chain(&self.on_link);
        // Each bit of the last product depends on all lower bits of every vertex; the highest are mixed best.
        let mixed = vertices.fold(self.link as u32, |mixed, vertex| {
            (mixed ^ vertex).wrapping_mul(0x9E37_79B1).rotate_left(16)
        });
        mixed.wrapping_mul(0x85EB_CA6B)
    }
}

/// Two triangles near each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearTriangles {
    /// Index of the tissue.
    pub(super) tissue: usize,
    pub(super) tissue_triangle: TriangleId,
    pub(super) link: usize,
    pub(super) link_triangle: TriangleId,
    pub(super) distance_m: f64,
    /// Direction between the closest points, from the tissue's to the link's, scene frame; no longer than 1 despite
    /// rounding, and zero if the triangles cross.
    pub(super) along: Vec3,
}

/// A local minimum of distance, scene frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearContact {
    pub(super) key: ContactKey,
    /// Index of the tissue.
    pub(super) tissue: usize,
    pub(super) tissue_triangle: TriangleId,
    pub(super) tissue_weights: DVec3,
    pub(super) link_triangle: TriangleId,
    pub(super) on_tissue: DVec3,
    /// Point of the link, in the link's frame.
    pub(super) of_link: DVec3,
    /// Unit, from tissue to tool.
    pub(super) normal: DVec3,
    pub(super) gap_m: f64,
    /// Greatest cosine by which an edge out of the tissue's feature may lead nearer to the link.
    pub(super) cone_slack: f64,
}

impl NearContact {
    /// Returns the contact's point of the tissue at a time of a motion, scene frame.
    pub(super) fn on_tissue_at(&self, motion: &TissuesInMotion, time: f64) -> DVec3 {
        let [a, b, c] = motion.view(self.tissue).triangle_at(self.tissue_triangle, time);
        let w = self.tissue_weights;
        a * w.x + b * w.y + c * w.z
    }

    /// Returns how far the contact's point of the tissue moves along the normal until `time_end`, metres.
    pub(super) fn approach(&self, motion: &TissuesInMotion, time_end: f64) -> f64 {
        if motion.time == time_end {
            return 0.0;
        }
        let [from, to] = [motion.time, time_end].map(|time| self.on_tissue_at(motion, time));
        self.normal.dot(to - from)
    }

    /// Returns true if the tool meets the tissue with a face, so with a vertex of the tissue.
    pub(super) fn is_on_face_of_link(&self) -> bool {
        self.key.on_link[2] != u32::MAX
    }

    /// Returns the contact among the tissues of a later tick; `None` if its tissue was removed or its triangle cut
    /// away.
    pub(super) fn among(self, tissues: &[(TissueId, RevisionGuard)]) -> Option<NearContact> {
        let tissue = tissues.iter().position(|(id, _)| *id == self.key.tissue)?;
        tissues[tissue].1.surface.mesh().get(self.tissue_triangle)?;
        Some(NearContact { tissue, ..self })
    }
}

/// Force of a contact on the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProxyForce {
    /// Along the normal, newtons, >= 0.
    pub(super) normal_n: f64,
    /// Normal and friction, scene frame, newtons.
    pub(super) force: DVec3,
}
