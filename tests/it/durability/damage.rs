//! Servers on damaged files: scenes they serve, calls they refuse, and errors they report.

use std::{
    fs,
    path::{Path, PathBuf},
};

use palpate::proto::{
    CreateSceneRequest, DeleteSceneRequest, EditTopologyRequest, GetSceneRequest,
};
use tonic::Code;

use crate::support::{
    folder::Folder,
    messages::SCENE,
    metrics::{get, value},
    process::Process,
    refusal::assert_refused,
    server::{TestServer, free_address},
};

/// Snapshots as soon as they are due.
const HASTY: [(&str, &str); 2] =
    [("PALPATE_STORE_POSITIONS_INTERVAL", "10ms"), ("PALPATE_STORE_SNAPSHOT_INTERVAL", "1s")];

fn cut(triangle: u32) -> EditTopologyRequest {
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![triangle],
        ..Default::default()
    }
}

/// Returns a killed server's folder: a scene with three cuts, in the first snapshot's journal.
async fn killed(name: &str) -> Folder {
    let folder = Folder::new(name);
    let mut process = Process::serve_keeping(&folder.0, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    for triangle in 1..=3 {
        server.scenes.edit_topology(cut(triangle)).await.expect("a cut");
    }
    process.signal("KILL");
    process.end();
    folder
}

fn file(folder: &Folder, name: &str) -> PathBuf {
    folder.0.join("scenes").join(SCENE).join(name)
}

fn harm(path: &Path, at: impl Fn(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("it was kept");
    at(&mut bytes);
    fs::write(path, bytes).expect("room");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_journal_is_cut_there_said_so_and_kept_for_a_look() {
    let folder = killed("flipped").await;
    let journal = file(&folder, "0.journal");
    // Damages the last cut.
    harm(&journal, |bytes| *bytes.last_mut().expect("not empty") ^= 1);
    let address = free_address();
    let metrics = [("PALPATE_METRICS_LISTEN", &*address.to_string())];
    let mut process = Process::serve_keeping(&folder.0, &[], &metrics);
    let mut server = TestServer::connect(process.address()).await;
    let tissue = server.seen().await.scene.tissues.remove(0);
    assert_eq!((tissue.topology_revision, tissue.triangles), (2, 6));
    let (_, text) = get(address, "/metrics").await;
    assert_eq!(value(&text, "palpate_store_damaged"), 1.0);
    // The server goes on from there, and the next start finds nothing wrong.
    server.scenes.edit_topology(cut(7)).await.expect("a cut");
    process.signal("KILL");
    let log = tokio::task::spawn_blocking(move || process.errors()).await.expect("no panic");
    assert!(log.contains("damaged on the disk") && log.contains("checksum"), "{log}");
    assert!(file(&folder, "0.journal.damaged").exists());
    let mut process = Process::serve_keeping(&folder.0, &[], &metrics);
    let mut server = TestServer::connect(process.address()).await;
    let tissue = server.seen().await.scene.tissues.remove(0);
    assert_eq!((tissue.topology_revision, tissue.triangles), (3, 5));
    let (_, text) = get(address, "/metrics").await;
    assert_eq!(value(&text, "palpate_store_damaged"), 0.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scene_that_cannot_be_read_is_refused_by_name_until_it_is_deleted() {
    let folder = killed("unreadable").await;
    harm(&file(&folder, "0.snapshot"), |bytes| *bytes.last_mut().expect("not empty") ^= 1);
    let mut process = Process::serve_keeping(&folder.0, &[], &HASTY);
    let mut server = TestServer::connect(process.address()).await;
    let get = GetSceneRequest { scene_id: SCENE.to_owned() };
    let got = server.scenes.get_scene(get).await;
    assert_refused(got, Code::DataLoss, &format!("scene {SCENE}"), "it was acknowledged");
    let create = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: Some(false) };
    let made = server.scenes.create_scene(create).await;
    assert_refused(made, Code::DataLoss, &format!("scene {SCENE}"), "the id is not free");
    server.create("another").await.expect("others are served");
    assert!(file(&folder, "0.snapshot").exists(), "left as it is");
    let delete = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.delete_scene(delete).await.expect("by whoever may change all");
    server.create(SCENE).await.expect("the id is free");
    server.furnish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_format_is_refused_in_words_and_left_as_it_is() {
    let folder = killed("newer").await;
    let snapshot = file(&folder, "0.snapshot");
    // Version and checksum of the head, as a later server would write them.
    harm(&snapshot, |bytes| {
        bytes[8] = 99;
        let sum = blake3::hash(&bytes[..28]);
        bytes[28..44].copy_from_slice(&sum.as_bytes()[..16]);
    });
    let before = fs::read(&snapshot).expect("there");
    let mut process = Process::serve_keeping(&folder.0, &[], &HASTY);
    let (words, ended) = tokio::task::spawn_blocking(move || (process.errors(), process.end()))
        .await
        .expect("no panic");
    assert_eq!(ended.code(), Some(1));
    assert!(words.contains("is of format 99, this version reads 2"), "{words}");
    assert_eq!(fs::read(&snapshot).expect("there"), before);
}
