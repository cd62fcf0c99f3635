//! Memory: quotas count actual use, the server has a limit, and builds end when nobody waits for them.

use std::{net::SocketAddr, time::Duration};

use palpate::{
    config::Config,
    oracle::shapes,
    proto::{
        AddToolRequest, DeformRequest, DeleteSceneRequest, DetectSelfCollisionsRequest,
        EditTopologyRequest, FieldOptions, FieldReport, HoldTissueRequest, LinkHeader, MeshChunk,
        QueryContactsRequest, TissueInterval, TrackMode, TrackRequest, TrackResponse,
    },
    scene::Limits,
};
use tokio::{
    sync::mpsc::{Sender, channel},
    time::{Instant, timeout},
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use crate::support::{
    folder::Folder,
    keys::{OTHER, SURGEON, all_keys, by, with_keys},
    meshes::{Mesh, wire},
    messages::{
        SCENE, holding, large_tissue, sparse, start, start_message, tick, tick_message,
        tissue_upload, tool_at, tool_head, tool_header, tool_piece, vec3,
    },
    metrics::{get, value},
    refusal::{assert_refused, refusal},
    server::{TestServer, free_address, link, tissue},
};

const SOON: Duration = Duration::from_secs(60);
const FULL: Code = Code::ResourceExhausted;
/// Less than the field that the two scenes share.
const SHARED_QUOTA: u64 = 3_000_000;
/// Enough to build a field in; eight links with a field each would use it up.
const EIGHT_QUOTA: u64 = 32_000_000;

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
    (with_scenes(with_keys(&keys)).await, folder)
}

/// A scene of the surgeon's, and another key's.
async fn with_scenes(config: Config) -> TestServer {
    let mut server = TestServer::configured(config).await;
    for (secret, id) in [(SURGEON, SCENE), (OTHER, "other")] {
        let creation =
            palpate::proto::CreateSceneRequest { scene_id: id.to_owned(), durable: None };
        server.scenes.create_scene(by(secret, creation)).await.expect("a new scene");
    }
    server
}

async fn add_tissue(server: &mut TestServer) -> Result<(), Status> {
    let upload = tissue_upload("liver", &tissue());
    server.scenes.add_tissue(by(SURGEON, tokio_stream::iter(upload))).await.map(drop)
}

async fn add_tool(server: &mut TestServer, upload: Vec<AddToolRequest>) -> Result<(), Status> {
    server.scenes.add_tool(by(SURGEON, tokio_stream::iter(upload))).await.map(drop)
}

/// Memory other than that of uploaded meshes counts too.
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

    // Sessions, each with the contacts of its links, and queries, which are sessions of one tick.
    let query = || QueryContactsRequest {
        scene_id: SCENE.to_owned(),
        tool: Some(tool_at(vec3(0.5, 0.0, 0.0))),
        report: None,
    };
    server.haptics.query_contacts(by(SURGEON, query())).await.expect("one fits");
    let (streams, refused) = sessions_until_refused(&mut server, SURGEON).await;
    assert_refused(Err::<(), _>(refused), FULL, "bytes_per_key", "sessions");
    assert!(!streams.is_empty(), "one fits");
    let refused = server.haptics.query_contacts(by(SURGEON, query())).await;
    assert_refused(refused, FULL, "bytes_per_key", "a query beside them");
    drop(streams);
}

type OpenSession = (Sender<TrackRequest>, Streaming<TrackResponse>);

/// Opens sessions of tool 1, each with one tick, until one is refused; returns them and the refusal.
async fn sessions_until_refused(
    server: &mut TestServer,
    secret: &str,
) -> (Vec<OpenSession>, Status) {
    let mut open = Vec::new();
    loop {
        let (requests, sent) = channel(2);
        requests.send(start_message(start(TrackMode::Every))).await.expect("room");
        requests.send(tick_message(tick(1, 0.5))).await.expect("room");
        let answers = server.haptics.track(by(secret, ReceiverStream::new(sent))).await;
        let mut answers = answers.expect("a stream").into_inner();
        if let Err(refused) = answers.message().await {
            return (open, refused);
        }
        open.push((requests, answers));
        assert!(open.len() < 64, "sessions take nothing");
    }
}

