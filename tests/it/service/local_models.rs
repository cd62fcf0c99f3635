//! Local models over the wire: a servo computes the server's force, and recognises free space.

use glam::DVec3;
use palpate::{
    client::local_model::{ModelMessageError, fill},
    coupling::{local_model::LocalModel, posture::Posture},
    geometry::Pose,
    oracle::shapes,
    proto::{self, RenderOptions, TrackMode, TrackStart},
    servo::{ServoOptions, ServoState},
};

use crate::support::{
    meshes::wire,
    messages::{
        SCENE, start, start_message, tick_message, tissue_head, tissue_header, tissue_piece,
        tool_head, tool_header, tool_piece, vec3,
    },
    server::{HandFed, TestServer, with_kept_fields},
};

const RADIUS_M: f64 = 0.01;
const DT_S: f64 = 2.5e-4;

/// A slab whose upper face is z = 0 and a ball, held at its centre.
async fn bench() -> HandFed {
    let mut server = TestServer::configured(with_kept_fields()).await;
    server.create(SCENE).await.expect("a new scene");
    let mut slab = shapes::cuboid(DVec3::new(0.2, 0.2, 0.04));
    slab.positions.iter_mut().for_each(|p| p.z -= 0.02);
    let slab = wire(&slab);
    let upload = vec![tissue_head(tissue_header("slab", &slab)), tissue_piece(slab.chunk())];
    server.add_tissue(upload).await.expect("a slab");
    let ball = wire(&shapes::sphere(RADIUS_M, 6));
    let upload = vec![tool_head(tool_header("ball", &ball)), tool_piece(ball.chunk())];
    server.add_tool(upload).await.expect("a ball");
    let render = RenderOptions { tool_id: 1, local_model: true, ..Default::default() };
    let start = TrackStart { render: vec![render], ..start(TrackMode::Every) };
    server.hand_fed(start_message(start)).await
}

fn ball_at(height_m: f64) -> DVec3 {
    // Off the slab's middle, through which its diagonal runs.
    DVec3::new(0.02, 0.035, RADIUS_M + height_m)
}

async fn model_at(stream: &mut HandFed, sequence: u64, height_m: f64) -> proto::Rendering {
    let at = ball_at(height_m);
    let pose = proto::Pose { position_m: Some(vec3(at.x, at.y, at.z)), orientation: None };
    let tool = proto::ToolPose { tool_id: 1, pose: Some(pose), ..Default::default() };
    let tick = proto::Tick { sequence, tools: vec![tool], ..Default::default() };
    let mut answer = stream.ask(tick_message(tick)).await.expect("answered");
    assert_eq!(answer.refusal, None);
    answer.renderings.pop().expect("one tool")
}

#[tokio::test]
async fn a_servo_over_the_wire_gives_the_force_of_the_proxy() {
    let mut stream = bench().await;
    let mut servo = ServoState::new(ServoOptions::of(1)).expect("options");
    let mut model = LocalModel::EMPTY;
    let mut last = None;
    for sequence in 1..=60u64 {
        let height_m = 0.001 - 0.004 * (sequence as f64 / 20.0).min(1.0);
        let rendering = model_at(&mut stream, sequence, height_m).await;
        let sent = rendering.local_model.as_ref().expect("asked for");
        assert_eq!((sent.tool_id, sent.sequence), (1, sequence));
        fill(&mut model, sent).expect("a model");
        servo.take(&model, 0.0).expect("newer");
        let translation = ball_at(height_m);
        let device = Posture {
            scene_from_tool: Pose { translation, ..Pose::IDENTITY },
            ..Posture::AT_ORIGIN
        };
        for _ in 0..80 {
            last = Some(servo.step(&device, DT_S));
        }
        let bearing = rendering.contact_ids;
        assert!(bearing.iter().all(|id| sent.contact_ids.contains(id)), "{bearing:?} {sent:?}");
    }
    let got = last.expect("samples");
    // The server's force on a device 3 mm deep: the stand-off of 20 um adds to the depth.
    let expected = 500.0 * (0.003 + 20e-6);
    assert!((got.force_n.z / expected - 1.0).abs() < 0.01, "{got:?}, {expected} N");
    assert!(!got.is_fading && !got.is_beyond_radius && !got.limited, "{got:?}");
    assert!(model.complete_radius_m > 1e-3 && model.rows()[0].gap_error_m < 1e-3, "{model:?}");
}

/// A model in the air has no rows, and is complete as far as the space is free.
#[tokio::test]
async fn in_the_air_a_model_says_how_far_all_is_free() {
    let mut stream = bench().await;
    let rendering = model_at(&mut stream, 1, 0.03).await;
    let sent = rendering.local_model.expect("asked for");
    assert!(sent.contact_ids.is_empty() && sent.link_screws.iter().all(|n| *n == 0.0));
    let radius = sent.complete_radius_m;
    // The nearest point of a ball of triangles is on a facet or a corner.
    assert!((0.0299..=0.0304).contains(&radius), "{radius} m");
    assert_eq!(sent.expires_us, 100_000);
}

#[test]
fn a_message_that_is_no_model_is_refused_and_changes_nothing() {
    let identity = proto::Pose::default();
    let good = proto::LocalModel {
        tool_id: 1,
        reference: Some(identity),
        reference_link_poses: vec![identity],
        link_screws: vec![0.0; 6],
        contact_ids: vec![7],
        contact_tissue_ids: vec![1],
        contact_links: vec![0],
        on_tool_xyz_m: vec![0.0; 3],
        normal_xyz: vec![0.0, 0.0, 1.0],
        gap_m: vec![1e-4],
        normal_velocity_m_s: vec![0.0],
        gap_error_m: vec![1e-5],
        ..Default::default()
    };
    let mut model = LocalModel::EMPTY;
    fill(&mut model, &good).expect("a model");
    assert_eq!((model.rows().len(), model.rows()[0].contact_id), (1, 7));
    let before = model.clone();
    let bad: [proto::LocalModel; 7] = [
        proto::LocalModel { gap_m: vec![], ..good.clone() },
        proto::LocalModel { gap_m: vec![f64::NAN], ..good.clone() },
        proto::LocalModel { normal_xyz: vec![0.0, 0.0, 2.0], ..good.clone() },
        proto::LocalModel { contact_links: vec![8], ..good.clone() },
        proto::LocalModel { reference: None, ..good.clone() },
        proto::LocalModel { complete_radius_m: -1.0, ..good.clone() },
        proto::LocalModel { reach_m: f64::INFINITY, ..good.clone() },
    ];
    for (place, sent) in bad.iter().enumerate() {
        assert!(fill(&mut model, sent).is_err(), "{place}");
        assert_eq!(model, before);
    }
    let short = fill(&mut model, &bad[0]);
    assert_eq!(short, Err(ModelMessageError::Length { field: "gap_m", got: 0, expected: 1 }));
}
