//! Ticks neither allocate nor free once their buffers have grown, whatever writers do meanwhile.
//!
//! This is a separate binary because it replaces the allocator of the process.

mod counting;
mod readers;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use counting::{Counting, bytes_kept_by, calls_during, peak_during};
use glam::{DQuat, DVec3, Vec3};
use palpate::{
    coupling::{
        local_model::{LocalModel, LocalRow},
        posture::Posture,
    },
    geometry::{Basis, LoadOptions, LoadedMesh, MeshData, Pose, mesh::load::load},
    mesh_io::{self, MeshFormat},
    oracle::{shapes, shared_data},
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Limits, Link, Probe, Scene, Tissue, TissueOptions, ToolParts,
        limits::CONTACTS_MAX,
        memory::{self_collision_bytes_expected, session_bytes_expected},
        self_collision::{Interval, Scope, SelfCollisionOptions, self_collisions},
        tick::{TickOptions, ToolPose},
        tissue::deform::Deformation,
        tool::field::default_field,
    },
    servo::{ServoOptions, ServoState, newest::newest},
    time_left::TimeLeft,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A tissue, a tool with a probe at its first vertex, and a path for the tool.
struct Bench {
    tissue: Arc<Tissue>,
    session: RenderedSession,
    path: Vec<[ToolPose; 1]>,
    sequence: u64,
    contacts_met: usize,
    /// Bytes that a new session has allocated.
    session_bytes: i64,
}

impl Bench {
    /// `renders`: the tool has a proxy, which friction holds as well.
    fn new(tissue: LoadedMesh, tool: LoadedMesh, renders: bool) -> Bench {
        let scene = Arc::new(Scene::new("bench".to_owned(), Limits::default()));
        let tip = tool.mesh.position(0);
        let tissue =
            scene.add_tissue("tissue", tissue, TissueOptions::default(), 0).expect("added");
        let parts = ToolParts {
            name: "tool".to_owned(),
            links: vec![Link::new("link".to_owned(), tool, Pose::IDENTITY, default_field)],
            probes: vec![Probe { name: "tip".to_owned(), link: 0, position: tip, radius: 1e-3 }],
        };
        let tool = scene.add_tool(parts).expect("added");
        let options = TickOptions {
            max_distance_m: 0.2,
            contact_margin_m: 1e-3,
            max_contacts: CONTACTS_MAX,
            stale_after_ns: Some(1),
            triangle_pairs: true,
            link_pairs: true,
            ..TickOptions::default()
        };
        let path = path(&tissue, tip)
            .map(|scene_from_tool| ToolPose {
                tool: tool.id,
                scene_from_tool,
                tool_from_link: vec![],
                teleport: false,
            })
            .map(|pose| [pose])
            .collect();
        let render =
            RenderOptions { friction: 0.2, local_model: true, ..RenderOptions::of(tool.id) };
        let render = if renders { vec![render] } else { Vec::new() };
        let begin = || {
            RenderedSession::new(scene, &[tool.id], options, &render).expect("the tool is there")
        };
        let (session, session_bytes) = bytes_kept_by(begin);
        Bench { tissue, session, path, sequence: 0, contacts_met: 0, session_bytes }
    }

    /// Ticks along the whole path; `between` runs before each tick, not counted. Returns the allocator calls of the
    /// ticks alone.
    fn run(&mut self, mut between: impl FnMut(&Tissue, u64)) -> u64 {
        let mut calls = 0;
        for poses in &self.path {
            self.sequence += 1;
            between(&self.tissue, self.sequence);
            let (sequence, session) = (self.sequence, &mut self.session);
            let mut contacts = 0;
            calls += calls_during(|| {
                let answer = session
                    .tick(sequence, poses, sequence, &TimeLeft::endless())
                    .expect("accepted");
                contacts = answer.links[0].contacts_total;
            });
            self.contacts_met += contacts;
        }
        calls
    }
}

/// From 5 cm above to 1 cm below one point of the surface and back out, turning about the tip.
fn path(tissue: &Tissue, tip: DVec3) -> impl Iterator<Item = Pose> {
    let current = tissue.current();
    let mesh = current.surface.mesh();
    let t = mesh.triangle_ids().nth(mesh.n_triangles() / 3).expect("has triangles");
    let [p, q, r] = mesh.triangle(t);
    let (place, out) = ((p + q + r) / 3.0, (q - p).cross(r - p).normalize());
    (0..200).map(move |i| {
        let phase = f64::from(i) / 200.0 * std::f64::consts::TAU;
        let offset = 0.02 + 0.03 * phase.cos();
        let turned = Pose::new(DQuat::from_rotation_x(phase), DVec3::ZERO).expect("unit");
        Pose { translation: place + out * offset - turned.point(tip), ..turned }
    })
}

