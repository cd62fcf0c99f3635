//! Plain structs that cross the border. All lengths are in metres, all frames right-handed.

use std::ffi::c_char;

use glam::{DQuat, DVec3};
use palpate::{geometry::Pose, scene::NearestSurface};

use crate::{code::Failure, growing::growing};

/// A point or direction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_vec3 {
    /// x coordinate.
    pub x: f64,
    /// y coordinate.
    pub y: f64,
    /// z coordinate.
    pub z: f64,
}

/// A rotation: a quaternion of norm 1, to within 0.001. All zero is refused.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_quaternion {
    /// Coefficient of i.
    pub x: f64,
    /// Coefficient of j.
    pub y: f64,
    /// Coefficient of k.
    pub z: f64,
    /// The real part; 1 for no rotation.
    pub w: f64,
}

/// A rigid transform: first the rotation, then the translation.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_pose {
    /// Metres, in the frame that the pose maps to.
    pub position_m: palpate_vec3,
    /// Rotation of the frame.
    pub orientation: palpate_quaternion,
}

/// Force and torque to send to the hand, scene frame, at the hold point.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_wrench {
    /// Force, newtons.
    pub force_n: palpate_vec3,
    /// Torque about the hold point, newton metres.
    pub torque_nm: palpate_vec3,
    /// Time since the tick that the force's model answers was sent, seconds.
    pub model_age_s: f64,
    /// Any of `PALPATE_LIMITED`, `PALPATE_FADING`, `PALPATE_BEYOND_RADIUS`, and of the newest answer's state
    /// `PALPATE_IS_EMBEDDED`, `PALPATE_IS_SQUEEZED` and `PALPATE_IS_LATE`, combined.
    pub flags: u32,
}

/// Cap, rate or radius changed the wrench.
pub const PALPATE_LIMITED: u32 = 1;
/// Answers are too old, or the pose is invalid: the force fades.
pub const PALPATE_FADING: u32 = 2;
/// The proxy left the radius in which the model is complete: the force may lack some contacts.
pub const PALPATE_BEYOND_RADIUS: u32 = 4;
/// The tool is in tissue that was put there: it is given no force by that tissue until it is out.
pub const PALPATE_IS_EMBEDDED: u32 = 8;
/// Tissue closed on the tool from several sides and leaves it no room.
pub const PALPATE_IS_SQUEEZED: u32 = 16;
/// The engine's time ended before the answer was done: it holds the last one's force.
pub const PALPATE_IS_LATE: u32 = 32;

/// Triangles over shared vertices, counter-clockwise seen from outside.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_mesh {
    /// x, y, z of each vertex.
    pub positions: *const f32,
    /// Number of vertices.
    pub n_vertices: usize,
    /// Three vertex numbers of each triangle, from 0.
    pub triangles: *const u32,
    /// Number of triangles.
    pub n_triangles: usize,
    /// Metres per unit of the positions; 0: 1.
    pub scale_to_m: f64,
}

/// Options of a tissue.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_tissue_options {
    /// `sizeof` of this struct.
    pub size: u32,
    /// Any of `PALPATE_AS_WOUND` and `PALPATE_FORBIDDEN_REGION`, combined.
    pub flags: u32,
    /// Joins open edges whose ends are at most this far apart, metres, up to 10,000. 0: only edges at equal positions.
    pub weld_m: f64,
    /// Fills each hole in a box with a diagonal of at most this length, metres, up to 10,000. 0: none.
    pub fill_holes_m: f64,
    /// Lets the points or frames of a solver carry the vertices, which `palpate_drive` moves. NULL: none do.
    pub binding: *const palpate_binding,
}

