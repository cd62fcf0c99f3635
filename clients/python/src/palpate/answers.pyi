"""What the server answers: see answers.py."""

# Written by tools/make_contract.py from ../../proto.
import enum

import numpy as np
import numpy.typing as npt

from .contact_list import ContactList
from .pose import Pose
from .views import Answer

class ContactState(enum.IntEnum):
    """Stage in the life of a contact. ended_contact_ids reports the end."""
    UNSPECIFIED = 0
    BEGIN = 1
    PERSIST = 2

class FeatureKind(enum.IntEnum):
    """Kinds of feature pairs that meet."""
    UNSPECIFIED = 0
    VERTEX_FACE = 1
    EDGE_EDGE = 2
    FACE_VERTEX = 3
    """Only in FeaturePairs: the face is the tissue's."""

class RenderState(enum.IntEnum):
    """Relation of a proxy to the tissues."""
    UNSPECIFIED = 0
    FREE = 1
    """Nothing holds the proxy: it is at the device's pose."""
    TOUCHING = 2
    """Tissue holds the proxy back."""
    EMBEDDED = 3
    """The proxy began or was teleported inside a tissue, or a tissue was added or cut so that it contains the
    proxy. The part of the tissue around the crossing triangles exerts no force until the proxy has been outside
    once; if the proxy is wholly inside, the whole tissue exerts none. Other parts still hold the proxy. A proxy
    in exact contact, or at most 20 um inside, is moved off instead and is TOUCHING."""
    SQUEEZED = 4
    """Moving tissue leaves no space for the proxy. The proxy stays on its side of each contact and violates the
    contacts by the least possible amount, Rendering.residual_m. The force is the spring's force towards that
    position."""
    LATE = 5
    """The tick's time ended before the proxy arrived; the proxy continues in the next tick. Contacts, force and
    loads are those of the last tick that was in time; the force is no greater than that of the spring between
    proxy and device. Tissue that moved and was not followed in time may overlap the proxy, no deeper than it
    moved since the last answer that was not late. The proxy follows the tissue from its last pose, so it comes
    out on the side that it was on."""

class UnsweptReason(enum.IntEnum):
    """Reason why a contact on the way to this pose may be missing from this answer and all earlier ones. If
    several links or reasons apply, the reason with the greatest number is reported."""
    UNSPECIFIED = 0
    NOT_ASKED_FOR = 1
    """Not requested: omit_contacts or omit_sweep."""
    FIRST_TICK = 2
    """No previous pose: a stream's first tick, or the first after a tick that failed."""
    TELEPORT = 3
    """The tool was teleported."""
    NEW_TISSUE = 4
    """A tissue is new: the motion before it was added is not tested against it."""
    GOING_ON = 5
    """The time ended first. The next ticks continue where the sweep stopped and give the contacts still to be
    found; none is dropped. The answer with which the sweep has caught up has FLAG_SWEPT."""

class SignRule(enum.IntEnum):
    """Rule that distinguishes inside from outside."""
    UNSPECIFIED = 0
    PSEUDONORMAL = 1
    """Angle-weighted normal of the closest feature: the mesh is closed and has one body."""
    WINDING_NUMBER = 2
    """Generalised winding number: the mesh is open or has several bodies. Answers carry a certainty. The rule
    also applies to a SIGN_RULE_PSEUDONORMAL mesh while it crosses itself: see LinkAnswer.sign_certainty."""

class TissueKind(enum.IntEnum):
    """Role of a tissue for an instrument."""
    UNSPECIFIED = 0
    """Equal to TISSUE_KIND_TISSUE."""
    TISSUE = 1
    FORBIDDEN_REGION = 2
    """Region that an instrument must stay out of: it holds rendered tools back like tissue, is marked in
    contacts, and bears no load."""
    INSTRUMENT = 3
    """Link of a tool, of AddInstrument. Streams and queries that have this tool leave it out; all other tools
    meet it like tissue, and its load is the force and torque on the other instrument."""

class ControlKind(enum.IntEnum):
    """Kind of the controls of a driven tissue."""
    UNSPECIFIED = 0
    """Equal to CONTROL_KIND_POINTS."""
    POINTS = 1
    """Points, such as the nodes of a solver's mesh: a vertex is at the weighted sum of their positions."""
    FRAMES = 2
    """Frames, such as bones: a vertex is at the weighted sum of the positions to which each frame alone would
    carry it from rest. Such a blend shrinks under twist; a single frame moves its vertices rigidly."""