/// A ripple over the surface in its initial shape; dense or sparse.
fn ripple(rest: &[Vec3], step: u64) -> Deformation {
    let moved = |p: &Vec3| *p + Vec3::Z * 1e-3 * (step as f32 * 0.3 + p.x * 80.0).sin();
    if step.is_multiple_of(3) {
        return Deformation::Dense(rest.iter().map(moved).collect());
    }
    let vertices: Vec<u32> = (0..rest.len() as u32).filter(|v| v % 7 == step as u32 % 7).collect();
    let positions = vertices.iter().map(|v| moved(&rest[*v as usize])).collect();
    Deformation::Sparse { vertices, positions }
}

fn rest(tissue: &Tissue) -> Vec<Vec3> {
    tissue.current().surface.mesh().positions().to_vec()
}

fn loaded(data: MeshData, scale_to_m: f64) -> LoadedMesh {
    let options = LoadOptions { scale_to_m, basis: Basis::RightHanded, ..LoadOptions::default() };
    load(data, &options).expect("a mesh")
}

fn shared(file: &str, scale_to_m: f64) -> Option<LoadedMesh> {
    let bytes = std::fs::read(shared_data()?.join("meshes").join(file)).expect("readable");
    Some(loaded(mesh_io::read(&bytes, MeshFormat::Obj).expect("an OBJ"), scale_to_m))
}

/// Generated meshes, and the real ones if they are present.
fn benches(renders: bool) -> Vec<Bench> {
    let organ = loaded(shapes::organ(5000, 1), 1.0);
    let capsule = loaded(shapes::capsule(0.004, 0.05, 24), 1.0);
    let mut benches = vec![Bench::new(organ, capsule, renders)];
    let liver = shared("liver-smooth.obj", 0.03);
    if let (Some(liver), Some(probe)) = (liver, shared("dental_instrument_light.obj", 0.01)) {
        benches.push(Bench::new(liver, probe, renders));
    }
    benches
}

#[test]
fn the_counter_counts() {
    assert_eq!(calls_during(|| ()), 0);
    assert_eq!(calls_during(|| drop(std::hint::black_box(vec![1]))), 2);
    let (made, kept) = bytes_kept_by(|| std::hint::black_box(Vec::<u64>::with_capacity(125)));
    assert_eq!((made.capacity(), kept), (125, 1000));
    assert_eq!(bytes_kept_by(|| drop(made)).1, -1000);
}

#[test]
fn a_tick_on_a_tissue_at_rest() {
    for mut bench in benches(false) {
        bench.run(|_, _| ());
        assert_eq!(bench.run(|_, _| ()), 0);
        assert!(bench.contacts_met > 0, "the path touches nothing");
    }
}

/// Sessions with all contacts, and with the proxy of a rendered tool.
#[test]
fn a_session_takes_what_was_expected() {
    for mut bench in benches(false).into_iter().chain(benches(true)) {
        let (_, grown) = bytes_kept_by(|| bench.run(|_, _| ()));
        let (taken, expected) = (bench.session_bytes + grown, session_bytes_expected(1) as i64);
        println!("a session of one link takes {taken} bytes, {expected} expected");
        assert!(taken <= expected, "{taken} bytes, {expected} expected");
    }
}

/// Jobs hold copies, owners, trees, and the contacts of a tissue that is pressed through itself.
#[test]
fn a_self_collision_job_takes_what_was_expected() {
    for (data, max_contacts) in [
        (shapes::organ(5_000, 2), 1),
        (shapes::organ(2_000, 1), 1_000),
        (shapes::sphere(0.05, 8), 4_096),
        (shapes::sheet(60, 60, 1e-3), 64),
    ] {
        let scene = Scene::new("job".to_owned(), Limits::default());
        let added = scene.add_tissue("t", loaded(data, 1.0), TissueOptions::default(), 0);
        let tissue = added.expect("room");
        let from = *tissue.hold().last().expect("held");
        let flat = |p: &Vec3| Vec3::new(p.x, p.y, -0.5 * p.z);
        let moved = rest(&tissue).iter().map(flat).collect();
        tissue.deform(Deformation::Dense(moved), 0).expect("accepted");
        let intervals = [Interval { tissue: tissue.id(), from: Some(from), to: None }];
        let options = SelfCollisionOptions {
            thickness_m: 1e-4,
            scope: Scope::All,
            max_contacts,
            max_pairs: usize::MAX,
        };
        let job = || self_collisions(&scene, &intervals, &options, &|| false);
        let (found, peak) = peak_during(job);
        let current = tissue.current();
        let mesh = current.surface.mesh();
        let (v, t) = (mesh.positions().len() as u64, mesh.n_triangles() as u64);
        let expected = self_collision_bytes_expected([(v, t)], max_contacts) as i64;
        let n_found = found.expect("few enough").contacts.len();
        println!("a job of {t} triangles, {n_found} contacts: {peak} bytes, {expected} expected");
        assert!(peak <= expected, "{peak} bytes, {expected} expected");
        assert!(expected <= 3 * peak, "{peak} bytes, {expected} expected");
    }
}

