//! Rigid instruments: links with their surfaces, and probes.
//!
//! A tool never changes after it was added to a scene; only poses move it. A link carries all data that a tick needs of
//! it, prepared once: an indexed surface, a distance field and a box tree.

pub mod field;
pub(super) mod link;
pub(super) mod link_distance;

use glam::DVec3;
use serde::{Deserialize, Serialize};

pub use link::Link;

/// Id of a tool in a scene; never used again there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ToolId(pub u32);

/// A rigid instrument of one or more links. Its frame is the frame that poses place in the scene.
pub struct Tool {
    /// Id, given when the tool is added to a scene.
    pub id: ToolId,
    /// Name, unique in its scene.
    pub name: String,
    /// Links, at least one.
    pub links: Vec<Link>,
    /// Probes in the order they were declared.
    pub probes: Vec<Probe>,
}

/// A named sphere fixed to a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Name, unique in its tool.
    pub name: String,
    /// Index of the link, from 0.
    pub link: usize,
    /// Centre in the link's frame, metres.
    pub position: DVec3,
    /// Radius, metres, >= 0.
    pub radius: f64,
}

/// Parts of a tool before it has an id.
pub struct ToolParts {
    /// Name, unique in its scene.
    pub name: String,
    /// Links, at least one, with unique names.
    pub links: Vec<Link>,
    /// Probes on these links.
    pub probes: Vec<Probe>,
}

impl Tool {
    /// Creates a tool from its parts. A scene gives the id.
    ///
    /// # Panics
    ///
    /// Panics if a probe names a link that does not exist.
    pub fn new(parts: ToolParts) -> Tool {
        let ToolParts { name, links, probes } = parts;
        assert!(probes.iter().all(|p| p.link < links.len()), "a probe names a missing link");
        debug_assert!(!links.is_empty(), "tool {name:?} has no link");
        debug_assert!(probes.iter().all(|p| p.radius >= 0.0 && p.position.is_finite()));
        Tool { id: ToolId(0), name, links, probes }
    }

    /// Diagonal of the box of the largest link, metres.
    pub fn link_size_max(&self) -> f64 {
        self.links.iter().map(|link| link.surface.bounds().diagonal()).fold(0.0, f64::max)
    }

    /// Upper bound of the distance of any point of the tool at rest from its origin, metres.
    pub(super) fn reach_at_rest(&self) -> f64 {
        self.links.iter().map(Link::reach_at_rest).fold(0.0, f64::max)
    }
}
