//! Tests many hands at a time: each step is that of its session alone, bit for bit, and copies of a scene go their own
//! ways.

#[path = "support/held.rs"]
#[allow(dead_code)] // other tests use more of it
mod held;
#[path = "support/served.rs"]
mod served;

use std::ptr;

use palpate_c::{
    code::*, many::*, plain::*, query::*, scene::*, server::*, session::*, version::VERSION,
};
use palpate_code::*;

use held::{Held, ball_at, ok, said, text};
use served::{Served, connect};

const N: usize = 24;
const STEPS: usize = 60;
const TISSUE: u32 = 1;
const TOOL: u32 = 1;

fn local() -> Held {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer points to a live object.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    Held::open(server, true)
}

fn open(scene: *mut palpate_scene) -> *mut palpate_session {
    let (mut options, mut session) = (palpate_session_options::default(), ptr::null_mut());
    // SAFETY: all pointers point to live objects.
    unsafe {
        ok(palpate_session_defaults(TOOL, &mut options));
        options.lock_step = 1;
        ok(palpate_open_session(scene, &options, &mut session));
    }
    session
}

/// Hands that belong to nobody else.
struct Hands(Vec<*mut palpate_session>);

impl Hands {
    fn step(&self, poses: &[palpate_pose]) -> Answers {
        let n = self.0.len();
        let mut answers = Answers {
            wrenches: vec![palpate_wrench::default(); n],
            renderings: vec![palpate_rendering::default(); n],
            distances: vec![palpate_link_distance::default(); n],
        };
        let Answers { wrenches, renderings, distances } = &mut answers;
        // SAFETY: all arrays have an entry for each session, and the tool has one link.
        ok(unsafe {
            palpate_step_many(
                self.0.as_ptr(),
                n,
                poses.as_ptr(),
                ptr::null(),
                0,
                1e-3,
                wrenches.as_mut_ptr(),
                renderings.as_mut_ptr(),
                distances.as_mut_ptr(),
                1,
            )
        });
        answers
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        // SAFETY: `Hands` owns these handles, and nothing uses them any more.
        self.0.iter_mut().for_each(|session| ok(unsafe { palpate_close_session(session) }));
    }
}

struct Answers {
    wrenches: Vec<palpate_wrench>,
    renderings: Vec<palpate_rendering>,
    distances: Vec<palpate_link_distance>,
}

/// Height of a hand at a step, metres: it presses and lifts, each hand in its own rhythm.
fn height_m(hand: usize, step: usize) -> f64 {
    0.002 * (0.2 * step as f64 * (1.0 + hand as f64 / N as f64)).cos()
}

#[test]
fn each_step_of_many_is_that_of_its_session_alone() {
    let held = local();
    let many = Hands((0..N).map(|_| open(held.scene)).collect());
    let alone = Hands((0..N).map(|_| open(held.scene)).collect());
    let mut n_pressed = 0;
    for step in 0..STEPS {
        let poses: Vec<_> = (0..N).map(|hand| ball_at(height_m(hand, step))).collect();
        let found = many.step(&poses);
        for (hand, pose) in poses.iter().enumerate() {
            let (mut wrench, mut newest) = (palpate_wrench::default(), Default::default());
            let (mut link, mut n) = (palpate_link_distance::default(), 0);
            // SAFETY: all pointers point to live objects.
            unsafe {
                let session = alone.0[hand];
                ok(palpate_step(session, pose, ptr::null(), 0, 1e-3, &mut wrench));
                ok(palpate_newest(session, &mut newest));
                ok(palpate_link_distances(session, &mut link, 1, &mut n, ptr::null_mut()));
            }
            assert_eq!((found.wrenches[hand], found.distances[hand]), (wrench, link), "{hand}");
            let told = found.renderings[hand];
            assert_eq!(
                (told.proxy, told.state, told.sequence),
                (newest.proxy, newest.state, step as u64 + 1)
            );
            n_pressed += usize::from(wrench.force_n.z > 0.1);
        }
    }
    assert!(n_pressed > N * STEPS / 10, "{n_pressed} pressed");
}

impl Held {
    fn copy(&self, name: &str) -> *mut palpate_scene {
        let mut copy = ptr::null_mut();
        // SAFETY: all pointers point to live objects.
        ok(unsafe { palpate_copy_scene(self.scene, text(name).as_ptr(), &mut copy) });
        copy
    }
}

fn height_of_top(scene: *mut palpate_scene) -> f64 {
    let (point, mut metres) = (palpate_vec3 { x: 0.02, y: 0.035, z: 0.05 }, 0.0);
    // SAFETY: all pointers point to live objects.
    ok(unsafe { palpate_distances(scene, TISSUE, &point, &mut metres, 1) });
    0.05 - metres
}

