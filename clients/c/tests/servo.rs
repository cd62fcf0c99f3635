//! Tests that `palpate_servo` allocates nothing and never waits, neither for the engine nor for a stopped server, and
//! that a step in lock-step and copies of all that it answers allocate nothing.

#[path = "support/held.rs"]
mod held;
// A signal stops the server.
#[cfg(unix)]
#[path = "support/served.rs"]
mod served;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    ptr,
    thread::sleep,
    time::Duration,
};

use palpate_c::{code::*, plain::*, rows::*, server::*, session::*, version::VERSION};
use palpate_code::*;

use held::{Held, PRESSED_N, ball_at, ok};
#[cfg(unix)]
use served::{Served, connect};

/// Counts the allocations and frees of this thread.
struct Counting;

thread_local! {
    static N_CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and no test reads it.
    let _ = N_CALLS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: forwards to the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: upheld by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: upheld by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns how often this thread has waited so far: for a lock, a file, another thread, or in a sleep.
#[cfg(target_os = "linux")]
fn n_waits() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("proc");
    let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
    line.expect("a line").trim().parse().expect("a number")
}

impl Held {
    /// Takes one sample; returns the wrench and the number of allocations and frees.
    fn sample(&self, height_m: f64) -> (palpate_wrench, usize) {
        let pose = ball_at(height_m);
        let mut wrench = palpate_wrench::default();
        let before = N_CALLS.get();
        // SAFETY: all pointers point to live objects.
        let code = unsafe { palpate_servo(self.session, &pose, 1e-3, &mut wrench) };
        let n_calls = N_CALLS.get() - before;
        ok(code);
        (wrench, n_calls)
    }

    /// Takes a sample and asserts that the thread waited for nothing.
    #[cfg(unix)]
    fn sample_at_once(&self, height_m: f64) -> palpate_wrench {
        #[cfg(target_os = "linux")]
        let before = n_waits();
        let (felt, n_calls) = self.sample(height_m);
        #[cfg(target_os = "linux")]
        assert_eq!(n_waits() - before, 0, "waits in a servo");
        assert_eq!(n_calls, 0, "allocations in a servo");
        felt
    }

    /// Presses 3 mm deep until the force is felt.
    fn press(&self) {
        // A tool that is inside tissue when the engine first sees it is not pushed out: starts above.
        let mut n = 0;
        // SAFETY: all pointers point to live objects; the array has no elements.
        while unsafe { palpate_contacts(self.session, ptr::null_mut(), 0, &mut n) }
            == PALPATE_NO_ANSWER
        {
            self.sample(0.001);
            sleep(Duration::from_millis(1));
        }
        for n in 0..20_000 {
            let (felt, n_calls) = self.sample((0.001 - 1e-4 * f64::from(n)).max(-0.003));
            assert_eq!(n_calls, 0, "allocations in a servo");
            if (felt.force_n.z - PRESSED_N).abs() < 0.01 {
                return;
            }
            sleep(Duration::from_millis(1));
        }
        panic!("nothing is felt");
    }
}

#[test]
fn a_servo_in_the_process_allocates_nothing() {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer points to a live object.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    let held = Held::open(server, false);
    held.press();
    // An error is reported without allocating, too.
    let mut wrench = palpate_wrench::default();
    let before = N_CALLS.get();
    // SAFETY: NULL is no pose.
    let code = unsafe { palpate_servo(held.session, ptr::null(), 1e-3, &mut wrench) };
    assert_eq!((code, N_CALLS.get() - before), (PALPATE_INVALID_ARGUMENT, 0));
    assert_eq!(wrench.flags & PALPATE_FADING, PALPATE_FADING);
}

/// Room for all that a tick answers.
struct Copies {
    contacts: [palpate_contact; 64],
    touched: [palpate_surface_contact; 64],
    pairs: [palpate_feature_pair; 256],
    links: [palpate_link_distance; 1],
    probes: [palpate_probe_distance; 2],
    vertices: [u32; 64],
    forces_n: [f32; 192],
    wide_n: [f64; 192],
}

