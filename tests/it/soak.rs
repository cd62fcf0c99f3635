//! All kinds of load at once, for as long as asked: a server's resources do not grow with the work that it has done.
//!
//! `PALPATE_TEST_SCALE=200 cargo test --release --test it -- --nocapture soak` takes ten minutes.

use std::{net::SocketAddr, time::Duration};

use palpate::{
    oracle::shapes,
    proto::{DeleteSceneRequest, EditTopologyRequest, TrackMode, TrackStart},
};
use tokio::{
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, interval},
};
use tokio_stream::wrappers::ReceiverStream;

use crate::{
    seed::{figure, scaled},
    support::{
        kept_recordings::KeptRecordings,
        meshes::Mesh,
        messages::{
            SCENE, sparse, start, start_message, tick, tick_message, tissue_upload, tool_head,
            tool_header, tool_piece,
        },
        metrics::{get, value},
        paced::Paced,
        process::Process,
        server::{TestServer, free_address, link},
    },
};

/// Duration of a run at scale 1.
const RUN: Duration = Duration::from_secs(3);
const DEFORM_EVERY: Duration = Duration::from_micros(16_667);
const CUT_EVERY: Duration = Duration::from_millis(100);
const VISIT_EVERY: Duration = Duration::from_millis(50);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(200);
/// Vertices that a deformation moves.
const MOVED: u32 = 50;

/// A ball of 2,000 triangles that a loop of [`Paced`] touches.
fn ball() -> Mesh {
    let ball = shapes::sphere(0.1, 10);
    let positions = ball.positions.iter().flat_map(|p| p.to_array()).collect();
    Mesh { positions, triangles: ball.triangles.concat() }
}

async fn furnished(address: SocketAddr) -> TestServer {
    let mut server = TestServer::connect(address).await;
    server.create(SCENE).await.expect("a new scene");
    server.add_tissue(tissue_upload("ball", &ball())).await.expect("tissue 1");
    let tool = vec![tool_head(tool_header("probe", &link())), tool_piece(link().chunk())];
    server.add_tool(tool).await.expect("tool 1");
    server
}

/// Deforms over one stream for the whole run; returns the number of deformations.
async fn deform(address: SocketAddr, until: Instant) -> u64 {
    let mut server = TestServer::connect(address).await;
    let rest = ball().positions;
    let (requests, sent) = mpsc::channel(1);
    let answers = server.scenes.deform(ReceiverStream::new(sent)).await.expect("a stream");
    let (mut answers, mut pace, mut sequence) = (answers.into_inner(), interval(DEFORM_EVERY), 0);
    while Instant::now() < until {
        pace.tick().await;
        sequence += 1;
        let lift = 1.0 + 0.02 * (sequence as f32 * 0.3).sin();
        let first = sequence as u32 % (rest.len() as u32 / 3 - MOVED);
        let vertices: Vec<u32> = (first..first + MOVED).collect();
        let moved: Vec<f32> = rest[3 * first as usize..][..3 * MOVED as usize].to_vec();
        let moved: Vec<f32> = moved.iter().map(|x| x * lift).collect();
        requests.send(sparse(sequence, &vertices, &moved)).await.expect("it is there");
        answers.message().await.expect("good").expect("an answer");
    }
    sequence
}

/// Removes the newest triangle and adds it again, as a new one; returns the number of cuts.
async fn cut(address: SocketAddr, until: Instant) -> u64 {
    let mut server = TestServer::connect(address).await;
    let mesh = ball();
    let added_triangles = mesh.triangles[..3].to_vec();
    let (mut triangle, mut pace, mut n_cuts) = (0, interval(CUT_EVERY), 0);
    while Instant::now() < until {
        pace.tick().await;
        let edit = EditTopologyRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: 1,
            base_topology_revision: Some(n_cuts),
            removed_triangles: vec![triangle],
            added_triangles: added_triangles.clone(),
            ..Default::default()
        };
        triangle =
            server.scenes.edit_topology(edit).await.expect("good").into_inner().first_triangle;
        n_cuts += 1;
    }
    n_cuts
}

