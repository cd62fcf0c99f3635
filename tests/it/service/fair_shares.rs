//! Resources that keys share: no key can take all of them, nor take them from another key.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use palpate::{
    config::Config,
    oracle::shapes,
    proto::{
        AddTissueRequest, CreateSceneRequest, DetectSelfCollisionsRequest, ExportTissueRequest,
        LinkHeader, MeshChunk, TissueInterval, TrackMode, TrackRequest, TrackStart,
    },
};
use tokio::{sync::mpsc, task::JoinSet, time::timeout};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tonic::{Code, Status};

use crate::support::{
    folder::Folder,
    keys::{OTHER, SURGEON, VIEWER, all_keys, by, with_keys},
    meshes::wire,
    messages::{
        SCENE, large_tissue, start, start_message, tick, tick_message, tissue_upload, tool_head,
        tool_header, tool_piece,
    },
    process::Process,
    refusal::assert_refused,
    server::{HandFed, TestServer, link, tissue},
};

const SOON: Duration = Duration::from_secs(20);
/// Number of calls of the key that demands everything.
const GREEDY: usize = 24;

fn upload(scene: &str, name: &str, frequency: u32) -> Vec<AddTissueRequest> {
    large_tissue(scene, name, &wire(&shapes::sphere(0.1, frequency)))
}

