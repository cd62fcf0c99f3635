//! P14: the time of the C library's `palpate_step` beyond the engine's own time on the same poses: with the engine in
//! this process, compared with a server on this machine over gRPC; and of copies of all that a step answers. One bead in one organ, rendered; both contestants
//! feel equal forces by equal servos. The engine alone gives the time to subtract, and the true force.

use std::{ffi::CString, ptr, sync::Arc, time::Instant};

use glam::DVec3;
use palpate::{
    client::mesh_source::MeshSource,
    coupling::posture::Posture,
    geometry::{MeshData, Pose},
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Limits, Link, Scene, TissueOptions, ToolId, ToolParts,
        tick::{TickOptions, ToolPose},
        tool::field::default_field,
    },
    servo::{DeviceFeed, DevicePose, DeviceServo, ServoOptions, device_servo},
    time_left::TimeLeft,
};
use palpate_c::{
    code::{palpate_code, palpate_last_error},
    plain::{
        palpate_address, palpate_contact, palpate_link, palpate_link_distance, palpate_mesh,
        palpate_pose, palpate_quaternion, palpate_session_options, palpate_surface_contact,
        palpate_vec3, palpate_wrench,
    },
    scene::{
        palpate_add_tissue, palpate_add_tool, palpate_close_scene, palpate_open_session,
        palpate_scene,
    },
    server::{
        palpate_close, palpate_connect, palpate_create_scene, palpate_open_local, palpate_server,
    },
    session::{
        palpate_close_session, palpate_contacts, palpate_link_distances, palpate_session,
        palpate_session_defaults, palpate_step, palpate_surface_contacts, palpate_tissue_loads,
    },
    version::VERSION,
};

use crate::{
    counting::calls_during,
    run::{Figures, Run, Timed},
    served::{Served, bead, bead_plan},
    turns::Times,
};

const SCENE: &str = "in-process";
const DT_S: f64 = 1e-3;
/// Range of the bead's height, from above the organ to below its top and back, metres.
const ABOVE_M: f64 = 1e-3;
/// Tolerance of the forces, newtons: the wire has doubles, and poses as quaternions.
const SAME_N: f64 = 1e-6;

/// Prints its line.
pub fn run(run: &mut Run) {
    let organ = bead_plan(1, 1e3, 1.0).organ;
    let top = organ.bounds.max.as_dvec3().with_x(0.0).with_y(0.0);
    let organ = MeshData { positions: organ.rest, triangles: organ.triangles };
    let n = run.effort.of(1_000, 100);
    let at = |i: usize| {
        let share = (2.0 * i as f64 / n as f64 - 1.0).abs();
        Pose { translation: top + DVec3::Z * ABOVE_M * (2.0 * share - 1.0), ..Pose::IDENTITY }
    };
    let poses: Vec<Pose> = (0..n).map(at).collect();

    // Ticks take as long as they need: a tick that is cut short has another answer.
    let served = Served::with(&["--set", "ticks.time_max=60s"]);
    let mut engine = Engine::new(&organ);
    let here = Library::open(None, &organ);
    let there = Library::open(Some(&served.server.address().to_string()), &organ);
    let (mut felt_n, mut rounds, mut all) = (0.0, [vec![], vec![]], [vec![], vec![]]);
    let (mut copies, mut copy_us, mut n_copied, mut calls) = (Copies::new(), vec![], 0, 0);
    // The first round does not count.
    for round in 0..=run.effort.of(15, 3) {
        let mut beyond = [vec![], vec![]];
        for (i, at) in poses.iter().enumerate() {
            // The second contestant finds the code in the caches, so each is second equally often.
            let ([alone, wanted], [local, felt]) = if i % 2 == 0 {
                let first = engine.step(at);
                (first, here.step(at))
            } else {
                let first = here.step(at);
                (engine.step(at), first)
            };
            if round > 0 {
                let began = Instant::now();
                calls += calls_during(|| n_copied += copies.take(&here));
                copy_us.push(began.elapsed().as_secs_f64() * 1e6);
            }
            let [remote, over_grpc] = there.step(at);
            assert!(felt == wanted, "pose {i}: {felt} N in the process, {wanted} N by the engine");
            assert!(
                (over_grpc - felt).abs() < SAME_N,
                "pose {i}: {over_grpc} N over gRPC, {felt} N"
            );
            felt_n += if round == 0 { felt } else { 0.0 };
            beyond[0].push(local - alone);
            beyond[1].push(remote - alone);
        }
        if round > 0 {
            for (side, us) in beyond.iter_mut().enumerate() {
                rounds[side].push(percentile(us, 50));
                all[side].append(us);
            }
        }
    }
    let [ours_p99, peer_p99] = all.map(|mut us| percentile(&mut us, 99));
    let [ours, peer] = rounds.map(Times::of);
    let text = format!(
        "{} ours_p99_us={} peer=grpc {} peer_p99_us={} ratio={} ratio_p99={}",
        Timed("ours", &ours),
        Figures(ours_p99),
        Timed("peer", &peer),
        Figures(peer_p99),
        Figures(peer.p50 / ours.p50),
        Figures(peer_p99 / ours_p99),
    );
    run.line("P14", "bead/palpate_step", felt_n, text);
    let [p50, p99] = [50, 99].map(|percent| Figures(percentile(&mut copy_us, percent)));
    let text = format!(
        "ours_us={p50} p99_us={p99} copied={n_copied}/{} allocator_calls={calls}",
        copy_us.len()
    );
    run.line("P14", "bead/copies", n_copied as f64, text);
}

