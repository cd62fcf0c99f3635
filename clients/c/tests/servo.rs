//! `palpate_servo` allocates nothing and waits for nobody: not for the engine, not for a server that is stopped.

#[path = "support/held.rs"]
mod held;
// A server is stopped by a signal.
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

use palpate_c::{code::*, plain::*, server::*, session::*};
use palpate_code::*;

use held::{Held, PRESSED_N, ball_at, ok};
#[cfg(unix)]
use served::{Served, connect};

/// Counts what this thread allocates and frees.
struct Counting;

thread_local! {
    static N_CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends has no counter any more, and nobody asks for it.
    let _ = N_CALLS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: it is the system's allocator; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often this thread has waited so far: for a lock, a file, another thread, or in a sleep.
#[cfg(target_os = "linux")]
fn n_waits() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").expect("proc");
    let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
    line.expect("a line").trim().parse().expect("a number")
}

impl Held {
    /// One sample, and what it allocated.
    fn sample(&self, height_m: f64) -> (palpate_wrench, usize) {
        let pose = ball_at(height_m);
        let mut wrench = palpate_wrench::default();
        let before = N_CALLS.get();
        // SAFETY: all pointers are to what is alive.
        let code = unsafe { palpate_servo(self.session, &pose, 1e-3, &mut wrench) };
        let n_calls = N_CALLS.get() - before;
        ok(code);
        (wrench, n_calls)
    }

    /// A sample in which the thread waits for nothing.
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

    /// Presses 3 mm deep until that is felt.
    fn press(&self) {
        // A tool that is in tissue when the engine first sees it feels nothing of that.
        let mut n = 0;
        // SAFETY: all pointers are to what is alive; there is no room for a contact.
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
    // SAFETY: the pointer is to what is alive.
    ok(unsafe { palpate_open_local(&mut server) });
    let held = Held::open(server, false);
    held.press();
    // What is wrong is told without allocating, too.
    let mut wrench = palpate_wrench::default();
    let before = N_CALLS.get();
    // SAFETY: NULL is no pose.
    let code = unsafe { palpate_servo(held.session, ptr::null(), 1e-3, &mut wrench) };
    assert_eq!((code, N_CALLS.get() - before), (PALPATE_INVALID_ARGUMENT, 0));
    assert_eq!(wrench.flags & PALPATE_FADING, PALPATE_FADING);
}

/// Wherever time went, as in a debugger: the force that was held is not given at once, and what is no time at all lets go.
#[test]
fn a_host_that_was_stopped_or_has_no_time_is_let_go() {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer is to what is alive.
    ok(unsafe { palpate_open_local(&mut server) });
    let held = Held::open(server, false);
    for dt_s in [11.0, f64::NAN, -1.0, f64::INFINITY] {
        held.press();
        let pose = ball_at(-0.003);
        let mut wrench = palpate_wrench::default();
        let mut last = f64::INFINITY;
        for _ in 0..40 {
            sleep(Duration::from_millis(2));
            // SAFETY: all pointers are to what is alive.
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
    // Stopped until both loops are over.
    let mut last = f64::INFINITY;
    while last > 0.0 {
        let felt = held.sample_at_once(-0.003);
        if felt.flags & PALPATE_FADING != 0 {
            assert!(felt.force_n.z <= last, "{} N after {last} N", felt.force_n.z);
        }
        last = felt.force_n.z;
        sleep(Duration::from_millis(1));
    }
    // Also while the client, which hears nothing, leaves the server and seeks it anew.
    let mut n_alone = 0;
    while n_alone < 100 {
        assert_eq!(held.sample_at_once(-0.003).force_n.z, 0.0);
        n_alone += usize::from(held.status().is_open == 0);
        sleep(Duration::from_millis(1));
    }
    signal(&served, "CONT");
    held.press();
}