class Flag(enum.IntFlag):
    """Flags as masks of `flags`: flags & FLAG_MASK_SWEPT."""
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
        """Metres, scene frame."""
    @property
    def triangle_id(self) -> int:
        """Id of the triangle in its mesh, as numbered at upload or by the edit that added it."""
    @property
    def barycentric(self) -> npt.NDArray[np.float64]:
        """Weights of the triangle's vertices in stored order; their sum is 1. The stored order is the order of the
        upload, except that the second and third vertex are swapped in a triangle that was turned to face outwards
        (MeshReport.reversed_triangles) and in every triangle of a left-handed mesh. ExportTissue and ExportTool
        return the stored order."""

class Contacts(ContactList, Answer):
    """Contacts as parallel arrays: the i-th entry of each belongs to the i-th contact. A `_xyz` array holds three
    numbers for each contact. f32: rounded by at most 6e-8 of the coordinate. A contact is a tissue triangle that
    is inside the link or nearer to it than contact_margin_m. A link that is wholly inside a tissue touches no
    triangle; a single contact then represents the link: its deepest vertex, and the triangle nearest to that
    vertex (wholly_inside). on_tool - on_tissue is signed_distance_m times normal. For a contact that the link has
    left behind (see toi) the two points may be apart by the thickening of the link's path."""
    @property
    def total(self) -> int:
        """Number of contacts found, including those beyond max_contacts."""
    @property
    def tissue_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def triangle_ids(self) -> npt.NDArray[np.uint32]:
        """The tissue triangle."""
    @property
    def barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Barycentric weights u, v, w on that triangle."""
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
        """Negative: penetrating by that depth."""
    @property
    def link_triangle_ids(self) -> npt.NDArray[np.uint32]:
        """The touched triangle of the link."""
    @property
    def contact_ids(self) -> npt.NDArray[np.uint64]:
        """Id of the contact, constant while the contact persists: on the same triangle or a neighbouring one, at a
        nearby point, through deformations and the remap of cuts. Unique in the stream, never used again."""
    @property
    def states(self) -> npt.NDArray[np.int32]:
        ...
    @property
    def toi(self) -> npt.NDArray[np.float32]:
        """Time at which the sweep met the triangle: 0 at the pose of the last answer that had FLAG_SWEPT (otherwise
        the pose at which the stream began or the tool was placed), 1 at this pose, never later than the true time. If
        the tool rotated, its path is thickened by 2e-4 of its length, for rotations beyond 45 degrees between two
        poses by up to 3e-3: the toi is earlier by the time to cross this thickness, and a triangle passed within it
        counts as met. A sweep that continues in a later tick, or comes after more than four deformations, takes the
        tissue in its state at that time and thickens the path by the distance that the tissue can have moved since.
        Negative: the sweep did not meet the triangle; it was touched before, also by an answer that the sweep had not
        caught up with, or is only within the margin. A triangle that the link already touched where the swept path
        begins, and that a cut-short answer (or a coalesced tick) did not report, has the time of that point. A
        contact that the link has left behind is given as it was at that time, with distance 0."""
    @property
    def forbidden(self) -> npt.NDArray[np.bool_]:
        """The tissue is a forbidden region. Empty if the scene has none."""
    @property
    def wholly_inside(self) -> npt.NDArray[np.bool_]:
        """The contact represents a link that is wholly inside the tissue: no triangle is touched there. Empty: there
        is no such contact."""
    @property
    def depth_max_m(self) -> npt.NDArray[np.float32]:
        """Bound on the depth of the tissue triangle's points in the link, metres; a depth is positive. Empty unless a
        contact has a triangle that may be deeper than its signed_distance_m says by more than twice the tolerance of
        the link's field; for the other contacts it is then minus that distance."""
    @property
    def link_barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Barycentric weights of on_tool on the link's triangle. Empty unless link_barycentrics was requested."""

class TrianglePairs(Answer):
    """Pairs of triangles with a point in common, as parallel arrays: the i-th entry of each belongs to the i-th
    pair. The pairs are exact: those that brute force finds on the placed vertices; touching counts. Ordered by
    tissue, its triangle and the link's triangle. Arrays of ends hold two ends of three numbers for each pair.
    f32: rounded by at most 6e-8 of the coordinate."""
    @property
    def total(self) -> int:
        """Number of pairs found, including those beyond max_pairs."""
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
        """Segment of crossing, scene frame, metres; it runs along normal of triangle_ids x normal of
        link_triangle_ids. Ends shared by two pairs are equal to the bit, so segments chain into curves."""
    @property
    def triangle_barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 2, 3)
        """Weights of the segment's ends on each triangle."""
    @property
    def link_triangle_barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 2, 3)
        ...
    @property
    def coplanar(self) -> npt.NDArray[np.bool_]:
        """The two triangles are in one plane; the segment is between the two common points farthest apart."""

