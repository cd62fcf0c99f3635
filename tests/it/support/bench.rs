//! A tissue, a tool of one link, and a haptic loop in the engine.

use std::{cell::Cell, sync::Arc};

use glam::Vec3;
use palpate::{
    geometry::{LoadOptions, LoadedMesh, MeshData, Pose, mesh::load::load},
    scene::{
        Limits, Link, LinkAnswer, Scene, TickAnswer, Tissue, TissueOptions, Tool, ToolParts,
        tick::{Session, TickOptions, ToolPose},
        tissue::deform::Deformation,
        tool::field::default_field,
    },
    sdf::Field,
    surface::Surface,
    time_left::TimeLeft,
};

/// A tissue, a tool and a session, all of it open to the tests.
pub struct Bench {
    pub tissue_mesh: MeshData,
    pub link_mesh: MeshData,
    pub tissue: Arc<Tissue>,
    pub tool: Arc<Tool>,
    pub session: Session,
    pub pose: ToolPose,
    pub sequence: u64,
}

fn loaded(data: MeshData) -> LoadedMesh {
    load(data, &LoadOptions::default()).expect("a good mesh")
}

impl Bench {
    pub fn new(tissue_mesh: MeshData, link_mesh: MeshData, options: TickOptions) -> Bench {
        Bench::with_field(tissue_mesh, link_mesh, options, default_field)
    }

    /// As [`Bench::new`], with another field of the link than the default.
    pub fn with_field(
        tissue_mesh: MeshData,
        link_mesh: MeshData,
        options: TickOptions,
        field_of: impl FnOnce(&Surface) -> Field,
    ) -> Bench {
        let scene = Arc::new(Scene::new("bench".to_owned(), Limits::default()));
        let tissue_options = TissueOptions::default();
        let mesh = loaded(tissue_mesh.clone());
        let tissue = scene.add_tissue("tissue", mesh, tissue_options, 0).expect("added");
        let mesh = loaded(link_mesh.clone());
        let links = vec![Link::new("tip".to_owned(), mesh, Pose::IDENTITY, field_of)];
        let parts = ToolParts { name: "tool".to_owned(), links, probes: Vec::new() };
        let tool = scene.add_tool(parts).expect("added");
        let session = Session::new(scene, &[tool.id], options).expect("the tool is there");
        let pose = ToolPose {
            tool: tool.id,
            scene_from_tool: Pose::IDENTITY,
            tool_from_link: Vec::new(),
            teleport: false,
        };
        Bench { tissue_mesh, link_mesh, tissue, tool, session, pose, sequence: 0 }
    }

    /// Moves all vertices of the tissue.
    pub fn move_all(&mut self, positions: Vec<Vec3>) {
        self.tissue_mesh.positions.clone_from(&positions);
        self.tissue.deform(Deformation::Dense(positions), 0).expect("all are there");
    }

    /// Starts the next sequence; returns the tool's pose for it.
    pub fn at(&mut self, scene_from_tool: Pose) -> &[ToolPose] {
        self.sequence += 1;
        self.pose.scene_from_tool = scene_from_tool;
        std::slice::from_ref(&self.pose)
    }

    /// Returns the answer of a tick whose time is over after `readings` readings of its clock.
    pub fn tick_of(&mut self, readings: u64, scene_from_tool: Pose) -> TickAnswer {
        let poses = self.at(scene_from_tool).to_vec();
        let read = Cell::new(0);
        let clock = || read.replace(read.get() + 1);
        let time = TimeLeft::until(&clock, readings);
        self.session.tick(self.sequence, &poses, 0, &time).expect("a good tick").clone()
    }

    /// Returns the link's answer in time, and true if its path was swept.
    pub fn tick(&mut self, scene_from_tool: Pose) -> (LinkAnswer, bool) {
        let poses = self.at(scene_from_tool).to_vec();
        let answer =
            self.session.tick(self.sequence, &poses, 0, &TimeLeft::endless()).expect("a good tick");
        (answer.links[0].clone(), answer.flags.swept)
    }
}
