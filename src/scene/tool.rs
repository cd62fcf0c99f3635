//! Rigid instruments: links with their surfaces, and probes.

use glam::DVec3;

use crate::{
    geometry::{
        Pose, TriangleId, mesh_load::LoadedMesh, mesh_report::MeshReport,
        topology::first_of_each_body,
    },
    index::{FrameOptions, Surface},
    sdf::Field,
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
    /// Of the surface.
    pub field: Field,
    /// A triangle of each body.
    pub bodies: Vec<TriangleId>,
}

impl Link {
    /// Indexes the mesh. `field_of` builds the field of the surface that it is given, or knows it already.
    pub fn new(
        name: String,
        loaded: LoadedMesh,
        rest: Pose,
        field_of: impl FnOnce(&Surface) -> Field,
    ) -> Link {
        let bodies = first_of_each_body(&loaded.mesh);
        let surface = Surface::new(loaded.mesh, FrameOptions::default());
        let field = field_of(&surface);
        Link { name, report: loaded.report, rest, surface, field, bodies }
    }
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
    /// At least one, names unique.
    pub links: Vec<Link>,
    /// Their links must be there.
    pub probes: Vec<Probe>,
}

impl Tool {
    /// The id is the scene's to give.
    pub(super) fn new(parts: ToolParts) -> Tool {
        let ToolParts { name, links, probes } = parts;
        assert!(probes.iter().all(|p| p.link < links.len()), "a probe names a missing link");
        Tool { id: ToolId(0), name, links, probes }
    }
}
