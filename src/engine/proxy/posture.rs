//! Postures of tools: as clients pose them, and the displacements between them by the shapes of the links.

use glam::DVec3;

use crate::coupling::{
    posture::{FIRST_LINK, LinkScrews, Posture},
    quadratic_programme::Displacement,
    screw::Screw,
};
use crate::geometry::tolerance::SCREW_LENGTH_MIN_M;
use crate::scene::{Tool, tick::ToolPose};

impl Posture {
    /// Returns the posture of a tool as a client poses it.
    pub(super) fn of(tool: &Tool, pose: &ToolPose) -> Posture {
        let mut posture = Posture { scene_from_tool: pose.scene_from_tool, ..Posture::AT_ORIGIN };
        for (i, (own, link)) in posture.tool_from_link.iter_mut().zip(&tool.links).enumerate() {
            *own = *pose.tool_from_link.get(i).unwrap_or(&link.rest);
        }
        posture
    }

    /// Returns the displacement that leads to another posture. Keeps the screws of links that are where they should be,
    /// and takes the screws of the motion for all others.
    pub(super) fn displacement_to(
        &self,
        to: &Posture,
        tool: &Tool,
        hold: DVec3,
        screws: &mut LinkScrews,
    ) -> Displacement {
        let mut x = self.body_displacement_to(to, hold);
        for (i, link) in tool.links.iter().enumerate() {
            let (from, to) = (&self.tool_from_link[i], &to.tool_from_link[i]);
            if from == to {
                continue;
            }
            let screw = Screw::between(from, to);
            // The fastest point is a corner: velocities are affine, and the length of an affine function is convex.
            let corners = link.surface.bounds().corners().map(|c| screw.velocity(from.point(c)));
            let length = corners.into_iter().map(DVec3::length).fold(0.0, f64::max);
            if length < SCREW_LENGTH_MIN_M {
                continue;
            }
            // A coordinate counts metres of the farthest point, always away from where it began: a link that is drawn
            // back keeps its screw, so that its coordinate only changes sign.
            let unit = screw.times(1.0 / length);
            screws[i] = Some(unit);
            x[FIRST_LINK + i] = length;
        }
        x
    }

    /// Upper bound of the distance of the tool's points from its hold point, metres.
    pub(super) fn radius(&self, tool: &Tool, hold: DVec3) -> f64 {
        let of_link = |(i, link): (usize, &crate::scene::Link)| {
            let corners = link.surface.bounds().corners();
            let far = corners.map(|c| self.tool_from_link[i].point(c).distance(hold));
            far.into_iter().fold(0.0, f64::max)
        };
        tool.links.iter().enumerate().map(of_link).fold(0.0, f64::max)
    }
}
