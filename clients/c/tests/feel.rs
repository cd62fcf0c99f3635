//! Materials through the C calls: a ball pressed into a slab, in this process and on a server.

#[path = "support/held.rs"]
#[allow(dead_code)] // other tests use more of it
mod held;
#[path = "support/served.rs"]
mod served;

use std::ptr;

use palpate_c::{code::*, feel::*, plain::*, server::*, session::*, version::VERSION};
use palpate_code::*;

use held::{Held, PRESSED_N, ball_at, ok, said};
use served::{Served, connect};

const SLAB: u32 = 1;

/// Presses the ball 3 mm into the slab, and returns the force.
fn pressed(held: &Held) -> f64 {
    let mut wrench = palpate_wrench::default();
    for i in 0..=120 {
        let height_m = 0.001 - 0.004 * (f64::from(i) / 40.0).min(1.0);
        // SAFETY: all pointers point to live objects.
        ok(unsafe {
            palpate_step(held.session, &ball_at(height_m), ptr::null(), 0, 1e-3, &mut wrench)
        });
    }
    wrench.force_n.z
}

fn forces(held: &Held) -> [f64; 3] {
    let set = |materials: &[palpate_material], triangles: &[u8]| {
        let mut revision = 0;
        // SAFETY: all pointers point to live objects.
        let code = unsafe {
            let (table, n) = (materials.as_ptr(), materials.len());
            let (each, n_triangles) = (triangles.as_ptr(), triangles.len());
            palpate_set_feel(held.scene, SLAB, table, n, each, n_triangles, &mut revision)
        };
        (code, revision)
    };
    let rigid = pressed(held);
    let soft = palpate_material { stiffness_n_per_m: 250.0, ..Default::default() };
    let (code, revision) = set(&[palpate_material::default(), soft], &[1; 12]);
    ok(code);
    assert_eq!(revision, 1);
    let felt = pressed(held);
    for (materials, triangles, words) in [
        (&[soft][..], &[0u8; 11][..], "triangle_materials has 11, expected 12"),
        (&[], &[0; 12], "materials has 0"),
        (&[palpate_material { damping_n_s_per_m: 5.0, ..soft }], &[], "is 5, expected 0 to 4"),
    ] {
        let (code, _) = set(materials, triangles);
        assert_eq!(code, PALPATE_INVALID_ARGUMENT, "{}", said());
        assert!(said().contains(words), "{} is not {words}", said());
    }
    ok(set(&[], &[]).0);
    [rigid, felt, pressed(held)]
}

#[test]
fn a_material_is_felt_here_and_at_a_server() {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer points to a live object.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    let here = forces(&Held::open(server, true));
    let expected = [PRESSED_N, PRESSED_N / (1.0 + 500.0 / 250.0), PRESSED_N];
    for (got, expected) in here.iter().zip(expected) {
        assert!((got / expected - 1.0).abs() < 0.01, "{here:?}, not {expected}");
    }
    let Some(served) = Served::start(&[("PALPATE_STORE_SCENES", "false")]) else { return };
    let there = forces(&Held::open(connect(&served.address), true));
    assert_eq!(here.map(f64::to_bits), there.map(f64::to_bits));
}
