//! `palpate scenes`, on folders that servers have, and on folders that they left.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use palpate::proto::{EditTopologyRequest, GetSceneRequest};

use crate::support::{
    folder::Folder,
    messages::{SCENE, long_cut, sparse},
    process::Process,
    program::under_test,
    server::TestServer,
};

/// Returns the command's output, or its error output.
fn scenes(folder: &Folder, args: &[&str]) -> Result<String, String> {
    scenes_of(&folder.0, args)
}

fn scenes_of(folder: &Path, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new(under_test());
    command.arg("scenes").args(args).env("PALPATE_DATA_DIR", folder).env("RUST_LOG", "off");
    // The working directory allows a file to be given by its name alone.
    command.current_dir(folder);
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
    // Makes the journal longer than a snapshot.
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
    let mut before = server.seen().await;
    drop(server);
    process.signal("TERM");
    process.end();
    let list = scenes(&here, &["list"]).expect("good");
    let described = "tissue liver of 8 triangle ids, deformed 1 times, cut 41 times";
    assert!(list.contains(SCENE) && list.contains(described), "{list}");
    assert!(list.contains(": 1 tool, "), "{list}");
    let whole = scenes(&here, &["verify"]).expect("good");
    assert!(whole.starts_with(&format!("{SCENE}: whole\n")), "{whole}");
    let compacted = scenes(&here, &["compact"]).expect("room");
    let numbers = compacted.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let [bytes_before, bytes_after] = numbers.collect::<Vec<_>>()[..] else {
        panic!("{compacted}")
    };
    assert!(bytes_after < bytes_before, "{compacted}");
    assert_eq!(scenes(&here, &["list"]).expect("good"), list, "nothing of the scene has changed");

    let said = scenes(&here, &["export", SCENE, "bare.scene"]).expect("the current folder");
    assert!(said.contains("bytes written to bare.scene"), "{said}");
    scenes(&here, &["import", "bare.scene", "--id", "copy"]).expect("room");

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

#[test]
fn a_folder_without_scenes_is_told_from_one_that_is_not_there() {
    let folder = Folder::new("no-scenes");
    let there = folder.0.to_str().expect("UTF-8");
    for what in ["list", "verify", "compact"] {
        let said = scenes(&folder, &[what]).expect("a folder");
        assert!(said.starts_with("no scenes in ") && said.contains(there), "{what}: {said}");
        let slip = format!("{there}-slip");
        let refused = scenes(&folder, &[what, "--data-dir", &slip]).expect_err("no folder");
        assert!(refused.contains(&format!("no folder {slip}")), "{what}: {refused}");
        assert!(!Path::new(&slip).exists(), "{what} makes no folder");
    }
    assert_eq!(fs::read_dir(&folder.0).expect("there").count(), 0, "nor anything in one");
    let help = scenes(&folder, &["move", "--help"]).expect("help");
    assert!(!help.contains("--data-dir"), "it asks servers and opens no folder: {help}");
    let refused = scenes(&folder, &["export", "nope", "nope.scene"]).expect_err("no scene");
    assert!(
        refused.contains("there is no scene \"nope\" in ") && refused.contains(there),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenes_are_looked_at_while_a_server_changes_them_and_changed_by_nobody_else() {
    let [here, there] = ["looked-at", "from-a-live-one"].map(Folder::new);
    let hasty =
        [("PALPATE_STORE_SNAPSHOT_BYTES", "1024"), ("PALPATE_STORE_POSITIONS_INTERVAL", "10ms")];
    let mut process = Process::serve_keeping(&here.0, &[], &hasty);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let mut editor = TestServer::connect(server.address).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let until = Arc::clone(&is_over);
    let edits = tokio::spawn(async move {
        let mut n_cuts = 0;
        while !until.load(Relaxed) {
            editor.scenes.edit_topology(long_cut()).await.expect("a cut");
            n_cuts += 1;
        }
        n_cuts
    });
    let there = Arc::new(there);
    let looks = {
        let (here, there) = (here.0.clone(), Arc::clone(&there));
        tokio::task::spawn_blocking(move || {
            let mut exported = Vec::new();
            for at in 0..8 {
                let list = scenes_of(&here, &["list"]).expect("read");
                assert!(list.contains("tissue liver of 8") && list.contains("as of now"), "{list}");
                let whole = scenes_of(&here, &["verify"]).expect("whole");
                assert!(whole.starts_with(&format!("{SCENE}: whole\n")), "{whole}");
                let file = there.0.join(format!("{at}.scene"));
                scenes_of(&here, &["export", SCENE, file.to_str().expect("UTF-8")]).expect("read");
                exported.push(file);
            }
            let file = exported[0].to_str().expect("UTF-8");
            for changing in [&["compact"][..], &["import", file, "--id", "spleen"]] {
                let in_use = scenes_of(&here, changing).expect_err("the server has it");
                assert!(in_use.contains("in use by another server"), "{in_use}");
            }
            exported
        })
    };
    let exported = looks.await.expect("no panic");
    is_over.store(true, Relaxed);
    let n_cuts = edits.await.expect("no panic");
    // Each export is the scene after some cut, and a later one is not an earlier scene.
    for (file, at) in exported.iter().zip(0..) {
        let id = format!("moment-{at}");
        scenes(&there, &["import", file.to_str().expect("UTF-8"), "--id", &id]).expect("room");
    }
    let mut copies = Process::serve_keeping(&there.0, &[], &[]);
    let mut copy = TestServer::connect(copies.address()).await;
    let mut last = 0;
    for at in 0..exported.len() {
        let request = GetSceneRequest { scene_id: format!("moment-{at}") };
        let scene = copy.scenes.get_scene(request).await.expect("there").into_inner().scene;
        let tissue = scene.expect("described").tissues.remove(0);
        let of_cuts = 6 + 100 * tissue.topology_revision;
        assert_eq!(u64::from(tissue.vertices), of_cuts, "half a cut");
        assert!(tissue.topology_revision >= last, "{at}");
        last = tissue.topology_revision;
    }
    assert!(0 < last && last <= n_cuts, "{last} of {n_cuts}");
    println!("looked at beside {n_cuts} cuts");
}