impl Copies {
    /// Steps, and copies all answers; returns the number of allocations and frees, and of what was copied.
    fn step(&mut self, held: &Held, height_m: f64) -> (usize, [usize; 7]) {
        let (pose, mut wrench) = (ball_at(height_m), palpate_wrench::default());
        let (mut rendering, mut status) = (palpate_rendering::default(), Default::default());
        let (mut n, session, mut revision) = ([0; 7], held.session, 0);
        let none = ptr::null_mut();
        let rows = palpate_writable_rows {
            number: PALPATE_DOUBLE,
            data: self.wide_n.as_mut_ptr().cast(),
            capacity: 64,
            ..Default::default()
        };
        let before = N_CALLS.get();
        // SAFETY: all pointers point to live objects, and buffers have the stated room.
        let codes = unsafe {
            let ids = self.vertices.as_mut_ptr();
            let forces = self.forces_n.as_mut_ptr();
            [
                palpate_step(session, &pose, ptr::null(), 0, 1e-3, &mut wrench),
                palpate_newest(session, &mut rendering),
                palpate_status(session, &mut status),
                palpate_contacts(session, self.contacts.as_mut_ptr(), 64, &mut n[0]),
                palpate_surface_contacts(session, self.touched.as_mut_ptr(), 64, &mut n[1], none),
                palpate_feature_pairs(session, self.pairs.as_mut_ptr(), 256, &mut n[2], none),
                palpate_link_distances(session, self.links.as_mut_ptr(), 1, &mut n[3], none),
                palpate_probe_distances(session, self.probes.as_mut_ptr(), 2, &mut n[4], none),
                palpate_tissue_loads(session, 1, ids, forces, 64, &mut n[5], &mut revision),
                palpate_tissue_load_rows(session, 1, ids, &rows, &mut n[6], &mut revision),
            ]
        };
        let n_calls = N_CALLS.get() - before;
        assert_eq!(codes, [PALPATE_OK; 10], "at {height_m} m");
        for (wide, close) in self.wide_n.iter().zip(&self.forces_n).take(3 * n[6]) {
            assert_eq!(*wide as f32, *close);
        }
        (n_calls, n)
    }
}

/// Hand that presses and lifts, so that contacts and loads come and go.
#[test]
fn a_step_in_the_process_and_copies_of_its_answers_allocate_nothing() {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer points to a live object.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    let held = Held::open(server, true);
    let mut copies = Copies {
        contacts: [Default::default(); 64],
        touched: [Default::default(); 64],
        pairs: [Default::default(); 256],
        links: Default::default(),
        probes: Default::default(),
        vertices: [0; 64],
        forces_n: [0.0; 192],
        wide_n: [0.0; 192],
    };
    let mut most = [0; 7];
    for n in 0..600 {
        let height_m = 0.003 * (f64::from(n) * 0.05).cos() + 0.001;
        let (n_calls, copied) = copies.step(&held, height_m);
        for (most, copied) in most.iter_mut().zip(copied) {
            *most = copied.max(*most);
        }
        // The first presses make the buffers.
        assert!(n < 300 || n_calls == 0, "{n_calls} allocations at step {n}, {height_m} m");
    }
    assert!(most.iter().all(|n| *n > 0), "{most:?} were copied");
}

/// After lost time, as in a debugger, the held force does not return at once; with an invalid time the force fades to
/// zero.
#[test]
fn a_host_that_was_stopped_or_has_no_time_is_let_go() {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer points to a live object.
    ok(unsafe { palpate_open_local(VERSION, &mut server) });
    let held = Held::open(server, false);
    for dt_s in [11.0, f64::NAN, -1.0, f64::INFINITY] {
        held.press();
        let pose = ball_at(-0.003);
        let mut wrench = palpate_wrench::default();
        let mut last = f64::INFINITY;
        for _ in 0..40 {
            sleep(Duration::from_millis(2));
            // SAFETY: all pointers point to live objects.
            let code = unsafe { palpate_servo(held.session, &pose, dt_s, &mut wrench) };
            assert_eq!(code, PALPATE_INVALID_ARGUMENT, "dt_s {dt_s}");
            assert!(wrench.flags & PALPATE_FADING != 0 && wrench.force_n.z <= last, "{dt_s}");
            last = wrench.force_n.z;
        }
        assert_eq!(last, 0.0, "dt_s {dt_s}");
    }
}

#[cfg(unix)]
fn signal(served: &Served, name: &str) {
    let id = served.process.id().to_string();
    let status = std::process::Command::new("kill").args(["-s", name, &id]).status();
    assert!(status.expect("kill").success());
}

#[cfg(unix)]
#[test]
fn a_servo_waits_for_no_server() {
    let data =
        [("PALPATE_DATA_DIR", env!("CARGO_TARGET_TMPDIR")), ("PALPATE_STORE_SCENES", "false")];
    let Some(served) = Served::start(&data) else { return };
    let held = Held::open(connect(&served.address), false);
    held.press();
    signal(&served, "STOP");
    // The server stays stopped until both loops are over.
    let mut last = f64::INFINITY;
    while last > 0.0 {
        let felt = held.sample_at_once(-0.003);
        if felt.flags & PALPATE_FADING != 0 {
            assert!(felt.force_n.z <= last, "{} N after {last} N", felt.force_n.z);
        }
        last = felt.force_n.z;
        sleep(Duration::from_millis(1));
    }
    // This also holds while the client, without an answer, leaves the server and looks for it again.
    let mut n_alone = 0;
    while n_alone < 100 {
        assert_eq!(held.sample_at_once(-0.003).force_n.z, 0.0);
        n_alone += usize::from(held.status().is_open == 0);
        sleep(Duration::from_millis(1));
    }
    signal(&served, "CONT");
    held.press();
}
