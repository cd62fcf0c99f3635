//! Backends behind the C calls: an engine in this process, or a server.

pub(crate) mod local;
pub(crate) mod remote;
pub(crate) mod snapshot;

use std::time::Duration;

use glam::DVec3;
use palpate::{
    client::{ExportedTissue, LinkUpload, TissueUpload},
    geometry::Pose,
    scene::{
        Limits, Probe,
        self_collision::{Interval, SelfCollisionOptions},
        tissue::{
            binding::ControlMove, deform::Deformation, edit::TopologyEdit, feel::Feel,
            incision::Incision,
        },
    },
    servo::DeviceServo,
};

use crate::{
    code::Failure,
    plain::{
        palpate_cut_made, palpate_link_distance, palpate_render_state, palpate_session_options,
        palpate_session_status, palpate_surface_contact, palpate_surface_point,
    },
    report::{Meshed, palpate_mesh_report},
    self_collision::palpate_self_contact,
};
use snapshot::Snapshot;

/// A server of scenes.
pub(crate) trait Server: Send + Sync {
    fn create_scene(&self, id: &str) -> Result<Box<dyn Theatre>, Failure>;
    fn open_scene(&self, id: &str) -> Result<Box<dyn Theatre>, Failure>;
}

/// A scene.
pub(crate) trait Theatre: Send + Sync {
    fn delete(&self) -> Result<(), Failure>;
    /// Copies the scene as it is now, under another id.
    fn copy(&self, id: &str) -> Result<Box<dyn Theatre>, Failure>;
    fn add_tissue(&self, tissue: &TissueUpload) -> Result<Added, Failure>;
    fn add_tool(
        &self,
        name: &str,
        links: Vec<LinkUpload>,
        probes: Vec<Probe>,
    ) -> Result<Added, Failure>;
    /// Returns the progress of the field that is being built for a tool, 0 to 1.
    fn field_progress(&self, tool: &str) -> Result<Option<f64>, Failure>;
    fn remove_tissue(&self, tissue: u32) -> Result<(), Failure>;
    fn remove_tool(&self, tool: u32) -> Result<(), Failure>;
    /// Maximum vertices, triangles and links of a mesh or tool.
    fn limits(&self) -> Limits;
    /// Returns the newest size of a tissue, or an earlier size that is `enough`. The number of vertices never falls.
    fn size(&self, tissue: u32, enough: &dyn Fn(TissueSize) -> bool)
    -> Result<TissueSize, Failure>;
    /// Returns the geometry revision.
    fn deform(&self, tissue: u32, moved: Moved) -> Result<u64, Failure>;
    fn export_tissue(&self, tissue: u32) -> Result<ExportedTissue, Failure>;
    fn mesh_report(&self, of: Meshed) -> Result<palpate_mesh_report, Failure>;
    fn cut(&self, tissue: u32, cut: TopologyEdit) -> Result<palpate_cut_made, Failure>;
    fn cut_along(&self, tissue: u32, line: Incision) -> Result<CutAlong, Failure>;
    /// Returns the nearest point of one tissue, or of all if `tissue` is `None`, to each point.
    fn nearest(
        &self,
        tissue: Option<u32>,
        points: &[DVec3],
    ) -> Result<Vec<palpate_surface_point>, Failure>;
    /// Gives a tissue other materials, or none; returns the geometry revision.
    fn set_feel(&self, tissue: u32, feel: Option<Feel>) -> Result<u64, Failure>;
    /// Holds the newest revision of a tissue, and returns it.
    fn hold(&self, tissue: u32) -> Result<u64, Failure>;
    /// Returns the earliest contacts of tissues with themselves and each other, and the number of all.
    fn self_collisions(
        &self,
        tissues: &[Interval],
        options: &SelfCollisionOptions,
    ) -> Result<(Vec<palpate_self_contact>, usize), Failure>;
    /// Returns what a posed tool touches, and how far each of its links is from tissue.
    fn contacts(&self, posed: &PosedTool) -> Result<Touched, Failure>;
    fn open_session(&self, options: &palpate_session_options) -> Result<Opened, Failure>;
}

/// Id of a tissue or tool, and the warnings about its meshes.
pub(crate) struct Added {
    pub(crate) id: u32,
    pub(crate) warnings: Vec<String>,
}

/// Number of vertices, triangles and controls of a tissue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TissueSize {
    pub(crate) vertices: usize,
    pub(crate) triangles: usize,
    pub(crate) controls: usize,
    /// The controls are frames.
    pub(crate) are_frames: bool,
}

/// Part of a tissue that moves.
pub(crate) enum Moved {
    Vertices(Deformation),
    Controls(ControlMove),
}

/// A cut along a line, and the vertices of its two lips.
pub(crate) struct CutAlong {
    pub(crate) made: palpate_cut_made,
    pub(crate) left: Vec<u32>,
    pub(crate) right: Vec<u32>,
}

/// A tool at a pose; `links` is empty, or has a pose for each link.
pub(crate) struct PosedTool {
    pub(crate) tool: u32,
    pub(crate) pose: Pose,
    pub(crate) links: Vec<Pose>,
    /// 0: the default.
    pub(crate) contact_margin_m: f64,
}

/// Contacts of a posed tool, and distances of its links.
pub(crate) struct Touched {
    pub(crate) contacts: Vec<palpate_surface_contact>,
    pub(crate) links: Vec<palpate_link_distance>,
}

/// Maximum time limit of a tick, seconds.
const DEADLINE_MAX_S: f64 = 10.0;

/// Returns the time limit of a session's ticks, if it has one of its own.
fn deadline(options: &palpate_session_options) -> Result<Option<Duration>, Failure> {
    let s = options.deadline_s;
    if !(0.0..=DEADLINE_MAX_S).contains(&s) {
        let message = format!("deadline_s is {s}, expected 0 to {DEADLINE_MAX_S}");
        return Err(Failure::argument(message));
    }
    Ok((s > 0.0).then(|| Duration::from_secs_f64(s)))
}

/// A session and the servo that the device's thread calls.
pub(crate) struct Opened {
    /// Links of the session's tool.
    pub(crate) n_links: usize,
    pub(crate) servo: DeviceServo,
    pub(crate) running: Box<dyn Running>,
}

/// The running part of a session, which ends when it is dropped.
pub(crate) trait Running: Send + Sync {
    /// Current time of the clock that stamps poses, nanoseconds.
    fn now_ns(&self) -> u64;
    /// Answers a tick in lock-step, and hands its model over before it returns.
    fn tick(&self, pose: &Pose, links: &[Pose], at_ns: u64) -> Result<(), Failure>;
    /// Reads the newest answer, if there is one. Ticks do not wait until it is read.
    fn read_newest(&self, read: &mut dyn FnMut(&Snapshot));
    /// Returns the newest answer's state, if it can be read without waiting.
    fn state(&self) -> Option<palpate_render_state>;
    fn status(&self) -> palpate_session_status;
    /// Returns the error that ended the session, if any.
    fn check(&self) -> Result<(), Failure>;
}
