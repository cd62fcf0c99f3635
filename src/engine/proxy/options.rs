//! Options of one rendered tool.

use glam::DVec3;

use crate::coupling::{
    posture::RENDERED_LINKS_MAX,
    spring::{self, Spring},
    wrench::WrenchLimits,
};
use crate::geometry::tolerance::COORDINATE_MAX_M;
use crate::scene::{Tool, ToolId};

/// Options of one rendered tool. The defaults suit a desktop device of 3.3 N.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderOptions {
    /// The rendered tool.
    pub tool: ToolId,
    /// Spring between device and proxy.
    pub spring: Spring,
    /// Coulomb's friction coefficient, 0 to 2.
    pub friction: f64,
    /// Greatest angle between a contact's normal and a tissue triangle over which the direction of the force is
    /// interpolated, 0 to 1 radians; 0: no interpolation.
    pub force_shading_rad: f64,
    /// Caps and rates of the force and torque.
    pub limits: WrenchLimits,
    /// Links that no tissue constrains: blades, needles that are to go in.
    pub cutting_links: Vec<usize>,
    /// Point at which the device holds the tool, tool frame, metres.
    pub hold_point_m: DVec3,
    /// Also answers the links' distances at the device's pose.
    pub device_distances: bool,
    /// Answers the contacts as planes, for a servo at the device.
    pub local_model: bool,
}

impl RenderOptions {
    /// Returns the default options for a tool.
    pub fn of(tool: ToolId) -> RenderOptions {
        RenderOptions {
            tool,
            spring: Spring::DESKTOP,
            friction: 0.0,
            force_shading_rad: 0.0,
            limits: WrenchLimits::DESKTOP,
            cutting_links: Vec::new(),
            hold_point_m: DVec3::ZERO,
            device_distances: false,
            local_model: false,
        }
    }

    /// # Errors
    /// Returns an error for the first option that is out of its range, or does not fit the tool.
    pub fn check(&self, tool: &Tool) -> Result<(), RenderError> {
        let expected = tool.links.len();
        if expected > RENDERED_LINKS_MAX {
            return Err(RenderError::Links { got: expected, limit: RENDERED_LINKS_MAX });
        }
        let own = [
            ("friction", self.friction, [0.0, 2.0]),
            ("force_shading_rad", self.force_shading_rad, [0.0, 1.0]),
        ];
        let outside = spring::first_outside(&self.spring, &own, &self.limits);
        if let Some((option, got, [least, most])) = outside {
            return Err(RenderError::Range { option, got, least, most });
        }
        let hold = self.hold_point_m;
        if !(hold.is_finite() && hold.abs().max_element() <= COORDINATE_MAX_M) {
            return Err(RenderError::HoldPoint { got: hold, limit_m: COORDINATE_MAX_M });
        }
        match self.cutting_links.iter().find(|link| **link >= expected) {
            Some(&got) => Err(RenderError::CuttingLink { got, n_links: expected }),
            None => Ok(()),
        }
    }
}

/// Errors of the options of a rendered tool.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RenderError {
    /// More links than coordinates.
    #[error("the tool has {got} links, expected at most {limit} of a rendered one")]
    Links {
        /// Links of the tool.
        got: usize,
        /// [`RENDERED_LINKS_MAX`].
        limit: usize,
    },
    /// A number out of its range.
    #[error("{option} is {got}, expected {least} to {most}")]
    Range {
        /// Name of the option.
        option: &'static str,
        /// Given value.
        got: f64,
        /// Least allowed value.
        least: f64,
        /// Greatest allowed value.
        most: f64,
    },
    /// A hold point too far away, or not finite.
    #[error("hold_point_m is {got}, expected finite coordinates of at most {limit_m} m")]
    HoldPoint {
        /// Given point.
        got: DVec3,
        /// Limit on each axis, metres.
        limit_m: f64,
    },
    /// A cutting link that the tool does not have.
    #[error("cutting_links names link {got}, expected less than {n_links}")]
    CuttingLink {
        /// Given link.
        got: usize,
        /// Links of the tool.
        n_links: usize,
    },
}
