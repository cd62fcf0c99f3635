//! The answer of a rendered tool, in scene frame.

use glam::DVec3;

use crate::coupling::local_model::LocalModel;
use crate::geometry::{Pose, TriangleId};
use crate::scene::{TissueId, ToolId, tissue::driven::ControlLoad};

/// Relation of a proxy to the tissues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RenderState {
    /// Unconstrained: the proxy is where the device is.
    #[default]
    Free,
    /// Tissue holds the proxy back.
    Touching,
    /// The proxy began inside a tissue, or a tissue was placed through it: the part of the tissue about the crossing
    /// does not constrain the proxy until it is outside once. Other parts do.
    Embedded,
    /// Moving tissue leaves the proxy no feasible pose: it violates the contacts as little as possible, and the force
    /// is that of the spring towards that pose.
    Squeezed,
    /// The deadline passed before the proxy arrived: contacts and force are those of the last tick that was in time.
    Late,
}

/// A contact of the proxy with a tissue, and its force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProxyContact {
    /// Unique in its proxy; constant while the contact lasts.
    pub id: u64,
    /// Tissue of the contact.
    pub tissue: TissueId,
    /// Triangle of the tissue's geometry.
    pub triangle: TriangleId,
    /// True if the tissue is a forbidden region.
    pub is_forbidden: bool,
    /// Index of the link in the tool, from 0.
    pub link: usize,
    /// Triangle of the link.
    pub link_triangle: TriangleId,
    /// Contact point on the tissue, scene frame, metres.
    pub position: DVec3,
    /// Unit vector from tissue to tool.
    pub normal: DVec3,
    /// Gap between tissue and proxy, metres; below 0 if the proxy is [`RenderState::Squeezed`].
    pub gap_m: f64,
    /// Force on the tool, newtons, friction included. Zero if the contact is only near.
    pub force_n: DVec3,
}

/// Load of the proxy's contacts on one tissue, to be added to a solver's external forces.
#[derive(Clone, Debug, PartialEq)]
pub struct TissueLoad {
    /// The loaded tissue.
    pub tissue: TissueId,
    /// Deformations so far, of the revision that the vertices belong to.
    pub geometry_revision: u64,
    /// Vertices with a load, ascending.
    pub vertices: Vec<u32>,
    /// Force on each vertex, newtons.
    pub forces_n: Vec<DVec3>,
    /// The same load on the controls of a driven tissue, ascending: together they bear the force and the moment of the
    /// contacts.
    pub controls: Vec<ControlLoad>,
    /// The controls are frames: their loads have torques.
    pub are_frames: bool,
}

/// Begin or end of a grasp: a tissue held between two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraspEvent {
    /// The grasped tissue.
    pub tissue: TissueId,
    /// The two links, lower index first.
    pub links: [usize; 2],
    /// Ids of the two opposed contacts, in the order of the links.
    pub contacts: [u64; 2],
    /// True if the grasp begins, false if it ends.
    pub begins: bool,
}

/// Answer of a tick for one rendered tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Rendering {
    /// The rendered tool.
    pub tool: ToolId,
    /// Pose of the proxy, scene frame from tool frame.
    pub scene_from_proxy: Pose,
    /// Link poses of the proxy, tool frame from link frame.
    pub tool_from_link: Vec<Pose>,
    /// Distance of each link from its command, metres at its farthest point.
    pub link_lag_m: Vec<f64>,
    /// Force for the hand, at the hold point, newtons.
    pub force_n: DVec3,
    /// Torque for the hand about the hold point, newton metres.
    pub torque_nm: DVec3,
    /// Relation of the proxy to the tissues.
    pub state: RenderState,
    /// Violation of the contacts if [`RenderState::Squeezed`], metres.
    pub residual_m: f64,
    /// True if a cap or rate changed the force or torque.
    pub limited: bool,
    /// Contacts near the proxy: first those with a force; within both groups, first those whose features met in the
    /// last tick.
    pub contacts: Vec<ProxyContact>,
    /// Loads of the tissues with a force, ordered by id; forbidden regions carry none.
    pub loads: Vec<TissueLoad>,
    /// Grasps that began or ended in this tick.
    pub grasps: Vec<GraspEvent>,
    /// The contacts as planes, if they were requested and there was time to search for them.
    pub local_model: Option<Box<LocalModel>>,
}