/// Controls that carry the vertices of a tissue: each vertex is at the weighted sum of its controls. See `BindingChunk`
/// of the contract.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_binding {
    /// `sizeof` of this struct.
    pub size: u32,
    /// `PALPATE_POINTS` or `PALPATE_FRAMES`.
    pub kind: u32,
    /// The controls at rest, metres, scene frame: x, y, z of each point; x, y, z and the quaternion x, y, z, w of each
    /// frame.
    pub controls: *const f32,
    /// Number of controls.
    pub n_controls: usize,
    /// Number of weights of each vertex, 1 to 32, in the order of the mesh.
    pub weights_per_vertex: *const u32,
    /// Number of vertices.
    pub n_vertices: usize,
    /// Control of each weight, vertex by vertex.
    pub ids: *const u32,
    /// The weights; those of a vertex sum to 1 to within 1e-6.
    pub weights: *const f64,
    /// Number of weights of all vertices.
    pub n_weights: usize,
    /// Instead of weights, a volume mesh whose nodes are the controls, which are points: each vertex is bound to the cell
    /// around it, or else to the nearest. Four corners of each tetrahedron, in either orientation.
    pub tetrahedra: *const u32,
    /// Number of tetrahedra.
    pub n_tetrahedra: usize,
    /// Eight corners of each hexahedron: a quadrilateral and, in the same order, the quadrilateral opposite.
    pub hexahedra: *const u32,
    /// Number of hexahedra.
    pub n_hexahedra: usize,
}

/// Controls are points, such as the nodes of a volume mesh.
pub const PALPATE_POINTS: u32 = 0;
/// Controls are frames, such as bones: one frame alone moves a rigid body.
pub const PALPATE_FRAMES: u32 = 1;

/// Tissue is on the side that most triangles of a surface face away from: a closed surface that faces inwards is the
/// wall of a lumen, with tissue all around it. Without it, closed bodies are turned to face outwards.
pub const PALPATE_AS_WOUND: u32 = 1;
/// A region that tools stay out of: it holds them back like tissue, and bears no load.
pub const PALPATE_FORBIDDEN_REGION: u32 = 2;

/// A rigid part of a tool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_link {
    /// `sizeof` of this struct.
    pub size: u32,
    /// Name, unique in its tool.
    pub name: *const c_char,
    /// Mesh in the link's frame.
    pub mesh: palpate_mesh,
    /// Tool frame from link frame at rest; NULL: the identity.
    pub rest_pose: *const palpate_pose,
    /// Fills holes as in `palpate_tissue_options`, so that a tool that is meant to be closed is closed.
    pub fill_holes_m: f64,
    /// Joins open edges as in `palpate_tissue_options`.
    pub weld_m: f64,
    /// Probes fixed to the link.
    pub probes: *const palpate_probe,
    /// Number of probes, at most 16 for all links of a tool.
    pub n_probes: usize,
}

/// A sphere fixed to a link, such as a tip or a pad, whose distance from tissue each answer tells.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_probe {
    /// `sizeof` of this struct.
    pub size: u32,
    /// Name, unique in its tool.
    pub name: *const c_char,
    /// Centre in the link's frame, metres.
    pub position_m: palpate_vec3,
    /// Radius, metres, 0 or more.
    pub radius_m: f64,
}

/// A cut: one transaction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_cut {
    /// `sizeof` of this struct.
    pub size: u32,
    /// Triangles to remove, each once.
    pub removed: *const u32,
    /// Number of triangles to remove.
    pub n_removed: usize,
    /// x, y, z of each new vertex, scene frame. The first new vertex gets the id `first_vertex` of the answer.
    pub positions: *const f32,
    /// Number of new vertices.
    pub n_positions: usize,
    /// Three vertex ids of each new triangle, of old and new vertices.
    pub triangles: *const u32,
    /// Number of new triangles.
    pub n_triangles: usize,
    /// For each new triangle, the removed triangle that it replaces in part, so that contacts persist; NULL: none.
    pub parents: *const u32,
}

/// Result of a cut.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_cut_made {
    /// Number of cuts of the tissue so far.
    pub topology_revision: u64,
    /// Id of the first new vertex; the others follow.
    pub first_vertex: u32,
    /// Id of the first new triangle; the others follow.
    pub first_triangle: u32,
}

