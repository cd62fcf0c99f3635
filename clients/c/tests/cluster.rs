//! Two servers that share scenes: a session, cuts and deformations go on when their scene moves, and when its server dies.

use std::{
    ffi::{CStr, CString},
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    ptr,
    thread::sleep,
    time::{Duration, Instant},
};

use palpate_c::{code::*, plain::*, scene::*, server::*, session::*};
use palpate_code::*;

/// 500 N/m over 3 mm and the stand-off.
const PRESSED_N: f64 = 1.51;
/// A machine that is busy is no failure of the client.
const SOON: Duration = Duration::from_secs(60);

/// One of several servers of a folder, killed at the end.
struct Served(Child, String);

/// The program, if it was built.
fn program() -> Option<PathBuf> {
    let built = std::env::current_exe().expect("it runs");
    let beside = built.parent().and_then(|p| p.parent()).expect("a folder").join("palpate");
    let program = std::env::var_os("PALPATE_SERVER_BIN").map_or(beside, PathBuf::from);
    if !program.exists() {
        println!("not run: {} is not built (PALPATE_SERVER_BIN)", program.display());
        return None;
    }
    Some(program)
}

impl Served {
    fn start(program: &Path, folder: &Path) -> Served {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder);
        command.args(["--set", "cluster.shared=true", "--set", "cluster.lease=3s"]);
        command.env("RUST_LOG", "off");
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
        let mut line = String::new();
        let stdout = child.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("UTF-8");
        let address = line.trim().strip_prefix("listening on ").expect("an address").to_owned();
        Served(child, address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A ball in a hand over a slab whose top is at 0.
struct Held {
    server: *mut palpate_server,
    scene: *mut palpate_scene,
    session: *mut palpate_session,
    tissue: u32,
    corners: Vec<f32>,
}

fn said() -> String {
    // SAFETY: it gives a text that ends.
    unsafe { CStr::from_ptr(palpate_last_error()) }.to_string_lossy().into_owned()
}

fn ok(code: palpate_code) {
    assert_eq!(code, PALPATE_OK, "{}", said());
}

fn text(text: &str) -> CString {
    CString::new(text).expect("no zero")
}

impl Held {
    fn open(addresses: &str) -> Held {
        let (mut server, mut scene) = (ptr::null_mut(), ptr::null_mut());
        let (mut session, mut tissue, mut tool) = (ptr::null_mut(), 0, 0);
        let (url, none) = (text(addresses), ptr::null());
        let address = palpate_address {
            url: url.as_ptr(),
            key_file: none,
            ca_file: none,
            certificate_file: none,
            certificate_key_file: none,
            timeout_s: 0.0,
        };
        let slab = palpate::oracle::shapes::cuboid(glam::DVec3::new(0.2, 0.2, 0.04));
        let corners: Vec<f32> =
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
            ok(palpate_connect(&address, &mut server));
            ok(palpate_create_scene(server, text("shared").as_ptr(), &mut scene));
            let slab = mesh(&corners, &slab.triangles);
            ok(palpate_add_tissue(scene, text("slab").as_ptr(), &slab, &mut tissue));
            ok(palpate_add_tool(scene, name.as_ptr(), &link, 1, &mut tool));
            ok(palpate_session_defaults(tool, &mut options));
            ok(palpate_open_session(scene, &options, &mut session));
        }
        Held { server, scene, session, tissue, corners }
    }

    fn status(&self) -> palpate_session_status {
        let mut status = palpate_session_status::default();
        // SAFETY: all pointers are to what is alive.
        ok(unsafe { palpate_status(self.session, &mut status) });
        status
    }

    /// Presses 3 mm deep until that is felt, and the session has come back so often.
    fn press(&self, reconnected: u64) {
        let until = Instant::now() + SOON;
        let pose = palpate_pose {
            position_m: palpate_vec3 { x: 0.02, y: 0.035, z: 0.007 },
            orientation: palpate_quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 },
        };
        let mut felt = palpate_wrench::default();
        while self.status().reconnected < reconnected || (felt.force_n.z - PRESSED_N).abs() > 0.01 {
            // SAFETY: all pointers are to what is alive.
            ok(unsafe { palpate_servo(self.session, &pose, 1e-3, &mut felt) });
            assert!(Instant::now() < until, "{felt:?} {:?}", self.status());
            sleep(Duration::from_millis(1));
        }
    }

    /// Puts one corner, which the ball is far from, and gives the code.
    fn deform(&self, n: u32) -> palpate_code {
        let corner = [self.corners[0] - 1e-4 * n as f32, self.corners[1], self.corners[2]];
        // SAFETY: all pointers are to what is alive.
        unsafe { palpate_deform_some(self.scene, self.tissue, &0, corner.as_ptr(), 1) }
    }

    /// Hangs a triangle on the slab, far from the ball, and gives the code.
    fn cut(&self, made: &mut palpate_cut_made) -> palpate_code {
        let vertex = [0.5_f32, 0.5, -0.5];
        let triangle = [0_u32, 1, 2];
        let cut = palpate_cut {
            removed: ptr::null(),
            n_removed: 0,
            positions: vertex.as_ptr(),
            n_positions: 1,
            triangles: triangle.as_ptr(),
            n_triangles: 1,
            parents: ptr::null(),
        };
        // SAFETY: all pointers are to what is alive.
        unsafe { palpate_cut_tissue(self.scene, self.tissue, &cut, made) }
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

/// Again for as long as nobody has the scene.
fn until_served(mut call: impl FnMut() -> palpate_code) {
    let until = Instant::now() + SOON;
    loop {
        let code = call();
        if code == PALPATE_OK {
            return;
        }
        assert!(code == PALPATE_UNAVAILABLE && Instant::now() < until, "{code:?}: {}", said());
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_session_cuts_and_deformations_follow_their_scene() {
    let Some(program) = program() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("room");
    let [first, second] = [(); 2].map(|()| Served::start(&program, &folder));
    let held = Held::open(&format!("{},{}", first.1, second.1));
    held.press(0);
    let mut made = palpate_cut_made::default();
    ok(held.deform(1));
    ok(held.cut(&mut made));
    assert_eq!(made.topology_revision, 1);

    // The stream of deformations that is open ends with it, and the next one goes on at the other.
    let mut command = Command::new(&program);
    command.args(["scenes", "move", "shared", "--to", &second.1, "--server", &first.1]);
    let moved = command.output().expect("it runs");
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    ok(held.deform(2));
    ok(held.cut(&mut made));
    assert_eq!(made.topology_revision, 2);
    held.press(1);
    let status = held.status();
    assert_eq!((status.reconnected, status.sessions_lost), (1, 1), "{status:?}");

    // Who dies is left for the other address, by calls too.
    drop(second);
    until_served(|| held.deform(3));
    held.press(2);
    until_served(|| held.cut(&mut made));
    assert_eq!(made.topology_revision, 3);
    let mut felt = 0.0;
    let corner = palpate_vec3 { x: 0.5, y: 0.5, z: -0.5 };
    // SAFETY: all pointers are to what is alive.
    ok(unsafe { palpate_distances(held.scene, held.tissue, &corner, &mut felt, 1) });
    drop((held, first));
    fs::remove_dir_all(&folder).expect("nobody has it");
}
