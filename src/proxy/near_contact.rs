//! A contact about a proxy: a local minimum of distance between a tissue and a link.

use glam::{DVec3, Vec3};

use super::seen_tissues::TissuesInMotion;
use crate::geometry::TriangleId;
use crate::scene::{RevisionGuard, TissueId};

/// Which features meet: the same contact from whichever triangles it is found. Vertices ascend; `u32::MAX` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ContactKey {
    pub(super) tissue: TissueId,
    pub(super) link: usize,
    pub(super) on_tissue: [u32; 3],
    pub(super) on_link: [u32; 3],
}

/// Two triangles near each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearTriangles {
    /// Place of the tissue.
    pub(super) tissue: usize,
    pub(super) tissue_triangle: TriangleId,
    pub(super) link: usize,
    pub(super) link_triangle: TriangleId,
    pub(super) distance_m: f64,
    /// Between their closest points from the tissue's to the link's, scene frame; no longer than 1 however it is rounded,
    /// and zero when they cross.
    pub(super) along: Vec3,
}

/// A local minimum of distance, scene frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearContact {
    pub(super) key: ContactKey,
    /// Place of the tissue.
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
    /// An edge out of the tissue's feature leads nearer to the link by this cosine at most.
    pub(super) cone_slack: f64,
}

impl NearContact {
    /// Where its point of the tissue is at a time of a motion, scene frame.
    pub(super) fn on_tissue_at(&self, motion: &TissuesInMotion, time: f64) -> DVec3 {
        let [a, b, c] = motion.view(self.tissue).triangle_at(self.tissue_triangle, time);
        let w = self.tissue_weights;
        a * w.x + b * w.y + c * w.z
    }

    /// How far its point of the tissue goes along the normal until `time_end`, metres.
    pub(super) fn approach(&self, motion: &TissuesInMotion, time_end: f64) -> f64 {
        if motion.time == time_end {
            return 0.0;
        }
        let [from, to] = [motion.time, time_end].map(|time| self.on_tissue_at(motion, time));
        self.normal.dot(to - from)
    }

    /// The same among the tissues of a later tick; `None` when its tissue was removed, or its triangle cut away.
    pub(super) fn among(self, tissues: &[(TissueId, RevisionGuard)]) -> Option<NearContact> {
        let tissue = tissues.iter().position(|(id, _)| *id == self.key.tissue)?;
        tissues[tissue].1.surface.mesh().get(self.tissue_triangle)?;
        Some(NearContact { tissue, ..self })
    }
}

/// A contact's force on the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProxyForce {
    /// Along the normal, newtons, >= 0.
    pub(super) normal_n: f64,
    /// Normal and friction, scene frame, newtons.
    pub(super) force: DVec3,
}
