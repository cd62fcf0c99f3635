//! Materials over the wire: what is refused, what the hand and a servo feel, and what a restart keeps.

use std::process::Command;

use glam::DVec3;
use palpate::{
    client::local_model::fill,
    coupling::{local_model::LocalModel, posture::Posture},
    geometry::Pose,
    oracle::shapes,
    proto::{
        self, EditTopologyRequest, Feel, Material, MaterialFriction, RenderOptions, Rendering,
        SetFeelRequest, TrackMode, TrackStart,
    },
    servo::{ServoOptions, ServoState},
};
use tonic::Code;

use crate::support::{
    folder::Folder,
    meshes::{Mesh, wire},
    messages::{
        SCENE, start, start_message, tick_message, tissue_upload, tool_head, tool_header,
        tool_piece, vec3,
    },
    process::Process,
    program::under_test,
    refusal::assert_refused,
    server::{HandFed, TestServer, with_kept_fields},
};

const RADIUS_M: f64 = 0.01;
const DEPTH_M: f64 = 0.003;
/// Stiffness of the coupling, N/m.
const COUPLING: f64 = 500.0;

fn slab() -> Mesh {
    let mut slab = shapes::cuboid(DVec3::new(0.2, 0.2, 0.04));
    slab.positions.iter_mut().for_each(|p| p.z -= 0.02);
    wire(&slab)
}

/// Adds a slab whose upper face is z = 0, and a ball.
async fn furnish(server: &mut TestServer) {
    server.create(SCENE).await.expect("a new scene");
    server.add_tissue(tissue_upload("slab", &slab())).await.expect("a slab");
    let ball = wire(&shapes::sphere(RADIUS_M, 6));
    let upload = vec![tool_head(tool_header("ball", &ball)), tool_piece(ball.chunk())];
    server.add_tool(upload).await.expect("a ball");
}

async fn looped(server: &mut TestServer) -> HandFed {
    let render = RenderOptions { tool_id: 1, local_model: true, ..Default::default() };
    let start = TrackStart { render: vec![render], ..start(TrackMode::Every) };
    server.hand_fed(start_message(start)).await
}

/// Presses the ball in from above over some ticks, and returns the last rendering.
async fn pressed(stream: &mut HandFed, from: u64) -> Rendering {
    let mut last = None;
    for i in 0..=20u64 {
        let height = 0.001 - (0.001 + DEPTH_M) * i as f64 / 20.0;
        let pose = proto::Pose {
            position_m: Some(vec3(0.02, 0.035, RADIUS_M + height)),
            orientation: None,
        };
        let tool = proto::ToolPose { tool_id: 1, pose: Some(pose), ..Default::default() };
        let tick = proto::Tick { sequence: from + i, tools: vec![tool], ..Default::default() };
        let mut answer = stream.ask(tick_message(tick)).await.expect("answered");
        assert_eq!(answer.refusal, None);
        last = answer.renderings.pop();
    }
    last.expect("one tool")
}

/// Force of the contacts: that of the hand lags by its rate.
fn contact_force(of: &Rendering) -> f64 {
    of.contact_force_xyz_n.chunks(3).map(|f| f64::from(f[2])).sum()
}

fn soft(stiffness_n_per_m: f64) -> Material {
    Material { stiffness_n_per_m, ..Default::default() }
}

fn request(feel: Feel) -> SetFeelRequest {
    SetFeelRequest { scene_id: SCENE.to_owned(), tissue_id: 1, feel: Some(feel) }
}

fn one(material: Material) -> Feel {
    Feel { materials: vec![material], triangle_materials: Vec::new() }
}

fn in_series(stiffness: f64) -> f64 {
    (DEPTH_M + 20e-6) / (1.0 / COUPLING + 1.0 / stiffness)
}

