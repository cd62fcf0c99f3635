//! Contacts of tissues with each other through the C calls: a ball that is moved into a slab, in this process and on a
//! server.

#[path = "support/held.rs"]
#[allow(dead_code)] // other tests use more of it
mod held;
#[path = "support/served.rs"]
mod served;

use std::ptr;

use palpate::oracle::shapes::sphere;
use palpate_c::{code::*, plain::*, scene::*, self_collision::*, server::*, version::VERSION};
use palpate_code::*;

use held::{Held, ok, said, text};
use served::{Served, connect};

const SLAB: u32 = 1;

/// Vertices of the ball, its lowest point at this height over the slab.
fn ball_xyz(height_m: f32) -> Vec<f32> {
    let at = |p: &glam::Vec3| [p.x + 0.02, p.y + 0.035, p.z + 0.01 + height_m];
    sphere(0.01, 6).positions.iter().flat_map(at).collect()
}

fn refused(code: palpate_code, words: &str) {
    assert_eq!(code, PALPATE_INVALID_ARGUMENT, "{}", said());
    assert!(said().contains(words), "{} is not {words}", said());
}

/// Moves a ball from 1 mm above the slab to 1 mm below its top, and returns what meets on the way.
fn found(held: &Held) -> Vec<palpate_self_contact> {
    let (above, below, data) = (ball_xyz(0.001), ball_xyz(-0.001), sphere(0.01, 6));
    let n_vertices = data.positions.len();
    let mesh = palpate_mesh {
        positions: above.as_ptr(),
        n_vertices,
        triangles: data.triangles.as_ptr().cast(),
        n_triangles: data.triangles.len(),
        scale_to_m: 0.0,
    };
    let name = text("moving ball");
    let (mut ball, mut revision, mut n) = (0, 7, 0);
    let scene = held.scene;
    // SAFETY: all pointers point to live objects, or are NULL with a capacity of 0.
    unsafe {
        ok(palpate_add_tissue(scene, name.as_ptr(), &mesh, ptr::null(), &mut ball));
        ok(palpate_hold_tissue(scene, ball, &mut revision));
        assert_eq!(revision, 0);
        ok(palpate_deform(scene, ball, below.as_ptr(), n_vertices));
        let newest = PALPATE_NEWEST;
        let of = |tissue_id, from_revision| palpate_interval {
            tissue_id,
            from_revision,
            to_revision: newest,
        };
        let moving = [of(SLAB, newest), of(ball, revision)];
        let ask = |tissues: &[palpate_interval], thickness_m, each, to, room, n: &mut usize| {
            let (first, n_tissues) = (tissues.as_ptr(), tissues.len());
            palpate_self_collisions(scene, first, n_tissues, thickness_m, each, to, room, n)
        };
        let none = ptr::null_mut();
        assert_eq!(ask(&moving, 0.0, 0, none, 0, &mut n), PALPATE_TOO_SMALL, "{}", said());
        assert!(n > 1 && said().contains(&format!("there are {n} contacts, the buffer holds 0")));
        let mut contacts = vec![palpate_self_contact::default(); n];
        ok(ask(&moving, 0.0, 0, contacts.as_mut_ptr(), n, &mut n));
        let mut first = palpate_self_contact::default();
        assert_eq!(ask(&moving, 0.0, 0, &mut first, 1, &mut n), PALPATE_TOO_SMALL);
        assert_eq!((first, n), (contacts[0], contacts.len()));

        // Neither meets itself, nor the other where both stand still apart.
        ok(ask(&moving, 0.0, 1, none, 0, &mut n));
        assert_eq!(n, 0);
        ok(palpate_deform(scene, ball, above.as_ptr(), n_vertices));
        ok(ask(&[of(SLAB, newest), of(ball, newest)], 0.0, 0, none, 0, &mut n));
        assert_eq!(n, 0);
        let near = ask(&[of(SLAB, newest), of(ball, newest)], 0.0011, 0, none, 0, &mut n);
        assert_eq!((near, n > 0), (PALPATE_TOO_SMALL, true));

        refused(ask(&moving[..0], 0.0, 0, none, 0, &mut n), "n_tissues is 0");
        refused(ask(&moving, f64::NAN, 0, none, 0, &mut n), "thickness_m is NaN");
        refused(ask(&[moving[0], moving[0]], 0.0, 0, none, 0, &mut n), "named before");
        refused(ask(&moving, 0.0, 0, none, 1, &mut n), "contacts is NULL");
        let gone = [of(77, newest)];
        assert_eq!(ask(&gone, 0.0, 0, none, 0, &mut n), PALPATE_NOT_FOUND, "{}", said());
        let free = [of(ball, 5)];
        assert_ne!(ask(&free, 0.0, 0, none, 0, &mut n), PALPATE_OK);
        assert!(said().contains('5'), "{}", said());
        refused(palpate_hold_tissue(scene, ball, ptr::null_mut()), "geometry_revision is NULL");
        ok(palpate_remove_tissue(scene, ball));
        contacts
    }
}

#[test]
fn a_ball_that_moves_into_a_slab_meets_it_half_way() {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer points to a live object.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    let here = found(&Held::open(server, true));
    // Straight down: the lowest vertex is at the slab's top half way, and nothing is earlier.
    let first = here[0];
    let lowest = sphere(0.01, 6).positions;
    let lowest = (0..lowest.len()).min_by(|a, b| lowest[*a].z.total_cmp(&lowest[*b].z));
    assert!(first.toi <= 0.5 && first.toi > 0.4999, "{first:?}");
    assert_eq!((first.kind, first.other_tissue_id), (PALPATE_VERTEX_FACE, SLAB));
    assert_eq!(first.vertices[0] as usize, lowest.expect("a vertex"));
    for z in [first.point_m.z, first.other_point_m.z] {
        assert!(z.abs() < 1e-6, "{first:?}");
    }
    assert!((first.normal.z - 1.0).abs() < 1e-6, "{first:?}");
    assert!(here.is_sorted_by(|a, b| a.toi <= b.toi));

    let Some(served) = Served::start(&[("PALPATE_STORE_SCENES", "false")]) else { return };
    let there = found(&Held::open(connect(&served.address), true));
    assert_eq!(there.len(), here.len());
    for (a, b) in there.iter().zip(&here) {
        let ids = |c: &palpate_self_contact| (c.kind, c.vertices, c.triangle, c.other_triangle);
        assert_eq!((a.toi.to_bits(), ids(a)), (b.toi.to_bits(), ids(b)));
        assert_eq!(a.point_m.z as f32, b.point_m.z as f32);
    }
}
