//! Two servers that share scenes: a session, cuts and deformations go on when their scene moves, and when its server is
//! killed.

// Windows is left out: it has no scene on two servers of one folder.
#![cfg(unix)]

#[path = "support/held.rs"]
mod held;
#[path = "support/served.rs"]
mod served;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    ptr,
    thread::sleep,
    time::{Duration, Instant},
};

use glam::{DVec3, Vec3};
use palpate_c::{code::*, plain::*, query::*, scene::*, session::*};
use palpate_code::*;

use held::{Held, PRESSED_N, ball_at, ok, said, slab};
use served::{Served, connect, program};

/// Long enough that a busy machine does not fail the test.
const SOON: Duration = Duration::from_secs(60);
const DT: Duration = Duration::from_millis(1);
const ABOVE_M: f64 = 0.001;
const PRESSED_M: f64 = -0.003;
/// More samples than a fade takes: no force of the previous server is left.
const N_FELT: usize = 100;
/// Id of the slab.
const TISSUE: u32 = 1;

/// Two servers of one folder, which is removed at the end.
struct Shared {
    /// The first server creates the scenes.
    servers: Vec<Served>,
    folder: PathBuf,
}

impl Shared {
    /// Returns `None` if the program was not built.
    fn start(name: &str) -> Option<Shared> {
        // In memory if possible: a disk that all tests write to may stall for longer than a lease.
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = place.join(format!("palpate-c-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("room");
        let variables = [
            ("PALPATE_DATA_DIR", folder.to_str().expect("UTF-8")),
            ("PALPATE_CLUSTER_SHARED", "true"),
            ("PALPATE_CLUSTER_LEASE", "3s"),
        ];
        let servers = (0..2).map_while(|_| Served::start(&variables)).collect();
        let shared = Shared { servers, folder };
        (shared.servers.len() == 2).then_some(shared)
    }

    fn hold(&self, lock_step: bool) -> Held {
        let addresses: Vec<&str> = self.servers.iter().map(|s| s.address.as_str()).collect();
        Held::open(connect(&addresses.join(",")), lock_step)
    }

    /// Moves the scene from the first to the second server, as an operator does; calls `meanwhile` repeatedly until it
    /// has moved.
    fn move_scene(&self, mut meanwhile: impl FnMut()) {
        let [from, to] = [0, 1].map(|n| self.servers[n].address.as_str());
        let mut command = Command::new(program().expect("it was built"));
        command
            .args(["scenes", "move", "held", "--to", to, "--server", from])
            .env("RUST_LOG", "off");
        let mut moving = command.stdout(Stdio::null()).spawn().expect("it runs");
        let ended = loop {
            if let Some(ended) = moving.try_wait().expect("it is a child") {
                break ended;
            }
            meanwhile();
        };
        assert!(ended.success(), "{ended:?}");
    }

    /// Kills the second server with kill -9.
    fn kill_second(&mut self) {
        drop(self.servers.pop());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.servers.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Held {
    /// Takes one sample of a device; returns the force, newtons.
    fn sample(&self, height_m: f64) -> f64 {
        let mut felt = palpate_wrench::default();
        // SAFETY: all pointers point to live objects.
        ok(unsafe { palpate_servo(self.session, &ball_at(height_m), DT.as_secs_f64(), &mut felt) });
        sleep(DT);
        felt.force_n.z
    }

    /// Takes one step in lock-step; returns the force, newtons.
    fn step(&self, height_m: f64) -> f64 {
        let (pose, dt_s) = (ball_at(height_m), DT.as_secs_f64());
        let mut felt = palpate_wrench::default();
        // SAFETY: all pointers point to live objects.
        ok(unsafe { palpate_step(self.session, &pose, ptr::null(), 0, dt_s, &mut felt) });
        felt.force_n.z
    }

    /// Starts above the slab: tissue does not hold a proxy that starts inside it.
    fn begins_above(&self) {
        let until = Instant::now() + SOON;
        while self.state() != "PALPATE_FREE" {
            self.sample(ABOVE_M);
            assert!(Instant::now() < until, "{:?}, {}", self.status(), self.state());
        }
    }

    /// Presses until the force is steady, after this many reconnections of the session.
    fn feels(&self, reconnected: u64, mut felt_n: impl FnMut() -> f64) {
        let until = Instant::now() + SOON;
        let mut n_felt = 0;
        while n_felt < N_FELT {
            let is_back = self.status().reconnected >= reconnected;
            let force_n = felt_n();
            n_felt += usize::from(is_back && (force_n - PRESSED_N).abs() < 0.01);
            assert!(Instant::now() < until, "{force_n} N, {:?}, {}", self.status(), self.state());
        }
        let palpate_session_status { reconnected: back, sessions_lost: lost, .. } = self.status();
        assert_eq!((back, lost), (reconnected, reconnected), "each is another session");
    }

    /// Describes the proxy's state for an error message.
    fn state(&self) -> String {
        // SAFETY: all zeros are a valid value.
        let mut newest: palpate_rendering = unsafe { std::mem::zeroed() };
        // SAFETY: all pointers point to live objects.
        match unsafe { palpate_newest(self.session, &mut newest) } {
            PALPATE_OK => format!("{:?}", newest.state),
            _ => said(),
        }
    }
}

/// A simulation that changes the slab, far from the ball.
struct Simulation {
    scene: *mut palpate_scene,
    corners: Vec<Vec3>,
    n_cuts: usize,
}

/// Triangles of the slab's bottom and one of its sides to cut, with their vertices.
const CUTS: [(u32, [u32; 3]); 3] = [(0, [0, 2, 3]), (1, [0, 3, 1]), (4, [0, 1, 5])];

impl Simulation {
    fn of(held: &Held) -> Simulation {
        Simulation { scene: held.scene, corners: slab().positions, n_cuts: 0 }
    }

    /// Position of the first corner after its `n`th move.
    fn corner(&self, n: u8) -> Vec3 {
        self.corners[0] - Vec3::X * 1e-4 * f32::from(n)
    }

    fn deform(&self, n: u8) -> palpate_code {
        let to = self.corner(n).to_array();
        // SAFETY: all pointers point to live objects.
        unsafe { palpate_deform_some(self.scene, TISSUE, &0, to.as_ptr(), 1) }
    }

    /// Asserts that the corner is at that position.
    fn is_deformed(&self, n: u8) {
        let DVec3 { x, y, z } = self.corner(n).as_dvec3();
        let at = palpate_vec3 { x, y, z };
        let mut distance_m = f64::NAN;
        // SAFETY: all pointers point to live objects.
        ok(unsafe { palpate_distances(self.scene, TISSUE, &at, &mut distance_m, 1) });
        assert!(distance_m.abs() < 1e-6, "the corner is {distance_m} m from where it was put");
    }

    /// Splits the next triangle into three.
    fn cut(&mut self) {
        let (triangle, [a, b, c]) = CUTS[self.n_cuts];
        let first_vertex = (self.corners.len() + self.n_cuts) as u32;
        let middle = [a, b, c].map(|v| self.corners[v as usize]).iter().sum::<Vec3>() / 3.0;
        let middle = middle.to_array();
        let parts = [[a, b, first_vertex], [b, c, first_vertex], [c, a, first_vertex]];
        let cut = palpate_cut {
            removed: &triangle,
            n_removed: 1,
            positions: middle.as_ptr(),
            n_positions: 1,
            triangles: parts.as_flattened().as_ptr(),
            n_triangles: parts.len(),
            ..Default::default()
        };
        let mut made = palpate_cut_made::default();
        // SAFETY: all pointers point to live objects.
        ok(unsafe { palpate_cut_tissue(self.scene, TISSUE, &cut, &mut made) });
        self.n_cuts += 1;
        let seen = (made.topology_revision, made.first_vertex);
        assert_eq!(seen, (self.n_cuts as u64, first_vertex), "none is lost or made twice");
    }
}

#[test]
fn a_session_cuts_and_deformations_follow_their_scene() {
    let Some(mut shared) = Shared::start("device") else { return };
    let held = shared.hold(false);
    let mut simulation = Simulation::of(&held);
    held.begins_above();
    let press = || held.sample(PRESSED_M);
    held.feels(0, press);
    ok(simulation.deform(1));
    simulation.cut();

    // The move ends the open stream of deformations; the next stream is at the other server.
    shared.move_scene(|| {
        press();
    });
    held.feels(1, press);
    ok(simulation.deform(2));
    simulation.is_deformed(2);
    simulation.cut();

    // The scene has no server until the lease expires.
    shared.kill_second();
    let until = Instant::now() + SOON;
    while simulation.deform(3) != PALPATE_OK {
        assert!(Instant::now() < until, "{}", said());
        press();
    }
    simulation.is_deformed(3);
    simulation.cut();
    held.feels(2, press);
}

#[test]
fn a_session_in_lock_step_follows_its_scene() {
    let Some(mut shared) = Shared::start("steps") else { return };
    let held = shared.hold(true);
    held.step(ABOVE_M);
    let press = || held.step(PRESSED_M);
    held.feels(0, press);
    // A step in progress waits for the other server.
    shared.move_scene(|| {
        press();
    });
    held.feels(1, press);
    shared.kill_second();
    held.feels(2, press);
}
