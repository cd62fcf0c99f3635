//! `palpate scenes`, on folders that servers left.

use std::{fs, path::PathBuf, process::Command};

use palpate::proto::EditTopologyRequest;

use crate::support::{
    folder::Folder,
    messages::{SCENE, sparse},
    process::Process,
    server::TestServer,
};

/// What it said, or of an error.
fn scenes(folder: &Folder, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
    command.arg("scenes").args(args).env("PALPATE_DATA_DIR", &folder.0).env("RUST_LOG", "off");
    let done = command.output().expect("it was built");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scene_is_listed_verified_and_carried_to_another_server() {
    let [here, there] = ["here", "there"].map(Folder::new);
    let mut process = Process::serve_keeping(&here.0, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let cut = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![5],
        ..Default::default()
    };
    server.scenes.edit_topology(cut).await.expect("a cut");
    // A journal that is longer than a snapshot.
    for _ in 0..40 {
        let more = EditTopologyRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: 1,
            added_positions_m: vec![0.1; 3],
            ..Default::default()
        };
        server.scenes.edit_topology(more).await.expect("a cut");
    }
    server.deform(vec![sparse(1, &[0], &[0.12, 0.0, 0.0])]).await.remove(0).expect("good");
    let in_use = scenes(&here, &["list"]).expect_err("the server has it");
    assert!(in_use.contains("in use by another server"), "{in_use}");
    let mut before = server.seen().await;
    drop(server);
    process.signal("TERM");
    process.end();
    let list = scenes(&here, &["list"]).expect("free");
    let described = "tissue liver of 8 triangle ids, deformed 1 times, cut 41 times";
    assert!(list.contains(SCENE) && list.contains(described), "{list}");
    assert_eq!(scenes(&here, &["verify"]).expect("good"), format!("{SCENE}: whole\n"));
    let compacted = scenes(&here, &["compact"]).expect("room");
    let numbers = compacted.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let [bytes_before, bytes_after] = numbers.collect::<Vec<_>>()[..] else {
        panic!("{compacted}")
    };
    assert!(bytes_after < bytes_before, "{compacted}");
    assert_eq!(scenes(&here, &["list"]).expect("good"), list, "nothing of the scene has changed");

    let file = there.0.join("liver.scene");
    let file = file.to_str().expect("UTF-8");
    scenes(&here, &["export", SCENE, file]).expect("room");
    assert!(scenes(&here, &["export", SCENE, file]).expect_err("there").contains("exists"));
    assert!(scenes(&here, &["export", "spleen", file]).expect_err("none").contains("spleen"));
    assert!(scenes(&here, &["import", file]).expect_err("there").contains("exists"));
    assert!(scenes(&there, &["import", file, "--id", "A/b"]).expect_err("no id").contains("A/b"));
    scenes(&there, &["import", file]).expect("room");
    let mut process = Process::serve_keeping(&there.0, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    before.scene.tissues[0].durable_geometry_revision = Some(1);
    assert_eq!(server.seen().await, before);
    drop(server);
    process.signal("KILL");
    process.end();

    let snapshots = fs::read_dir(here.0.join("scenes").join(SCENE)).expect("there");
    let snapshots = snapshots.map(|entry| entry.expect("there").path());
    let is_snapshot = |path: &PathBuf| path.extension().is_some_and(|e| e == "snapshot");
    let snapshot = snapshots.filter(is_snapshot).max().expect("two are kept");
    let number = snapshot.file_stem().and_then(|name| name.to_str()).expect("a number").to_owned();
    let mut bytes = fs::read(&snapshot).expect("there");
    bytes[60] ^= 1;
    fs::write(&snapshot, bytes).expect("room");
    for what in ["verify", "compact"] {
        let damaged = scenes(&here, &[what]).expect_err("damaged");
        assert!(damaged.contains(&format!("snapshot {number} is damaged at byte 44")), "{damaged}");
    }
}
