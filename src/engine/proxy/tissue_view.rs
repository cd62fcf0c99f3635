//! A tissue between the positions that a proxy last saw and those that it moves to: the newest revision's, or displaced
//! from them if the tissue gives way to the proxy.

use glam::{DVec3, Vec3};

use crate::geometry::TriangleId;
use crate::scene::TissueId;
use crate::surface::Surface;

/// A tissue at some time of its motion. Every vertex moves straight.
#[derive(Clone, Copy, Debug)]
pub(super) struct TissueView<'a> {
    pub(super) id: TissueId,
    /// Surface of the newest revision.
    pub(super) surface: &'a Surface,
    /// Positions last seen, without vertices of a later cut.
    pub(super) seen: &'a [Vec3],
    /// Positions to move to; empty if they are those of the newest revision.
    pub(super) goal: &'a [Vec3],
    /// Time of the motion: 0 at the positions seen, 1 at the goal.
    pub(super) time: f64,
    /// Upper bound of the distance of any vertex from the newest revision, metres.
    pub(super) slack_m: f64,
    /// Triangles that were placed through the proxy, ascending: they and the tissue about them do not constrain it.
    pub(super) put_through: &'a [TriangleId],
}

impl<'a> TissueView<'a> {
    /// Returns a tissue as it is now.
    pub(super) fn newest(id: TissueId, surface: &'a Surface) -> TissueView<'a> {
        TissueView { id, surface, seen: &[], goal: &[], time: 1.0, slack_m: 0.0, put_through: &[] }
    }

    /// Position of a vertex.
    pub(super) fn vertex(&self, v: u32) -> DVec3 {
        self.vertex_at(v, self.time)
    }

    /// Position of a vertex at another time; a vertex that was not seen yet is at its newest position.
    pub(super) fn vertex_at(&self, v: u32, time: f64) -> DVec3 {
        let newest = || self.surface.mesh().position(v);
        let goal = self.goal.get(v as usize).map_or_else(newest, |goal| goal.as_dvec3());
        match self.seen.get(v as usize) {
            Some(seen) if time < 1.0 => seen.as_dvec3().lerp(goal, time),
            _ => goal,
        }
    }

    /// Returns the vertex that stands for `v` and all vertices that seams join it with here: a seam that closes in this
    /// motion is open until it has closed.
    pub(super) fn joined(&self, v: u32) -> u32 {
        let least = self.surface.mesh().joined(v);
        if least == v || self.vertex(least) == self.vertex(v) { least } else { v }
    }

    pub(super) fn triangle_at(&self, t: TriangleId, time: f64) -> [DVec3; 3] {
        let [a, b, c] = self.surface.mesh().vertices(t);
        [self.vertex_at(a, time), self.vertex_at(b, time), self.vertex_at(c, time)]
    }
}
