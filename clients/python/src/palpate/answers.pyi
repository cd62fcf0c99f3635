"""What the server answers: see answers.py."""

# Written by tools/make_contract.py from ../../proto.
import enum

import numpy as np
import numpy.typing as npt

from .pose import Pose
from .views import Answer

class ContactState(enum.IntEnum):
    """Where a contact is in its life. Its end is told by ended_contact_ids."""
    UNSPECIFIED = 0
    BEGIN = 1
    PERSIST = 2

class RenderState(enum.IntEnum):
    """How a proxy stands to the tissues."""
    UNSPECIFIED = 0
    FREE = 1
    """Nothing holds it: it is where the device is."""
    TOUCHING = 2
    """Tissue holds it back."""
    EMBEDDED = 3
    """The proxy began or was teleported inside a tissue, or a tissue was added or cut so that it contains the
    proxy. The part of the tissue around the crossing triangles exerts no force until the proxy has been outside
    once; if the proxy is wholly inside, the whole tissue exerts none. Other parts still hold it. A proxy in exact
    contact, or at most 20 um inside, is moved off instead and is TOUCHING."""
    SQUEEZED = 4
    """Tissue that moved leaves the proxy no room. The proxy stays on its side of each contact and violates the
    contacts by the least possible amount, Rendering.residual_m. The force is the spring's force towards that
    place."""
    LATE = 5
    """The tick's time was over before the proxy arrived; it goes on in the next tick. Contacts, force and loads
    are those of the last tick that was in time; the force is no more than the spring between the proxy and the
    device. Tissue that moved and was not followed in time may lie over it, no deeper than it moved since the last
    answer that was not late. The proxy follows it from where it last was, so it comes out on the side that it was
    on."""

class UnsweptReason(enum.IntEnum):
    """Why a contact on the way to this pose may not be in this answer or one before. Of several links and reasons
    the one with the greatest number is told."""
    UNSPECIFIED = 0
    NOT_ASKED_FOR = 1
    """omit_contacts or omit_sweep."""
    FIRST_TICK = 2
    """There is no pose to come from: a stream's first tick, or the first after a tick that failed."""
    TELEPORT = 3
    """The tool was put here."""
    NEW_TISSUE = 4
    """A tissue was not there before: the motion before it came is not tested against it."""
    GOING_ON = 5
    """The time was over first. The next ticks go on where it stopped and give the contacts that are still to be
    found; none is dropped. The answer with which the sweep has caught up has FLAG_SWEPT."""

class FeatureKind(enum.IntEnum):
    """Which kinds of features meet."""
    UNSPECIFIED = 0
    VERTEX_FACE = 1
    EDGE_EDGE = 2

class SignRule(enum.IntEnum):
    """How inside is told from outside."""
    UNSPECIFIED = 0
    PSEUDONORMAL = 1
    """By the angle-weighted normal of the closest feature: the mesh is closed and one body."""
    WINDING_NUMBER = 2
    """By the generalised winding number: the mesh is open or has several bodies. Answers carry a certainty. So it
    is for a mesh of the other rule while it crosses itself: see LinkAnswer.sign_certainty."""

class TissueKind(enum.IntEnum):
    """What a tissue is to an instrument."""
    UNSPECIFIED = 0
    """The same as TISSUE_KIND_TISSUE."""
    TISSUE = 1
    FORBIDDEN_REGION = 2
    """A region that an instrument is to stay out of: it holds rendered tools back as tissue does, is marked in
    contacts, and bears no load."""

class Flag(enum.IntFlag):
    """The same as masks of `flags`: flags & FLAG_MASK_SWEPT."""
    NONE = 0
    TRUNCATED = 2
    DEGRADED = 4
    STALE = 8
    SIGN_UNCERTAIN = 16
    POSE_JUMP = 32
    SWEPT = 64
    SESSION_STALE = 128
    DEPTH_UNCERTAIN = 1024

class TissueState(Answer):
    """The revision of a tissue that an answer was computed from."""
    @property
    def tissue_id(self) -> int:
        ...
    @property
    def geometry_revision(self) -> int:
        ...
    @property
    def topology_revision(self) -> int:
        ...
    @property
    def age_us(self) -> int:
        """Time since that revision was published."""

class SurfacePoint(Answer):
    """A point on a triangle of a mesh."""
    @property
    def position_m(self) -> npt.NDArray[np.float64]:
        """In scene frame."""
    @property
    def triangle_id(self) -> int:
        """The triangle of its mesh, as numbered at upload or by the edit that made it."""
    @property
    def barycentric(self) -> npt.NDArray[np.float64]:
        """Weights of the triangle's vertices in stored order; their sum is 1. Stored is the upload's order, but the
        second and third vertex change places in a triangle that was turned to face outwards
        (MeshReport.reversed_triangles), and in every one of a left-handed mesh. ExportTissue and ExportTool tell the
        stored order."""