/// Clients that connect, resume a session whose stream is still open, and leave, each with a scene of its own that it
/// creates and deletes. Returns the number of clients.
async fn come_and_go(address: SocketAddr, until: Instant) -> u64 {
    let (mut pace, mut n_gone) = (interval(VISIT_EVERY), 0);
    while Instant::now() < until {
        pace.tick().await;
        let mut server = TestServer::connect(address).await;
        let scene = format!("visit-{n_gone}");
        server.create(&scene).await.expect("a new scene");
        let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
        let answer = stream.ask(tick_message(tick(1, 0.105))).await.expect("an answer");
        let resume_token = answer.session_token;
        let again = TrackStart { resume_token, ..start(TrackMode::Latest) };
        let mut newer = server.hand_fed(start_message(again)).await;
        newer.ask(tick_message(tick(2, 0.105))).await.expect("it goes on");
        let delete = DeleteSceneRequest { scene_id: scene };
        server.scenes.delete_scene(delete).await.expect("its own");
        n_gone += 1;
    }
    n_gone
}

async fn joined(task: JoinHandle<u64>) -> u64 {
    task.await.expect("no panic")
}

fn mean(samples: &[[f64; 2]], of: usize) -> f64 {
    samples.iter().map(|sample| sample[of]).sum::<f64>() / samples.len() as f64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_and_descriptors_stay_flat_under_ticks_deformations_and_cuts() {
    let metrics = free_address();
    let metrics_text = metrics.to_string();
    let recordings = KeptRecordings::new("soak");
    let folder = recordings.folder().to_str().expect("a name in ASCII");
    let more = ["--metrics", &metrics_text, "--set", "sessions.grace=1s", "--record", folder];
    let mut process = Process::serve("127.0.0.1:0", &more);
    let address = process.address();
    let mut server = furnished(address).await;
    let loops = [Paced::start(&mut server).await, Paced::start(&mut server).await];
    let until = Instant::now() + RUN.mul_f64(scaled(1_000) as f64 / 1_000.0);
    let deforms = tokio::spawn(deform(address, until));
    let cuts = tokio::spawn(cut(address, until));
    let visits = tokio::spawn(come_and_go(address, until));
    let (mut samples, mut pace) = (Vec::new(), interval(SAMPLE_INTERVAL));
    while Instant::now() < until {
        pace.tick().await;
        let text = get(metrics, "/metrics").await.1;
        let read = |series| value(&text, series);
        samples.push([read("palpate_resident_bytes") / 1e6, read("palpate_open_descriptors")]);
    }
    let (deforms, cuts, visits) = (joined(deforms).await, joined(cuts).await, joined(visits).await);
    let text = get(metrics, "/metrics").await.1;
    println!(
        "{:?}: {} ticks, {deforms} deformations, {cuts} cuts, {visits} visits; memory and descriptors:",
        RUN.mul_f64(scaled(1_000) as f64 / 1_000.0),
        value(&text, "palpate_ticks_answered_total"),
    );
    for part in samples.chunks(samples.len().div_ceil(10)) {
        println!("  {:.1} MB, {:.1}", mean(part, 0), mean(part, 1));
    }
    assert_eq!(value(&text, "palpate_ticks_refused_total"), 0.0);
    assert_eq!(value(&text, "palpate_record_ended_early_total"), 0.0);
    assert_eq!(value(&text, "palpate_scenes"), 1.0);
    assert!(deforms > 0 && cuts > 0 && visits > 0);
    // Buffers grow in the first fifth.
    let fifth = samples.len() / 5;
    let (early, late) = (&samples[fifth..2 * fifth], &samples[samples.len() - fifth..]);
    figure("memory that a run has added", mean(late, 0) - mean(early, 0), 8.0, "MB");
    figure("descriptors that a run has added", mean(late, 1) - mean(early, 1), 4.0, "");
    for stream in loops {
        assert!(stream.is_alive());
        stream.stop().await;
    }
    drop(server);
    process.signal("TERM");
    let errors = tokio::task::spawn_blocking(move || process.errors()).await.expect("no panic");
    assert_eq!(errors, "", "nothing panicked");
}
