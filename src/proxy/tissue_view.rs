//! A tissue between the positions that a proxy last saw and those of its newest revision.

use glam::{DVec3, Vec3};

use crate::geometry::TriangleId;
use crate::scene::TissueId;
use crate::surface::Surface;

/// A tissue at some time of its motion. Every vertex moves straight.
#[derive(Clone, Copy, Debug)]
pub(super) struct TissueView<'a> {
    pub(super) id: TissueId,
    /// Of the newest revision.
    pub(super) surface: &'a Surface,
    /// Where the vertices were, those of a later cut left out.
    pub(super) seen: &'a [Vec3],
    /// 0 at the positions seen, 1 at the newest.
    pub(super) time: f64,
    /// No vertex moves farther from time 0 to 1, metres.
    pub(super) displacement_m: f64,
}

impl<'a> TissueView<'a> {
    /// As it is now.
    pub(super) fn newest(id: TissueId, surface: &'a Surface) -> TissueView<'a> {
        TissueView { id, surface, seen: &[], time: 1.0, displacement_m: 0.0 }
    }

    /// Where a vertex is.
    pub(super) fn vertex(&self, v: u32) -> DVec3 {
        self.vertex_at(v, self.time)
    }

    /// Where a vertex is at another time; one that was not seen yet is where it is put.
    pub(super) fn vertex_at(&self, v: u32, time: f64) -> DVec3 {
        let now = self.surface.mesh().position(v);
        match self.seen.get(v as usize) {
            Some(seen) if time < 1.0 => seen.as_dvec3().lerp(now, time),
            _ => now,
        }
    }

    /// The vertex that stands for `v` and all that seams join it with here: a seam that closes in this motion is open until
    /// then.
    pub(super) fn joined(&self, v: u32) -> u32 {
        let least = self.surface.mesh().joined(v);
        if least == v || self.vertex(least) == self.vertex(v) { least } else { v }
    }

    pub(super) fn triangle_at(&self, t: TriangleId, time: f64) -> [DVec3; 3] {
        let [a, b, c] = self.surface.mesh().vertices(t);
        [self.vertex_at(a, time), self.vertex_at(b, time), self.vertex_at(c, time)]
    }

    /// A vertex is no farther than this from where it will be, metres.
    pub(super) fn slack(&self) -> f64 {
        self.displacement_m * (1.0 - self.time)
    }
}
