//! What a tick answers, in scene frame and metres.

use glam::DVec3;

use super::{
    contact_ids::ContactLife,
    crossings::{LinkPairs, TrianglePairs},
};
use crate::geometry::TriangleId;
use crate::scene::{Revision, TissueId, ToolId};

/// A distance, or how far at least everything is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distance<T> {
    /// Found within the distance asked for.
    Within(T),
    /// No surface is nearer than this many metres.
    Beyond(f64),
}

/// A point on a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// Scene frame, metres.
    pub position: DVec3,
    /// Of the mesh that the point is on.
    pub triangle: TriangleId,
    /// Weights of the triangle's vertices in stored order; sum 1.
    pub barycentric: DVec3,
}

/// The nearest tissue surface to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Metres, negative when the point is inside.
    pub signed_distance_m: f64,
    /// The tissue met; `None` when a link was asked.
    pub tissue: Option<TissueId>,
    /// The closest point.
    pub on_surface: SurfacePoint,
    /// Unit, outwards from the surface.
    pub normal: DVec3,
    /// 0 (the sign is a guess) to 1 (certain).
    pub sign_certainty: f64,
}

/// A point of a link and a point of a tissue: their closest ones, or two that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The tissue touched.
    pub tissue: TissueId,
    /// Where on the tissue.
    pub on_tissue: SurfacePoint,
    /// Where on the link; its triangle is the link's.
    pub on_tool: SurfacePoint,
    /// Unit, from tissue to tool.
    pub normal: DVec3,
    /// Metres. Apart: the distance of the two points. Negative: the depth of the one that is inside the
    /// other's body.
    pub signed_distance_m: f64,
    /// 0 (the sign is a guess) to 1 (certain).
    pub sign_certainty: f64,
    /// When the sweep met the triangle, 0 to 1 over the way since the last answered pose.
    pub toi: Option<f64>,
    /// The link has left the triangle behind: the contact is given where it was at `toi`, its distance 0.
    pub passed: bool,
    /// It stands for a link that is wholly inside the tissue: its triangle is only the nearest to the link's deepest
    /// vertex.
    pub wholly_inside: bool,
}

/// A link against the tissues.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkAnswer {
    /// Whose link.
    pub tool: ToolId,
    /// Counted from 0 in its tool.
    pub link: usize,
    /// To the nearest tissue: the closest points of the two surfaces, or the deepest contact when something
    /// is inside.
    pub distance: Distance<Contact>,
    /// Deepest first, at most `max_contacts`.
    pub contacts: Vec<Contact>,
    /// The id and state of each, in the same order.
    pub lives: Vec<ContactLife>,
    /// Ids of contacts that were there in the last tick and are not any more.
    pub ended: Vec<u64>,
    /// All contacts, those not given included.
    pub contacts_total: usize,
    /// Triangles that cross; `None` when not asked for.
    pub pairs: Option<TrianglePairs>,
}

/// A probe against the tissues.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeAnswer {
    /// Whose probe.
    pub tool: ToolId,
    /// Counted from 0 in its tool.
    pub probe: usize,
    /// From the probe's sphere: the radius is taken off already.
    pub distance: Distance<Nearest>,
}

/// The revision of a tissue that an answer was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TissueState {
    /// Which tissue.
    pub tissue: TissueId,
    /// Deformations so far.
    pub geometry_revision: u64,
    /// Cuts so far.
    pub topology_revision: u64,
    /// Time since it was published, nanoseconds.
    pub age_ns: u64,
}

impl TissueState {
    /// Of a revision, at the time `now_ns` of the clock that published it.
    pub fn of(tissue: TissueId, revision: &Revision, now_ns: u64) -> TissueState {
        TissueState {
            tissue,
            geometry_revision: revision.geometry_revision,
            topology_revision: revision.topology_revision,
            age_ns: now_ns.saturating_sub(revision.published_ns),
        }
    }
}

/// Conditions of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// More contacts than `max_contacts` or pairs than `max_pairs`.
    pub truncated: bool,
    /// The deadline cut the answer short; distances are complete.
    pub degraded: bool,
    /// A tissue is older than asked for.
    pub stale: bool,
    /// Some sign is less than certain.
    pub sign_uncertain: bool,
    /// A tool moved farther than its own size without `teleport`.
    pub pose_jump: bool,
    /// No contact since the last answered pose can have been missed.
    pub swept: bool,
}

/// What one tick answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TickAnswer {
    /// Conditions.
    pub flags: Flags,
    /// Every tissue, ordered by id.
    pub tissues: Vec<TissueState>,
    /// Every link of every tool, in the order of the session's tools.
    pub links: Vec<LinkAnswer>,
    /// Every probe of every tool, in the same order; empty when left out.
    pub probes: Vec<ProbeAnswer>,
    /// Every two links, in the same order; empty when not asked for.
    pub link_pairs: Vec<LinkPairs>,
}
