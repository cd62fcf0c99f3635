//! Tests that a count that cannot be right is refused before its array is read: a caller's mistake must not end its
//! process.

#[path = "support/held.rs"]
#[allow(dead_code)] // other tests use more of it
mod held;
#[path = "support/served.rs"]
mod served;

use std::ptr;

use palpate_c::{
    code::palpate_code, plain::*, query::*, scene::*, server::*, session::*, version::VERSION,
};
use palpate_code::PALPATE_INVALID_ARGUMENT;

use held::{Held, ball_at, ok, said, text};
use served::{Served, connect};

/// Number of elements that no array in a process has. A byte of each page of it is read soon.
const HUGE: usize = 1 << 40;
/// Numbers of vertices and triangles of the slab.
const SLAB: (usize, usize) = (8, 12);
const TISSUE: u32 = 1;

#[track_caller]
fn refused(code: palpate_code, words: &str) {
    assert_eq!((code, said().contains(words)), (PALPATE_INVALID_ARGUMENT, true), "{}", said());
}

/// Checks all functions that take an array of the caller, each with one element.
fn check(held: &Held) {
    let (scene, session) = (held.scene, held.session);
    let (xyz, ids, point) = ([0.0_f32; 3], [0_u32; 3], palpate_vec3::default());
    let (mut metres, mut id) = (0.0, 0);
    let pose = ball_at(0.01);
    let name = text("a");
    let mesh = palpate_mesh {
        positions: xyz.as_ptr(),
        n_vertices: 1,
        triangles: ids.as_ptr(),
        n_triangles: 1,
        scale_to_m: 0.0,
    };
    let cut = palpate_cut {
        removed: ids.as_ptr(),
        n_removed: 1,
        positions: xyz.as_ptr(),
        n_positions: 1,
        triangles: ids.as_ptr(),
        n_triangles: 1,
        parents: ids.as_ptr(),
        ..Default::default()
    };
    for n in [HUGE, SLAB.0 + 1] {
        // SAFETY: no call reads past an array's end, which this test checks.
        unsafe {
            refused(palpate_deform(scene, TISSUE, xyz.as_ptr(), n), "n_vertices is");
            let moved = palpate_deform_some(scene, TISSUE, ids.as_ptr(), xyz.as_ptr(), n);
            refused(moved, "n_vertices is");
        }
    }
    for n_removed in [HUGE, SLAB.1 + 1] {
        let cut = palpate_cut { n_removed, ..cut };
        // SAFETY: as above.
        refused(
            unsafe { palpate_cut_tissue(scene, TISSUE, &cut, ptr::null_mut()) },
            "n_removed is",
        );
    }
    let cuts = [
        (palpate_cut { n_positions: HUGE, ..cut }, "n_positions is"),
        (palpate_cut { n_triangles: HUGE, ..cut }, "n_triangles is"),
    ];
    for (cut, words) in cuts {
        // SAFETY: as above.
        refused(unsafe { palpate_cut_tissue(scene, TISSUE, &cut, ptr::null_mut()) }, words);
    }
    let meshes = [
        (palpate_mesh { n_vertices: HUGE, ..mesh }, "n_vertices is"),
        (palpate_mesh { n_triangles: HUGE, ..mesh }, "n_triangles is"),
    ];
    for (mesh, words) in meshes {
        let link = palpate_link { name: name.as_ptr(), mesh, ..Default::default() };
        // SAFETY: as above.
        unsafe {
            refused(palpate_add_tissue(scene, name.as_ptr(), &mesh, ptr::null(), &mut id), words);
            refused(palpate_add_tool(scene, name.as_ptr(), &link, 1, &mut id), words);
            refused(palpate_add_tool(scene, name.as_ptr(), &link, HUGE, &mut id), "n_links is");
        }
    }
    let mut wrench = palpate_wrench::default();
    for n in [HUGE, 2] {
        // SAFETY: as above.
        unsafe {
            refused(palpate_step(session, &pose, &pose, n, 1e-3, &mut wrench), "n_links is");
        }
    }
    // SAFETY: as above.
    unsafe {
        let found = palpate_distances(scene, TISSUE, &point, &mut metres, HUGE);
        refused(found, "n_points is");
        // The session and the tissue continue to work.
        ok(palpate_step(session, &pose, &pose, 1, 1e-3, &mut wrench));
        ok(palpate_deform_some(scene, TISSUE, [7].as_ptr(), xyz.as_ptr(), 1));
    }
}

#[test]
fn counts_are_checked_before_arrays_are_read() {
    let mut server = ptr::null_mut();
    // SAFETY: all pointers point to live objects.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    check(&Held::open(server, true));
}

#[test]
fn counts_are_checked_before_arrays_are_sent() {
    let Some(served) = Served::start(&[("PALPATE_STORE_SCENES", "false")]) else { return };
    let held = Held::open(connect(&served.address), true);
    check(&held);
    // Another client cuts: the tissue has more vertices than this client knew.
    let other = Client(connect(&served.address));
    other.cut();
    let all = [0.01_f32; 3 * (SLAB.0 + 1)];
    // SAFETY: the array has the stated length.
    ok(unsafe { palpate_deform(held.scene, TISSUE, all.as_ptr(), SLAB.0 + 1) });
}

/// A second client of the scene.
struct Client(*mut palpate_server);

impl Client {
    /// Adds a vertex and a triangle.
    fn cut(&self) {
        let (xyz, ids) = ([0.0_f32, 0.0, 0.1], [0, 1, SLAB.0 as u32]);
        let cut = palpate_cut {
            positions: xyz.as_ptr(),
            n_positions: 1,
            triangles: ids.as_ptr(),
            n_triangles: 1,
            ..Default::default()
        };
        let mut scene = ptr::null_mut();
        // SAFETY: all pointers point to live objects.
        unsafe {
            ok(palpate_open_scene(self.0, text("held").as_ptr(), &mut scene));
            ok(palpate_cut_tissue(scene, TISSUE, &cut, ptr::null_mut()));
            ok(palpate_close_scene(&mut scene));
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: `Client` owns the handle, and nothing uses it any more.
        ok(unsafe { palpate_close(&mut self.0) });
    }
}
