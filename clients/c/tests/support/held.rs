//! A ball in a hand, over a slab.

use std::{
    ffi::{CStr, CString},
    ptr,
};

use glam::DVec3;
use palpate::{
    geometry::mesh::MeshData,
    oracle::shapes::{cuboid, sphere},
};
use palpate_c::{code::*, plain::*, scene::*, server::*, session::*};
use palpate_code::*;

/// Force of 500 N/m over 3 mm and the stand-off, newtons.
pub const PRESSED_N: f64 = 1.51;

/// Centre and radius of the ball's probes, at its lowest point and in its middle, metres.
pub const PROBES: [(DVec3, f64); 2] = [(DVec3::new(0.0, 0.0, -0.01), 0.0), (DVec3::ZERO, 0.002)];

/// A ball of 1 cm in a hand over a slab whose top is at 0.
pub struct Held {
    pub session: *mut palpate_session,
    pub scene: *mut palpate_scene,
    server: *mut palpate_server,
}

/// Returns the message of the last error.
pub fn said() -> String {
    // SAFETY: it returns a NUL-terminated string.
    unsafe { CStr::from_ptr(palpate_last_error()) }.to_string_lossy().into_owned()
}

pub fn ok(code: palpate_code) {
    assert_eq!(code, PALPATE_OK, "{}", said());
}

pub fn text(text: &str) -> CString {
    CString::new(text).expect("no zero")
}

/// Pose at which the ball's lowest point has a height over the slab.
pub fn ball_at(height_m: f64) -> palpate_pose {
    palpate_pose {
        position_m: palpate_vec3 { x: 0.02, y: 0.035, z: 0.01 + height_m },
        orientation: palpate_quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 },
    }
}

/// Slab of 4 cm thickness with its top at 0.
pub fn slab() -> MeshData {
    let mut slab = cuboid(DVec3::new(0.2, 0.2, 0.04));
    slab.positions.iter_mut().for_each(|p| p.z -= 0.02);
    slab
}

impl Held {
    pub fn open(server: *mut palpate_server, lock_step: bool) -> Held {
        Held::open_with(server, |options| {
            options.lock_step = lock_step.into();
            options.feature_pairs = 1;
        })
    }

    /// Opens a session with other options than the defaults.
    pub fn open_with(
        server: *mut palpate_server,
        set: impl FnOnce(&mut palpate_session_options),
    ) -> Held {
        let (mut scene, mut session) = (ptr::null_mut(), ptr::null_mut());
        let (mut tissue, mut tool) = (0, 0);
        let slab = slab();
        let slab_xyz: Vec<f32> = slab.positions.iter().flat_map(|p| p.to_array()).collect();
        let ball = sphere(0.01, 6);
        let ball_xyz: Vec<f32> = ball.positions.iter().flat_map(|p| p.to_array()).collect();
        let mesh = |xyz: &[f32], triangles: &[[u32; 3]]| palpate_mesh {
            positions: xyz.as_ptr(),
            n_vertices: xyz.len() / 3,
            triangles: triangles.as_ptr().cast(),
            n_triangles: triangles.len(),
            scale_to_m: 0.0,
        };
        let name = text("ball");
        let mesh_of_ball = mesh(&ball_xyz, &ball.triangles);
        let (tip, middle) = (text("tip"), text("middle"));
        let probe = |name: &CString, (position, radius_m): (DVec3, f64)| palpate_probe {
            name: name.as_ptr(),
            position_m: palpate_vec3 { x: position.x, y: position.y, z: position.z },
            radius_m,
            ..Default::default()
        };
        let probes = [probe(&tip, PROBES[0]), probe(&middle, PROBES[1])];
        let link = palpate_link {
            name: name.as_ptr(),
            mesh: mesh_of_ball,
            probes: probes.as_ptr(),
            n_probes: probes.len(),
            ..Default::default()
        };
        let mut options = palpate_session_options::default();
        // SAFETY: all pointers point to live objects.
        unsafe {
            ok(palpate_create_scene(server, text("held").as_ptr(), &mut scene));
            let slab = mesh(&slab_xyz, &slab.triangles);
            ok(palpate_add_tissue(scene, text("slab").as_ptr(), &slab, ptr::null(), &mut tissue));
            ok(palpate_add_tool(scene, name.as_ptr(), &link, 1, &mut tool));
            ok(palpate_session_defaults(tool, &mut options));
            set(&mut options);
            ok(palpate_open_session(scene, &options, &mut session));
        }
        Held { session, scene, server }
    }

    #[cfg(unix)]
    pub fn status(&self) -> palpate_session_status {
        let mut status = palpate_session_status::default();
        // SAFETY: all pointers point to live objects.
        ok(unsafe { palpate_status(self.session, &mut status) });
        status
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: `Held` owns these handles, and nothing uses them any more.
        unsafe {
            ok(palpate_close_session(&mut self.session));
            ok(palpate_close_scene(&mut self.scene));
            ok(palpate_close(&mut self.server));
        }
    }
}