class FeaturePairs(Answer):
    """Pairs of features within contact_margin_m as parallel arrays, nearest first: a vertex of the tissue and a
    face of the link, a face and a vertex, an edge and an edge. Each pair is given once, whichever triangles share
    its features; all are counted, also those of features whose triangles cross: a distance has no sign. While
    vertices move little, a distance grows by normal . (weighted motion of the link's vertices less that of the
    tissue's): a row of a solver."""
    @property
    def total(self) -> int:
        """Number of pairs found, including those beyond max_pairs."""
    @property
    def tissue_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def kinds(self) -> npt.NDArray[np.int32]:
        ...
    @property
    def vertex_ids(self) -> npt.NDArray[np.uint32]:
        """Four vertices for each pair: first those of the tissue's feature (one, three or two, by the kind), then
        those of the link's. Ends of an edge ascend; a face's vertices are in stored order. Vertices that a seam joins
        have the least number of them."""
    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """Weights of the closest points on the two features; they sum to 1 on each."""
    @property
    def distance_m(self) -> npt.NDArray[np.float32]:
        ...
    @property
    def normal_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Unit, from the tissue to the link, scene frame; zero if the features meet."""

class LinkAnswer(Answer):
    """Result for a link against the tissues."""
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
        FieldOptions.tolerance_m, unless depth_max_m is set. If is_lower_bound is set, no tissue is nearer than this
        (nor deeper, if it is negative: the tick had no time to search), and the fields from tissue_id to
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
        """Certainty of the sign, from 0 (a guess) to 1 (certain). It is 1 for a closed surface, even while the
        surface crosses itself: inside is the region that it winds around once or more. A pocket that it encloses
        inside out (winding -1 or less), for example if a dent was pushed out below a thin organ, counts as outside
        with a certainty of 0. All answers follow this rule."""
    @property
    def contacts(self) -> Contacts:
        """Deepest first."""
    @property
    def ended_contact_ids(self) -> npt.NDArray[np.uint64]:
        """Contacts of the last answer, including those beyond max_contacts, that no longer exist. Each is named
        once."""
    @property
    def pairs(self) -> TrianglePairs:
        """Set if triangle_pairs was requested."""
    @property
    def feature_pairs(self) -> FeaturePairs | None:
        """Set if feature_pairs was requested."""
    @property
    def depth_max_m(self) -> float | None:
        """Bound on the depth, metres; a depth is positive. Set, together with FLAG_DEPTH_UNCERTAIN, if a point,
        including that of a contact that was not found, may be deeper than signed_distance_m says by more than twice
        the tolerance: no point of a tissue is deeper in the link, and no vertex of the link deeper in a tissue, than
        this. This happens near an open end, at which the side changes without a triangle and a search would take too
        long, and if the search of a very long triangle stopped early. Not set with is_cut_short, which says so of
        everything."""
    @property
    def is_cut_short(self) -> bool:
        """The time ended before all of this link was searched; then FLAG_DEGRADED is set too. The given contacts and
        pairs are correct, but some may be missing. A known contact that was not examined is neither given nor ended:
        the next ticks continue with those contacts, then with the others in turn. The distance is that of the closest
        points that were found, or the lower bound."""
    @property
    def lower_bound_m(self) -> float | None:
        """Bound on the true distance, metres, set with is_cut_short: no tissue is nearer than this; below 0, none is
        deeper. The true distance is at or above this bound, and not above signed_distance_m unless is_lower_bound is
        set."""

class ProbeAnswer(Answer):
    """Result for a probe against the tissues."""
    @property
    def tool_id(self) -> int:
        ...
    @property
    def probe(self) -> int:
        """Counted from 0 in its tool."""
    @property
    def signed_distance_m(self) -> float:
        """Metres from the probe's centre to the nearest tissue surface, less its radius; negative if the probe
        touches. The distance of a centre inside the tissue counts negative. A lower bound if is_lower_bound is
        set."""
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
    """Reason why a tick was refused. The tick changed nothing."""
    @property
    def code(self) -> int:
        """A google.rpc.Code."""
    @property
    def field(self) -> str:
        """The invalid field, for example `tools[0].pose.orientation`."""
    @property
    def message(self) -> str:
        """Description of the error, with the received and the expected value."""

class LinkPairs(Answer):
    """Two links that cross each other."""
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
        """If both links belong to one tool, other_link is the later one."""
    @property
    def pairs(self) -> TrianglePairs:
        """In these pairs triangle_ids are those of the other link."""

class StageTimes(Answer):
    """Time that a tick spent at the server, from its bytes to the bytes of its answer, by the stages of the
    metrics. Microseconds."""
    @property
    def wait_us(self) -> float:
        """From the tick's bytes to the engine."""
    @property
    def engine_us(self) -> float:
        """In the engine; also TrackResponse.compute_us."""
    @property
    def convert_us(self) -> float:
        """From the engine's answer to this message."""
    @property
    def render_us(self) -> float:
        """Part of engine_us: moving the proxies of rendered tools."""