#[tokio::test]
async fn a_hand_and_a_servo_feel_a_material() {
    let mut server = TestServer::configured(with_kept_fields()).await;
    furnish(&mut server).await;
    let mut stream = looped(&mut server).await;
    let rigid = pressed(&mut stream, 1).await;
    assert!((contact_force(&rigid) - 1.51).abs() < 0.01, "{rigid:?}");
    let model = rigid.local_model.expect("asked for");
    assert!(model.compliance_m_per_n.is_empty(), "no laws: {model:?}");
    let friction = MaterialFriction { static_coefficient: 0.5, ..Default::default() };
    let material = Material { friction: Some(friction), ..soft(200.0) };
    let answer = server.scenes.set_feel(request(one(material))).await.expect("a material");
    assert_eq!(answer.into_inner().geometry_revision, 1);
    let got = pressed(&mut stream, 100).await;
    let expected = in_series(200.0);
    assert!((contact_force(&got) / expected - 1.0).abs() < 0.01, "{got:?}, {expected} N");
    let sent = got.local_model.expect("asked for");
    let compliance = &sent.compliance_m_per_n;
    assert!(compliance.len() == sent.contact_ids.len() && compliance[0] == 1.0 / 200.0, "{sent:?}");
    assert!(sent.static_friction[0] == 0.5 && sent.dynamic_friction[0] == 0.5, "{sent:?}");
    let mut model = LocalModel::EMPTY;
    fill(&mut model, &sent).expect("a model");
    let mut servo = ServoState::new(ServoOptions::of(1)).expect("options");
    servo.take(&model, 0.0).expect("a first model");
    let translation = DVec3::new(0.02, 0.035, RADIUS_M - DEPTH_M);
    let scene_from_tool = Pose { translation, ..Pose::IDENTITY };
    let device = Posture { scene_from_tool, ..Posture::AT_ORIGIN };
    let last = (0..200).map(|_| servo.step(&device, 2.5e-4)).last().expect("samples");
    assert!((last.force_n.z / expected - 1.0).abs() < 0.01, "{last:?}, {expected} N");
    // Laws with one array missing, or with numbers that none can have, are no model.
    for bad in [
        proto::LocalModel { static_friction: Vec::new(), ..sent.clone() },
        proto::LocalModel { compliance_m_per_n: vec![-1.0; compliance.len()], ..sent.clone() },
        proto::LocalModel { damping_n_s_per_m: vec![f64::NAN; compliance.len()], ..sent.clone() },
    ] {
        fill(&mut model, &bad).expect_err("no model");
    }
}

#[tokio::test]
async fn materials_that_none_can_have_are_refused_and_change_nothing() {
    let mut server = TestServer::configured(with_kept_fields()).await;
    furnish(&mut server).await;
    let n = slab().chunk().triangles.len() / 3;
    let rubbing = |static_coefficient, dynamic_coefficient| {
        let friction =
            MaterialFriction { static_coefficient, dynamic_coefficient, ..Default::default() };
        one(Material { friction: Some(friction), ..Default::default() })
    };
    let of_triangles = |triangle_materials| Feel { triangle_materials, ..one(soft(100.0)) };
    let damped = Material { damping_n_s_per_m: f64::NAN, ..Default::default() };
    for (feel, field) in [
        (Feel { materials: vec![soft(1.0); 257], ..Default::default() }, "feel.materials"),
        (Feel { triangle_materials: vec![0; n], ..Default::default() }, "feel.materials"),
        (one(soft(0.5)), "feel.materials[0].stiffness_n_per_m"),
        (one(damped), "feel.materials[0].damping_n_s_per_m"),
        (rubbing(2.1, None), "feel.materials[0].friction.static_coefficient"),
        (rubbing(0.2, Some(0.3)), "feel.materials[0].friction.dynamic_coefficient"),
        (of_triangles(vec![0; n - 1]), "feel.triangle_materials"),
        (of_triangles([vec![0; n - 1], vec![1]].concat()), "feel.triangle_materials[11]"),
    ] {
        let outcome = server.scenes.set_feel(request(feel)).await;
        assert_refused(outcome, Code::InvalidArgument, field, field);
    }
    let unknown = SetFeelRequest { tissue_id: 7, ..request(one(soft(100.0))) };
    let outcome = server.scenes.set_feel(unknown).await;
    assert_refused(outcome, Code::NotFound, "tissue 7", "an unknown tissue");
    let answer = server.scenes.set_feel(request(Feel::default())).await.expect("none");
    assert_eq!(answer.into_inner().geometry_revision, 1, "nothing was changed before");
}

/// Acknowledged materials survive kill -9, in the journal and in a snapshot, also through a cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn materials_outlive_their_server() {
    let folder = Folder::new("feel");
    let mut process = Process::serve_keeping(&folder.0, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    furnish(&mut server).await;
    let n = slab().chunk().triangles.len() / 3;
    let each = Feel { materials: vec![soft(1e5), soft(200.0)], triangle_materials: vec![1; n] };
    server.scenes.set_feel(request(each)).await.expect("materials");
    let cut = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        added_positions_m: vec![0.3, 0.0, 0.0, 0.31, 0.0, 0.0, 0.3, 0.01, 0.0],
        added_triangles: vec![8, 9, 10],
        ..Default::default()
    };
    server.scenes.edit_topology(cut).await.expect("a cut");
    for signal in ["KILL", "TERM", "TERM"] {
        drop(server);
        process.signal(signal);
        tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
        if signal == "TERM" {
            // Into a snapshot.
            let mut compact = Command::new(under_test());
            compact.args(["scenes", "compact"]).env("PALPATE_DATA_DIR", &folder.0);
            assert!(compact.output().expect("it runs").status.success());
        }
        process = Process::serve_keeping(&folder.0, &[], &[]);
        server = TestServer::connect(process.address()).await;
        let mut stream = looped(&mut server).await;
        let got = contact_force(&pressed(&mut stream, 1).await);
        let expected = in_series(200.0);
        assert!((got / expected - 1.0).abs() < 0.01, "{signal}: {got} N, not {expected}");
    }
}
