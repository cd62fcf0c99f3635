//! Memory: quotas count what is really taken, the server has a limit, and builds that nobody waits for end.

use std::time::Duration;

use palpate::{
    config::Config,
    oracle::shapes,
    proto::{AddToolRequest, DeleteSceneRequest, EditTopologyRequest, FieldOptions, TrackMode},
    scene::Limits,
};
use tokio::time::{Instant, timeout};
use tonic::{Code, Status};

use crate::support::{
    folder::Folder,
    keys::{OTHER, SURGEON, all_keys, by, with_keys},
    meshes::{Mesh, wire},
    messages::{
        SCENE, holding, sparse, start, start_message, tick, tick_message, tissue_upload, tool_head,
        tool_header, tool_piece,
    },
    refusal::{assert_refused, refusal},
    server::{TestServer, tissue},
};

const SOON: Duration = Duration::from_secs(60);
const FULL: Code = Code::ResourceExhausted;

fn tool_upload(name: &str, mesh: &Mesh, tolerance_m: f64) -> Vec<AddToolRequest> {
    let mut header = tool_header(name, mesh);
    header.links[0].field = Some(FieldOptions { tolerance_m });
    vec![tool_head(header), tool_piece(mesh.chunk())]
}

/// A tool whose field takes minutes to build at the finest tolerance.
fn slow_tool(name: &str) -> Vec<AddToolRequest> {
    let mesh = wire(&shapes::torus(0.05, 0.02, 160, 80));
    tool_upload(name, &mesh, 3e-5)
}

async fn with_quota(quota: &str) -> (TestServer, Folder) {
    let folder = Folder::new("memory");
    let keys = folder.write("keys.toml", &all_keys(quota));
    let mut server = TestServer::configured(with_keys(&keys)).await;
    for (secret, id) in [(SURGEON, SCENE), (OTHER, "other")] {
        let creation =
            palpate::proto::CreateSceneRequest { scene_id: id.to_owned(), durable: None };
        server.scenes.create_scene(by(secret, creation)).await.expect("a new scene");
    }
    (server, folder)
}

async fn add_tissue(server: &mut TestServer) -> Result<(), Status> {
    let upload = tissue_upload("liver", &tissue());
    server.scenes.add_tissue(by(SURGEON, tokio_stream::iter(upload))).await.map(drop)
}

async fn add_tool(server: &mut TestServer, upload: Vec<AddToolRequest>) -> Result<(), Status> {
    server.scenes.add_tool(by(SURGEON, tokio_stream::iter(upload))).await.map(drop)
}

/// What takes memory beside meshes as they are sent is counted too.
#[tokio::test]
async fn a_quota_counts_fields_cuts_held_positions_and_sessions() {
    // A field: the mesh alone would fit a hundred times.
    let (mut server, _folder) = with_quota("bytes = 4000000").await;
    add_tissue(&mut server).await.expect("it fits");
    let ball = wire(&shapes::sphere(0.01, 4));
    let fine = add_tool(&mut server, tool_upload("fine", &ball, 4e-6)).await;
    assert_refused(fine, FULL, "bytes_per_key", "a fine field");
    add_tool(&mut server, tool_upload("coarse", &ball, 1e-3)).await.expect("a coarse one fits");

    // Vertices and triangles of a cut.
    let n = 8_000;
    let cut = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        added_positions_m: (0..3 * n).map(|i| i as f32 * 1e-6).collect(),
        added_triangles: (0..3 * n).map(|i| 6 + i % n).collect(),
        ..Default::default()
    };
    let cut = server.scenes.edit_topology(by(SURGEON, cut)).await;
    assert_refused(cut, FULL, "bytes_per_key", "a cut that adds");

    // Positions of six vertices that are held fit.
    let held = holding(sparse(1, &[0], &[0.11, 0.0, 0.0]));
    let answers = server.scenes.deform(by(SURGEON, tokio_stream::iter([held]))).await;
    answers.expect("a stream").into_inner().message().await.expect("they fit");

    // Sessions, each with the contacts of its links.
    let mut streams = Vec::new();
    let refused = loop {
        let (requests, sent) = tokio::sync::mpsc::channel(2);
        requests.send(start_message(start(TrackMode::Every))).await.expect("room");
        requests.send(tick_message(tick(1, 0.5))).await.expect("room");
        let sent = tokio_stream::wrappers::ReceiverStream::new(sent);
        let answers = server.haptics.track(by(SURGEON, sent)).await;
        let mut answers = answers.expect("a stream").into_inner();
        match answers.message().await {
            Ok(Some(_)) => streams.push((requests, answers)),
            other => break other,
        }
        assert!(streams.len() < 16, "sixteen sessions take nothing");
    };
    assert_refused(refused, FULL, "bytes_per_key", "sessions");
    assert!(!streams.is_empty(), "one fits");
}

