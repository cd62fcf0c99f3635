//! Rigid instruments: links with their surfaces, and probes.

pub mod field;

use glam::DVec3;

use crate::{
    bvh::{BoxTree, Rigid},
    geometry::{
        Pose, TriangleId, TriangleMesh,
        mesh::{load::LoadedMesh, report::MeshReport, topology::first_of_each_body},
    },
    index::LatLonOptions,
    sdf::Field,
    surface::Surface,
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
    /// Boxes of its triangles.
    pub tree: BoxTree,
    /// A triangle of each body.
    pub bodies: Vec<TriangleId>,
    /// The vertices farthest along the axes, both ways: one of them is often nearest to a tissue.
    pub extremes: [u32; 6],
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
        let extremes = extremes(&loaded.mesh);
        let tree = BoxTree::build(&loaded.mesh);
        let surface = Surface::new(loaded.mesh, LatLonOptions::default());
        let field = field_of(&surface);
        Link { name, report: loaded.report, rest, surface, field, tree, bodies, extremes }
    }

    pub(super) fn rigid(&self) -> Rigid<'_> {
        Rigid { mesh: self.surface.mesh(), tree: &self.tree }
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

fn extremes(mesh: &TriangleMesh) -> [u32; 6] {
    let along = |v: u32, i: usize| mesh.position(v)[i / 2] * [1.0, -1.0][i % 2];
    let used = || mesh.triangle_ids().flat_map(|t| mesh.vertices(t));
    std::array::from_fn(|i| {
        let farthest = used().max_by(|a, b| along(*a, i).total_cmp(&along(*b, i)).then(b.cmp(a)));
        farthest.expect("a link has triangles")
    })
}