/// Address and credentials of a server. NULL if not used.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_address {
    /// `sizeof` of this struct.
    pub size: u32,
    /// `host:port`, `https://host:port` or `unix:/path`.
    pub url: *const c_char,
    /// File with an API key.
    pub key_file: *const c_char,
    /// PEM file of the trusted certificates, for https.
    pub ca_file: *const c_char,
    /// PEM file of the certificate to present.
    pub certificate_file: *const c_char,
    /// PEM file of that certificate's private key.
    pub certificate_key_file: *const c_char,
    /// Timeout of a call, seconds; 0: 60.
    pub timeout_s: f64,
    /// The API key itself, instead of `key_file`.
    pub key: *const c_char,
}

/// Rendering options of a session's tool. `palpate_session_defaults` fills them in; 0 also selects the default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_session_options {
    /// `sizeof` of this struct.
    pub size: u32,
    /// Tool that the hand holds.
    pub tool_id: u32,
    /// Links that no tissue constrains, blades and needles: bit n is link n.
    pub cutting_links: u32,
    /// Not 0: nothing runs by itself, and `palpate_step` replaces `palpate_servo`.
    pub lock_step: u32,
    /// Stiffness of the spring, N/m, 1 to 100,000. 0: 500.
    pub stiffness_n_per_m: f64,
    /// Stiffness against rotation, N m/rad, 0.001 to 1,000. 0: 1.
    pub rotational_stiffness_nm_per_rad: f64,
    /// Stiffness of each link against its commanded pose, N/m, 1 to 100,000. 0: 500.
    pub link_stiffness_n_per_m: f64,
    /// Coulomb's coefficient, 0 to 2.
    pub friction: f64,
    /// Largest force ever sent. 0: 3.3 N.
    pub max_force_n: f64,
    /// Largest torque ever sent. 0: 0.1 N m.
    pub max_torque_nm: f64,
    /// Fastest change of force. 0: 300 N/s.
    pub max_force_rate_n_per_s: f64,
    /// Fastest change of torque. 0: 9 N m/s.
    pub max_torque_rate_nm_per_s: f64,
    /// Point at which the device holds the tool, tool frame.
    pub hold_point_m: palpate_vec3,
    /// Rate at which poses are sent to the engine, 1 to 1,000. 0: 1,000. The servo runs at the device's own rate.
    pub rate_hz: f64,
    /// Greatest angle between two facets of a tissue that count as one smooth surface to the force, radians, 0 to 1. 0:
    /// none.
    pub force_shading_rad: f64,
    /// Distance within which tissue triangles are contacts of `palpate_surface_contacts`, metres, at most 0.05. 0: the
    /// smaller of 0.001 and a quarter of the diagonal of the tool's largest link.
    pub contact_margin_m: f64,
    /// Maximum of such contacts for each link, deepest first, at most 1,024. 0: 64.
    pub max_contacts: u32,
    /// Not 0: contacts between one pose and the next are not searched for.
    pub omit_sweep: u32,
    /// Not 0: also find the pairs of `palpate_feature_pairs`.
    pub feature_pairs: u32,
    /// Maximum of such pairs for each link, nearest first, at most 1,024. 0: 256.
    pub max_feature_pairs: u32,
    /// Time limit of a tick in the engine, seconds, at most 10: after it the answer has what was found so far, and its
    /// force is held (`PALPATE_IS_LATE`); the next tick goes on where it stopped. 0: six tenths of the period of `rate_hz`;
    /// in lock-step none in this process, and a server's own. A server's own limit can only be lowered.
    pub deadline_s: f64,
}

growing!(
    palpate_address ends with key,
    palpate_binding ends with n_hexahedra,
    palpate_contact_query ends with contact_margin_m,
    palpate_cut ends with parents,
    palpate_link ends with n_probes,
    palpate_probe ends with radius_m,
    palpate_session_options ends with deadline_s,
    palpate_tissue_options ends with binding,
);

