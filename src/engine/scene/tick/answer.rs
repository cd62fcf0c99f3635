//! Answer of a tick, in scene frame and metres.

use std::cmp::Ordering;

use glam::DVec3;

use super::{
    crossings::{LinkPairs, TrianglePairs},
    feature_pairs::FeaturePairs,
};
use crate::geometry::tolerance::CONTACT_SLACK;
use crate::scene::{
    Revision, TissueId, ToolId,
    distance::{Distance, NearestSurface, SurfacePoint},
};

/// A point of a link and a point of a tissue: their closest ones, or two that touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The tissue touched.
    pub tissue: TissueId,
    /// Contact point on the tissue.
    pub on_tissue: SurfacePoint,
    /// Contact point on the link; its triangle is the link's.
    pub on_tool: SurfacePoint,
    /// Unit vector from tissue to tool.
    pub normal: DVec3,
    /// Signed distance, metres. Apart: the distance of the two points. Negative: the depth of the point that is inside
    /// the other's body.
    pub signed_distance_m: f64,
    /// Certainty of the sign: 0 (a guess) to 1 (certain).
    pub sign_certainty: f64,
    /// Bound: no point of the tissue triangle is deeper in the link than this, metres. `None`: none is deeper than
    /// `signed_distance_m` by more than twice the tolerance of the link's field.
    pub depth_max_m: Option<f64>,
    /// Time of impact that the sweep found, 0 to 1 from the last answered pose to this one.
    pub toi: Option<f64>,
    /// True if the link has left the triangle behind: the contact is given as at `toi`, its distance 0.
    pub left_behind: bool,
    /// True if the contact stands for a link that is wholly inside the tissue: its triangle is only the nearest to the
    /// link's deepest vertex.
    pub wholly_inside: bool,
}

impl Contact {
    /// Orders the deepest first; then by ids and weights, so that the order of the search does not show.
    pub(super) fn by_depth(&self, other: &Contact) -> Ordering {
        // Bits of weights, because floats have no total order of their own.
        let ids = |c: &Contact| (c.tissue, c.on_tissue.triangle, c.on_tool.triangle);
        let weights = |c: &Contact| c.on_tissue.barycentric.to_array().map(f64::to_bits);
        self.signed_distance_m
            .total_cmp(&other.signed_distance_m)
            .then_with(|| ids(self).cmp(&ids(other)))
            .then_with(|| weights(self).cmp(&weights(other)))
    }

    /// Panics unless all fields keep their promises.
    pub(super) fn assert_sound(&self) {
        let is_unit = (self.normal.length() - 1.0).abs() <= CONTACT_SLACK;
        assert!(is_unit, "normal {}", self.normal);
        assert!(self.signed_distance_m.is_finite(), "{} m", self.signed_distance_m);
        assert!((0.0..=1.0).contains(&self.sign_certainty), "certainty {}", self.sign_certainty);
        assert!(self.toi.is_none_or(|t| (0.0..=1.0).contains(&t)), "toi {:?}", self.toi);
        for SurfacePoint { position, barycentric, .. } in [&self.on_tissue, &self.on_tool] {
            let off = (barycentric.element_sum() - 1.0).abs().max(-barycentric.min_element());
            assert!(off <= CONTACT_SLACK, "weights {barycentric}");
            assert!(position.is_finite(), "at {position}");
        }
    }
}

/// State of a contact in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// The contact was not there in the last tick.
    Begin,
    /// The contact was also there in the last tick.
    Persist,
}

/// The id of a contact, unique in its session, and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactStatus {
    /// From 1; never used again.
    pub id: u64,
    /// Begun now or before.
    pub state: ContactState,
}

