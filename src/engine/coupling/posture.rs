//! Poses of a tool and its links, and their motion by a displacement of the coordinates.

use glam::{DMat3, DVec3};

use super::{
    quadratic_programme::{COORDINATES_MAX, Displacement},
    screw::{Screw, clean_product, rotation_vector, turned_by},
};
use crate::geometry::{
    Pose,
    tolerance::{CONTACT_SLACK, COORDINATE_MAX_M},
};

/// Index of the first link's coordinate, after three of the hold point and three of the turn about it.
pub const FIRST_LINK: usize = 6;
/// Maximum links of a rendered tool: each has a coordinate of its own.
pub const RENDERED_LINKS_MAX: usize = COORDINATES_MAX - FIRST_LINK;

/// Screws of the links by their index in the tool: motion per unit of their coordinate, tool frame.
pub type LinkScrews = [Option<Screw>; RENDERED_LINKS_MAX];

/// Poses of a tool and its links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posture {
    /// Scene frame from tool frame.
    pub scene_from_tool: Pose,
    /// Tool frame from link frame, of each link; the rest are unused.
    pub tool_from_link: [Pose; RENDERED_LINKS_MAX],
}

impl Posture {
    /// Posture whose frames are all the scene's.
    pub const AT_ORIGIN: Posture = Posture {
        scene_from_tool: Pose::IDENTITY,
        tool_from_link: [Pose::IDENTITY; RENDERED_LINKS_MAX],
    };

    /// Returns the pose of a link in scene frame.
    pub fn scene_from_link(&self, link: usize) -> Pose {
        self.scene_from_tool.then_from(&self.tool_from_link[link])
    }

    /// Returns the posture after a share of a displacement: the hold point moves straight, the tool turns about it,
    /// links move along their screws.
    pub fn moved(&self, x: &Displacement, share: f64, hold: DVec3, screws: &LinkScrews) -> Posture {
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

    /// Returns the displacement that leads to another posture, links along known screws. A link without one stays where
    /// it is.
    pub fn displacement_along(
        &self,
        to: &Posture,
        hold: DVec3,
        screws: &LinkScrews,
    ) -> Displacement {
        let mut x = self.body_displacement_to(to, hold);
        for (i, screw) in screws.iter().enumerate() {
            let (from, to) = (&self.tool_from_link[i], &to.tool_from_link[i]);
            if let Some(screw) = screw.filter(|_| from != to) {
                x[FIRST_LINK + i] = Screw::between(from, to).units_of(&screw);
            }
        }
        x
    }

    /// Returns the displacement that leads to another posture, without links.
    pub fn body_displacement_to(&self, to: &Posture, hold: DVec3) -> Displacement {
        let mut x = [0.0; _];
        let shift = to.scene_from_tool.point(hold) - self.scene_from_tool.point(hold);
        let turn = to.scene_from_tool.rotation * self.scene_from_tool.rotation.transpose();
        x[..3].copy_from_slice(&shift.to_array());
        x[3..FIRST_LINK].copy_from_slice(&rotation_vector(&turn).to_array());
        x
    }

    /// Returns true if every rotation is one, to [`CONTACT_SLACK`], and every position is in range: results are finite.
    pub fn is_rigid(&self) -> bool {
        let rotates = |p: &Pose| {
            let off = (p.rotation.transpose() * p.rotation - DMat3::IDENTITY).to_cols_array();
            // A NaN fails this comparison.
            let is_rotation = off.iter().all(|o| o.abs() <= CONTACT_SLACK);
            is_rotation && p.translation.abs().cmple(DVec3::splat(2.0 * COORDINATE_MAX_M)).all()
        };
        rotates(&self.scene_from_tool) && self.tool_from_link.iter().all(rotates)
    }
}
