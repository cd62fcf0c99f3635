//! How one tool is rendered.

use glam::DVec3;

use crate::coupling::{option_range, posture::RENDERED_LINKS_MAX, wrench::WrenchLimits};
use crate::geometry::tolerance::COORDINATE_MAX_M;
use crate::scene::{Tool, ToolId};

/// How one tool is rendered. The defaults suit a desktop device of 3.3 N.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderOptions {
    /// Which tool.
    pub tool: ToolId,
    /// Of the spring between device and proxy, N/m, 1 to 100,000.
    pub stiffness_n_per_m: f64,
    /// Against turning, N m/rad, 0.001 to 1,000.
    pub rotational_stiffness_nm_per_rad: f64,
    /// Of a link against its commanded pose, at its farthest point, N/m, 1 to 100,000.
    pub link_stiffness_n_per_m: f64,
    /// Coulomb's coefficient, 0 to 2.
    pub friction: f64,
    /// No greater force is sent, newtons, 0 to 1,000.
    pub max_force_n: f64,
    /// No greater torque is sent, newton metres, 0 to 100.
    pub max_torque_nm: f64,
    /// No faster change of force, N/s, above 0 to 1,000,000.
    pub max_force_rate_n_per_s: f64,
    /// No faster change of torque, N m/s, above 0 to 100,000.
    pub max_torque_rate_nm_per_s: f64,
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
            stiffness_n_per_m: 500.0,
            rotational_stiffness_nm_per_rad: 1.0,
            link_stiffness_n_per_m: 500.0,
            friction: 0.0,
            max_force_n: 3.3,
            max_torque_nm: 0.1,
            max_force_rate_n_per_s: 300.0,
            max_torque_rate_nm_per_s: 9.0,
            cutting_links: Vec::new(),
            hold_point_m: DVec3::ZERO,
            device_distances: false,
            local_model: false,
        }
    }

    /// Of what is sent.
    pub fn limits(&self) -> WrenchLimits {
        WrenchLimits {
            max_force_n: self.max_force_n,
            max_torque_nm: self.max_torque_nm,
            max_force_rate_n_per_s: self.max_force_rate_n_per_s,
            max_torque_rate_nm_per_s: self.max_torque_rate_nm_per_s,
        }
    }

    /// # Errors
    /// The first option that is out of its range, or does not fit the tool.
    pub fn check(&self, tool: &Tool) -> Result<(), RenderError> {
        let expected = tool.links.len();
        if expected > RENDERED_LINKS_MAX {
            return Err(RenderError::Links { got: expected, limit: RENDERED_LINKS_MAX });
        }
        let stiffness = option_range::of_stiffness(
            self.stiffness_n_per_m,
            self.rotational_stiffness_nm_per_rad,
            self.link_stiffness_n_per_m,
        );
        let own = ("friction", self.friction, [0.0, 2.0]);
        let ranged =
            stiffness.into_iter().chain([own]).chain(option_range::of_limits(&self.limits()));
        if let Some((option, got, [least, most])) = option_range::first_outside(ranged) {
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
