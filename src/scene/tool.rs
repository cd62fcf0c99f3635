//! Rigid instruments: links with their surfaces, and probes.

use glam::DVec3;

use super::field::field_of;
use crate::{
    geometry::{
        Pose, TriangleId, mesh_load::LoadedMesh, mesh_report::MeshReport,
        topology::first_of_each_body,
    },
    index::{FrameOptions, Surface},
    sdf::{Field, FieldOptions},
};

/// Names a tool of a scene; never used again there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// A rigid part of a tool.
pub struct Link {
    /// Unique in its tool.
    pub name: String,
    /// As loaded.
    pub report: MeshReport,
    /// Tool frame from link frame when a tick gives no link pose.
    pub rest: Pose,
    /// In the link's frame.
    pub surface: Surface,
    /// Its signed distance, in the link's frame.
    pub field: Field,
    /// A triangle of each body.
    pub bodies: Vec<TriangleId>,
}

/// A named sphere fixed to a link.
#[derive(Clone, Debug, PartialEq)]
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
    /// Name, mesh and rest pose of each link.
    pub links: Vec<(String, LoadedMesh, Pose)>,
    /// Their links must be there.
    pub probes: Vec<Probe>,
}

impl Tool {
    /// Indexes the links. The id is the scene's to give.
    pub(super) fn new(parts: ToolParts) -> Tool {
        assert!(
            parts.probes.iter().all(|p| p.link < parts.links.len()),
            "a probe names a missing link"
        );
        let link = |(name, loaded, rest): (String, LoadedMesh, Pose)| {
            let bodies = first_of_each_body(&loaded.mesh);
            let surface = Surface::new(loaded.mesh, FrameOptions::default());
            let field = field_of(&surface, &FieldOptions::default(), &|_, _| ());
            Link { name, rest, surface, field, bodies, report: loaded.report }
        };
        Tool {
            id: ToolId(0),
            name: parts.name,
            links: parts.links.into_iter().map(link).collect(),
            probes: parts.probes,
        }
    }
}
