//! Clean shutdowns, throw-away scenes, owners, and two servers on one folder.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use palpate::proto::{
    CreateSceneRequest, DeleteSceneRequest, EditTopologyRequest, GetSceneRequest, ListScenesRequest,
};
use tonic::Code;

use crate::support::{
    folder::Folder,
    keys::{ADMIN, OTHER, SURGEON, all_keys, by},
    messages::{SCENE, dense, long_cut},
    process::Process,
    refusal::assert_refused,
    server::{TestServer, positions, tissue},
};

/// Long interval, so that only a clean shutdown can have kept newer positions.
const SELDOM: [(&str, &str); 1] = [("PALPATE_STORE_POSITIONS_INTERVAL", "1h")];

async fn serve(folder: &Folder) -> (Process, TestServer) {
    let mut process = Process::serve_keeping(&folder.0, &[], &SELDOM);
    let server = TestServer::connect(process.address()).await;
    (process, server)
}

async fn end(process: Process, server: TestServer) {
    drop(server);
    process.signal("TERM");
    let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
    assert!(ended.success(), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_keeps_the_newest_positions_and_all_else() {
    let folder = Folder::new("sigterm");
    let (process, mut server) = serve(&folder).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let all = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![5],
        ..Default::default()
    };
    let cut = server.scenes.edit_topology(all).await.expect("a cut").into_inner();
    assert_eq!(cut.durable_topology_revision, Some(1));
    let mut moved = tissue().positions;
    let mut told = 0;
    for sequence in 1..=5 {
        moved.iter_mut().for_each(|x| *x *= 1.01);
        let answer = server.deform(vec![dense(sequence, &moved)]).await.remove(0).expect("good");
        told = answer.durable_geometry_revision.expect("a durable scene");
    }
    assert_eq!(told, 0, "a deformation does not wait for the disk, and says so");
    let before = server.seen().await;
    end(process, server).await;
    let (process, mut server) = serve(&folder).await;
    let mut after = server.seen().await;
    assert_eq!(after.scene.tissues[0].durable_geometry_revision, Some(5));
    after.scene.tissues[0].durable_geometry_revision = Some(0);
    assert_eq!(after, before);
    // A second restart, with nothing new.
    end(process, server).await;
    let (process, mut server) = serve(&folder).await;
    after.scene.tissues[0].durable_geometry_revision = Some(5);
    assert_eq!(server.seen().await, after);
    end(process, server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tissue_without_triangles_and_ids_that_were_given_survive() {
    let folder = Folder::new("holes");
    let (process, mut server) = serve(&folder).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let all = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: (0..8).collect(),
        ..Default::default()
    };
    server.scenes.edit_topology(all).await.expect("a cut");
    let before = server.seen().await;
    end(process, server).await;
    let (process, mut server) = serve(&folder).await;
    assert_eq!(server.seen().await, before);
    let back = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        base_topology_revision: Some(1),
        added_triangles: vec![0, 2, 4],
        ..Default::default()
    };
    let done = server.scenes.edit_topology(back).await.expect("a cut").into_inner();
    assert_eq!((done.first_triangle, done.topology_revision), (8, 2), "ids go on");
    end(process, server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scene_that_is_not_durable_is_gone_and_a_deleted_one_too() {
    let folder = Folder::new("throw-away");
    let (process, mut server) = serve(&folder).await;
    let creation = |id: &str, durable| CreateSceneRequest { scene_id: id.to_owned(), durable };
    for (id, durable) in [("kept", None), ("asked", Some(true)), ("passing", Some(false))] {
        let made = server.scenes.create_scene(creation(id, durable)).await.expect("a new scene");
        let is_durable = made.into_inner().scene.expect("described").durable;
        assert_eq!(is_durable, durable.unwrap_or(true), "{id}");
    }
    server.create("deleted").await.expect("a new scene");
    let delete = DeleteSceneRequest { scene_id: "deleted".to_owned() };
    server.scenes.delete_scene(delete).await.expect("it is there");
    end(process, server).await;
    let (process, mut server) = serve(&folder).await;
    let list = server.scenes.list_scenes(ListScenesRequest {}).await;
    let list = list.expect("a list").into_inner().scenes;
    let ids: Vec<_> = list.iter().map(|s| s.scene_id.as_str()).collect();
    assert_eq!(ids, ["asked", "kept"]);
    server.create("deleted").await.expect("the id is free");
    end(process, server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scene_is_still_its_owner_s_after_a_crash() {
    let folder = Folder::new("owner");
    let keys = folder.write("keys.toml", &all_keys("scenes = 1"));
    let keys = [("PALPATE_ACCESS_KEYS_FILE", keys.to_str().expect("UTF-8"))];
    let creation = |id: &str| CreateSceneRequest { scene_id: id.to_owned(), durable: None };
    let mut process = Process::serve_keeping(&folder.0, &[], &keys);
    let mut server = TestServer::connect(process.address()).await;
    server.scenes.create_scene(by(SURGEON, creation(SCENE))).await.expect("a new scene");
    process.signal("KILL");
    process.end();
    let mut process = Process::serve_keeping(&folder.0, &[], &keys);
    let mut server = TestServer::connect(process.address()).await;
    let second = server.scenes.create_scene(by(SURGEON, creation("second"))).await;
    assert_refused(second, Code::ResourceExhausted, "scenes_per_key", "it has one already");
    let delete = || DeleteSceneRequest { scene_id: SCENE.to_owned() };
    let other = server.scenes.delete_scene(by(OTHER, delete())).await;
    assert_refused(other, Code::PermissionDenied, &format!("scene {SCENE}"), "another's");
    server.scenes.delete_scene(by(SURGEON, delete())).await.expect("its own");
    server.scenes.create_scene(by(SURGEON, creation("third"))).await.expect("room again");
    let gone = server.scenes.delete_scene(by(ADMIN, delete())).await;
    assert_refused(gone, Code::NotFound, &format!("scene {SCENE}"), "deleted");
    // The secrets that open the scene are nowhere on the disk.
    let secrets = [SURGEON, OTHER, ADMIN];
    for file in files_below(&folder.0.join("scenes")) {
        let bytes = std::fs::read(&file).expect("readable");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{}", file.display());
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path());
    entries.flat_map(|p| if p.is_dir() { files_below(&p) } else { vec![p] }).collect()
}

#[tokio::test]
async fn durable_is_refused_where_nothing_is_kept() {
    let mut server = TestServer::configured(palpate::config::Config::default()).await;
    let asked = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: Some(true) };
    let refused = server.scenes.create_scene(asked).await;
    assert_refused(refused, Code::FailedPrecondition, "durable", "no data folder");
    let get = GetSceneRequest { scene_id: SCENE.to_owned() };
    assert_refused(server.scenes.get_scene(get).await, Code::NotFound, "scene liver-1", "not made");
    let made = server.create(SCENE).await.expect("a new scene");
    assert!(!made.durable);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_server_on_one_folder_is_refused_in_words() {
    let folder = Folder::new("two-servers");
    let (process, mut server) = serve(&folder).await;
    server.create(SCENE).await.expect("a new scene");
    let mut second = Process::serve_keeping(&folder.0, &[], &SELDOM);
    let heard = move || (second.first_line(), second.errors(), second.end());
    let (line, words, ended) = tokio::task::spawn_blocking(heard).await.expect("no panic");
    assert_eq!(ended.code(), Some(1));
    assert_eq!(line, "", "whoever waits for the address waits for a server that goes on");
    assert!(words.contains("is in use by another server"), "{words}");
    assert!(words.contains("store.scenes"), "{words}");
    // A folder can be shared for fields alone.
    let sharing = [("PALPATE_STORE_SCENES", "false")];
    let mut third = Process::serve_keeping(&folder.0, &[], &sharing);
    TestServer::connect(third.address()).await.create(SCENE).await.expect("a new scene");
    process.signal("KILL");
    drop(server);
    process.end();
    // Everything that a killed server held is free.
    let (process, server) = serve(&folder).await;
    end(process, server).await;
}

/// Returns the numbers of the scene's files with this extension, ascending.
fn numbers(folder: &Folder, extension: &str) -> Vec<u64> {
    let files = files_below(&folder.0.join("scenes").join(SCENE)).into_iter();
    let files = files.filter(|path| path.extension().is_some_and(|e| e == extension));
    let name = |path: PathBuf| -> Option<u64> { path.file_stem()?.to_str()?.parse().ok() };
    let mut numbers: Vec<u64> = files.filter_map(name).collect();
    numbers.sort_unstable();
    numbers
}

/// Waits until newer files have replaced both first files of a scene, and no file is left that nobody needs.
async fn two_are_left(folder: &Folder, mut between: impl AsyncFnMut()) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let (snapshots, journals) = (numbers(folder, "snapshot"), numbers(folder, "journal"));
        let is_tidy = snapshots.len() == 2
            && snapshots[0] > 0
            && journals.first().is_some_and(|first| *first >= snapshots[0])
            && numbers(folder, "tmp").is_empty();
        if is_tidy {
            return;
        }
        assert!(Instant::now() < until, "{snapshots:?}, {journals:?}");
        between().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts a scene whose folder has a file of a snapshot that never got its name.
async fn with_orphan(name: &str, variables: &[(&str, &str)]) -> (Folder, Process, TestServer) {
    let folder = Folder::new(name);
    let mut process = Process::serve_keeping(&folder.0, &[], variables);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    std::fs::write(folder.0.join("scenes").join(SCENE).join("0.tmp"), "half").expect("room");
    (folder, process, server)
}

async fn assert_kept(folder: &Folder, process: Process, mut server: TestServer) {
    let before = server.seen().await;
    drop(server);
    process.signal("KILL");
    process.end();
    let (process, mut server) = serve(folder).await;
    assert_eq!(server.seen().await, before);
    end(process, server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_journals_make_snapshots_of_which_two_are_kept_and_nothing_else() {
    let size = [
        ("PALPATE_STORE_SNAPSHOT_BYTES", "2048"),
        ("PALPATE_STORE_SNAPSHOT_INTERVAL", "1h"),
        ("PALPATE_STORE_POSITIONS_INTERVAL", "100ms"),
    ];
    let (folder, process, mut server) = with_orphan("by-size", &size).await;
    // A journal may be four times as long as the last snapshot: the second snapshot is due after some forty more cuts.
    let mut n_cuts = 0;
    two_are_left(&folder, async || {
        for _ in 0..60 {
            server.scenes.edit_topology(long_cut()).await.expect("a cut");
        }
        n_cuts += 60;
    })
    .await;
    println!("two snapshots after {n_cuts} cuts of a kilobyte: {:?}", numbers(&folder, "snapshot"));
    assert_kept(&folder, process, server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_make_snapshots_after_a_time_of_which_two_are_kept_and_nothing_else() {
    let time =
        [("PALPATE_STORE_SNAPSHOT_INTERVAL", "1s"), ("PALPATE_STORE_POSITIONS_INTERVAL", "100ms")];
    let (folder, process, mut server) = with_orphan("by-time", &time).await;
    two_are_left(&folder, async || {
        server.scenes.edit_topology(long_cut()).await.expect("a cut");
    })
    .await;
    // A scene without a change needs no new snapshot: each is of a cut that came after the one before.
    assert_kept(&folder, process, server).await;
}

/// `tests/golden/format-2` was written by the last build whose tissues could not be driven: a journal with each kind of
/// change, another, and a snapshot of both. Each way to read them gives the same scene.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenes_of_format_2_are_read_and_go_on() {
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-2");
    for without in ["none", "2.snapshot"] {
        let folder = Folder::new("format-2");
        let scene = folder.0.join("scenes").join(SCENE);
        std::fs::create_dir_all(&scene).expect("room");
        for file in std::fs::read_dir(&old).expect("checked in") {
            let name = file.expect("listed").file_name();
            // The journal behind a snapshot goes with it.
            if name != without && (without == "none" || name != "2.journal") {
                std::fs::copy(old.join(&name), scene.join(&name)).expect("room");
            }
        }
        for round in 0..2 {
            let (process, mut server) = serve(&folder).await;
            let found = server.seen().await.scene;
            let counts = found.tissues.iter().map(|t| {
                (&*t.name, t.geometry_revision, t.topology_revision, t.vertices, t.triangles)
            });
            let counts: Vec<_> = counts.collect();
            assert_eq!(
                counts,
                [("one", 2 + round, 2, 8, 12), ("two", 0, 0, 6, 8), ("three", 1, 0, 6, 8)],
                "without {without}"
            );
            assert!(found.tissues.iter().all(|t| t.controls == 0));
            assert_eq!((found.tools.len(), &*found.tools[0].name), (1, "probe"));
            let surface = positions(&server.export(1).await.expect("there"));
            assert_eq!(surface[..9], [0.12, 0.0, 0.0, -0.1, 0.0, 0.0, 0.0, 0.13, 0.0]);
            assert_eq!(surface[18..], [0.05, 0.05, 0.05, -0.04, 0.04, 0.05]);
            server.deform(vec![dense(1, &surface)]).await.remove(0).expect("it goes on");
            end(process, server).await;
        }
    }
}