/// Relation of a proxy to the tissues.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum palpate_render_state {
    /// A state that only a newer server knows.
    #[default]
    PALPATE_UNKNOWN = 0,
    /// Nothing holds the proxy.
    PALPATE_FREE = 1,
    /// Tissue holds the proxy back.
    PALPATE_TOUCHING = 2,
    /// The proxy began inside a tissue, which exerts no force until the proxy was outside once.
    PALPATE_EMBEDDED = 3,
    /// Tissues leave no space for the proxy.
    PALPATE_SQUEEZED = 4,
    /// The tick's time ended before the proxy arrived.
    PALPATE_LATE = 5,
}

/// State of the tool in the newest answer.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct palpate_rendering {
    /// Sequence of the answered tick; rises.
    pub sequence: u64,
    /// Scene frame from tool frame, of the proxy: the pose at which the tool is drawn.
    pub proxy: palpate_pose,
    /// Relation of the proxy to the tissues.
    pub state: palpate_render_state,
    /// Number of load-bearing contacts: see `palpate_contacts`.
    pub n_contacts: u32,
    /// Distance from the proxy to the nearest tissue, metres; no surface is nearer than this.
    pub distance_m: f64,
}

/// A load-bearing contact.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_contact {
    /// Id, constant while the contact lasts.
    pub contact_id: u64,
    /// Tissue in contact.
    pub tissue_id: u32,
    /// Link in contact, counted from 0 in the tool.
    pub link: u32,
    /// Point on the tissue, scene frame.
    pub position_m: palpate_vec3,
    /// Force on the tool, newtons.
    pub force_n: palpate_vec3,
}

/// A point of a tissue and a point of a link: the closest ones, or two that touch. Weights belong to a triangle's
/// vertices in the order of the mesh, except that the second and third are swapped in a triangle that was turned to face
/// outwards (see `PALPATE_AS_WOUND`): `palpate_export_tissue` gives the order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_point_pair {
    /// The tissue.
    pub tissue_id: u32,
    /// Triangle of the tissue. Ids of cut triangles are not used again.
    pub triangle: u32,
    /// The link, counted from 0 in the tool.
    pub link: u32,
    /// Triangle of the link.
    pub link_triangle: u32,
    /// Weights of `on_tissue_m` on the tissue's triangle.
    pub barycentric: palpate_vec3,
    /// Weights of `on_tool_m` on the link's triangle; zeros in contacts of an older server.
    pub link_barycentric: palpate_vec3,
    /// Point on the tissue, scene frame.
    pub on_tissue_m: palpate_vec3,
    /// Point on the link, scene frame: `on_tissue_m` plus `signed_distance_m` times `normal`.
    pub on_tool_m: palpate_vec3,
    /// Unit, from tissue to tool, scene frame.
    pub normal: palpate_vec3,
    /// Distance of the two points; negative: the depth of the one that is inside.
    pub signed_distance_m: f64,
}

/// A tissue triangle that is inside a link, or nearer to it than the session's contact margin, or that the sweep met on
/// the way to this pose. A contact that the link has left behind on that way has distance 0, and the pose and points of
/// its `toi`, which need not be at the same place; with `omit_sweep` there are none of these.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_surface_contact {
    /// Id, constant while the contact lasts: on the same triangle or a neighbouring one, at a nearby point. The ids of
    /// `palpate_contacts` are different ones.
    pub contact_id: u64,
    /// Geometry revision of the tissue that the contact was computed from.
    pub geometry_revision: u64,
    /// The points that touch, or are within the margin.
    pub at: palpate_point_pair,
    /// Time at which the link met the triangle on its way: 0 at the pose of the last complete answer, 1 at this pose, never
    /// later than the true time. Negative: the sweep did not meet it now.
    pub toi: f64,
    /// Any of `PALPATE_CONTACT_BEGAN`, `PALPATE_CONTACT_FORBIDDEN` and `PALPATE_CONTACT_WHOLLY_INSIDE`, combined.
    pub flags: u32,
}

