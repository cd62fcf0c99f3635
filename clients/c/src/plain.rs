//! The plain structs that cross the border. All lengths are metres, all frames right-handed.

use std::ffi::c_char;

use glam::{DQuat, DVec3};
use palpate::geometry::Pose;

use crate::code::Failure;

/// A point or direction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_vec3 {
    /// Along x.
    pub x: f64,
    /// Along y.
    pub y: f64,
    /// Along z.
    pub z: f64,
}

/// A rotation; of length one to 0.001. All zero is none, and refused.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct palpate_quaternion {
    /// Of i.
    pub x: f64,
    /// Of j.
    pub y: f64,
    /// Of k.
    pub z: f64,
    /// The real part; 1 for no rotation.
    pub w: f64,
}

/// A rigid transform: first the rotation, then the translation.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct palpate_pose {
    /// Metres, in the frame that the pose maps to.
    pub position_m: palpate_vec3,
    /// Of the frame.
    pub orientation: palpate_quaternion,
}

/// What a hand is to feel, scene frame, at the hold point.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_wrench {
    /// Newtons.
    pub force_n: palpate_vec3,
    /// About the hold point, newton metres.
    pub torque_nm: palpate_vec3,
    /// Since the tick that the force's model answers was sent, seconds.
    pub model_age_s: f64,
    /// Any of `PALPATE_LIMITED`, `PALPATE_FADING` and `PALPATE_BEYOND_RADIUS`, combined.
    pub flags: u32,
}

/// Cap, rate or radius changed the wrench.
pub const PALPATE_LIMITED: u32 = 1;
/// Answers are too old, or the pose is none: the force fades.
pub const PALPATE_FADING: u32 = 2;
/// The proxy was farther than the model is complete: there may be more than the force tells of.
pub const PALPATE_BEYOND_RADIUS: u32 = 4;

/// Triangles over shared vertices, counter-clockwise seen from outside.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_mesh {
    /// x, y, z of each vertex.
    pub positions: *const f32,
    /// How many vertices.
    pub n_vertices: usize,
    /// Three vertex numbers of each triangle, from 0.
    pub triangles: *const u32,
    /// How many triangles.
    pub n_triangles: usize,
    /// Metres for each of its units; 0: 1.
    pub scale_to_m: f64,
}

/// A rigid part of a tool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_link {
    /// Unique in its tool.
    pub name: *const c_char,
    /// In the link's frame.
    pub mesh: palpate_mesh,
    /// Tool frame from link frame at rest; NULL: the same frame.
    pub rest_pose: *const palpate_pose,
    /// Each hole in a box with a diagonal of no more than this is filled, metres, so that a tool that is meant to be closed
    /// is. 0: none.
    pub fill_holes_m: f64,
}

/// A cut: one transaction.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_cut {
    /// Triangles to remove, each once.
    pub removed: *const u32,
    /// How many.
    pub n_removed: usize,
    /// x, y, z of each new vertex, scene frame. The first gets the id `first_vertex` of the answer.
    pub positions: *const f32,
    /// How many.
    pub n_positions: usize,
    /// Three vertex ids of each new triangle, old ones and new ones.
    pub triangles: *const u32,
    /// How many.
    pub n_triangles: usize,
    /// For each new triangle the removed one that it replaces in part, so that contacts go on; NULL: none.
    pub parents: *const u32,
}

/// What a cut made.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_cut_made {
    /// Cuts of the tissue so far.
    pub topology_revision: u64,
    /// The new vertices have the ids from here on.
    pub first_vertex: u32,
    /// The new triangles have the ids from here on.
    pub first_triangle: u32,
}

/// Where a server is, and how it is reached. NULL where there is none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_address {
    /// `host:port`, `https://host:port` or `unix:/path`.
    pub url: *const c_char,
    /// A file with an API key.
    pub key_file: *const c_char,
    /// A PEM file of whom to trust, for https.
    pub ca_file: *const c_char,
    /// A PEM file of the certificate to show.
    pub certificate_file: *const c_char,
    /// A PEM file of that certificate's private key.
    pub certificate_key_file: *const c_char,
    /// A call takes no longer, seconds; 0: 60.
    pub timeout_s: f64,
}

