//! What is behind the calls: an engine in this process, or a server.

pub(crate) mod local;
pub(crate) mod remote;
pub(crate) mod snapshot;

use glam::DVec3;
use palpate::{
    client::{LinkUpload, mesh_source::MeshSource},
    geometry::Pose,
    scene::{
        Limits,
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
    servo::DeviceServo,
};

use crate::{
    code::Failure,
    plain::{palpate_cut_made, palpate_session_options, palpate_session_status},
};
use snapshot::Snapshot;

/// Where scenes are.
pub(crate) trait Server: Send + Sync {
    fn create_scene(&self, id: &str) -> Result<Box<dyn Theatre>, Failure>;
    fn open_scene(&self, id: &str) -> Result<Box<dyn Theatre>, Failure>;
}

/// One scene.
pub(crate) trait Theatre: Send + Sync {
    fn delete(&self) -> Result<(), Failure>;
    fn add_tissue(&self, name: &str, mesh: MeshSource) -> Result<u32, Failure>;
    fn add_tool(&self, name: &str, links: Vec<LinkUpload>) -> Result<u32, Failure>;
    fn remove_tissue(&self, tissue: u32) -> Result<(), Failure>;
    fn remove_tool(&self, tool: u32) -> Result<(), Failure>;
    /// Most vertices, triangles and links of a mesh or tool.
    fn limits(&self) -> Limits;
    /// The newest size of a tissue, or a size that it had and that is `enough`. A tissue never has fewer vertices than before.
    fn size(&self, tissue: u32, enough: &dyn Fn(TissueSize) -> bool)
    -> Result<TissueSize, Failure>;
    /// Gives the geometry revision.
    fn deform(&self, tissue: u32, deformation: Deformation) -> Result<u64, Failure>;
    fn cut(&self, tissue: u32, cut: TopologyEdit) -> Result<palpate_cut_made, Failure>;
    /// Signed, to one tissue or to the nearest.
    fn distances(&self, tissue: Option<u32>, points: &[DVec3]) -> Result<Vec<f64>, Failure>;
    fn open_session(&self, options: &palpate_session_options) -> Result<Opened, Failure>;
}

/// How many vertices and triangles a tissue has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TissueSize {
    pub(crate) vertices: usize,
    pub(crate) triangles: usize,
}

/// A session, and the end of it that a device's thread has.
pub(crate) struct Opened {
    /// Links of the session's tool.
    pub(crate) n_links: usize,
    pub(crate) servo: DeviceServo,
    pub(crate) running: Box<dyn Running>,
}

/// A session's other end; it ends when it is dropped.
pub(crate) trait Running: Send + Sync {
    /// Of the clock that poses are stamped by.
    fn now_ns(&self) -> u64;
    /// In lock-step: answers a tick, and hands its model over before it returns.
    fn tick(&self, pose: &Pose, links: &[Pose], at_ns: u64) -> Result<(), Failure>;
    /// The newest answer.
    fn newest(&self) -> Option<Snapshot>;
    fn status(&self) -> palpate_session_status;
    /// What ended it, if anything did.
    fn check(&self) -> Result<(), Failure>;
}