/// Each tick finds a new revision.
#[test]
fn a_tick_after_a_deformation() {
    for mut bench in benches(false) {
        let rest = rest(&bench.tissue);
        let deform = |tissue: &Tissue, step: u64| {
            tissue.deform(ripple(&rest, step), step).expect("accepted");
            if step.is_multiple_of(2) {
                tissue.catch_up();
            }
        };
        bench.run(deform);
        assert_eq!(bench.run(deform), 0);
        assert!(bench.contacts_met > 0, "the path touches nothing");
    }
}

/// Another thread deforms without pause; revisions change while a tick reads them.
#[test]
fn a_tick_while_another_thread_deforms() {
    for mut bench in benches(false) {
        let rest = rest(&bench.tissue);
        let (tissue, done) = (bench.tissue.clone(), AtomicBool::new(false));
        let deformations = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for step in 1.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    tissue.deform(ripple(&rest, step), step).expect("accepted");
                    tissue.catch_up();
                    // Deforms at a simulator's rate: a tick without a deadline sweeps every deformation since the last.
                    std::thread::sleep(std::time::Duration::from_millis(16));
                    deformations.fetch_add(1, Ordering::Relaxed);
                }
            });
            // Chance decides which deformations a tick meets, and so when the last buffer has grown.
            let mut runs = (0..20).map(|_| {
                let before = deformations.load(Ordering::Relaxed);
                let calls = bench.run(|_, _| ());
                (calls, deformations.load(Ordering::Relaxed) - before)
            });
            let is_still = runs.any(|(calls, meanwhile)| calls == 0 && meanwhile > 0);
            done.store(true, Ordering::Relaxed);
            assert!(is_still, "each of twenty runs allocates, or nothing was deformed meanwhile");
        });
        assert!(bench.contacts_met > 0, "the path touches nothing");
    }
}

/// Models are handed over, taken, rendered with and without friction, and fade.
#[test]
fn a_servo_never_allocates() {
    let mut model = LocalModel { tool: 1, reach_m: 0.02, expires_s: 0.05, ..LocalModel::EMPTY };
    model.complete_radius_m = 0.002;
    for i in 0..16u32 {
        let angle = f64::from(i) * 0.4;
        let normal = DVec3::new(0.1 * angle.cos(), 0.1 * angle.sin(), 1.0).normalize();
        let row = LocalRow {
            contact_id: i.into(),
            tissue: 1,
            link: 0,
            on_tool: DVec3::new(angle.cos(), angle.sin(), 0.0) * 0.01,
            normal,
            gap_m: 2e-5,
            normal_velocity_m_s: 0.0,
            gap_error_m: 1e-5,
            law: None,
        };
        model.push(row).expect("room");
    }
    let mut servo = ServoState::new(ServoOptions::of(1)).expect("options");
    let (mut giver, mut taker) = newest(&LocalModel::EMPTY);
    let mut strongest = 0.0f64;
    let calls = calls_during(|| {
        for k in 0..2_000u64 {
            if k % 4 == 0 && k < 1_000 {
                (model.sequence, model.friction) = (k + 1, if k < 500 { 0.0 } else { 0.3 });
                giver.give(|place| place.clone_from(&model));
            }
            taker.take(|model| servo.take(model, 0.005).expect("a model"));
            let at = DVec3::new(1e-6 * k as f64, 0.0, -1e-3);
            let pose = Pose { translation: at, ..Pose::IDENTITY };
            let device = Posture { scene_from_tool: pose, ..Posture::AT_ORIGIN };
            strongest = strongest.max(servo.step(&device, 2.5e-4).force_n.length());
        }
    });
    assert_eq!(calls, 0);
    assert!(strongest > 0.3, "{strongest} N");
}

/// A proxy is moved and pushed first, and the tick is answered at its position.
#[test]
fn a_rendered_tick_on_a_tissue_that_deforms() {
    for mut bench in benches(true) {
        let rest = rest(&bench.tissue);
        let deform = |tissue: &Tissue, step: u64| {
            if step.is_multiple_of(5) {
                tissue.deform(ripple(&rest, step), step).expect("accepted");
                tissue.catch_up();
            }
        };
        // The proxy's path depends on its position before, so that its buffers still grow in a second run. Once they
        // have grown, two hundred ticks allocate nothing.
        let mut runs = (0..12).map(|_| bench.run(deform)).skip(2);
        assert!(runs.any(|calls| calls == 0), "each of ten runs allocates");
        let rendering = bench.session.renderings().next().expect("one tool");
        println!("{:?}, {} contacts at the end", rendering.state, rendering.contacts.len());
        assert!(bench.contacts_met > 0, "the path touches nothing");
    }
}