fn percentile(us: &mut [f64], percent: usize) -> f64 {
    us.sort_by(f64::total_cmp);
    us[us.len() * percent / 100]
}

/// The engine by itself, and the servo, which is not timed.
struct Engine {
    session: RenderedSession,
    pose: ToolPose,
    servo: DeviceServo,
    feed: DeviceFeed,
    sequence: u64,
    time_s: f64,
}

impl Engine {
    fn new(organ: &MeshData) -> Engine {
        let scene = Arc::new(Scene::new(SCENE.to_owned(), Limits::default()));
        let organ = MeshSource::Raw(organ.clone()).load(0.0).expect("a mesh");
        scene.add_tissue("organ", organ, TissueOptions::default(), 0).expect("room");
        let bead = MeshSource::Raw(bead()).load(0.0).expect("a mesh");
        let link = Link::new("bead".to_owned(), bead, Pose::IDENTITY, default_field);
        let parts = ToolParts { name: "bead".to_owned(), links: vec![link], probes: Vec::new() };
        let tool = scene.add_tool(parts).expect("room").id;
        let render = RenderOptions { local_model: true, ..RenderOptions::of(tool) };
        let session = RenderedSession::new(scene, &[tool], TickOptions::default(), &[render]);
        let ToolId(id) = tool;
        let (servo, feed) = device_servo(ServoOptions::of(id)).expect("options");
        Engine {
            session: session.expect("it is rendered"),
            pose: ToolPose {
                tool,
                scene_from_tool: Pose::IDENTITY,
                tool_from_link: vec![],
                teleport: false,
            },
            servo,
            feed,
            sequence: 0,
            time_s: 0.0,
        }
    }

    /// Returns the time of the tick alone, microseconds, and the force, newtons.
    fn step(&mut self, at: &Pose) -> [f64; 2] {
        self.sequence += 1;
        self.time_s += DT_S;
        let at_ns = (self.time_s * 1e9).round() as u64;
        self.pose.scene_from_tool = *at;
        let poses = std::slice::from_ref(&self.pose);
        let began = Instant::now();
        self.session.tick(self.sequence, poses, at_ns, &TimeLeft::endless()).expect("a tick");
        let us = began.elapsed().as_secs_f64() * 1e6;
        let rendering = self.session.renderings().next().expect("one is rendered");
        if let Some(model) = &rendering.local_model {
            self.feed.give(model, at_ns);
        }
        let posture = Posture { scene_from_tool: *at, ..Posture::AT_ORIGIN };
        let felt = self.servo.step(&DevicePose { posture, n_links: 0, at_ns }, DT_S);
        [us, felt.force_n.length()]
    }
}

/// A session in lock-step, through the C interface.
struct Library {
    server: *mut palpate_server,
    scene: *mut palpate_scene,
    session: *mut palpate_session,
}