class Contacts(Answer):
    """Contacts as parallel arrays: the i-th entry of each belongs to the i-th contact. A `_xyz` array holds three
    numbers for each contact. f32: rounded by at most 6e-8 of the coordinate. A contact is a tissue triangle that
    is inside the link or nearer to it than contact_margin_m. A link that is wholly inside a tissue meets none;
    one contact stands for it then: its deepest vertex, and the triangle nearest to that (wholly_inside). on_tool
    - on_tissue is signed_distance_m times normal. Of a contact that the link has left behind (see toi) they may
    be apart by what its path is thickened by."""
    @property
    def total(self) -> int:
        """All contacts found, those beyond max_contacts included."""
    @property
    def tissue_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def triangle_ids(self) -> npt.NDArray[np.uint32]:
        """The tissue triangle."""
    @property
    def barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """u, v, w on that triangle."""
    @property
    def on_tissue_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Scene frame, metres."""
    @property
    def on_tool_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        ...
    @property
    def normal_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Unit, from tissue to tool."""
    @property
    def signed_distance_m(self) -> npt.NDArray[np.float32]:
        """Negative: penetrating by that much."""
    @property
    def link_triangle_ids(self) -> npt.NDArray[np.uint32]:
        """The triangle of the link that is touched."""
    @property
    def contact_ids(self) -> npt.NDArray[np.uint64]:
        """Stays the same while the contact persists: on the same triangle or one beside it, at a nearby point,
        through deformations and the remap of cuts. Unique in the stream, never used again."""
    @property
    def states(self) -> npt.NDArray[np.int32]:
        ...
    @property
    def toi(self) -> npt.NDArray[np.float32]:
        """When the sweep met the triangle: 0 at the pose of the last answer that had FLAG_SWEPT (else where the
        stream began or the tool was put), 1 at this one, never later than in truth. Where the tool turned, its path
        is thickened by 2e-4 of its length, for turns beyond 45 degrees between two poses by up to 3e-3: the toi is
        earlier by what that takes to cross, and what is passed as near counts as met. A sweep that goes on in a later
        tick, or comes after more than four deformations, takes the tissue as it is then and the path as much thicker
        as the tissue can have moved since. Negative: the sweep did not meet it; it was touched before, also by an
        answer that the sweep had not caught up with, or is within the margin only. What the link touched already
        where the way begins, and an answer that was cut short (or a tick that was coalesced) did not tell, has the
        time of that place. A contact that the link has left behind is given as it was at that time, with distance
        0."""
    @property
    def forbidden(self) -> npt.NDArray[np.bool_]:
        """The tissue is a forbidden region. Empty where the scene has none."""
    @property
    def wholly_inside(self) -> npt.NDArray[np.bool_]:
        """The contact stands for a link that is wholly inside the tissue: no triangle is touched there. Empty: none
        does."""
    @property
    def depth_max_m(self) -> npt.NDArray[np.float32]:
        """No point of the tissue triangle is deeper in the link than this, metres, a depth is positive. Empty unless
        some contact has a triangle that may be deeper than its signed_distance_m says by more than twice the
        tolerance of the link's field; of the others it is then minus that distance."""

class TrianglePairs(Answer):
    """Pairs of triangles with a point in common, as parallel arrays: the i-th entry of each belongs to the i-th
    pair. Exact: those that brute force finds on the placed vertices; touching counts. Ordered by tissue, its
    triangle and the link's triangle. Arrays of ends hold two ends of three numbers for each pair. f32: rounded by
    at most 6e-8 of the coordinate."""
    @property
    def total(self) -> int:
        """All pairs found, those beyond max_pairs included."""
    @property
    def tissue_ids(self) -> npt.NDArray[np.uint32]:
        """Empty for two links."""
    @property
    def triangle_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def link_triangle_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def segment_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 2, 3)
        """The segment in which they cross, scene frame, metres; it runs along normal of triangle_ids x normal of
        link_triangle_ids. Ends that two pairs share are the same to the bit, so segments chain into curves."""
    @property
    def triangle_barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 2, 3)
        """Weights of its ends on each triangle."""
    @property
    def link_triangle_barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 2, 3)
        ...
    @property
    def coplanar(self) -> npt.NDArray[np.bool_]:
        """The two are in one plane; the segment is between the two common points farthest apart."""

