//! Clients that send requests and do not read the answers.

use std::time::Duration;

use palpate::{
    oracle::shapes,
    proto::{AddTissueRequest, CreateSceneRequest, ExportTissueRequest},
};
use prost::Message;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_stream::StreamExt;

use crate::support::{
    folder::Folder,
    keys::{SURGEON, VIEWER, all_keys, by},
    meshes::wire,
    messages::{SCENE, large_tissue},
    metrics::{get, value},
    process::Process,
    raw_http2::{RawHttp2, call},
    server::{TestServer, free_address},
};

const SOON: Duration = Duration::from_secs(30);
/// Limit of answer bytes in flight for one key.
const ROOM_BYTES: usize = 8 << 20;
const CONNECTIONS: usize = 4;
const STREAMS: u32 = 64;

/// A tissue whose export has some megabytes.
fn upload() -> Vec<AddTissueRequest> {
    large_tissue(SCENE, "liver", &wire(&shapes::sphere(0.1, 100)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_take_bounded_memory_for_a_bounded_time() {
    let folder = Folder::new("unread");
    let keys = folder.write("keys.toml", &all_keys(""));
    let metrics = free_address();
    let sets = [
        format!("access.keys_file={}", keys.display()),
        format!("metrics.listen={metrics}"),
        format!("transport.answer_bytes_per_key={ROOM_BYTES}"),
        "transport.unread_max=3s".to_owned(),
    ];
    let args: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let mut process = Process::serve("127.0.0.1:0", &args);
    let address = process.address();
    let mut server = TestServer::connect(address).await;
    let creation = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
    server.scenes.create_scene(by(SURGEON, creation)).await.expect("a new scene");
    let sent = by(SURGEON, tokio_stream::iter(upload()));
    server.scenes.add_tissue(sent).await.expect("tissue 1");
    let export = ExportTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
    let read =
        |series: &'static str| async move { value(&get(metrics, "/metrics").await.1, series) };
    let resident = || read("palpate_resident_bytes");
    // Warm-up: the memory of one ordinary export is already allocated.
    let exported = async |server: &mut TestServer| {
        let answers = server.scenes.export_tissue(by(SURGEON, export.clone())).await?;
        let mut bytes = 0;
        let mut answers = answers.into_inner();
        while let Some(answer) = answers.next().await {
            bytes += answer?.encoded_len();
        }
        Ok::<_, tonic::Status>(bytes)
    };
    let bytes = exported(&mut server).await.expect("good");
    let before = resident().await;

    let message = export.encode_to_vec();
    let mut attackers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut raw = RawHttp2::that_reads_nothing(address).await;
        for n in 0..STREAMS {
            let sent = call(2 * n + 1, "SceneService/ExportTissue", Some(VIEWER), &message);
            assert!(raw.send(&sent).await);
        }
        attackers.spawn(async move { raw.until_closed().await });
    }
    let mut most = 0.0_f64;
    for _ in 0..10 {
        sleep(Duration::from_millis(100)).await;
        most = most.max(resident().await - before);
        // Another key's exports are answered all the while.
        let whole = timeout(SOON, exported(&mut server)).await.expect("soon").expect("served");
        assert_eq!(whole, bytes);
    }
    println!(
        "{} exports of {bytes} bytes that nobody reads: {:.1} MB more, of {:.1} allowed",
        CONNECTIONS * STREAMS as usize,
        most / 1e6,
        ROOM_BYTES as f64 / 1e6
    );
    // Twice the limit: for memory that the allocator keeps, and for the exports that are read.
    assert!(most <= 2.0 * ROOM_BYTES as f64, "{most} bytes");
    let all = async { while attackers.join_next().await.is_some() {} };
    timeout(SOON, all).await.expect("they are closed");
    let closed = read("palpate_connections_closed_total{reason=\"unread\"}").await;
    assert!(closed >= 1.0, "{closed}");
}
