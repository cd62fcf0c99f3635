//! Links of tools as bodies that other tools meet.

use glam::DVec3;
use palpate::{
    oracle::shapes,
    proto::{
        AddInstrumentRequest, ControlMove, DeformRequest, Pose, RemoveToolRequest, RenderOptions,
        RenderState, TissueKind, TissueOptions, TrackMode, TrackStart, deform_request::Positions,
    },
};
use tonic::Code;

use super::renderings::{at, only, press};
use crate::support::{
    folder::Folder,
    meshes::wire,
    messages::{
        SCENE, dense, start, start_message, tick_message, tissue_head, tissue_header, tool_head,
        tool_header, tool_piece, vec3,
    },
    process::Process,
    refusal::assert_refused,
    server::{TestServer, with_kept_fields},
};

/// Adds a ball as tool 1, and a plate, whose upper face is at z = 0 of its link, as tool 2.
async fn add_tools(server: &mut TestServer) {
    let mut plate = shapes::cuboid(DVec3::new(0.2, 0.2, 0.04));
    plate.positions.iter_mut().for_each(|p| p.z -= 0.02);
    for (name, mesh) in [("ball", shapes::sphere(0.01, 6)), ("plate", plate)] {
        let mesh = wire(&mesh);
        let upload = vec![tool_head(tool_header(name, &mesh)), tool_piece(mesh.chunk())];
        server.add_tool(upload).await.expect("a tool");
    }
}

fn body(name: &str, z: f64) -> AddInstrumentRequest {
    let pose = Pose { position_m: Some(vec3(0.0, 0.0, z)), orientation: None };
    let (scene_id, name) = (SCENE.to_owned(), name.to_owned());
    AddInstrumentRequest { scene_id, name, tool_id: 2, link: 0, pose: Some(pose) }
}

fn moved_to(sequence: u64, z: f32) -> DeformRequest {
    let state = vec![0.0, 0.0, z, 0.0, 0.0, 0.0, 1.0];
    let moved = ControlMove { control_ids: Vec::new(), state };
    DeformRequest { positions: Some(Positions::Controls(moved)), ..dense(sequence, &[]) }
}

/// The ball meets the plate's body where its poses carry it, and the body's frame bears the ball's force; the plate
/// itself, within its body, meets nothing.
#[tokio::test]
async fn a_tool_meets_the_body_of_another_and_not_its_own() {
    let mut server = TestServer::configured(with_kept_fields()).await;
    server.create(SCENE).await.expect("a new scene");
    add_tools(&mut server).await;
    let added = server.scenes.add_instrument(body("other hand", -0.002)).await.expect("a body");
    assert_eq!(added.into_inner().tissue_id, 1);
    let tissue = server.seen().await.scene.tissues.remove(0);
    assert_eq!((tissue.kind(), tissue.tool_id, tissue.link), (TissueKind::Instrument, 2, 0));
    assert_eq!((tissue.controls, tissue.geometry_revision), (1, 1));

    let render = |tool_id| RenderOptions { tool_id, tissue_loads: true, ..Default::default() };
    let started = TrackStart { render: vec![render(1)], ..start(TrackMode::Every) };
    let mut ball = server.hand_fed(start_message(started)).await;
    ball.ask(tick_message(at(1, 0.001))).await.expect("answered");
    let answer = press(&mut ball, 2, -0.003).await;
    let force = only(&answer).force_n.expect("set");
    // 500 N/m, and the plate begins 2 mm lower.
    assert!((force.z - 0.5).abs() < 0.02, "{force:?}");
    server.deform(vec![moved_to(1, 0.0)]).await.remove(0).expect("good");
    let answer = press(&mut ball, 1_000, -0.003).await;
    let rendering = only(&answer);
    let force = rendering.force_n.expect("set");
    assert!((force.z - 1.5).abs() < 0.02, "{force:?}");
    let [load] = &rendering.tissue_loads[..] else { panic!("the body bears") };
    let borne = DVec3::from_slice(&load.control_force_xyz_n);
    assert!((borne + DVec3::new(force.x, force.y, force.z)).length() < 1e-6, "{borne}");
    // The moment about the frame of a point 2 cm and 3.5 cm aside.
    let about = DVec3::from_slice(&load.control_torque_xyz_nm);
    assert!((about - DVec3::new(0.02, 0.035, 0.0).cross(borne)).length() < 1e-4, "{about}");

    let own = TrackStart { tool_ids: vec![2], render: vec![render(2)], ..start(TrackMode::Every) };
    let mut plate = server.hand_fed(start_message(own)).await;
    let mut tick = at(1, 0.0);
    tick.tools[0].tool_id = 2;
    tick.tools[0].pose = Some(Pose { position_m: None, orientation: None });
    let answer = plate.ask(tick_message(tick)).await.expect("answered");
    assert_eq!(only(&answer).state(), RenderState::Free);
    assert!(answer.tissues.is_empty(), "{:?}", answer.tissues);
}

#[tokio::test]
async fn a_body_of_no_link_is_refused() {
    let mut server = TestServer::configured(with_kept_fields()).await;
    server.create(SCENE).await.expect("a new scene");
    add_tools(&mut server).await;
    server.scenes.add_instrument(body("taken", 0.0)).await.expect("a body");
    let bad = Code::InvalidArgument;
    let cases = [
        (AddInstrumentRequest { tool_id: 3, ..body("a", 0.0) }, Code::NotFound, "tool 3"),
        (AddInstrumentRequest { link: 1, ..body("a", 0.0) }, bad, "link"),
        (body("", 0.0), bad, "name"),
        (body("taken", 0.0), Code::AlreadyExists, "tissue taken"),
        (body("a", 1e6), bad, "pose.position_m.z"),
        // The lower face of the plate would be out of the world.
        (body("a", -9_999.99), bad, "pose"),
    ];
    for (request, code, about) in cases {
        let refused = server.scenes.add_instrument(request).await;
        assert_refused(refused, code, about, about);
    }
    let mut header = tissue_header("a", &wire(&shapes::sphere(0.01, 2)));
    header.options = Some(TissueOptions { kind: 3, ..Default::default() });
    let refused = server.add_tissue(vec![tissue_head(header)]).await;
    assert_refused(refused, bad, "header.options.kind", "a tissue is no link");
    assert_eq!(server.seen().await.scene.tissues.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_survives_a_kill_and_its_tool() {
    let folder = Folder::new("instruments");
    let data = folder.0.join("data");
    let mut serving = Process::serve_keeping(&data, &[], &[]);
    let mut server = TestServer::connect(serving.address()).await;
    server.create(SCENE).await.expect("a new scene");
    add_tools(&mut server).await;
    server.scenes.add_instrument(body("other hand", 0.01)).await.expect("a body");
    let request = RemoveToolRequest { scene_id: SCENE.to_owned(), tool_id: 2 };
    server.scenes.remove_tool(request).await.expect("removed");
    let before = server.seen().await;
    drop(serving);
    let mut serving = Process::serve_keeping(&data, &[], &[]);
    let mut server = TestServer::connect(serving.address()).await;
    assert_eq!(server.seen().await, before);
    assert_eq!(before.scene.tissues[0].kind(), TissueKind::Instrument);
}