/// How a session renders its tool. `palpate_session_defaults` fills it in; 0 is the default too.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct palpate_session_options {
    /// Of the tool that the hand holds.
    pub tool_id: u32,
    /// Links that no tissue constrains, blades and needles: bit n is link n.
    pub cutting_links: u32,
    /// Of the spring, N/m, 1 to 100,000. 0: 500.
    pub stiffness_n_per_m: f64,
    /// Against turning, N m/rad, 0.001 to 1,000. 0: 1.
    pub rotational_stiffness_nm_per_rad: f64,
    /// Of each link against its command, N/m, 1 to 100,000. 0: 500.
    pub link_stiffness_n_per_m: f64,
    /// Coulomb's coefficient, 0 to 2.
    pub friction: f64,
    /// No greater force is ever given. 0: 3.3 N.
    pub max_force_n: f64,
    /// No greater torque. 0: 0.1 N m.
    pub max_torque_nm: f64,
    /// No faster change of force. 0: 300 N/s.
    pub max_force_rate_n_per_s: f64,
    /// No faster change of torque. 0: 9 N m/s.
    pub max_torque_rate_nm_per_s: f64,
    /// Where the device holds the tool, tool frame.
    pub hold_point_m: palpate_vec3,
    /// Poses are sent to the engine so often, 1 to 1,000. 0: 1,000. The servo has the device's own rate.
    pub rate_hz: f64,
    /// Not 0: nothing runs by itself, and `palpate_step` takes the place of `palpate_servo`.
    pub lock_step: u32,
}

/// How a proxy stands to the tissues.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum palpate_render_state {
    /// A word of a newer server.
    PALPATE_UNKNOWN = 0,
    /// Nothing holds it.
    PALPATE_FREE = 1,
    /// Tissue holds it back.
    PALPATE_TOUCHING = 2,
    /// It began inside a tissue, which gives no force until it was outside once.
    PALPATE_EMBEDDED = 3,
    /// Tissues leave it no room.
    PALPATE_SQUEEZED = 4,
    /// The time was over before it arrived.
    PALPATE_LATE = 5,
}

/// What the newest answer says of the tool.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct palpate_rendering {
    /// Of the tick that is answered; rises.
    pub sequence: u64,
    /// Scene frame from tool frame, of the proxy: what is drawn.
    pub proxy: palpate_pose,
    /// How it stands.
    pub state: palpate_render_state,
    /// Contacts that bear: see `palpate_contacts`.
    pub n_contacts: u32,
    /// From the proxy to the nearest tissue, metres; no surface is nearer than this.
    pub distance_m: f64,
}

/// A contact that bears.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_contact {
    /// Stays while the contact does.
    pub contact_id: u64,
    /// Whose surface.
    pub tissue_id: u32,
    /// Counted from 0 in the tool.
    pub link: u32,
    /// On the tissue, scene frame.
    pub position_m: palpate_vec3,
    /// On the tool, newtons.
    pub force_n: palpate_vec3,
}

/// What became of a session so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct palpate_session_status {
    /// Not 0: there is a connection; always so in the process.
    pub is_open: u32,
    /// How often it came back after its connection broke.
    pub reconnected: u64,
    /// How often its session was over by then: contacts have new ids.
    pub sessions_lost: u64,
    /// Ticks that never left.
    pub dropped: u64,
    /// Since the newest answer, seconds.
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

impl palpate_pose {
    pub(crate) fn of(pose: &Pose) -> palpate_pose {
        let q = DQuat::from_mat3(&pose.rotation);
        palpate_pose {
            position_m: palpate_vec3::of(pose.translation),
            orientation: palpate_quaternion { x: q.x, y: q.y, z: q.z, w: q.w },
        }
    }

    /// `None`: it is no pose.
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