/// Held revisions count to the last byte of the quota, whichever way they are held.
#[tokio::test]
async fn a_quota_counts_held_positions() {
    let ball = wire(&shapes::sphere(0.1, 63));
    let n_vertices = ball.positions.len() / 3;
    // The tissue, once with all its data, and less than two megabytes; sessions take the rest.
    let (mut server, _folder) = with_quota("bytes = 48000000").await;
    let sent = tokio_stream::iter(large_tissue(SCENE, "ball", &ball));
    server.scenes.add_tissue(by(SURGEON, sent)).await.expect("it fits");
    add_tool(&mut server, tool_upload("probe", &link(), 1e-3)).await.expect("it fits");
    let (_sessions, refused) = sessions_until_refused(&mut server, SURGEON).await;
    assert_refused(Err::<(), _>(refused), FULL, "bytes_per_key", "sessions");
    // Less than one session is left, and eight revisions of these vertices take more.
    assert!(8 * 12 * n_vertices > 3 << 20, "{n_vertices} vertices");
    let refused = loop {
        let request = HoldTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
        let n_held = match server.scenes.hold_tissue(by(SURGEON, request)).await {
            Ok(answer) => answer.into_inner().held_geometry_revisions.len(),
            Err(refused) => break refused,
        };
        assert!(n_held < 8, "all are held");
        // The next hold is of another revision.
        let moved = sparse(n_held as u64, &[0], &[0.11, 0.0, 0.0]);
        deform_by(&mut server, SURGEON, moved).await.expect("it takes nothing more");
    };
    assert_refused(Err::<(), _>(refused), FULL, "bytes_per_key", "one more revision");
    let held = holding(sparse(9, &[0], &[0.12, 0.0, 0.0]));
    let refused = deform_by(&mut server, SURGEON, held).await;
    assert_refused(refused, FULL, "bytes_per_key", "held with a deformation");
}

/// Copies and trees of a job are memory too.
#[tokio::test]
async fn a_quota_counts_self_collisions() {
    let (mut server, _folder) = with_quota("bytes = 4000000").await;
    let ball = wire(&shapes::sphere(0.1, 17));
    let sent = tokio_stream::iter(large_tissue(SCENE, "ball", &ball));
    server.scenes.add_tissue(by(SURGEON, sent)).await.expect("it fits");
    let job = || DetectSelfCollisionsRequest {
        scene_id: SCENE.to_owned(),
        tissues: vec![TissueInterval { tissue_id: 1, ..Default::default() }],
        max_contacts: 1,
        ..Default::default()
    };
    let refused = server.haptics.detect_self_collisions(by(SURGEON, job())).await;
    assert_refused(refused, FULL, "bytes_per_key", "a copy and a tree");
    let done = server.haptics.detect_self_collisions(by(OTHER, job())).await;
    done.expect("a key without a quota");
}

/// A mesh that is sent for each of eight links of a tool has one field, which counts once for its key.
#[tokio::test]
async fn identical_links_share_a_field_and_it_counts_once() {
    let ball = wire(&shapes::sphere(0.01, 4));
    let upload = |name: &str, links: u32| {
        let mut header = tool_header(name, &ball);
        let field = Some(FieldOptions { tolerance_m: 2e-5 });
        let first = LinkHeader { field, ..header.links[0].clone() };
        let named = |i| LinkHeader { name: format!("l{i}"), ..first.clone() };
        header.links = (0..links).map(named).collect();
        let piece = |link| tool_piece(MeshChunk { link, ..ball.chunk() });
        let all = std::iter::once(tool_head(header)).chain((0..links).map(piece));
        tokio_stream::iter(all.collect::<Vec<_>>())
    };
    let (mut server, _folder) = with_quota(&format!("bytes = {EIGHT_QUOTA}")).await;
    let added = server.scenes.add_tool(by(SURGEON, upload("eight", 8))).await;
    let fields = added.expect("they share one").into_inner().fields;
    let field_bytes = fields[0].bytes;
    println!("a field of {field_bytes} bytes");
    assert!(!fields[0].cached, "there is no cache");
    let shared = |field: &FieldReport| field.cached && field.bytes == field_bytes;
    assert!(fields[1..].iter().all(shared), "{fields:?}");
    let added = server.scenes.add_tool(by(SURGEON, upload("another", 1))).await;
    assert!(shared(&added.expect("it takes no more").into_inner().fields[0]));
}

/// A field shared with another key's scene counts in this scene as its own: it stays when the other scene is deleted.
#[tokio::test]
async fn a_shared_field_counts_for_each_key_that_has_it() {
    let (mut server, _folder) = with_quota(&format!("bytes = {SHARED_QUOTA}")).await;
    let ball = wire(&shapes::sphere(0.01, 4));
    let upload = |scene: &str| {
        let mut header = tool_header("fine", &ball);
        header.scene_id = scene.to_owned();
        header.links[0].field = Some(FieldOptions { tolerance_m: 8e-6 });
        tokio_stream::iter([tool_head(header), tool_piece(ball.chunk())])
    };
    let added = server.scenes.add_tool(by(OTHER, upload("other"))).await;
    let field_bytes = added.expect("without a quota").into_inner().fields[0].bytes;
    assert!(field_bytes > SHARED_QUOTA, "{field_bytes} bytes");
    let refused = server.scenes.add_tool(by(SURGEON, upload(SCENE))).await;
    assert_refused(refused, FULL, "bytes_per_key", "another's field");
}