class LinkAnswer(Answer):
    """A link against the tissues."""
    @property
    def tool_id(self) -> int:
        ...
    @property
    def link(self) -> int:
        """Counted from 0 in its tool."""
    @property
    def signed_distance_m(self) -> float:
        """Metres between the link and the nearest tissue surface. Apart: the distance of the two surfaces.
        Penetrating: minus the depth of the deepest point of the tissue inside the link, or of the deepest vertex of
        the link inside the tissue, whichever is deeper; a long edge of the link may be deeper than its ends. The
        depth is exact at the points given; no other point of the tissue is deeper by more than twice the link's
        FieldOptions.tolerance_m, unless depth_max_m is set. When is_lower_bound is set no tissue is nearer than this
        (nor deeper, when it is negative: a tick that had no time to find out), and the fields from tissue_id to
        sign_certainty are empty; contacts that the sweep met, and those that ended, are still given."""
    @property
    def is_lower_bound(self) -> bool:
        ...
    @property
    def tissue_id(self) -> int:
        ...
    @property
    def on_tissue(self) -> SurfacePoint | None:
        """The two closest points, or the two ends of the deepest penetration: on_tool - on_tissue is
        signed_distance_m times normal."""
    @property
    def on_tool(self) -> SurfacePoint | None:
        ...
    @property
    def normal(self) -> npt.NDArray[np.float64] | None:
        """Unit, from tissue to tool."""
    @property
    def sign_certainty(self) -> float:
        """0 (the sign is a guess) to 1 (certain). Of a closed surface it is 1, also while that crosses itself: inside
        is what it winds around once or more. A pocket that it encloses inside out (winding -1 or less), as where a
        dent was pushed out below a thin organ, counts as outside with a certainty of 0. So in all answers."""
    @property
    def contacts(self) -> Contacts:
        """Deepest first."""
    @property
    def ended_contact_ids(self) -> npt.NDArray[np.uint64]:
        """Contacts of the last answer, those beyond max_contacts included, that are there no more. Each is named
        once."""
    @property
    def pairs(self) -> TrianglePairs:
        """Set when triangle_pairs was asked for."""
    @property
    def depth_max_m(self) -> float | None:
        """Set, and FLAG_DEPTH_UNCERTAIN with it, when something may be deeper than signed_distance_m says by more
        than twice the tolerance, a contact that was not found included: no point of a tissue is deeper in the link,
        and no vertex of the link deeper in a tissue, than this. Metres, a depth is positive. So it is near an open
        end, where the side changes without a triangle and a search would take too long, and where the search of a
        very long triangle broke off. Not set when FLAG_DEGRADED says the same of all."""
    @property
    def is_cut_short(self) -> bool:
        """The time was over before all of this link was looked at; then FLAG_DEGRADED is set too. Contacts and pairs
        that are given are true, but some may be missing. A known contact that was not looked at is not given, and not
        ended: the next ticks go on with those, then with the others in turn. The distance is that of the closest
        points that were found, or the lower bound."""
    @property
    def lower_bound_m(self) -> float | None:
        """Set with is_cut_short: no tissue is nearer than this, metres; below 0, none is deeper. At or above it is
        the distance in truth, and not above signed_distance_m unless is_lower_bound is set."""

class ProbeAnswer(Answer):
    """A probe against the tissues."""
    @property
    def tool_id(self) -> int:
        ...
    @property
    def probe(self) -> int:
        """Counted from 0 in its tool."""
    @property
    def signed_distance_m(self) -> float:
        """Metres from the probe's centre to the nearest tissue surface, less its radius; negative when it touches. A
        centre inside the tissue counts negative. A lower bound when is_lower_bound is set."""
    @property
    def is_lower_bound(self) -> bool:
        ...
    @property
    def tissue_id(self) -> int:
        ...
    @property
    def on_tissue(self) -> SurfacePoint | None:
        ...
    @property
    def normal(self) -> npt.NDArray[np.float64] | None:
        """Unit, outwards from the tissue."""
    @property
    def sign_certainty(self) -> float:
        ...

class Refusal(Answer):
    """Why a tick was refused. It changed nothing."""
    @property
    def code(self) -> int:
        """A google.rpc.Code."""
    @property
    def field(self) -> str:
        """The field at fault, as `tools[0].pose.orientation`."""
    @property
    def message(self) -> str:
        """What is wrong, what was got and what was expected."""

class LinkPairs(Answer):
    """Two links that cross."""
    @property
    def tool_id(self) -> int:
        ...
    @property
    def link(self) -> int:
        ...
    @property
    def other_tool_id(self) -> int:
        ...
    @property
    def other_link(self) -> int:
        """Of the same tool it is a later one."""
    @property
    def pairs(self) -> TrianglePairs:
        """Here triangle_ids are those of the other link."""

