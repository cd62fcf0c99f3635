//! How one tool is rendered.

use glam::DVec3;

use crate::coupling::{
    posture::RENDERED_LINKS_MAX,
    spring::{self, Spring},
    wrench::WrenchLimits,
};
use crate::geometry::tolerance::COORDINATE_MAX_M;
use crate::scene::{Tool, ToolId};

/// How one tool is rendered. The defaults suit a desktop device of 3.3 N.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderOptions {
    /// Which tool.
    pub tool: ToolId,
    /// Between device and proxy.
    pub spring: Spring,
    /// Coulomb's coefficient, 0 to 2.
    pub friction: f64,
    /// Of what is sent.
    pub limits: WrenchLimits,
    /// Links that no tissue constrains: blades, needles that are to go in.
    pub cutting_links: Vec<usize>,
    /// Where the device holds the tool, tool frame, metres.
    pub hold_point_m: DVec3,
    /// The links' distances at the device's pose are wanted too.
    pub device_distances: bool,
    /// The contacts as planes, for a servo at the device.
    pub local_model: bool,
}

impl RenderOptions {
    /// The defaults for a tool.
    pub fn of(tool: ToolId) -> RenderOptions {
        RenderOptions {
            tool,
            spring: Spring::DESKTOP,
            friction: 0.0,
            limits: WrenchLimits::DESKTOP,
            cutting_links: Vec::new(),
            hold_point_m: DVec3::ZERO,
            device_distances: false,
            local_model: false,
        }
    }

    /// # Errors
    /// The first option that is out of its range, or does not fit the tool.
    pub fn check(&self, tool: &Tool) -> Result<(), RenderError> {
        let expected = tool.links.len();
        if expected > RENDERED_LINKS_MAX {
            return Err(RenderError::Links { got: expected, limit: RENDERED_LINKS_MAX });
        }
        let own = ("friction", self.friction, [0.0, 2.0]);
        let outside = spring::first_outside(&self.spring, own, &self.limits);
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

/// Why a tool cannot be rendered so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RenderError {
    /// More links than coordinates.
    #[error("the tool has {got} links, expected at most {limit} of a rendered one")]
    Links {
        /// Of the tool.
        got: usize,
        /// [`RENDERED_LINKS_MAX`].
        limit: usize,
    },
    /// A number out of its range.
    #[error("{option} is {got}, expected {least} to {most}")]
    Range {
        /// Its name.
        option: &'static str,
        /// As given.
        got: f64,
        /// The least allowed.
        least: f64,
        /// The greatest allowed.
        most: f64,
    },
    /// A hold point out of the world.
    #[error("hold_point_m is {got}, expected finite coordinates of at most {limit_m} m")]
    HoldPoint {
        /// As given.
        got: DVec3,
        /// On each axis.
        limit_m: f64,
    },
    /// A cutting link that the tool does not have.
    #[error("cutting_links names link {got}, expected less than {n_links}")]
    CuttingLink {
        /// As given.
        got: usize,
        /// Of the tool.
        n_links: usize,
    },
}