#[test]
fn copies_of_a_scene_go_their_own_ways() {
    let held = local();
    let lifted: Vec<f32> =
        held::slab().positions.iter().flat_map(|p| [p.x, p.y, p.z + 0.001]).collect();
    let first = held.copy("first");
    // SAFETY: the array has three numbers for each vertex.
    ok(unsafe { palpate_deform(first, TISSUE, lifted.as_ptr(), lifted.len() / 3) });
    assert!((height_of_top(first) - 0.001).abs() < 1e-7, "{} m", height_of_top(first));
    assert!(height_of_top(held.scene).abs() < 1e-9, "the original stays");
    // A copy of what was deformed, and cut: ids stay the same.
    let removed = [0_u32];
    let cut = palpate_cut { removed: removed.as_ptr(), n_removed: 1, ..Default::default() };
    // SAFETY: all pointers point to live objects.
    ok(unsafe { palpate_cut_tissue(held.scene, TISSUE, &cut, ptr::null_mut()) });
    let second = held.copy("second");
    let ids = |scene| {
        let (mut n, mut n_triangles) = (0, 0);
        let mut ids = [u32::MAX; 12];
        let (mut xyz, mut corners) = ([0.0_f32; 24], [0; 36]);
        // SAFETY: all pointers point to live objects, with the stated room.
        unsafe {
            let (xyz, to) = (xyz.as_mut_ptr(), corners.as_mut_ptr());
            ok(palpate_export_tissue(
                scene,
                TISSUE,
                xyz,
                8,
                &mut n,
                ids.as_mut_ptr(),
                to,
                12,
                &mut n_triangles,
                ptr::null_mut(),
            ));
        }
        (ids, corners, n_triangles)
    };
    assert_eq!(ids(second), ids(held.scene));
    assert_eq!((ids(second).2, ids(second).0[0], ids(first).2), (11, 1, 12));
    // Hands in each of them.
    let hands = Hands([first, second, held.scene].map(open).to_vec());
    for _ in 0..200 {
        hands.step(&[ball_at(0.01); 3]);
    }
    let deep = |n| ball_at(0.01 - 1e-4 * f64::from(n));
    let mut felt = Vec::new();
    for n in 0..120 {
        felt = hands.step(&[deep(n); 3]).wrenches;
    }
    assert!(felt[0].force_n.z > felt[1].force_n.z + 0.4, "{felt:?}: 500 N/m over 1 mm more");
    drop(hands);
    let mut taken = ptr::null_mut();
    // SAFETY: all pointers point to live objects.
    unsafe {
        let again = palpate_copy_scene(held.scene, text("first").as_ptr(), &mut taken);
        assert_eq!((again, taken.is_null()), (PALPATE_ALREADY_EXISTS, true));
        let wrong = palpate_copy_scene(held.scene, text("A B").as_ptr(), &mut taken);
        assert_eq!(wrong, PALPATE_INVALID_ARGUMENT, "{}", said());
        for mut copy in [first, second] {
            ok(palpate_close_scene(&mut copy));
        }
    }
}

#[test]
fn a_step_of_many_names_the_session_that_failed() {
    let held = local();
    let hands = Hands((0..3).map(|_| open(held.scene)).collect());
    let mut wrenches = [palpate_wrench { flags: 77, ..Default::default() }; 3];
    let mut distances = [palpate_link_distance::default(); 6];
    let mut poses = [ball_at(0.01); 3];
    let mut step = |sessions: &[*mut palpate_session], poses: &[palpate_pose], n_links, each| {
        let (n, wrenches) = (sessions.len(), wrenches.as_mut_ptr());
        let to = if each == 0 { ptr::null_mut() } else { distances.as_mut_ptr() };
        let (none, links) = (ptr::null_mut(), poses.as_ptr());
        // SAFETY: arrays have the stated lengths, or the length is refused before they are read.
        let code = unsafe {
            palpate_step_many(
                sessions.as_ptr(),
                n,
                links,
                links,
                n_links,
                1e-3,
                wrenches,
                none,
                to,
                each,
            )
        };
        (code, said())
    };
    let [first, second, third] = hands.0[..] else { panic!("three") };
    let (code, words) = step(&[first, ptr::null_mut(), third], &poses, 0, 0);
    assert_eq!(
        (code, words.contains("sessions[1] is NULL")),
        (PALPATE_INVALID_ARGUMENT, true),
        "{words}"
    );
    // A session that is there twice is busy, or steps twice: it is never half changed.
    let (code, words) = step(&[first, first, first], &poses, 1, 0);
    assert!(code == PALPATE_OK || code == PALPATE_BUSY && words.contains("sessions["), "{words}");
    poses[2].orientation.w = 0.0;
    let (code, words) = step(&[first, second, third], &poses, 0, 0);
    assert_eq!(
        (code, words.contains("sessions[2]: a pose is none")),
        (PALPATE_INVALID_ARGUMENT, true),
        "{words}"
    );
    poses[2] = poses[1];
    let (code, words) = step(&[first, second, third], &poses, 0, 2);
    assert_eq!(
        (code, words.contains("n_links_each is 2, expected 1")),
        (PALPATE_INVALID_ARGUMENT, true),
        "{words}"
    );
    for (n_links, each, name) in [(usize::MAX / 2, 0, "links"), (0, usize::MAX / 2, "distances")] {
        let (code, words) = step(&[first, second, third], &poses, n_links, each);
        assert_eq!((code, words.contains(name)), (PALPATE_INVALID_ARGUMENT, true), "{words}");
    }
    assert_eq!(step(&[first, second, third], &poses, 1, 1).0, PALPATE_OK);
    assert_eq!(step(&[], &[], 0, 0).0, PALPATE_OK);
    assert_eq!(wrenches.map(|w| w.flags), [0; 3]);
}

#[test]
fn scenes_of_a_server_are_not_copied_and_their_sessions_step_together() {
    let Some(served) = Served::start(&[("PALPATE_STORE_SCENES", "false")]) else { return };
    let held = Held::open(connect(&served.address), true);
    let mut copy = ptr::null_mut();
    // SAFETY: all pointers point to live objects.
    let code = unsafe { palpate_copy_scene(held.scene, text("copy").as_ptr(), &mut copy) };
    assert_eq!((code, copy.is_null()), (PALPATE_REFUSED, true), "{}", said());
    let hands = Hands((0..3).map(|_| open(held.scene)).collect());
    for n in 0..120 {
        let found = hands.step(&[ball_at(0.009 - 1e-4 * f64::from(n)); 3]);
        assert!(n < 110 || found.wrenches.iter().all(|felt| felt.force_n.z > 0.3), "{n}");
    }
}