/// The server refuses before the system ends it, whoever asks, and goes on serving.
#[cfg_attr(not(target_os = "linux"), ignore = "its oracle is /proc")]
#[tokio::test]
async fn the_server_has_a_limit_of_its_own() {
    // The test's own process is the server: what it has now, and a little.
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    let kilobytes = line.trim().strip_suffix(" kB").expect("in kB");
    let resident = 1024 * kilobytes.parse::<u64>().expect("a number");
    let limits = Limits { memory_bytes: resident + (64 << 20), ..Limits::default() };
    let mut server = TestServer::configured(Config { limits, ..Config::default() }).await;
    server.create(SCENE).await.expect("a new scene");
    let declared = Mesh { positions: vec![0.0; 3 * 1_000_000], triangles: vec![0; 3 * 2_000_000] };
    let header = crate::support::messages::tissue_header("large", &declared);
    let refused = server.add_tissue(vec![crate::support::messages::tissue_head(header)]).await;
    let status = refused.expect_err("no memory for it");
    assert_eq!(refusal(&status), (FULL, "memory_bytes".to_owned()));
    assert!(status.message().contains("its limit is"), "{status:?}");
    server.furnish().await;
    let moved = holding(sparse(1, &[0], &[0.11, 0.0, 0.0]));
    let answers = server.deform(vec![moved]).await;
    answers.into_iter().next().expect("an answer").expect("small work goes on");
}

/// A build ends soon after its client has gone, and another key's is not kept waiting meanwhile.
#[tokio::test]
async fn builds_end_with_their_clients_and_are_fair_between_keys() {
    let (mut server, _folder) = with_quota("").await;
    let mut other = TestServer::connect(server.address).await;
    let slow = tokio::spawn(async move {
        let upload = tokio_stream::iter(slow_tool("slow"));
        server.scenes.add_tool(by(SURGEON, upload)).await.map(drop)
    });
    // A key that builds for minutes keeps nobody else waiting.
    let small = wire(&shapes::sphere(0.01, 3));
    let mut upload = tool_upload("small", &small, 1e-3);
    if let Some(palpate::proto::add_tool_request::Message::Header(header)) = &mut upload[0].message
    {
        header.scene_id = "other".to_owned();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let begun = Instant::now();
    let added = other.scenes.add_tool(by(OTHER, tokio_stream::iter(upload)));
    timeout(SOON, added).await.expect("not kept waiting").expect("added");
    println!("another key's build beside it took {:.2} s", begun.elapsed().as_secs_f64());
    assert!(!slow.is_finished(), "the slow build is slow");

    // Deleted, the scene's build ends and says so.
    let begun = Instant::now();
    let deletion = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    other.scenes.delete_scene(by(SURGEON, deletion)).await.expect("deleted");
    let refused = timeout(SOON, slow).await.expect("it ends").expect("no panic");
    assert_refused(refused, Code::NotFound, "scene liver-1", "its scene is gone");
    println!("a build ended {:.2} s after its scene", begun.elapsed().as_secs_f64());

    // A client that goes takes its build along: its next one is not behind it.
    let creation = palpate::proto::CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
    other.scenes.create_scene(by(SURGEON, creation)).await.expect("a new scene");
    let mut gone = TestServer::connect(other.address).await;
    let leaving = gone.scenes.add_tool(by(SURGEON, tokio_stream::iter(slow_tool("slow"))));
    assert!(timeout(Duration::from_millis(500), leaving).await.is_err(), "it takes long");
    drop(gone);
    let next = add_tool(&mut other, tool_upload("small", &small, 1e-3));
    timeout(SOON, next).await.expect("the place is free").expect("added");
}

#[tokio::test]
async fn a_build_that_takes_too_long_is_refused() {
    let field_build_max = Duration::from_millis(200);
    let mut server = TestServer::configured(Config { field_build_max, ..Config::default() }).await;
    server.create(SCENE).await.expect("a new scene");
    let refused = server.add_tool(slow_tool("slow")).await;
    let status = refused.expect_err("too slow");
    assert_eq!(refusal(&status), (FULL, "field_build_max".to_owned()));
    assert!(status.message().contains("\"shaft\""), "{status:?}");
}
