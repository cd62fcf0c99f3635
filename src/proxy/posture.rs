//! Where a tool and its links are, and how a displacement of the coordinates moves them.

use glam::DVec3;

use super::{
    options::RENDERED_LINKS_MAX,
    quadratic_programme::Displacement,
    screw::{Screw, clean_product, rotation_vector, turned_by},
};
use crate::geometry::{Pose, tolerance::SCREW_LENGTH_MIN_M};
use crate::scene::{Tool, tick::ToolPose};

/// Of the links, by their number in the tool.
pub(super) type LinkScrews = [Option<Screw>; RENDERED_LINKS_MAX];

/// The first coordinate of a link.
pub(super) const FIRST_LINK: usize = 6;

/// Where a tool and its links are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Posture {
    pub(super) scene_from_tool: Pose,
    pub(super) tool_from_link: [Pose; RENDERED_LINKS_MAX],
}

impl Posture {
    /// All frames are the scene's.
    pub(super) const AT_ORIGIN: Posture = Posture {
        scene_from_tool: Pose::IDENTITY,
        tool_from_link: [Pose::IDENTITY; RENDERED_LINKS_MAX],
    };

    /// As a client poses the tool.
    pub(super) fn of(tool: &Tool, pose: &ToolPose) -> Posture {
        let mut posture = Posture { scene_from_tool: pose.scene_from_tool, ..Posture::AT_ORIGIN };
        for (i, (own, link)) in posture.tool_from_link.iter_mut().zip(&tool.links).enumerate() {
            *own = *pose.tool_from_link.get(i).unwrap_or(&link.rest);
        }
        posture
    }

    pub(super) fn scene_from_link(&self, link: usize) -> Pose {
        self.scene_from_tool.then_from(&self.tool_from_link[link])
    }

    /// A share of a displacement later: the hold point goes straight, the tool turns about it, links go along their
    /// screws.
    pub(super) fn moved(
        &self,
        x: &Displacement,
        share: f64,
        hold: DVec3,
        screws: &LinkScrews,
    ) -> Posture {
        let (shift, turn) = (DVec3::new(x[0], x[1], x[2]), DVec3::new(x[3], x[4], x[5]));
        let held = self.scene_from_tool.point(hold) + shift * share;
        let rotation = clean_product(&turned_by(turn * share), &self.scene_from_tool.rotation);
        let mut moved = *self;
        moved.scene_from_tool = Pose { rotation, translation: held - rotation * hold };
        for (i, screw) in screws.iter().enumerate() {
            let units = x[FIRST_LINK + i] * share;
            if let Some(screw) = screw.filter(|_| units != 0.0) {
                let (step, from) = (screw.after(units), &self.tool_from_link[i]);
                moved.tool_from_link[i] = Pose {
                    rotation: clean_product(&step.rotation, &from.rotation),
                    translation: step.point(from.translation),
                };
            }
        }
        moved
    }

    /// The displacement that leads to another posture. Keeps the screws of links that are where they should be, and
    /// takes those of the way for all others.
    pub(super) fn displacement_to(
        &self,
        to: &Posture,
        tool: &Tool,
        hold: DVec3,
        screws: &mut LinkScrews,
    ) -> Displacement {
        let mut x = [0.0; _];
        let shift = to.scene_from_tool.point(hold) - self.scene_from_tool.point(hold);
        let turn = to.scene_from_tool.rotation * self.scene_from_tool.rotation.transpose();
        x[..3].copy_from_slice(&shift.to_array());
        x[3..FIRST_LINK].copy_from_slice(&rotation_vector(&turn).to_array());
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

    /// No point of the tool is farther from its hold point than this, metres.
    pub(super) fn radius(&self, tool: &Tool, hold: DVec3) -> f64 {
        let of_link = |(i, link): (usize, &crate::scene::Link)| {
            let corners = link.surface.bounds().corners();
            let far = corners.map(|c| self.tool_from_link[i].point(c).distance(hold));
            far.into_iter().fold(0.0, f64::max)
        };
        tool.links.iter().enumerate().map(of_link).fold(0.0, f64::max)
    }
}