async fn served(folder: &Folder, config: impl FnOnce(&mut Config)) -> TestServer {
    let mut configured = with_keys(&folder.write("keys.toml", &all_keys("")));
    config(&mut configured);
    let mut server = TestServer::configured(configured).await;
    for (secret, scene) in [(SURGEON, SCENE), (OTHER, "other")] {
        let creation = CreateSceneRequest { scene_id: scene.to_owned(), durable: None };
        server.scenes.create_scene(by(secret, creation)).await.expect("a new scene");
    }
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_floods_self_collisions_does_not_keep_another_waiting() {
    let folder = Folder::new("fair-collisions");
    let mut server = served(&folder, |_| ()).await;
    let sent = by(SURGEON, tokio_stream::iter(upload(SCENE, "liver", 35)));
    server.scenes.add_tissue(sent).await.expect("tissue 1");
    let tissues = vec![TissueInterval { tissue_id: 1, ..Default::default() }];
    let scene_id = SCENE.to_owned();
    let asked = DetectSelfCollisionsRequest { scene_id, tissues, ..Default::default() };
    let done = Arc::new(AtomicUsize::new(0));
    let mut greedy = JoinSet::new();
    for _ in 0..GREEDY {
        let (mut haptics, asked, done) = (server.haptics.clone(), asked.clone(), Arc::clone(&done));
        greedy.spawn(async move {
            let answers = haptics.detect_self_collisions(by(VIEWER, asked)).await?;
            let mut answers = answers.into_inner();
            while answers.next().await.transpose()?.is_some() {}
            done.fetch_add(1, SeqCst);
            Ok::<_, Status>(())
        });
    }
    // The calls are queued once one of them is done.
    while done.load(SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let before = done.load(SeqCst);
    let answers = server.haptics.detect_self_collisions(by(SURGEON, asked)).await.expect("good");
    let all: Vec<_> = answers.into_inner().collect().await;
    assert!(all.iter().all(Result::is_ok));
    let passed = done.load(SeqCst) - before;
    println!("{passed} of {GREEDY} jobs of the flood went before another key's one");
    assert!(passed <= GREEDY / 4, "{passed}");
    while let Some(ended) = greedy.join_next().await {
        ended.expect("no panic").expect("in its turn");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_floods_uploads_does_not_keep_another_waiting() {
    let folder = Folder::new("fair-uploads");
    let mut server = served(&folder, |_| ()).await;
    let done = Arc::new(AtomicUsize::new(0));
    let mut greedy = JoinSet::new();
    for at in 0..GREEDY {
        let (mut scenes, done) = (server.scenes.clone(), Arc::clone(&done));
        let sent = by(OTHER, tokio_stream::iter(upload("other", &format!("t{at}"), 45)));
        greedy.spawn(async move {
            scenes.add_tissue(sent).await?;
            done.fetch_add(1, SeqCst);
            Ok::<_, Status>(())
        });
    }
    while done.load(SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let before = done.load(SeqCst);
    let sent = by(SURGEON, tokio_stream::iter(tissue_upload("liver", &tissue())));
    server.scenes.add_tissue(sent).await.expect("good");
    let passed = done.load(SeqCst) - before;
    println!("{passed} of {GREEDY} uploads of the flood went before another key's one");
    assert!(passed <= GREEDY / 2, "{passed}");
    while let Some(ended) = greedy.join_next().await {
        ended.expect("no panic").expect("in its turn");
    }
}

async fn begun(
    server: &mut TestServer,
    secret: &str,
    first: TrackRequest,
    sequence: u64,
) -> Result<(HandFed, Vec<u8>), Status> {
    let (requests, sent) = mpsc::channel(8);
    let answers = server.haptics.track(by(secret, ReceiverStream::new(sent))).await?;
    let mut stream = HandFed { requests, answers: answers.into_inner() };
    stream.requests.send(first).await.expect("room");
    let token = stream.ask(tick_message(tick(sequence, 0.2))).await?.session_token;
    Ok((stream, token))
}

#[tokio::test]
async fn sessions_of_one_key_neither_end_nor_keep_out_anothers() {
    let folder = Folder::new("fair-sessions");
    let mut server = served(&folder, |c| c.sessions.count_max = 8).await;
    let liver = tokio_stream::iter(tissue_upload("liver", &tissue()));
    server.scenes.add_tissue(by(SURGEON, liver)).await.expect("tissue 1");
    let tool = vec![tool_head(tool_header("probe", &link())), tool_piece(link().chunk())];
    server.scenes.add_tool(by(SURGEON, tokio_stream::iter(tool))).await.expect("tool 1");
    let first = || start_message(start(TrackMode::Every));
    let (broken, token) = begun(&mut server, SURGEON, first(), 1).await.expect("room");
    drop(broken);
    // A flood of sessions that break off as well, and one of sessions that stay.
    for _ in 0..32 {
        drop(begun(&mut server, VIEWER, first(), 1).await.expect("its own make room"));
    }
    let mut live = Vec::new();
    let refused = loop {
        match begun(&mut server, VIEWER, first(), 1).await {
            Ok(stream) => live.push(stream),
            Err(status) => break status,
        }
    };
    assert_refused(Err::<(), _>(refused), Code::ResourceExhausted, "sessions_per_key", "a fifth");
    assert_eq!(live.len(), 4, "half of eight");
    // The surgeon's session still waits for its client, and more sessions fit.
    let resume = start_message(TrackStart { resume_token: token, ..start(TrackMode::Every) });
    let resumed = timeout(SOON, begun(&mut server, SURGEON, resume, 2)).await.expect("soon");
    let _resumed = resumed.expect("nobody else's flood has ended it");
    for _ in 0..3 {
        live.push(begun(&mut server, SURGEON, first(), 1).await.expect("room"));
    }
}

/// Memory limit of the server in the test below, bytes.
const MEMORY_BYTES: u64 = 256 << 20;

#[tokio::test]
async fn sessions_of_one_key_leave_half_of_the_memory_to_others() {
    let folder = Folder::new("fair-memory");
    let keys = folder.write("keys.toml", &all_keys(""));
    let file = format!("access.keys_file={}", keys.display());
    let limit = format!("limits.memory_bytes={MEMORY_BYTES}");
    // A separate process, so that no other test's memory counts.
    let more = ["--set", &file, "--set", &limit, "--set", "sessions.grace=100ms"];
    let mut process = Process::serve("127.0.0.1:0", &more);
    let mut server = TestServer::connect(process.address()).await;
    let creation = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
    server.scenes.create_scene(by(SURGEON, creation)).await.expect("a new scene");
    let mut header = tool_header("wheel", &link());
    let spoke = header.links[0].clone();
    header.links =
        (0..8).map(|i| LinkHeader { name: format!("spoke-{i}"), ..spoke.clone() }).collect();
    let piece = |link| tool_piece(MeshChunk { link, ..self::link().chunk() });
    let spokes = std::iter::once(tool_head(header)).chain((0..8).map(piece));
    let spokes = tokio_stream::iter(spokes.collect::<Vec<_>>());
    server.scenes.add_tool(by(SURGEON, spokes)).await.expect("tool 1");

    let first = || start_message(start(TrackMode::Every));
    let mut live = Vec::new();
    let refused = loop {
        match begun(&mut server, VIEWER, first(), 1).await {
            Ok(stream) => live.push(stream),
            Err(status) => break status,
        }
    };
    println!("{} sessions of 8 links, then: {}", live.len(), refused.message());
    assert_refused(Err::<(), _>(refused), Code::ResourceExhausted, "memory_bytes_per_key", "more");
    // Another key can still work: a session, and a tissue that takes a few megabytes.
    live.push(begun(&mut server, SURGEON, first(), 1).await.expect("room for another's"));
    let sent = by(SURGEON, tokio_stream::iter(upload(SCENE, "liver", 30)));
    server.scenes.add_tissue(sent).await.expect("room for another's");
    // Memory reserved for a session is freed when it ends.
    live.clear();
    let until = tokio::time::Instant::now() + SOON;
    while let Err(refused) = begun(&mut server, VIEWER, first(), 1).await {
        assert!(tokio::time::Instant::now() < until, "{refused:?}");
    }
}

/// A revision that a slow reader holds counts for the reader's key, even after the tissue has moved on.
#[tokio::test]
async fn exports_that_are_not_read_leave_half_of_the_memory_to_others() {
    let folder = Folder::new("fair-exports");
    let keys = folder.write("keys.toml", &all_keys(""));
    let file = format!("access.keys_file={}", keys.display());
    let limit = format!("limits.memory_bytes={MEMORY_BYTES}");
    let mut process = Process::serve("127.0.0.1:0", &["--set", &file, "--set", &limit]);
    let mut server = TestServer::connect(process.address()).await;
    let creation = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
    server.scenes.create_scene(by(SURGEON, creation)).await.expect("a new scene");
    let sent = by(SURGEON, tokio_stream::iter(upload(SCENE, "liver", 50)));
    server.scenes.add_tissue(sent).await.expect("tissue 1");
    let export = || ExportTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
    let mut live = Vec::new();
    let refused = loop {
        match server.scenes.export_tissue(by(VIEWER, export())).await {
            Ok(answers) => live.push(answers),
            Err(status) => break status,
        }
    };
    println!("{} exports of 50,000 triangles, then: {}", live.len(), refused.message());
    assert_refused(Err::<(), _>(refused), Code::ResourceExhausted, "memory_bytes_per_key", "more");
    server.scenes.export_tissue(by(SURGEON, export())).await.expect("room for another's");
    live.clear();
    let until = tokio::time::Instant::now() + SOON;
    while let Err(refused) = server.scenes.export_tissue(by(VIEWER, export())).await {
        assert!(tokio::time::Instant::now() < until, "{refused:?}");
    }
}