class StageTimes(Answer):
    """What a tick spent at the server, from its bytes to its answer's: the metrics' stages. Microseconds."""
    @property
    def wait_us(self) -> float:
        """From its bytes to the engine."""
    @property
    def engine_us(self) -> float:
        """In the engine; also TrackResponse.compute_us."""
    @property
    def convert_us(self) -> float:
        """From the engine's answer to this message."""
    @property
    def render_us(self) -> float:
        """Of engine_us: drawing the proxies of rendered tools."""

class TissueLoad(Answer):
    """What a tissue bears of a tool's contacts: a solver adds it to its external forces. Forces and moment are
    those of the contacts, the other way, to 1e-6 of them."""
    @property
    def tissue_id(self) -> int:
        ...
    @property
    def geometry_revision(self) -> int:
        """The revision that the vertices are of."""
    @property
    def vertex_ids(self) -> npt.NDArray[np.uint32]:
        """Ascending."""
    @property
    def force_xyz_n(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Three numbers for each vertex, newtons."""

class GraspEvent(Answer):
    """A tissue is held between two links whose contacts oppose each other, or is not any more."""
    @property
    def tissue_id(self) -> int:
        ...
    @property
    def link(self) -> int:
        """The lesser first."""
    @property
    def other_link(self) -> int:
        ...
    @property
    def contact_id(self) -> int:
        """Of Rendering.contact_ids, on link and other_link."""
    @property
    def other_contact_id(self) -> int:
        ...
    @property
    def begins(self) -> bool:
        """It begins; else it ends."""

class LocalModel(Answer):
    """The contacts about a proxy, taken for planes, so that a device can render them at its own rate without
    waiting for answers. Scene frame. A point of a link moves by dx + dtheta x (c - hold point) + dl times the
    link's screw, and a contact's gap with it: gap(t) = gap_m + normal . (what on_tool moves by) -
    normal_velocity_m_s t t counts from the sending of the tick (TrackResponse.client_time_ns). The revisions are
    TrackResponse.tissues."""
    @property
    def tool_id(self) -> int:
        """Those of the answer: a model may be handed on alone."""
    @property
    def sequence(self) -> int:
        ...
    @property
    def server_time_ns(self) -> int:
        """When the server began to answer that tick, by the clock of TrackResponse.received_ns."""
    @property
    def reference(self) -> Pose | None:
        """The reference: where the proxy was. Displacements count from here."""
    @property
    def reference_link_poses(self) -> list[Pose]:
        """Tool frame from link frame, one for each link."""
    @property
    def hold_point_m(self) -> npt.NDArray[np.float64] | None:
        """As RenderOptions.hold_point_m."""
    @property
    def reach_m(self) -> float:
        """No point of the tool is farther from its hold point."""
    @property
    def complete_radius_m(self) -> float:
        """While no point of the tool is moved farther than this from the reference, less tissue_speed_m_s times the
        age, whatever it would touch violates a row to within its gap_error_m; second-order terms of a turn count.
        Beyond it the rows hold as they are, but there may be more to touch than they tell of. Without rows this is
        how far all is free."""
    @property
    def tissue_speed_m_s(self) -> float:
        """No tissue that has a say moves faster."""
    @property
    def expires_us(self) -> int:
        """Older than this the model is not to be used: 100,000. The force fades to zero within 50 ms then, and with a
        newer one is back at the cap after 0.25 s."""
    @property
    def friction(self) -> float:
        """As RenderOptions.friction."""
    @property
    def link_screws(self) -> npt.NDArray[np.float64]:
        """How a metre of its coordinate moves each link, tool frame: six numbers for each link, radians of turn and
        metres of the origin. All 0: it has not been moved yet."""
    @property
    def contact_ids(self) -> npt.NDArray[np.uint64]:
        """The contacts, as parallel arrays, 64 at most. As Rendering.contact_ids."""
    @property
    def contact_tissue_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def contact_links(self) -> npt.NDArray[np.uint32]:
        """Counted from 0 in the tool."""
    @property
    def on_tool_xyz_m(self) -> npt.NDArray[np.float64]:  # (n, 3)
        """Point of the link where the reference has it, three numbers each, metres."""
    @property
    def normal_xyz(self) -> npt.NDArray[np.float64]:  # (n, 3)
        """Unit, from tissue to tool, three numbers each."""
    @property
    def gap_m(self) -> npt.NDArray[np.float64]:
        """Of on_tool over the tissue's plane. The proxy keeps 20 um where it comes to rest; stopped on its way it may
        be nearer until the next tick, and is never at 0."""
    @property
    def normal_velocity_m_s(self) -> npt.NDArray[np.float64]:
        """Of the tissue along the normal; positive when it comes nearer."""
    @property
    def gap_error_m(self) -> npt.NDArray[np.float64]:
        """Within the radius the gap is off by no more than this."""

class Rendering(Answer):
    """What rendering one tool answers. Scene frame."""
    @property
    def tool_id(self) -> int:
        ...
    @property
    def proxy(self) -> Pose:
        """Scene frame from tool frame, of the proxy: what a simulator draws."""
    @property
    def proxy_link_poses(self) -> list[Pose]:
        """Tool frame from link frame, of the proxy: one for each link."""
    @property
    def link_follow_m(self) -> npt.NDArray[np.float64]:
        """How far each link is behind its commanded pose, metres at its farthest point: a jaw that closes on tissue.
        Times link_stiffness_n_per_m it is the force of the grip."""
    @property
    def force_n(self) -> npt.NDArray[np.float64]:
        """To be sent to the hand, at the hold point. Towards the proxy; zero in the air."""
    @property
    def torque_nm(self) -> npt.NDArray[np.float64]:
        """About the hold point."""
    @property
    def state(self) -> RenderState:
        ...
    @property
    def residual_m(self) -> float:
        """Of RENDER_STATE_SQUEEZED: how deep the worst contact is, metres."""
    @property
    def limited(self) -> bool:
        """Cap or rate changed force or torque: they are not the sum of the contacts' now."""
    @property
    def contact_ids(self) -> npt.NDArray[np.uint64]:
        """Contacts that bear, as parallel arrays. The ids are of this proxy: each stays the same while its contact
        lasts, and is not that of Contacts.contact_ids."""
    @property
    def contact_tissue_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def contact_links(self) -> npt.NDArray[np.uint32]:
        """Counted from 0 in the tool."""
    @property
    def contact_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """On the tissue, three numbers each, metres."""
    @property
    def contact_force_xyz_n(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """On the tool, three numbers each, newtons. Their sum is the force before cap and rate."""
    @property
    def contact_forbidden(self) -> npt.NDArray[np.bool_]:
        """The tissue is a forbidden region."""
    @property
    def tissue_loads(self) -> list[TissueLoad]:
        """One for each tissue that bears, ordered by id; forbidden regions bear nothing."""
    @property
    def grasps(self) -> list[GraspEvent]:
        """What began and ended in this tick."""
    @property
    def device_distance_m(self) -> npt.NDArray[np.float64]:
        """When device_distances was asked for: metres from each link to the nearest tissue, at the device's pose. As
        LinkAnswer.signed_distance_m, a lower bound where is_lower_bound."""
    @property
    def device_distance_is_lower_bound(self) -> npt.NDArray[np.bool_]:
        ...
    @property
    def local_model(self) -> LocalModel | None:
        """When it was asked for. Missing when the tick's time was over before the proxy had followed the tissues: go
        on with the last one, until it expires."""

class TrackResponse(Answer):
    @property
    def sequence(self) -> int:
        """The tick that is answered."""
    @property
    def coalesced(self) -> int:
        """How many older ticks were coalesced into this one: they have no answer of their own."""
    @property
    def client_time_ns(self) -> int:
        """As in the tick."""
    @property
    def received_ns(self) -> int:
        """When the tick was read by the server: nanoseconds of its monotonic clock."""
    @property
    def compute_us(self) -> float:
        """Time in the engine."""
    @property
    def flags(self) -> Flag:
        """Any of Flag, combined: bit n is the flag with number n. FlagMask has them as masks."""
    @property
    def tissues(self) -> list[TissueState]:
        """Every tissue of the scene, ordered by id: what was seen."""
    @property
    def links(self) -> list[LinkAnswer]:
        """One for each link of each tool, in the order of TrackStart."""
    @property
    def probes(self) -> list[ProbeAnswer]:
        """One for each probe of each tool, in the same order."""
    @property
    def refusal(self) -> Refusal | None:
        """Set when the tick was refused; then only sequence, coalesced, client_time_ns, received_ns, flags and
        session_token hold."""
    @property
    def link_pairs(self) -> list[LinkPairs]:
        """Links of the stream's tools that cross each other, when link_pairs was asked for. Ordered as the links are;
        links that do not cross are left out."""
    @property
    def session_token(self) -> bytes:
        """In the first answer of a stream: what TrackStart.resume_token is to be after the stream breaks off. It is a
        secret. Empty when the server keeps no sessions."""
    @property
    def is_notice(self) -> bool:
        """This answers no tick: sequence is that of the last answered one, and only received_ns, flags and
        session_token hold."""
    @property
    def stages(self) -> StageTimes | None:
        """Set when report_stages was asked for, in the answers of Track."""
    @property
    def renderings(self) -> list[Rendering]:
        """One for each of TrackStart.render, in that order. None in a refusal or a notice: let the force fade
        then."""
    @property
    def resumed_sequence(self) -> int | None:
        """In the first answer of a stream that was resumed (TrackStart.resume_token): the greatest sequence that the
        session had taken before, answered, coalesced or waiting. Ticks go on above it. Missing: it had taken none."""
    @property
    def unswept_reason(self) -> UnsweptReason:
        """Why FLAG_SWEPT is not set; unspecified where it is."""

class QueryDistancesResponse(Answer):
    """Parallel arrays: the i-th entry of each belongs to the i-th point."""
    @property
    def signed_distance_m(self) -> npt.NDArray[np.float64]:
        """Negative inside. Where is_lower_bound is set: no surface is nearer than this."""
    @property
    def is_lower_bound(self) -> npt.NDArray[np.bool_]:
        ...
    @property
    def tissue_ids(self) -> npt.NDArray[np.uint32]:
        """The tissue met; 0 when the target is a link."""
    @property
    def closest_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """The closest point, its triangle and its weights there. Zero where is_lower_bound is set. f32: rounded by at
        most 6e-8 of the coordinate."""
    @property
    def triangle_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        ...
    @property
    def normal_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Unit, outwards at the closest point."""
    @property
    def sign_certainty(self) -> npt.NDArray[np.float32]:
        """0 (the sign is a guess) to 1 (certain)."""
    @property
    def tissues(self) -> list[TissueState]:
        """Every tissue of the scene, ordered by id: what was seen."""

class QueryContactsResponse(Answer):
    @property
    def flags(self) -> Flag:
        """As in TrackResponse."""
    @property
    def compute_us(self) -> float:
        ...
    @property
    def tissues(self) -> list[TissueState]:
        ...
    @property
    def links(self) -> list[LinkAnswer]:
        ...
    @property
    def probes(self) -> list[ProbeAnswer]:
        ...
    @property
    def link_pairs(self) -> list[LinkPairs]:
        """Links of the tool that cross each other."""

class FeatureContacts(Answer):
    """First contacts of two features each, as parallel arrays: the i-th entry of each belongs to the i-th
    contact. A `_xyz` array holds three numbers for each contact. Every two features are named at most once.
    Ordered, through all chunks, by toi, kind, tissue_ids, other_tissue_ids, vertex_ids, triangle_ids and
    other_triangle_ids. f32: rounded by at most 6e-8 of the coordinate."""
    @property
    def toi(self) -> npt.NDArray[np.float64]:
        """Time of contact, 0 to 1."""
    @property
    def kinds(self) -> npt.NDArray[np.int32]:
        ...
    @property
    def tissue_ids(self) -> npt.NDArray[np.uint32]:
        """The tissue of the vertex, or of the edge that is less by tissue and vertices."""
    @property
    def other_tissue_ids(self) -> npt.NDArray[np.uint32]:
        """The tissue of the face, or of the other edge."""
    @property
    def vertex_ids(self) -> npt.NDArray[np.uint32]:  # (n, 4)
        """Four for each contact, which name the features. A vertex and a face: the vertex, then the face's three in
        stored order. Two edges: the ends of the first, ascending, then of the other, ascending."""
    @property
    def triangle_ids(self) -> npt.NDArray[np.uint32]:
        """The face is other_triangle_ids. Of a vertex or an edge: the least triangle that has it."""
    @property
    def other_triangle_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """u, v, w of the contact on these triangles."""
    @property
    def other_barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        ...
    @property
    def point_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Where the features are nearest at toi: scene frame, metres. Without a thickness both are the same but for
        rounding."""
    @property
    def other_point_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        ...
    @property
    def normal_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Unit, towards the first feature from the other, as they come together. Zero where neither the features nor
        their motion define a direction."""

class TissueMotion(Answer):
    """Between which revisions a tissue was taken to move."""
    @property
    def tissue_id(self) -> int:
        ...
    @property
    def from_geometry_revision(self) -> int:
        ...
    @property
    def to_geometry_revision(self) -> int:
        ...
    @property
    def topology_revision(self) -> int:
        """Of both."""

class SelfCollisionTotals(Answer):
    """What was found in all, and between which revisions."""
    @property
    def vertex_face(self) -> int:
        """Contacts found, those beyond max_contacts included."""
    @property
    def edge_edge(self) -> int:
        ...
    @property
    def triangle_pairs(self) -> int:
        """Pairs of triangles that came near each other, neighbours included."""
    @property
    def tissues(self) -> list[TissueMotion]:
        """Every tissue of the request, ordered by id."""

class MeshReport(Answer):
    """What a mesh was found to be when it was loaded. Counts are of the mesh as stored."""
    @property
    def vertices(self) -> int:
        ...
    @property
    def triangles(self) -> int:
        ...
    @property
    def bodies(self) -> int:
        """Connected bodies (triangles joined by an edge)."""
    @property
    def open_edges(self) -> int:
        """Edges with one triangle, without those that are joined (welded_edges)."""
    @property
    def non_manifold_edges(self) -> int:
        """Edges with three triangles or more."""
    @property
    def degenerate_triangles(self) -> int:
        """Triangles of zero area. They are kept, and answer like the segment or point they are."""
    @property
    def duplicate_triangles(self) -> int:
        """Triangles with the same three vertices as an earlier one. They are kept."""
    @property
    def unreferenced_vertices(self) -> int:
        """Vertices that no triangle uses."""
    @property
    def reversed_triangles(self) -> int:
        """Triangles whose winding was turned so that neighbours agree and closed bodies face outwards."""
    @property
    def inconsistent_edges(self) -> int:
        """Edges whose two triangles still disagree in winding (a surface that has no consistent side)."""
    @property
    def closed(self) -> bool:
        """Every edge has two triangles that agree in winding."""
    @property
    def volume_m3(self) -> float:
        """Signed volume, cubic metres: positive when the mesh faces outwards, negative for the wall of a lumen.
        Meaningful when closed."""
    @property
    def area_m2(self) -> float:
        ...
    @property
    def box_min_m(self) -> npt.NDArray[np.float64]:
        """The box of all used vertices."""
    @property
    def box_max_m(self) -> npt.NDArray[np.float64]:
        ...
    @property
    def mean_edge_m(self) -> float:
        ...
    @property
    def sign_rule(self) -> SignRule:
        """How the sign of a distance to this mesh is decided."""
    @property
    def filled_holes(self) -> int:
        """Holes that were filled (MeshHeader.fill_holes_m)."""
    @property
    def added_triangles(self) -> int:
        """Triangles that fill them: the last ones, counted in `triangles`."""
    @property
    def welded_edges(self) -> int:
        """Seam edges: pairs of open edges at equal positions whose triangles name different vertices, as exporters
        write them along texture and normal seams. Exactly two open edges with equal ends and opposite directions
        count as one edge, and their ends as one vertex; all ids stay as they were sent. Three or more coincident
        edges, two in the same direction, and the two sides of a sheet are not joined. Each revision decides this
        anew: a deformation can separate a seam or close one, and a cut without width closes at once."""
    @property
    def unit_doubt(self) -> str:
        """A message for the user if the unit is in doubt: the longest side of the bounding box is below 0.5 mm or
        above 2.5 m. Empty otherwise."""

class Tissue(Answer):
    """A deformable triangle mesh in scene frame."""
    @property
    def tissue_id(self) -> int:
        """Unique in its scene, never used again there."""
    @property
    def name(self) -> str:
        ...
    @property
    def geometry_revision(self) -> int:
        """Rises by one with each deformation."""
    @property
    def topology_revision(self) -> int:
        """Rises by one with each cut."""
    @property
    def report(self) -> MeshReport:
        """As loaded."""
    @property
    def vertices(self) -> int:
        """Vertices and triangles now. Ids of removed triangles are not used again."""
    @property
    def triangles(self) -> int:
        ...
    @property
    def sign_rule(self) -> SignRule:
        """How inside is told from outside now (a cut can open a closed tissue)."""
    @property
    def kind(self) -> TissueKind:
        ...
    @property
    def durable_geometry_revision(self) -> int | None:
        """What would be there after a crash of the server now: all cuts, and the positions of this geometry revision
        or a newer one. The deformations after it are lost then, and their revisions are given anew. Missing in a
        scene that is not durable."""
    @property
    def durable_topology_revision(self) -> int | None:
        ...

class Link(Answer):
    """A rigid part of a tool: a shaft, a jaw."""
    @property
    def name(self) -> str:
        ...
    @property
    def report(self) -> MeshReport:
        ...
    @property
    def rest_pose(self) -> Pose | None:
        """Where the link is in its tool when a tick gives no link pose."""

class Probe(Answer):
    """A named sphere fixed to a link: a tip, a pad."""
    @property
    def name(self) -> str:
        """Unique in its tool, 1 to 64 characters."""
    @property
    def link(self) -> int:
        """The link it is fixed to, counted from 0."""
    @property
    def position_m(self) -> npt.NDArray[np.float64] | None:
        """In the link's frame, metres, after scale and basis, each at most 10,000 from 0. Missing: the origin."""
    @property
    def radius_m(self) -> float:
        """Metres, >= 0: the probe touches when its centre is this near."""

class Tool(Answer):
    """A rigid instrument."""
    @property
    def tool_id(self) -> int:
        """Unique in its scene, never used again there."""
    @property
    def name(self) -> str:
        ...
    @property
    def links(self) -> list[Link]:
        ...
    @property
    def probes(self) -> list[Probe]:
        ...

class FieldBuild(Answer):
    """Progress of a tool's fields."""
    @property
    def tool(self) -> str:
        """Name of the tool; its id is in AddTool's answer."""
    @property
    def link(self) -> str:
        """Name of the link whose field is being built."""
    @property
    def share(self) -> float:
        """Finished share of that field, 0 to 1. Never falls; not proportional to time."""

class Scene(Answer):
    """A scene: tissues and tools that can meet."""
    @property
    def scene_id(self) -> str:
        ...
    @property
    def tissues(self) -> list[Tissue]:
        ...
    @property
    def tools(self) -> list[Tool]:
        ...
    @property
    def quarantined(self) -> bool:
        """Its writer failed three times in a row: all but looking and deleting is refused with FAILED_PRECONDITION
        (violation type SCENE_QUARANTINED) until its indices have been rebuilt."""
    @property
    def durable(self) -> bool:
        """It survives the server. After a restart it has its id, its owner and the ids of its tissues and tools; held
        revisions are gone."""
    @property
    def field_builds(self) -> list[FieldBuild]:
        """Fields that AddTool calls are building now. A client that waits for AddTool reads its progress here."""

class FieldReport(Answer):
    """What a link's signed distance field costs and promises."""
    @property
    def subspaces(self) -> int:
        """Subspaces, one grid each."""
    @property
    def samples(self) -> int:
        """Distances stored."""
    @property
    def bytes(self) -> int:
        """Memory of the field."""
    @property
    def tolerance_m(self) -> float:
        """Error asked for, metres."""
    @property
    def bound_m(self) -> float:
        """Largest certified error of any cell, metres."""
    @property
    def interpolated_cells(self) -> int:
        """Cells that interpolate within the tolerance."""
    @property
    def exact_cells(self) -> int:
        """Cells that answer exactly, from the few triangles that can be nearest."""
    @property
    def wide_cells(self) -> int:
        """Cells that do neither: their certified interval is wider than the tolerance."""
    @property
    def build_ms(self) -> float:
        """Time to build the field or to read it from the cache, milliseconds."""
    @property
    def cached(self) -> bool:
        """Not built: read from the cache, or another link's of the same mesh."""

class DeformResponse(Answer):
    @property
    def sequence(self) -> int:
        ...
    @property
    def geometry_revision(self) -> int:
        """The tissue's revision that has this deformation."""
    @property
    def triangles_touched(self) -> int:
        """Triangles with a moved vertex."""
    @property
    def triangles_relocated(self) -> int:
        """Triangles that were filed elsewhere in the index: those that no longer move with their neighbours, also
        ones that moved earlier."""
    @property
    def update_us(self) -> float:
        """Time to apply and publish it, waiting excluded."""
    @property
    def held_geometry_revisions(self) -> npt.NDArray[np.uint64]:
        """When hold was set: the revisions of the tissue that are held now, oldest first, this one the last."""
    @property
    def durable_geometry_revision(self) -> int | None:
        """As in Tissue: a deformation does not wait for the disk."""
    @property
    def durable_topology_revision(self) -> int | None:
        ...
    @property
    def welded_edges(self) -> int:
        """MeshReport.welded_edges of this revision. It falls if the deformation separated a seam."""

class TriangleRemap(Answer):
    """What became of a removed triangle."""
    @property
    def old_triangle(self) -> int:
        ...
    @property
    def new_triangles(self) -> npt.NDArray[np.uint32]:
        """The triangles that named it as their parent. Empty: it is gone."""

class EditTopologyResponse(Answer):
    @property
    def topology_revision(self) -> int:
        ...
    @property
    def first_vertex(self) -> int:
        """Ids of the new vertices: first_vertex, first_vertex + 1, ..."""
    @property
    def added_vertices(self) -> int:
        ...
    @property
    def first_triangle(self) -> int:
        """Ids of the new triangles: first_triangle, first_triangle + 1, ..."""
    @property
    def added_triangles(self) -> int:
        ...
    @property
    def remap(self) -> list[TriangleRemap]:
        """What became of each removed triangle, in the order they were named."""
    @property
    def sign_rule(self) -> SignRule:
        ...
    @property
    def update_us(self) -> float:
        """Time to apply and publish it, waiting excluded."""
    @property
    def durable_geometry_revision(self) -> int | None:
        """As in Tissue: in a durable scene the cut is on the disk before it is acknowledged."""
    @property
    def durable_topology_revision(self) -> int | None:
        ...
    @property
    def welded_edges(self) -> int:
        """MeshReport.welded_edges of this revision."""

class HoldTissueResponse(Answer):
    @property
    def geometry_revision(self) -> int:
        """The revision that is held: the newest."""
    @property
    def topology_revision(self) -> int:
        ...
    @property
    def held_geometry_revisions(self) -> npt.NDArray[np.uint64]:
        """All that are held now, oldest first, this one the last. At most 8: see DeformRequest.hold."""