/// Answer for one link against the tissues.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkAnswer {
    /// Tool of the link.
    pub tool: ToolId,
    /// Index in its tool, from 0.
    pub link: usize,
    /// Distance to the nearest tissue: the closest points of the two surfaces, or the deepest contact if something is
    /// inside.
    pub distance: Distance<Contact>,
    /// Bound: no point of a tissue is deeper in the link, and no vertex of the link in a tissue, than this, metres.
    /// `None`: as deep as `distance` says, to twice the tolerance of the link's field.
    pub depth_max_m: Option<f64>,
    /// Contacts, deepest first, at most `max_contacts`.
    pub contacts: Vec<Contact>,
    /// Id and state of each contact, in the same order.
    pub statuses: Vec<ContactStatus>,
    /// Ids of contacts that were there in the last tick and are not any more.
    pub ended: Vec<u64>,
    /// Number of all contacts, including those not given.
    pub contacts_total: usize,
    /// Triangles that cross; `None` if not requested.
    pub pairs: Option<TrianglePairs>,
    /// Features within the margin; `None` if not requested.
    pub feature_pairs: Option<FeaturePairs>,
    /// True if the time was over before all of the link was searched: contacts and pairs may lack some, and the
    /// distance is that of the closest points that were found, or its lower bound.
    pub is_cut_short: bool,
    /// Bound: no tissue is nearer to the link or deeper in it than this, metres: the distance itself, unless cut short.
    pub lower_bound_m: f64,
}

/// Reason why a contact since the last answered pose may not be among those given. The last one in this order is
/// reported of several links and reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnsweptReason {
    /// Contacts or the sweep were not requested.
    NotAskedFor,
    /// There is no earlier pose.
    FirstTick,
    /// The tool was teleported here.
    Teleport,
    /// A tissue was not there before.
    NewTissue,
    /// The time was over first. The next ticks continue, and give the contacts that are still to be found.
    GoingOn,
}

/// Answer for one probe against the tissues.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeAnswer {
    /// Tool of the probe.
    pub tool: ToolId,
    /// Index in its tool, from 0.
    pub probe: usize,
    /// Distance from the probe's sphere: the radius is already subtracted.
    pub distance: Distance<NearestSurface>,
}

/// The revision of a tissue that an answer was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TissueState {
    /// The tissue.
    pub tissue: TissueId,
    /// Deformations so far.
    pub geometry_revision: u64,
    /// Cuts so far.
    pub topology_revision: u64,
    /// Time since it was published, nanoseconds.
    pub age_ns: u64,
}

impl TissueState {
    /// Returns the state of a revision at the time `now_ns` of the clock that published it.
    pub fn of(tissue: TissueId, revision: &Revision, now_ns: u64) -> TissueState {
        TissueState {
            tissue,
            geometry_revision: revision.geometry_revision,
            topology_revision: revision.topology_revision,
            // A revision published after the caller read its clock has age 0.
            age_ns: now_ns.saturating_sub(revision.published_ns),
        }
    }
}

/// Conditions of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// There are more contacts than `max_contacts` or pairs than `max_pairs`.
    pub truncated: bool,
    /// The time was over before all was found; links say whether they were cut short.
    pub degraded: bool,
    /// A tissue is older than requested.
    pub stale: bool,
    /// Some sign is less than certain.
    pub sign_uncertain: bool,
    /// Something may be deeper than reported: see [`LinkAnswer::depth_max_m`].
    pub depth_uncertain: bool,
    /// A tool moved farther than its own size without `teleport`.
    pub pose_jump: bool,
    /// No contact up to this pose can have been missed.
    pub swept: bool,
    /// Reason why `swept` is false.
    pub unswept_reason: Option<UnsweptReason>,
}

/// Answer of one tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TickAnswer {
    /// Conditions of the answer.
    pub flags: Flags,
    /// State of every tissue, ordered by id.
    pub tissues: Vec<TissueState>,
    /// Every link of every tool, in the order of the session's tools.
    pub links: Vec<LinkAnswer>,
    /// Every probe of every tool, in the same order; empty if left out.
    pub probes: Vec<ProbeAnswer>,
    /// Every two links, in the same order; empty if not requested.
    pub link_pairs: Vec<LinkPairs>,
}

/// Returns true if a sign is nearer to a guess than to certain, so that an answer is flagged.
pub(super) fn is_uncertain(certainty: f64) -> bool {
    certainty < CERTAINTY_MIN
}

/// Least certainty that is not flagged; 0: a guess, 1: certain.
const CERTAINTY_MIN: f64 = 0.5;