/// The contact was not in the last answer.
pub const PALPATE_CONTACT_BEGAN: u32 = 1;
/// The tissue is a forbidden region.
pub const PALPATE_CONTACT_FORBIDDEN: u32 = 2;
/// The link is wholly inside the tissue and touches no triangle: the contact is its deepest vertex, and the triangle
/// nearest to that.
pub const PALPATE_CONTACT_WHOLLY_INSIDE: u32 = 4;

/// A feature of a tissue and one of a link within the contact margin: a row of a solver that treats contact itself. While
/// vertices move little, the distance grows by `normal` times the weighted motion of the link's vertices less that of the
/// tissue's.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_feature_pair {
    /// Tissue of the first feature.
    pub tissue_id: u32,
    /// The link, counted from 0 in the tool.
    pub link: u32,
    /// `PALPATE_VERTEX_FACE`, `PALPATE_EDGE_EDGE` or `PALPATE_FACE_VERTEX`.
    pub kind: u32,
    /// Number of the vertices that are the tissue's: 1, 2 or 3.
    pub n_of_tissue: u32,
    /// Vertices of the tissue's feature, then those of the link's. Ends of an edge ascend; a face's vertices are in stored
    /// order. Vertices that a seam joins have the least number of them.
    pub vertices: [u32; 4],
    /// Weights of the closest points on the two features, which sum to 1 on each.
    pub weights: [f64; 4],
    /// Distance of the two features, metres.
    pub distance_m: f64,
    /// Unit, from the tissue to the link, scene frame; zero if the features meet.
    pub normal: palpate_vec3,
}

/// A vertex of the tissue and a face of the link.
pub const PALPATE_VERTEX_FACE: u32 = 1;
/// An edge of the tissue and an edge of the link.
pub const PALPATE_EDGE_EDGE: u32 = 2;
/// A face of the tissue and a vertex of the link.
pub const PALPATE_FACE_VERTEX: u32 = 3;

/// Distance of a link from the nearest tissue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_link_distance {
    /// The closest points, or the two ends of the deepest penetration. With `PALPATE_DISTANCE_BEYOND` only the link and
    /// the lower bound as distance; all else is 0.
    pub at: palpate_point_pair,
    /// No tissue is nearer than this; below 0, none is deeper. The distance itself, unless it was cut short.
    pub lower_bound_m: f64,
    /// Certainty of the sign, from 0 (a guess) to 1 (certain).
    pub sign_certainty: f64,
    /// Upper bound of the depth if it is not certain, a positive number; 0: it is certain, or it was cut short.
    pub depth_max_m: f64,
    /// Number of the link's contacts, including those beyond `max_contacts`.
    pub n_contacts: u32,
    /// Any of `PALPATE_DISTANCE_BEYOND` and `PALPATE_DISTANCE_CUT_SHORT`, combined.
    pub flags: u32,
}

/// No tissue was found: `signed_distance_m` is a lower bound, 0.05 m unless `PALPATE_DISTANCE_CUT_SHORT` is set too. Then
/// it may be negative, and the link may be inside tissue.
pub const PALPATE_DISTANCE_BEYOND: u32 = 1;
/// The tick's time ended before all of the link was searched: contacts may be missing, and the distance is that of the
/// closest points that were found. `lower_bound_m` holds all the same.
pub const PALPATE_DISTANCE_CUT_SHORT: u32 = 2;

/// Distance of a probe from the nearest tissue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_probe_distance {
    /// Nearest point of the tissue to the probe's centre. Its `signed_distance_m` is that of the probe's sphere, the
    /// radius being subtracted: negative if the probe touches. With `PALPATE_DISTANCE_BEYOND` only the distance is set,
    /// as a lower bound.
    pub at: palpate_surface_point,
    /// Number of the probe, from 0: link by link, in the order in which each was given.
    pub probe: u32,
    /// `PALPATE_DISTANCE_BEYOND` or 0.
    pub flags: u32,
}

