//! What rendering a tool answers, in scene frame.

use glam::DVec3;

use crate::coupling::local_model::LocalModel;
use crate::geometry::{Pose, TriangleId};
use crate::scene::{TissueId, ToolId};

/// How a proxy stands to the tissues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RenderState {
    /// Nothing holds it: it is where the device is.
    #[default]
    Free,
    /// Tissue holds it back.
    Touching,
    /// It began inside a tissue, or one was put through it: the part of the tissue about what crosses it has no say until
    /// it is outside once. Other parts hold it.
    Embedded,
    /// Tissue that moved leaves it no room: it violates the contacts as little as can be, and the force is that of the
    /// spring towards there.
    Squeezed,
    /// The deadline came before it arrived: the contacts and the force are those of the last tick that was in time.
    Late,
}

/// A force of a tissue on the proxy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProxyContact {
    /// Unique in its proxy; it stays while the contact does.
    pub id: u64,
    /// Whose force.
    pub tissue: TissueId,
    /// Of that geometry.
    pub triangle: TriangleId,
    /// The tissue is a forbidden region.
    pub is_forbidden: bool,
    /// Counted from 0 in the tool.
    pub link: usize,
    /// Of the link.
    pub link_triangle: TriangleId,
    /// On the tissue, scene frame.
    pub position: DVec3,
    /// Unit, from tissue to tool.
    pub normal: DVec3,
    /// Between tissue and proxy, metres; below 0 where the proxy is [`RenderState::Squeezed`].
    pub gap_m: f64,
    /// On the tool, newtons; friction included. Zero where the contact is only near.
    pub force_n: DVec3,
}

/// What one tissue bears of the proxy's contacts: to be added to a solver's external forces.
#[derive(Clone, Debug, PartialEq)]
pub struct TissueLoad {
    /// Which tissue.
    pub tissue: TissueId,
    /// Deformations so far, of the revision that the vertices are of.
    pub geometry_revision: u64,
    /// Ascending.
    pub vertices: Vec<u32>,
    /// On each vertex, newtons.
    pub forces_n: Vec<DVec3>,
}

/// A tissue is held between two links, or is not any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraspEvent {
    /// What is held.
    pub tissue: TissueId,
    /// The two links, the lesser first.
    pub links: [usize; 2],
    /// Of the two opposed contacts, in the order of the links.
    pub contacts: [u64; 2],
    /// Begins, or ends.
    pub begins: bool,
}

/// What rendering a tool answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendering {
    /// Which tool.
    pub tool: ToolId,
    /// Scene frame from tool frame, of the proxy.
    pub scene_from_proxy: Pose,
    /// Tool frame from link frame, of the proxy.
    pub tool_from_link: Vec<Pose>,
    /// How far each link is behind its command, metres at its farthest point.
    pub link_lag_m: Vec<f64>,
    /// To be sent to the hand, at the hold point, newtons.
    pub force_n: DVec3,
    /// About the hold point, newton metres.
    pub torque_nm: DVec3,
    /// How the proxy stands.
    pub state: RenderState,
    /// Of [`RenderState::Squeezed`]: by how much the contacts are violated, metres.
    pub residual_m: f64,
    /// Cap or rate changed what is sent.
    pub limited: bool,
    /// Contacts near the proxy, those with a force first, and of both those whose features met in the last
    /// tick.
    pub contacts: Vec<ProxyContact>,
    /// Of tissues with a force, ordered by id; forbidden regions bear none.
    pub loads: Vec<TissueLoad>,
    /// What began and ended in this tick.
    pub grasps: Vec<GraspEvent>,
    /// The contacts as planes, where they were asked for and there was time to look about.
    pub local_model: Option<Box<LocalModel>>,
}
