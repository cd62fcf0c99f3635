//! Queries that take minutes, and clients that abandon them.

use std::time::Duration;

use palpate::{
    oracle::Random,
    proto::{
        AddTissueRequest, CreateSceneRequest, QueryDistancesRequest,
        query_distances_request::Target,
    },
};
use tokio::time::timeout;
use tonic::Code;

use crate::support::{
    folder::Folder,
    keys::{SURGEON, VIEWER, all_keys, by},
    meshes::Mesh,
    messages::{SCENE, large_tissue},
    metrics::{get, value},
    process::Process,
    server::{TestServer, free_address},
};

const SOON: Duration = Duration::from_secs(30);
const POINTS_MAX: usize = 65_536;
/// Points of a query that is answered. A hundred were not done within a query's ten seconds beside two busy threads.
const FEW: usize = 20;
const RESETS: usize = 100;
const TRIANGLES: u32 = 20_000;
/// Memory of some running requests with their results, and of the threads on which they ran; bytes.
const MORE_BYTES_MAX: f64 = 96e6;

/// Triangles as large as their tissue: the boxes of nearly all contain each point, so that a query's time grows with
/// their number.
fn upload() -> Vec<AddTissueRequest> {
    let mut random = Random::new(7);
    let mesh = Mesh {
        positions: (0..9 * TRIANGLES).map(|_| random.range(-0.1, 0.1) as f32).collect(),
        triangles: (0..3 * TRIANGLES).collect(),
    };
    large_tissue(SCENE, "liver", &mesh)
}

fn question(n: usize) -> QueryDistancesRequest {
    let point = |i: usize| [1e-6 * i as f64, 0.03, 0.02];
    QueryDistancesRequest {
        scene_id: SCENE.to_owned(),
        target: Some(Target::TissueId(1)),
        points_xyz_m: (0..n).flat_map(point).collect(),
        max_distance_m: 0.0,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_that_are_left_behind_end_and_keep_nobody_waiting() {
    let folder = Folder::new("slow-queries");
    let keys = folder.write("keys.toml", &all_keys(""));
    let metrics = free_address();
    let sets =
        [format!("access.keys_file={}", keys.display()), format!("metrics.listen={metrics}")];
    let args: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let mut process = Process::serve("127.0.0.1:0", &args);
    let mut server = TestServer::connect(process.address()).await;
    let creation = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
    server.scenes.create_scene(by(SURGEON, creation)).await.expect("a new scene");
    let sent = by(SURGEON, tokio_stream::iter(upload()));
    server.scenes.add_tissue(sent).await.expect("tissue 1");
    let resident = || async { value(&get(metrics, "/metrics").await.1, "palpate_resident_bytes") };
    // A query of few points starts on the thread that received it, takes too long there, and is answered all the same.
    let few = server.haptics.query_distances(by(SURGEON, question(FEW))).await;
    assert_eq!(few.expect("good").get_ref().signed_distance_m.len(), FEW);
    let before = resident().await;
    for _ in 0..RESETS {
        let mut haptics = server.haptics.clone();
        let asked = haptics.query_distances(by(VIEWER, question(POINTS_MAX)));
        let gone = timeout(Duration::from_millis(40), asked).await;
        assert!(gone.is_err(), "it takes long");
    }
    let more = resident().await - before;
    println!("{RESETS} queries that were reset: {:.1} MB more", more / 1e6);
    assert!(more <= MORE_BYTES_MAX, "{more} bytes more");
    let asked = server.haptics.query_distances(by(SURGEON, question(FEW)));
    let answer = timeout(SOON, asked).await.expect("soon").expect("served");
    assert_eq!(answer.get_ref().signed_distance_m.len(), FEW);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_takes_too_long_is_refused() {
    let mut server = TestServer::with_scene().await;
    server.add_tissue(upload()).await.expect("tissue 1");
    let all = server.haptics.query_distances(question(POINTS_MAX)).await;
    let refused = all.expect_err("it takes a minute and more");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    let mut in_time = tonic::Request::new(question(POINTS_MAX));
    in_time.set_timeout(Duration::from_millis(300));
    let late = server.haptics.query_distances(in_time).await.expect_err("its own deadline");
    assert!([Code::DeadlineExceeded, Code::Cancelled].contains(&late.code()), "{late}");
}