impl Library {
    /// Opens a session in the process, or at a server.
    fn open(server: Option<&str>, organ: &MeshData) -> Library {
        let mut held =
            Library { server: ptr::null_mut(), scene: ptr::null_mut(), session: ptr::null_mut() };
        let text = |text: &str| CString::new(text).expect("no zero");
        let url = server.map(text);
        let address = palpate_address {
            url: url.as_ref().map_or(ptr::null(), |url| url.as_ptr()),
            ..Default::default()
        };
        let bead = bead();
        let (id, organ_name, name) = (text(SCENE), text("organ"), text("bead"));
        let link = palpate_link { name: name.as_ptr(), mesh: arrays(&bead), ..Default::default() };
        let (mut tissue, mut tool) = (0, 0);
        let mut options = palpate_session_options::default();
        // SAFETY: all pointers are to live values.
        unsafe {
            done(match url {
                None => palpate_open_local(VERSION, &mut held.server),
                Some(_) => palpate_connect(VERSION, &address, &mut held.server),
            });
            done(palpate_create_scene(held.server, id.as_ptr(), &mut held.scene));
            let organ = arrays(organ);
            done(palpate_add_tissue(
                held.scene,
                organ_name.as_ptr(),
                &organ,
                ptr::null(),
                &mut tissue,
            ));
            done(palpate_add_tool(held.scene, name.as_ptr(), &link, 1, &mut tool));
            done(palpate_session_defaults(tool, &mut options));
            options.lock_step = 1;
            done(palpate_open_session(held.scene, &options, &mut held.session));
        }
        held
    }

    /// Returns the time of the call, microseconds, and the force, newtons.
    fn step(&self, at: &Pose) -> [f64; 2] {
        let DVec3 { x, y, z } = at.translation;
        let pose = palpate_pose {
            position_m: palpate_vec3 { x, y, z },
            orientation: palpate_quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 },
        };
        let mut felt = palpate_wrench::default();
        let began = Instant::now();
        // SAFETY: all pointers are to live values, or to no links.
        let code = unsafe { palpate_step(self.session, &pose, ptr::null(), 0, DT_S, &mut felt) };
        let us = began.elapsed().as_secs_f64() * 1e6;
        done(code);
        [us, DVec3::new(felt.force_n.x, felt.force_n.y, felt.force_n.z).length()]
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: the handles are its own, and nothing uses them any more.
        unsafe {
            done(palpate_close_session(&mut self.session));
            done(palpate_close_scene(&mut self.scene));
            done(palpate_close(&mut self.server));
        }
    }
}

/// Room for all that a step answers.
struct Copies {
    contacts: Vec<palpate_contact>,
    touched: Vec<palpate_surface_contact>,
    links: Vec<palpate_link_distance>,
    vertices: Vec<u32>,
    forces_n: Vec<f32>,
}

impl Copies {
    const ROOM: usize = 256;

    fn new() -> Copies {
        Copies {
            contacts: vec![palpate_contact::default(); Copies::ROOM],
            touched: vec![palpate_surface_contact::default(); Copies::ROOM],
            links: vec![palpate_link_distance::default(); 1],
            vertices: vec![0; Copies::ROOM],
            forces_n: vec![0.0; 3 * Copies::ROOM],
        }
    }

    /// Copies all that the last step answered; returns the number of contacts and vertices.
    fn take(&mut self, from: &Library) -> usize {
        let (session, room, mut n) = (from.session, Copies::ROOM, [0; 4]);
        // SAFETY: all pointers are to live values, and buffers have the stated room.
        unsafe {
            let none = ptr::null_mut();
            done(palpate_contacts(session, self.contacts.as_mut_ptr(), room, &mut n[0]));
            let touched = self.touched.as_mut_ptr();
            done(palpate_surface_contacts(session, touched, room, &mut n[1], none));
            done(palpate_link_distances(session, self.links.as_mut_ptr(), 1, &mut n[2], none));
            let (ids, forces) = (self.vertices.as_mut_ptr(), self.forces_n.as_mut_ptr());
            done(palpate_tissue_loads(session, 1, ids, forces, room, &mut n[3], ptr::null_mut()));
        }
        n[0] + n[1] + n[3]
    }
}

fn arrays(mesh: &MeshData) -> palpate_mesh {
    palpate_mesh {
        // Three numbers per vertex, one vertex after the other.
        positions: mesh.positions.as_ptr().cast(),
        n_vertices: mesh.positions.len(),
        triangles: mesh.triangles.as_ptr().cast(),
        n_triangles: mesh.triangles.len(),
        scale_to_m: 0.0,
    }
}

fn done(code: palpate_code) {
    // SAFETY: the call returns a terminated text.
    let said = unsafe { std::ffi::CStr::from_ptr(palpate_last_error()) };
    assert_eq!(code, palpate_code::PALPATE_OK, "{said:?}");
}