async fn deform_by(
    server: &mut TestServer,
    secret: &str,
    request: DeformRequest,
) -> Result<(), Status> {
    let answers = server.scenes.deform(by(secret, tokio_stream::iter([request]))).await?;
    answers.into_inner().message().await.map(drop)
}

/// The server refuses any client's request before the system kills it, and continues to serve.
#[cfg_attr(not(target_os = "linux"), ignore = "its oracle is /proc")]
#[tokio::test]
async fn the_server_has_a_limit_of_its_own() {
    // The test's own process is the server: its memory now, and a little more.
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

/// A build ends soon after its client has disconnected, and does not delay another key's build meanwhile.
#[tokio::test]
async fn builds_end_with_their_clients_and_are_fair_between_keys() {
    let folder = Folder::new("builds");
    let mut config = with_keys(&folder.write("keys.toml", &all_keys("")));
    let http = free_address();
    config.metrics.listen = Some(http);
    let mut server = with_scenes(config).await;
    let mut other = TestServer::connect(server.address).await;
    let slow = tokio::spawn(async move {
        let upload = tokio_stream::iter(slow_tool("slow"));
        server.scenes.add_tool(by(SURGEON, upload)).await.map(drop)
    });
    // A key that builds for minutes delays no other key.
    let small = wire(&shapes::sphere(0.01, 3));
    let mut upload = tool_upload("small", &small, 1e-3);
    if let Some(palpate::proto::add_tool_request::Message::Header(header)) = &mut upload[0].message
    {
        header.scene_id = "other".to_owned();
    }
    timeout(SOON, until_builds(http, 1.0)).await.expect("it has begun");
    let begun = Instant::now();
    let added = other.scenes.add_tool(by(OTHER, tokio_stream::iter(upload)));
    timeout(SOON, added).await.expect("not kept waiting").expect("added");
    println!("another key's build beside it took {:.2} s", begun.elapsed().as_secs_f64());
    assert!(!slow.is_finished(), "the slow build is slow");

    // Deleting the scene ends its build, which reports so.
    let begun = Instant::now();
    let deletion = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    other.scenes.delete_scene(by(SURGEON, deletion)).await.expect("deleted");
    let refused = timeout(SOON, slow).await.expect("it ends").expect("no panic");
    assert_refused(refused, Code::NotFound, "scene liver-1", "its scene is gone");
    println!("a build ended {:.2} s after its scene", begun.elapsed().as_secs_f64());

    // A client that disconnects ends its build. The next build proves that a slot is free only if there is no other
    // slot.
    assert_eq!(builds(http).await, 0.0, "it has ended");
    let creation = palpate::proto::CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
    other.scenes.create_scene(by(SURGEON, creation)).await.expect("a new scene");
    let mut gone = TestServer::connect(other.address).await;
    let leaving = tokio::spawn(async move {
        let upload = tokio_stream::iter(slow_tool("slow"));
        gone.scenes.add_tool(by(SURGEON, upload)).await.map(drop)
    });
    timeout(SOON, until_builds(http, 1.0)).await.expect("it has begun");
    leaving.abort();
    timeout(SOON, until_builds(http, 0.0)).await.expect("it ends");
    let next = add_tool(&mut other, tool_upload("small", &small, 1e-3));
    timeout(SOON, next).await.expect("the place is free").expect("added");
}

async fn builds(http: SocketAddr) -> f64 {
    value(&get(http, "/metrics").await.1, "palpate_field_builds")
}

async fn until_builds(http: SocketAddr, n: f64) {
    while builds(http).await != n {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_client_that_waits_for_a_field_sees_how_far_it_is() {
    let mut server = TestServer::with_scene().await;
    let mut uploading = server.clone();
    let slow = tokio::spawn(async move { uploading.add_tool(slow_tool("slow")).await.map(drop) });
    let risen = async {
        let mut shares = Vec::new();
        while shares.len() < 3 {
            if let [build] = &server.seen().await.scene.field_builds[..] {
                assert_eq!((build.tool.as_str(), build.link.as_str()), ("slow", "shaft"));
                if shares.last() != Some(&build.share) {
                    shares.push(build.share);
                }
            }
        }
        shares
    };
    let shares = timeout(SOON, risen).await.expect("it goes on");
    assert!(shares.is_sorted() && shares[0] >= 0.0 && shares[2] < 1.0, "{shares:?}");
    slow.abort();
    let ended = async { while !server.seen().await.scene.field_builds.is_empty() {} };
    timeout(SOON, ended).await.expect("its client is gone");
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
