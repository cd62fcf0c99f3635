//! Rigid instruments: links with their surfaces, and probes.
//!
//! A tool never changes after it was added to a scene; only poses move it. A link carries everything that a tick asks
//! it for, prepared once: an indexed surface, a distance field and a box tree.

pub mod field;
pub(super) mod link;
pub(super) mod link_distance;

use glam::DVec3;
use serde::{Deserialize, Serialize};

pub use link::Link;

/// Names a tool of a scene; never used again there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ToolId(pub u32);

/// A rigid instrument of one or more links. Its frame is the frame that poses place in the scene.
pub struct Tool {
    /// Given when it is added to a scene.
    pub id: ToolId,
    /// Unique in its scene.
    pub name: String,
    /// At least one.
    pub links: Vec<Link>,
    /// In the order they were declared.
    pub probes: Vec<Probe>,
}

/// A named sphere fixed to a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Unique in its tool.
    pub name: String,
    /// Counted from 0.
    pub link: usize,
    /// Centre in the link's frame, metres.
    pub position: DVec3,
    /// Metres, >= 0.
    pub radius: f64,
}

/// What a tool is made of.
pub struct ToolParts {
    /// Unique in its scene.
    pub name: String,
    /// At least one, names unique.
    pub links: Vec<Link>,
    /// Their links must be there.
    pub probes: Vec<Probe>,
}

impl Tool {
    /// The id is a scene's to give.
    ///
    /// # Panics
    /// When a probe names a link that is not there.
    pub fn new(parts: ToolParts) -> Tool {
        let ToolParts { name, links, probes } = parts;
        assert!(probes.iter().all(|p| p.link < links.len()), "a probe names a missing link");
        debug_assert!(!links.is_empty(), "tool {name:?} has no link");
        debug_assert!(probes.iter().all(|p| p.radius >= 0.0 && p.position.is_finite()));
        Tool { id: ToolId(0), name, links, probes }
    }

    /// The diagonal of its largest link's box, metres.
    pub fn link_size_max(&self) -> f64 {
        self.links.iter().map(|link| link.surface.bounds().diagonal()).fold(0.0, f64::max)
    }

    /// No point of the tool at rest is farther than this from its origin, metres.
    pub(super) fn reach_at_rest(&self) -> f64 {
        self.links.iter().map(Link::reach_at_rest).fold(0.0, f64::max)
    }
}
