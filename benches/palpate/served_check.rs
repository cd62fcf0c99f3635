//! Ticks answered over gRPC, compared with the same ticks answered by the engine in this process.

use std::sync::Arc;

use glam::{DQuat, DVec3};
use palpate::{
    client::{Client, Duplex, address::ServerAddress},
    geometry::{LoadOptions, LoadedMesh, MeshData, Pose, TriangleMesh, mesh::load::load},
    load::run::plan::Plan,
    proto,
    scene::{
        Distance, Limits, Link, Scene, TickAnswer, TissueOptions, ToolParts,
        tick::{Session, TickOptions, ToolPose},
        tool::field::default_field,
    },
    time_left::TimeLeft,
};

const SCENE: &str = "check";
/// Positions all over the tissue, from 3 mm off it to 3 mm inside.
const TICKS: usize = 100;
const HEIGHT_M: f64 = 3e-3;

/// Attempts: a server on a busy machine may have no time for a tick, and its answer reports that.
const ATTEMPTS: usize = 10;

/// Sends equal poses to the plan's tissue and tool on the server and here, and returns a sum over the answers.
///
/// # Panics
/// Panics if an answer differs, or if some tick was cut short in every attempt.
pub async fn check(server: &ServerAddress, plan: &Plan, tool: &MeshData) -> f64 {
    for _ in 0..ATTEMPTS {
        if let Some(sum) = compare(server, plan, tool).await {
            return sum;
        }
    }
    panic!("in each of {ATTEMPTS} attempts the server cut a tick short");
}

/// Compares once; returns `None` if the server had no time for a tick.
async fn compare(server: &ServerAddress, plan: &Plan, tool: &MeshData) -> Option<f64> {
    let mut client = Client::connect(server).await.expect("a server");
    client.create_scene(SCENE).await.expect("room for a scene");
    let tissue = client.add_tissue(SCENE, "organ", &plan.organ.mesh).await;
    tissue.expect("a tissue");
    let links = &plan.instrument.links;
    let tool_id = client.add_tool(SCENE, "instrument", links, &[]).await.expect("a tool").tool_id;
    let organ =
        MeshData { positions: plan.organ.rest.clone(), triangles: plan.organ.triangles.clone() };
    let (organ, tool) = (loaded(organ), loaded(tool.clone()));
    let poses = poses(&organ.mesh, tool.mesh.position(0));
    let mut twin = twin(organ, tool);
    let start = proto::TrackStart {
        scene_id: SCENE.to_owned(),
        tool_ids: vec![tool_id],
        mode: proto::TrackMode::Every.into(),
        // The service's default margin is smaller for a small tool, and the margin decides between equal contacts.
        report: Some(proto::ReportOptions {
            contact_margin_m: TickOptions::default().contact_margin_m,
            ..Default::default()
        }),
        ..Default::default()
    };
    let Duplex { requests, mut answers } = client.track(start, 1).await.expect("a stream");
    let mut sum = Some(0.0);
    for (sequence, (turn, at)) in (1..).zip(poses) {
        requests.send(tick(sequence, tool_id, turn, at)).await.expect("a stream");
        let got = answers.message().await.expect("an answer").expect("an answer");
        if got.flags & proto::FlagMask::Degraded as u32 != 0 {
            sum = None;
            break;
        }
        let scene_from_tool = Pose::new(turn, at).expect("a turn");
        let tool = twin.1;
        let pose = ToolPose { tool, scene_from_tool, tool_from_link: vec![], teleport: true };
        let expected = twin.0.tick(sequence, &[pose], 0, &TimeLeft::endless()).expect("an answer");
        assert_eq!(said(&got), engine_said(expected), "tick {sequence}");
        sum = sum.map(|sum| sum + said(&got).0 + f64::from(said(&got).1));
    }
    drop(requests);
    client.delete_scene(SCENE).await.expect("its own scene");
    sum
}

/// Signed distance, total contacts, and the triangles of the returned contacts.
type Said = (f64, u32, Vec<u32>, Vec<u32>);

fn said(answer: &proto::TrackResponse) -> Said {
    assert_eq!(answer.refusal, None);
    let link = &answer.links[0];
    let contacts = link.contacts.clone().unwrap_or_default();
    (link.signed_distance_m, contacts.total, contacts.triangle_ids, contacts.link_triangle_ids)
}

fn engine_said(answer: &TickAnswer) -> Said {
    let link = &answer.links[0];
    let distance = match &link.distance {
        Distance::Beyond(bound) => *bound,
        Distance::Within(near) => near.signed_distance_m,
    };
    let on_tissue = link.contacts.iter().map(|c| c.on_tissue.triangle.0).collect();
    let on_tool = link.contacts.iter().map(|c| c.on_tool.triangle.0).collect();
    (distance, link.contacts_total as u32, on_tissue, on_tool)
}

fn twin(organ: LoadedMesh, tool: LoadedMesh) -> (Session, palpate::scene::ToolId) {
    let scene = Arc::new(Scene::new(SCENE.to_owned(), Limits::default()));
    scene.add_tissue("organ", organ, TissueOptions::default(), 0).expect("a tissue");
    let parts = ToolParts {
        name: "instrument".to_owned(),
        links: vec![Link::new("tool".to_owned(), tool, Pose::IDENTITY, default_field)],
        probes: Vec::new(),
    };
    let tool = scene.add_tool(parts).expect("a tool").id;
    (Session::new(scene, &[tool], TickOptions::default()).expect("a session"), tool)
}

/// Returns poses of the tool with its `tip` at triangles all over the mesh, in a different orientation at each.
fn poses(mesh: &TriangleMesh, tip: DVec3) -> Vec<(DQuat, DVec3)> {
    let pose = |i: usize| {
        let t = mesh.triangle_ids().nth(i * mesh.n_triangles() / TICKS).expect("a triangle");
        let [a, b, c] = mesh.triangle(t);
        let height = HEIGHT_M * (2.0 * i as f64 / TICKS as f64 - 1.0);
        let at = (a + b + c) / 3.0 + (b - a).cross(c - a).normalize_or_zero() * height;
        let turn = DQuat::from_scaled_axis(DVec3::new(1.0, 0.3, -0.2) * i as f64);
        (turn, at - turn * tip)
    };
    (0..TICKS).map(pose).collect()
}

fn tick(sequence: u64, tool_id: u32, turn: DQuat, at: DVec3) -> proto::TrackRequest {
    let pose = proto::Pose {
        position_m: Some(proto::Vec3 { x: at.x, y: at.y, z: at.z }),
        orientation: Some(proto::Quaternion { x: turn.x, y: turn.y, z: turn.z, w: turn.w }),
    };
    let tool = proto::ToolPose { tool_id, pose: Some(pose), link_poses: vec![], teleport: true };
    let tick = proto::Tick { sequence, tools: vec![tool], ..Default::default() };
    proto::TrackRequest { message: Some(proto::track_request::Message::Tick(tick)) }
}

fn loaded(data: MeshData) -> LoadedMesh {
    load(data, &LoadOptions::default()).expect("a mesh")
}
