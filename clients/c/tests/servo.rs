//! `palpate_servo` allocates nothing and waits for nobody: not for the engine, not for a server that is stopped.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    ffi::CString,
    ptr,
    thread::sleep,
    time::Duration,
};
#[cfg(unix)]
use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use palpate_c::{code::*, plain::*, scene::*, server::*, session::*};
use palpate_code::*;

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

/// A server of its own, killed at the end.
#[cfg(unix)]
struct Served(Child, String);

#[cfg(unix)]
impl Served {
    /// `None`: no program was built.
    fn start() -> Option<Served> {
        let built = std::env::current_exe().expect("it runs");
        let beside = built.parent().and_then(|p| p.parent()).expect("a folder").join("palpate");
        let program = std::env::var_os("PALPATE_SERVER_BIN").map_or(beside, PathBuf::from);
        if !program.exists() {
            println!("not run: {} is not built (PALPATE_SERVER_BIN)", program.display());
            return None;
        }
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("RUST_LOG", "off");
        command.env("PALPATE_DATA_DIR", env!("CARGO_TARGET_TMPDIR"));
        command.env("PALPATE_STORE_SCENES", "false");
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("UTF-8");
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Some(Served(child, address))
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status();
        assert!(status.expect("kill").success());
    }
}

#[cfg(unix)]
impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A ball in a hand over a slab whose top is at 0.
struct Held {
    session: *mut palpate_session,
    scene: *mut palpate_scene,
    server: *mut palpate_server,
}

fn ok(code: palpate_code) {
    // SAFETY: it gives a text that ends.
    let said = unsafe { std::ffi::CStr::from_ptr(palpate_last_error()) };
    assert_eq!(code, PALPATE_OK, "{said:?}");
}

impl Held {
    fn open(server: *mut palpate_server) -> Held {
        let (mut scene, mut session) = (ptr::null_mut(), ptr::null_mut());
        let (mut tissue, mut tool) = (0, 0);
        let text = |text: &str| CString::new(text).expect("no zero");
        let slab = palpate::oracle::shapes::cuboid(glam::DVec3::new(0.2, 0.2, 0.04));
        let slab_xyz: Vec<f32> =
            slab.positions.iter().flat_map(|p| [p.x, p.y, p.z - 0.02]).collect();
        let ball = palpate::oracle::shapes::sphere(0.01, 6);
        let ball_xyz: Vec<f32> = ball.positions.iter().flat_map(|p| p.to_array()).collect();
        let mesh = |xyz: &[f32], triangles: &[[u32; 3]]| palpate_mesh {
            positions: xyz.as_ptr(),
            n_vertices: xyz.len() / 3,
            triangles: triangles.as_ptr().cast(),
            n_triangles: triangles.len(),
            scale_to_m: 0.0,
        };
        let name = text("ball");
        let link = palpate_link {
            name: name.as_ptr(),
            mesh: mesh(&ball_xyz, &ball.triangles),
            rest_pose: ptr::null(),
            fill_holes_m: 0.0,
        };
        let mut options = palpate_session_options::default();
        // SAFETY: all pointers are to what is alive.
        unsafe {
            ok(palpate_create_scene(server, text("servo").as_ptr(), &mut scene));
            let slab = mesh(&slab_xyz, &slab.triangles);
            ok(palpate_add_tissue(scene, text("slab").as_ptr(), &slab, &mut tissue));
            ok(palpate_add_tool(scene, name.as_ptr(), &link, 1, &mut tool));
            ok(palpate_session_defaults(tool, &mut options));
            ok(palpate_open_session(scene, &options, &mut session));
        }
        Held { session, scene, server }
    }

    /// One sample, and what it allocated.
    fn sample(&self, height_m: f64) -> (palpate_wrench, usize) {
        let pose = palpate_pose {
            position_m: palpate_vec3 { x: 0.02, y: 0.035, z: 0.01 + height_m },
            orientation: palpate_quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 },
        };
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

    /// Whether there is a connection.
    #[cfg(unix)]
    fn is_open(&self) -> bool {
        let mut status = palpate_session_status::default();
        // SAFETY: all pointers are to what is alive.
        ok(unsafe { palpate_status(self.session, &mut status) });
        status.is_open != 0
    }

    /// Presses 3 mm deep until that is felt: 500 N/m over it and the stand-off.
    fn press(&self) {
        for n in 0..20_000 {
            let (felt, n_calls) = self.sample((0.001 - 1e-4 * f64::from(n)).max(-0.003));
            assert_eq!(n_calls, 0, "allocations in a servo");
            if (felt.force_n.z - 1.51).abs() < 0.01 {
                return;
            }
            sleep(Duration::from_millis(1));
        }
        panic!("nothing is felt");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: they are its own, and nobody uses them any more.
        unsafe {
            ok(palpate_close_session(&mut self.session));
            ok(palpate_close_scene(&mut self.scene));
            ok(palpate_close(&mut self.server));
        }
    }
}

#[test]
fn a_servo_in_the_process_allocates_nothing() {
    let mut server = ptr::null_mut();
    // SAFETY: the pointer is to what is alive.
    ok(unsafe { palpate_open_local(&mut server) });
    let held = Held::open(server);
    held.press();
    // What is wrong is told without allocating, too.
    let mut wrench = palpate_wrench::default();
    let before = N_CALLS.get();
    // SAFETY: NULL is no pose.
    let code = unsafe { palpate_servo(held.session, ptr::null(), 1e-3, &mut wrench) };
    assert_eq!((code, N_CALLS.get() - before), (PALPATE_INVALID_ARGUMENT, 0));
    assert_eq!(wrench.flags & PALPATE_FADING, PALPATE_FADING);
}

// A server is stopped by a signal.
#[cfg(unix)]
#[test]
fn a_servo_waits_for_no_server() {
    let Some(served) = Served::start() else { return };
    let mut server = ptr::null_mut();
    let url = CString::new(served.1.as_str()).expect("no zero");
    let none = ptr::null();
    let address = palpate_address {
        url: url.as_ptr(),
        key_file: none,
        ca_file: none,
        certificate_file: none,
        certificate_key_file: none,
        timeout_s: 0.0,
    };
    // SAFETY: all pointers are to what is alive.
    ok(unsafe { palpate_connect(&address, &mut server) });
    let held = Held::open(server);
    held.press();
    served.signal("STOP");
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
        n_alone += usize::from(!held.is_open());
        sleep(Duration::from_millis(1));
    }
    served.signal("CONT");
    held.press();
}
