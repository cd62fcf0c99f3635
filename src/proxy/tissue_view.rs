//! A tissue between the positions that a proxy last saw and those that it moves to: of its newest revision, or beside
//! them where it gives way to the proxy.

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
    /// Where they go; empty when that is where the newest revision has them.
    pub(super) goal: &'a [Vec3],
    /// 0 at the positions seen, 1 at the goal.
    pub(super) time: f64,
    /// No vertex is farther from where the newest revision has it, metres.
    pub(super) slack_m: f64,
    /// Triangles that were put through the proxy, ascending: with what is about them they have no say.
    pub(super) put_through: &'a [TriangleId],
}

impl<'a> TissueView<'a> {
    /// As it is now.
    pub(super) fn newest(id: TissueId, surface: &'a Surface) -> TissueView<'a> {
        TissueView { id, surface, seen: &[], goal: &[], time: 1.0, slack_m: 0.0, put_through: &[] }
    }

    /// Where a vertex is.
    pub(super) fn vertex(&self, v: u32) -> DVec3 {
        self.vertex_at(v, self.time)
    }

    /// Where a vertex is at another time; one that was not seen yet is where it is put.
    pub(super) fn vertex_at(&self, v: u32, time: f64) -> DVec3 {
        let newest = || self.surface.mesh().position(v);
        let goal = self.goal.get(v as usize).map_or_else(newest, |goal| goal.as_dvec3());
        match self.seen.get(v as usize) {
            Some(seen) if time < 1.0 => seen.as_dvec3().lerp(goal, time),
            _ => goal,
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
}