/// The point of a tissue that is nearest to a queried point. Weights as in `palpate_point_pair`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_surface_point {
    /// Nearest tissue; 0: there is no tissue, and all else is zero but the infinite distance.
    pub tissue_id: u32,
    /// Triangle of the tissue.
    pub triangle: u32,
    /// Weights of `position_m` on the triangle.
    pub barycentric: palpate_vec3,
    /// The nearest point, scene frame.
    pub position_m: palpate_vec3,
    /// Unit normal outwards, scene frame.
    pub normal: palpate_vec3,
    /// Distance; negative: the queried point is inside.
    pub signed_distance_m: f64,
    /// Certainty of the sign, from 0 (a guess) to 1 (certain).
    pub sign_certainty: f64,
}

/// A tool at a pose.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_contact_query {
    /// `sizeof` of this struct.
    pub size: u32,
    /// The tool.
    pub tool_id: u32,
    /// Scene frame from tool frame.
    pub pose: palpate_pose,
    /// Tool frame from link frame, one for each link; NULL: all at rest.
    pub links: *const palpate_pose,
    /// Number of links with a pose: that of the tool, or 0.
    pub n_links: usize,
    /// Distance within which a triangle is a contact, metres; 0: as in a session.
    pub contact_margin_m: f64,
}

/// Connection state and counters of a session.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_session_status {
    /// Not 0: there is a connection; always true in the process.
    pub is_open: u32,
    /// Number of reconnections after a broken connection.
    pub reconnected: u64,
    /// Number of these at which the session was over: contacts have new ids.
    pub sessions_lost: u64,
    /// Ticks that were never sent.
    pub dropped: u64,
    /// Time since the newest answer, seconds.
    pub age_s: f64,
}

impl palpate_vec3 {
    pub(crate) fn of(v: DVec3) -> palpate_vec3 {
        palpate_vec3 { x: v.x, y: v.y, z: v.z }
    }

    pub(crate) fn glam(self) -> DVec3 {
        DVec3::new(self.x, self.y, self.z)
    }
}

impl palpate_surface_point {
    pub(crate) fn of(near: &NearestSurface) -> palpate_surface_point {
        palpate_surface_point {
            tissue_id: near.tissue.map_or(0, |tissue| tissue.0),
            triangle: near.on_surface.triangle.0,
            barycentric: palpate_vec3::of(near.on_surface.barycentric),
            position_m: palpate_vec3::of(near.on_surface.position),
            normal: palpate_vec3::of(near.normal),
            signed_distance_m: near.signed_distance_m,
            sign_certainty: near.sign_certainty,
        }
    }
}

impl palpate_pose {
    pub(crate) fn of(pose: &Pose) -> palpate_pose {
        let q = DQuat::from_mat3(&pose.rotation);
        palpate_pose {
            position_m: palpate_vec3::of(pose.translation),
            orientation: palpate_quaternion { x: q.x, y: q.y, z: q.z, w: q.w },
        }
    }

    /// Returns `None` if this is not a valid pose.
    pub(crate) fn checked(&self) -> Option<Pose> {
        let palpate_quaternion { x, y, z, w } = self.orientation;
        Pose::new(DQuat::from_xyzw(x, y, z, w), self.position_m.glam())
            .filter(|pose| pose.translation.is_finite())
    }

    pub(crate) fn pose(&self, name: &str) -> Result<Pose, Failure> {
        let wrong = || {
            let got = format!("{:?}, {:?}", self.position_m, self.orientation);
            Failure::argument(format!(
                "{name} is {got}, expected a finite position and a quaternion of length 1"
            ))
        };
        self.checked().ok_or_else(wrong)
    }
}