class TissueLoad(Answer):
    """Load of a tool's contacts on a tissue: a solver adds it to its external forces. Forces and moment are
    opposite to those of the contacts, to 1e-6 of them."""
    @property
    def tissue_id(self) -> int:
        ...
    @property
    def geometry_revision(self) -> int:
        """Revision that the vertices refer to."""
    @property
    def vertex_ids(self) -> npt.NDArray[np.uint32]:
        """Ascending."""
    @property
    def force_xyz_n(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Three numbers for each vertex, newtons."""
    @property
    def control_ids(self) -> npt.NDArray[np.uint32]:
        """The same load on the controls of a driven tissue, ascending: forces, and moments about any point, sum to
        the same."""
    @property
    def control_force_xyz_n(self) -> npt.NDArray[np.float64]:  # (n, 3)
        """Three numbers for each control, newtons."""
    @property
    def control_torque_xyz_nm(self) -> npt.NDArray[np.float64]:  # (n, 3)
        """Three numbers for each frame, newton metres, about its origin; empty for points."""

class GraspEvent(Answer):
    """Start or end of a grasp: two links, whose contacts oppose each other, hold a tissue between them."""
    @property
    def tissue_id(self) -> int:
        ...
    @property
    def link(self) -> int:
        """The lesser of the two links."""
    @property
    def other_link(self) -> int:
        ...
    @property
    def contact_id(self) -> int:
        """Ids as in Rendering.contact_ids, on link and other_link."""
    @property
    def other_contact_id(self) -> int:
        ...
    @property
    def begins(self) -> bool:
        """true: the grasp begins; false: it ends."""

class LocalModel(Answer):
    """Contacts around a proxy, approximated by planes, so that a device can render them at its own rate without
    waiting for answers. Scene frame. A displacement moves a point c of a link by dx + dtheta x (c - hold point) +
    dl times the link's screw, and changes a contact's gap: gap(t) = gap_m + normal . (displacement of on_tool) -
    normal_velocity_m_s t t counts from the sending of the tick (TrackResponse.client_time_ns). The revisions are
    TrackResponse.tissues."""
    @property
    def tool_id(self) -> int:
        """Tool and sequence of the answer, repeated here because a model may be passed on alone."""
    @property
    def sequence(self) -> int:
        ...
    @property
    def server_time_ns(self) -> int:
        """Time at which the server began to answer that tick, by the clock of TrackResponse.received_ns."""
    @property
    def reference(self) -> Pose | None:
        """Reference pose: the pose of the proxy. Displacements count from here."""
    @property
    def reference_link_poses(self) -> list[Pose]:
        """Tool frame from link frame, one for each link."""
    @property
    def hold_point_m(self) -> npt.NDArray[np.float64] | None:
        """Equal to RenderOptions.hold_point_m."""
    @property
    def reach_m(self) -> float:
        """Upper bound on the distance of the tool's points from the hold point, metres."""
    @property
    def complete_radius_m(self) -> float:
        """Radius within which the rows are complete, metres: while no point of the tool is displaced from the
        reference by more than this radius, less tissue_speed_m_s times the age, any contact with tissue violates a
        row, to within the row's gap_error_m; second-order terms of a rotation count. Beyond the radius the rows hold
        unchanged, but the tool may touch tissue that no row describes. Without rows this is the radius within which
        the tool moves freely."""
    @property
    def tissue_speed_m_s(self) -> float:
        """Upper bound on the speed of the tissues that can hold the proxy."""
    @property
    def expires_us(self) -> int:
        """Age after which the model must not be used: 100,000. The force then fades to zero within 50 ms, and with a
        newer model is back at the cap after 0.25 s."""
    @property
    def friction(self) -> float:
        """Equal to RenderOptions.friction."""
    @property
    def link_screws(self) -> npt.NDArray[np.float64]:
        """Motion of each link per metre of its coordinate, tool frame: six numbers for each link, radians of rotation
        and metres of the origin. All 0: the link has not been moved yet."""
    @property
    def contact_ids(self) -> npt.NDArray[np.uint64]:
        """Contacts, as parallel arrays, at most 64. Ids as in Rendering.contact_ids. 0: not a contact but a plane
        that keeps a triangle of the tissue from the link if no contact's plane does; it has no friction."""
    @property
    def contact_tissue_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def contact_links(self) -> npt.NDArray[np.uint32]:
        """Links, counted from 0 in the tool."""
    @property
    def on_tool_xyz_m(self) -> npt.NDArray[np.float64]:  # (n, 3)
        """Points of the link at the reference pose, three numbers each, metres."""
    @property
    def normal_xyz(self) -> npt.NDArray[np.float64]:  # (n, 3)
        """Unit normals from tissue to tool, three numbers each."""
    @property
    def gap_m(self) -> npt.NDArray[np.float64]:
        """Height of on_tool above the tissue's plane. A proxy at rest keeps 20 um; a proxy that was stopped on its
        way may be nearer until the next tick, and is never at 0."""
    @property
    def normal_velocity_m_s(self) -> npt.NDArray[np.float64]:
        """Velocity of the tissue along the normal; positive if the tissue approaches."""
    @property
    def gap_error_m(self) -> npt.NDArray[np.float64]:
        """Bound on the error of the gap within the radius."""
    @property
    def compliance_m_per_n(self) -> npt.NDArray[np.float64]:
        """Laws of the contacts, five more arrays: see Material. All empty: every contact is rigid, and has
        `friction`. Compliance is the reciprocal of the stiffness, 0 if rigid."""
    @property
    def damping_n_s_per_m(self) -> npt.NDArray[np.float64]:
        ...
    @property
    def static_friction(self) -> npt.NDArray[np.float64]:
        ...
    @property
    def dynamic_friction(self) -> npt.NDArray[np.float64]:
        ...
    @property
    def stribeck_velocity_m_s(self) -> npt.NDArray[np.float64]:
        ...

class Rendering(Answer):
    """Result of rendering one tool. Scene frame."""
    @property
    def tool_id(self) -> int:
        ...
    @property
    def proxy(self) -> Pose:
        """Scene frame from tool frame, of the proxy: the pose at which a simulator draws the tool."""
    @property
    def proxy_link_poses(self) -> list[Pose]:
        """Tool frame from link frame, of the proxy: one for each link."""
    @property
    def link_follow_m(self) -> npt.NDArray[np.float64]:
        """Distance of each link from its commanded pose, metres at the link's farthest point: nonzero for a jaw that
        closes on tissue. Times link_stiffness_n_per_m it is the force of the grip on rigid tissue."""
    @property
    def force_n(self) -> npt.NDArray[np.float64]:
        """Force to send to the hand, newtons, at the hold point. Points towards the proxy; zero in the air."""
    @property
    def torque_nm(self) -> npt.NDArray[np.float64]:
        """Torque about the hold point, newton metres."""
    @property
    def state(self) -> RenderState:
        ...
    @property
    def residual_m(self) -> float:
        """Depth of the worst contact in RENDER_STATE_SQUEEZED, metres."""
    @property
    def limited(self) -> bool:
        """Cap or rate changed force or torque: they are not the sum of the contacts' forces now."""
    @property
    def contact_ids(self) -> npt.NDArray[np.uint64]:
        """Load-bearing contacts, as parallel arrays. The ids belong to this proxy: each stays the same while its
        contact lasts, and is unrelated to Contacts.contact_ids."""
    @property
    def contact_tissue_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def contact_links(self) -> npt.NDArray[np.uint32]:
        """Links, counted from 0 in the tool."""
    @property
    def contact_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Points on the tissue, three numbers each, metres."""
    @property
    def contact_force_xyz_n(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Forces on the tool, three numbers each, newtons. Their sum is the force before cap and rate."""
    @property
    def contact_forbidden(self) -> npt.NDArray[np.bool_]:
        """The tissue is a forbidden region."""
    @property
    def tissue_loads(self) -> list[TissueLoad]:
        """Loads, one for each tissue that bears a load, ordered by id; forbidden regions bear none."""
    @property
    def grasps(self) -> list[GraspEvent]:
        """Grasps that began or ended in this tick."""
    @property
    def device_distance_m(self) -> npt.NDArray[np.float64]:
        """Distances in metres from each link to the nearest tissue, at the device's pose; set if device_distances was
        requested. A lower bound, like LinkAnswer.signed_distance_m, if device_distance_is_lower_bound is set."""
    @property
    def device_distance_is_lower_bound(self) -> npt.NDArray[np.bool_]:
        ...
    @property
    def local_model(self) -> LocalModel | None:
        """Set if RenderOptions.local_model was requested. Missing if the tick's time ended before the proxy had
        followed the tissues: continue with the last model until it expires."""

class TrackResponse(Answer):
    @property
    def sequence(self) -> int:
        """Sequence of the answered tick."""
    @property
    def coalesced(self) -> int:
        """Number of older ticks coalesced into this one: they have no answer of their own."""
    @property
    def client_time_ns(self) -> int:
        """Equal to Tick.client_time_ns."""
    @property
    def received_ns(self) -> int:
        """Time at which the server read the tick: nanoseconds of its monotonic clock."""
    @property
    def compute_us(self) -> float:
        """Time in the engine, microseconds."""
    @property
    def flags(self) -> Flag:
        """Combination of Flag values: bit n is the flag with number n. FlagMask has them as masks."""
    @property
    def tissues(self) -> list[TissueState]:
        """Every tissue of the scene, ordered by id, at the revision that the answer was computed from."""
    @property
    def links(self) -> list[LinkAnswer]:
        """Results, one for each link of each tool, in the order of TrackStart."""
    @property
    def probes(self) -> list[ProbeAnswer]:
        """Results, one for each probe of each tool, in the same order."""
    @property
    def refusal(self) -> Refusal | None:
        """Set if the tick was refused; then only sequence, coalesced, client_time_ns, received_ns, flags and
        session_token are valid."""
    @property
    def link_pairs(self) -> list[LinkPairs]:
        """Links of the stream's tools that cross each other; set if link_pairs was requested. Ordered like links;
        links that do not cross are left out."""
    @property
    def session_token(self) -> bytes:
        """Token for TrackStart.resume_token after the stream breaks off; set in the first answer of a stream. The
        token is a secret. Empty if the server keeps no sessions."""
    @property
    def is_notice(self) -> bool:
        """This message answers no tick: sequence is that of the last answered tick, and only received_ns, flags and
        session_token are valid."""
    @property
    def stages(self) -> StageTimes | None:
        """Set in the answers of Track if report_stages was requested."""
    @property
    def renderings(self) -> list[Rendering]:
        """Results, one for each of TrackStart.render, in that order. Empty in a refusal or a notice: let the force
        fade then."""
    @property
    def resumed_sequence(self) -> int | None:
        """Greatest sequence that the session had taken before, answered, coalesced or waiting; set in the first
        answer of a resumed stream (TrackStart.resume_token). Ticks continue above it. Missing: the session had taken
        none."""
    @property
    def unswept_reason(self) -> UnsweptReason:
        """Reason why FLAG_SWEPT is not set; unspecified if it is set."""

class QueryDistancesResponse(Answer):
    """Parallel arrays: the i-th entry of each belongs to the i-th point."""
    @property
    def signed_distance_m(self) -> npt.NDArray[np.float64]:
        """Negative inside. If is_lower_bound is set: no surface is nearer than this."""
    @property
    def is_lower_bound(self) -> npt.NDArray[np.bool_]:
        ...
    @property
    def tissue_ids(self) -> npt.NDArray[np.uint32]:
        """Nearest tissue; 0 if the target is a link."""
    @property
    def closest_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Closest point, its triangle and its weights there. Zero if is_lower_bound is set. f32: rounded by at most
        6e-8 of the coordinate."""
    @property
    def triangle_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        ...
    @property
    def normal_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Unit normal, outwards at the closest point."""
    @property
    def sign_certainty(self) -> npt.NDArray[np.float32]:
        """Certainty of the sign, from 0 (a guess) to 1 (certain)."""
    @property
    def tissues(self) -> list[TissueState]:
        """Every tissue of the scene, ordered by id, at the revision that the answer was computed from."""

class QueryContactsResponse(Answer):
    @property
    def flags(self) -> Flag:
        """Fields as in TrackResponse."""
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
        """Tissue of the vertex, or of the edge that is less by tissue and vertices."""
    @property
    def other_tissue_ids(self) -> npt.NDArray[np.uint32]:
        """Tissue of the face, or of the other edge."""
    @property
    def vertex_ids(self) -> npt.NDArray[np.uint32]:  # (n, 4)
        """Four vertex ids for each contact, which name the features. A vertex and a face: the vertex, then the face's
        three vertices in stored order. Two edges: the ends of the first, ascending, then of the other, ascending."""
    @property
    def triangle_ids(self) -> npt.NDArray[np.uint32]:
        """A face is its triangle in other_triangle_ids. A vertex or an edge is given by the least triangle that has
        it."""
    @property
    def other_triangle_ids(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Barycentric weights u, v, w of the contact on these triangles."""
    @property
    def other_barycentric_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        ...
    @property
    def point_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Closest points of the two features at toi: scene frame, metres. Without a thickness both are equal up to
        rounding."""
    @property
    def other_point_xyz_m(self) -> npt.NDArray[np.float32]:  # (n, 3)
        ...
    @property
    def normal_xyz(self) -> npt.NDArray[np.float32]:  # (n, 3)
        """Unit normal, towards the first feature from the other, as they come together. Zero if neither the features
        nor their motion define a direction."""

class TissueMotion(Answer):
    """The revisions between which a tissue was taken to move."""
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
        """Topology revision of both geometry revisions."""

class SelfCollisionTotals(Answer):
    """Totals of all contacts, and the revisions compared."""
    @property
    def vertex_face(self) -> int:
        """Number of contacts found, including those beyond max_contacts."""
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
    """Properties of a mesh, determined at load. Counts refer to the mesh as stored."""
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
        """Edges with one triangle, excluding joined edges (welded_edges)."""
    @property
    def non_manifold_edges(self) -> int:
        """Edges with three triangles or more."""
    @property
    def degenerate_triangles(self) -> int:
        """Triangles of zero area. They are kept, and distances to them are those to the segment or point that they
        form."""
    @property
    def duplicate_triangles(self) -> int:
        """Triangles with the same three vertices as an earlier triangle. They are kept."""
    @property
    def unreferenced_vertices(self) -> int:
        """Vertices that no triangle uses."""
    @property
    def reversed_triangles(self) -> int:
        """Triangles whose winding was reversed so that neighbours agree and closed bodies face outwards."""
    @property
    def inconsistent_edges(self) -> int:
        """Edges whose two triangles still disagree in winding (a surface that has no consistent side)."""
    @property
    def closed(self) -> bool:
        """Every edge has two triangles, and they agree in winding."""
    @property
    def volume_m3(self) -> float:
        """Signed volume, cubic metres: positive if the mesh faces outwards, negative for the wall of a lumen.
        Meaningful if closed."""
    @property
    def area_m2(self) -> float:
        ...
    @property
    def box_min_m(self) -> npt.NDArray[np.float64]:
        """Bounding box of all used vertices."""
    @property
    def box_max_m(self) -> npt.NDArray[np.float64]:
        ...
    @property
    def mean_edge_m(self) -> float:
        ...
    @property
    def sign_rule(self) -> SignRule:
        """Rule that decides the sign of a distance to this mesh."""
    @property
    def filled_holes(self) -> int:
        """Holes that were filled (MeshHeader.fill_holes_m)."""
    @property
    def added_triangles(self) -> int:
        """Triangles that fill these holes: the last ones of the mesh, included in `triangles`."""
    @property
    def welded_edges(self) -> int:
        """Seam edges: pairs of open edges at equal positions whose triangles use different vertices, as exporters
        write them along texture and normal seams. Exactly two open edges with equal ends and opposite directions
        count as one edge, and their ends as one vertex; all ids stay as they were sent. Three or more coincident
        edges, two edges in the same direction, and the two sides of a sheet are not joined. Each revision decides
        this again: a deformation can separate a seam or close one, and a cut without width closes at once."""
    @property
    def warnings(self) -> list[str]:
        """Texts for the user on what is unusual and often a mistake, each completing "the mesh ...": a longest side
        below 0.5 mm or above 2.5 m, open edges, several bodies, split vertices, reversed or degenerate triangles and
        the like."""

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
        """Report of the mesh as loaded."""
    @property
    def vertices(self) -> int:
        """Vertices and triangles now. Ids of removed triangles are not used again."""
    @property
    def triangles(self) -> int:
        ...
    @property
    def sign_rule(self) -> SignRule:
        """Rule that distinguishes inside from outside now (a cut can open a closed tissue)."""
    @property
    def kind(self) -> TissueKind:
        ...
    @property
    def durable_geometry_revision(self) -> int | None:
        """Revisions that would survive a crash of the server now: all cuts, and the positions of this geometry
        revision or a newer one. Later deformations are lost in a crash, and their revision numbers are assigned
        again. Missing in a scene that is not durable."""
    @property
    def durable_topology_revision(self) -> int | None:
        ...
    @property
    def controls(self) -> int:
        """Controls that carry its vertices, and their kind. 0: the tissue was added without a binding."""
    @property
    def control_kind(self) -> ControlKind:
        ...
    @property
    def tool_id(self) -> int:
        """Tool and link of TISSUE_KIND_INSTRUMENT. The tool may have been removed since."""
    @property
    def link(self) -> int:
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
        """Tool frame from link frame, used if a tick gives no link pose."""

class Probe(Answer):
    """A named sphere fixed to a link: a tip, a pad."""
    @property
    def name(self) -> str:
        """Unique in its tool, 1 to 64 characters."""
    @property
    def link(self) -> int:
        """The link to which the probe is fixed, counted from 0."""
    @property
    def position_m(self) -> npt.NDArray[np.float64] | None:
        """Centre in the link's frame, metres, after scale and basis, each coordinate at most 10,000 from 0. Missing:
        the origin."""
    @property
    def radius_m(self) -> float:
        """Metres, >= 0: the probe touches if its centre is within this distance."""

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
        """The scene's writer failed three times in a row: all calls except reading and deleting are refused with
        FAILED_PRECONDITION (violation type SCENE_QUARANTINED) until its indices have been rebuilt."""
    @property
    def durable(self) -> bool:
        """The scene survives the server. After a restart it has its id, its owner and the ids of its tissues and
        tools; held revisions are gone."""
    @property
    def field_builds(self) -> list[FieldBuild]:
        """Fields that AddTool calls are building now. A client that waits for AddTool reads its progress here."""

class FieldReport(Answer):
    """Size, accuracy and build time of a link's signed distance field."""
    @property
    def subspaces(self) -> int:
        """Subspaces, one grid each."""
    @property
    def samples(self) -> int:
        """Distances stored."""
    @property
    def bytes(self) -> int:
        """Memory of the field, bytes."""
    @property
    def tolerance_m(self) -> float:
        """Requested error, metres."""
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
        """Cells of neither kind: their certified interval is wider than the tolerance."""
    @property
    def build_ms(self) -> float:
        """Time to build the field or to read it from the cache, milliseconds."""
    @property
    def cached(self) -> bool:
        """The field was not built: it was read from the cache, or shared with another link of the same mesh."""

class DeformResponse(Answer):
    @property
    def sequence(self) -> int:
        ...
    @property
    def geometry_revision(self) -> int:
        """Revision of the tissue that contains this deformation."""
    @property
    def triangles_touched(self) -> int:
        """Triangles with a moved vertex."""
    @property
    def triangles_relocated(self) -> int:
        """Triangles that were moved within the index: those that no longer move with their neighbours, including ones
        that moved earlier."""
    @property
    def update_us(self) -> float:
        """Time to apply and publish the deformation, excluding waiting, microseconds."""
    @property
    def held_geometry_revisions(self) -> npt.NDArray[np.uint64]:
        """Revisions of the tissue that are held now, oldest first, this one last; set if hold was set."""
    @property
    def durable_geometry_revision(self) -> int | None:
        """Durable revisions, see Tissue: a deformation does not wait for the disk."""
    @property
    def durable_topology_revision(self) -> int | None:
        ...
    @property
    def welded_edges(self) -> int:
        """MeshReport.welded_edges of this revision. It falls if the deformation separated a seam."""

class TriangleRemap(Answer):
    """Replacement of a removed triangle."""
    @property
    def old_triangle(self) -> int:
        ...
    @property
    def new_triangles(self) -> npt.NDArray[np.uint32]:
        """Triangles that named it as their parent. Empty: the triangle has no replacement."""

class IncisionMade(Answer):
    """The vertices of an incision, in the order of its line: left and right lip are seen from outside, and as
    many. At an end that is single, both have its vertex. Where the line crosses a seam, one of several vertices
    in one place."""
    @property
    def left_vertices(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def right_vertices(self) -> npt.NDArray[np.uint32]:
        ...
    @property
    def floor_vertices(self) -> npt.NDArray[np.uint32]:
        """Between the lips, below them; empty without a depth."""
    @property
    def width_m(self) -> float:
        """Greatest width, metres."""
    @property
    def replaced_vertices(self) -> npt.NDArray[np.uint32]:
        """Vertices beside the line, where the surface gives way to the lips, and the added vertices that take their
        places; empty without a width."""
    @property
    def replacing_vertices(self) -> npt.NDArray[np.uint32]:
        ...

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
        """Replacements of each removed triangle, in the order of the request."""
    @property
    def sign_rule(self) -> SignRule:
        ...
    @property
    def update_us(self) -> float:
        """Time to apply and publish the edit, excluding waiting, microseconds."""
    @property
    def durable_geometry_revision(self) -> int | None:
        """Durable revisions, see Tissue: in a durable scene the cut is on the disk before it is acknowledged."""
    @property
    def durable_topology_revision(self) -> int | None:
        ...
    @property
    def welded_edges(self) -> int:
        """MeshReport.welded_edges of this revision."""
    @property
    def added_positions_m(self) -> npt.NDArray[np.float32]:
        """Where the controls of a driven tissue carry the new vertices, metres, or where an incision has them; empty
        for other cuts, whose new vertices are where the request has them."""
    @property
    def added_triangle_vertices(self) -> npt.NDArray[np.uint32]:
        """Of an incision: three vertices of each added triangle. The removed ones are in `remap`."""
    @property
    def incision(self) -> IncisionMade | None:
        ...

class HoldTissueResponse(Answer):
    @property
    def geometry_revision(self) -> int:
        """The held revision: the newest."""
    @property
    def topology_revision(self) -> int:
        ...
    @property
    def held_geometry_revisions(self) -> npt.NDArray[np.uint64]:
        """All revisions held now, oldest first, this one last. At most 8: see DeformRequest.hold."""

class SetFeelResponse(Answer):
    @property
    def geometry_revision(self) -> int:
        """The revision from which on ticks feel the materials."""
    @property
    def topology_revision(self) -> int:
        ...
