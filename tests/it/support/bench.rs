//! One tissue, one tool of one link, and a haptic loop in the engine.

use std::sync::Arc;

use palpate::{
    geometry::{LoadOptions, LoadedMesh, MeshData, Pose, mesh::load::load},
    scene::{
        Limits, Link, LinkAnswer, Scene, Tissue, TissueOptions, Tool, ToolParts,
        tick::{Session, TickOptions, ToolPose},
        tool::field::default_field,
    },
};

/// Small enough to be looked at from every side.
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
        let scene = Arc::new(Scene::new("bench".to_owned(), Limits::default()));
        let tissue_options = TissueOptions::default();
        let mesh = loaded(tissue_mesh.clone());
        let tissue = scene.add_tissue("tissue", mesh, tissue_options, 0).expect("added");
        let mesh = loaded(link_mesh.clone());
        let links = vec![Link::new("tip".to_owned(), mesh, Pose::IDENTITY, default_field)];
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

    /// The next sequence, and the tool's pose for it.
    pub fn at(&mut self, scene_from_tool: Pose) -> &[ToolPose] {
        self.sequence += 1;
        self.pose.scene_from_tool = scene_from_tool;
        std::slice::from_ref(&self.pose)
    }

    /// The link's answer in time, and whether its way is covered.
    pub fn tick(&mut self, scene_from_tool: Pose) -> (LinkAnswer, bool) {
        let poses = self.at(scene_from_tool).to_vec();
        let answer = self.session.tick(self.sequence, &poses, 0, &|| false).expect("a good tick");
        (answer.links[0].clone(), answer.flags.swept)
    }
}
