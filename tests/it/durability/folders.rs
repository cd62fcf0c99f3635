//! Folders and files that disappear under a server: changes that a restart could not find are not acknowledged.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::disks::{assert_no_room, cut};
use crate::support::{
    folder::Folder,
    messages::{SCENE, sparse},
    process::Process,
    server::TestServer,
};

const SOON: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Harm to the data folder, at its path, while a server has it. `aside`: a path on the same disk.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Removed,
    MovedAway,
    /// Replaced by a copy of its whole content.
    Replaced,
    ScenesMovedAway,
    SceneMovedAway,
    /// Replaced by a copy, as from a backup.
    SceneReplaced,
    LockRemoved,
    /// Covered by a file system without a file.
    MountedOver,
}

/// Shell command that mounts a file system over the data folder, as the server sees it, once the pipe is opened.
const MOUNTS_LATER: [&str; 5] = [
    "unshare",
    "-rm",
    "sh",
    "-c",
    "(read _ < \"$PALPATE_DATA_DIR.pipe\"; mount -t tmpfs none \"$PALPATE_DATA_DIR\") & exec \"$0\" \"$@\"",
];

fn copy(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").args([from, to]).status().expect("cp");
    assert!(done.success());
}

impl Harm {
    fn apply(self, data: &Path, aside: &Path) {
        let (scenes, scene) = (data.join("scenes"), data.join("scenes").join(SCENE));
        let moved = |from: &Path| fs::rename(from, aside).expect("there");
        match self {
            Harm::Removed => fs::remove_dir_all(data).expect("there"),
            Harm::MovedAway => moved(data),
            Harm::Replaced => {
                moved(data);
                copy(aside, data);
            }
            Harm::ScenesMovedAway => moved(&scenes),
            Harm::SceneMovedAway => moved(&scene),
            Harm::SceneReplaced => {
                moved(&scene);
                copy(aside, &scene);
            }
            Harm::LockRemoved => fs::remove_file(data.join("scenes.lock")).expect("there"),
            Harm::MountedOver => fs::write(data.with_extension("pipe"), "now").expect("it is read"),
        }
    }

    /// Restores the folder; returns false if that is impossible.
    fn undo(self, data: &Path, aside: &Path) -> bool {
        let back = |to: &Path| {
            // An error means that nothing has taken its place.
            let _ = fs::remove_dir_all(to);
            fs::rename(aside, to).expect("moved");
            true
        };
        match self {
            Harm::MovedAway | Harm::Replaced => back(data),
            Harm::ScenesMovedAway => back(&data.join("scenes")),
            Harm::SceneMovedAway | Harm::SceneReplaced => back(&data.join("scenes").join(SCENE)),
            Harm::Removed | Harm::LockRemoved | Harm::MountedOver => false,
        }
    }
}

/// Starts a server with a scene that has been cut a few times, and returns the number of cuts too.
async fn furnished(data: &Path, through: &[&str]) -> (Process, TestServer, usize) {
    let mut process = Process::serve_keeping(data, through, &[]);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let mut done = 0;
    for _ in 0..3 {
        cut(&mut server, &mut done).await.expect("room");
    }
    (process, server, done)
}

/// Cuts until a cut is kept; each refusal is that of a full disk. Returns false if it is refused to the end.
async fn is_cut_again(server: &mut TestServer, done: &mut usize, until: Instant) -> bool {
    while let Err(refused) = cut(server, done).await {
        assert_no_room(refused);
        if Instant::now() > until {
            return false;
        }
        tokio::time::sleep(PAUSE).await;
    }
    true
}

async fn n_cuts_after_kill(process: Process, data: &Path) -> usize {
    process.signal("KILL");
    process.end();
    let mut process = Process::serve_keeping(data, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    server.seen().await.scene.tissues.remove(0).topology_revision as usize
}

async fn harm(harm: Harm, through: &[&str]) {
    println!("{harm:?}");
    let folder = Folder::new(&format!("under-{harm:?}"));
    let (data, aside) = (folder.0.join("data"), folder.0.join("aside"));
    fs::create_dir(&data).expect("room");
    if !through.is_empty() {
        let made = Command::new("mkfifo").arg(data.with_extension("pipe")).status();
        assert!(made.expect("mkfifo").success());
    }
    let (process, mut server, mut done) = furnished(&data, through).await;
    harm.apply(&data, &aside);
    if matches!(harm, Harm::MountedOver) {
        let scenes = format!("/proc/{}/root{}/scenes", process.id(), data.display());
        while fs::exists(&scenes).expect("the server runs") {
            tokio::time::sleep(PAUSE).await;
        }
    }
    for n in 1..=3 {
        assert_no_room(cut(&mut server, &mut done).await.expect_err("it would not be found"));
        let moved = server.deform(vec![sparse(n, &[0], &[0.1, 0.0, 0.0])]).await.remove(0);
        moved.expect("a deformation does not wait for the disk");
        let tissue = server.seen().await.scene.tissues.remove(0);
        assert_eq!(tissue.topology_revision, done as u64, "a refused cut changes nothing");
    }
    if harm.undo(&data, &aside) {
        assert!(is_cut_again(&mut server, &mut done, Instant::now() + SOON).await, "{harm:?}");
        assert_eq!(n_cuts_after_kill(process, &data).await, done, "{harm:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_acknowledged_into_a_folder_that_is_gone_or_another() {
    let all = [
        Harm::Removed,
        Harm::MovedAway,
        Harm::Replaced,
        Harm::ScenesMovedAway,
        Harm::SceneMovedAway,
        Harm::SceneReplaced,
        Harm::LockRemoved,
    ];
    for each in all {
        harm(each, &[]).await;
    }
    let mount =
        Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if mount.is_ok_and(|done| done.status.success()) {
        harm(Harm::MountedOver, &MOUNTS_LATER).await;
    } else {
        println!("skipped: this system gives no file systems to a user (unshare -rm)");
    }
}

/// The journal has acknowledged changes. The scene in memory has them too, and so has the next snapshot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_is_unlinked_is_replaced_by_a_snapshot_before_anything_more_is_kept() {
    let folder = Folder::new("unlinked");
    let (process, mut server, mut done) = furnished(&folder.0, &[]).await;
    for _ in 0..3 {
        let scene = folder.0.join("scenes").join(SCENE);
        for file in fs::read_dir(scene).expect("there").map(|file| file.expect("an entry").path()) {
            if file.extension().is_some_and(|extension| extension == "journal") {
                fs::remove_file(file).expect("there");
            }
        }
        assert!(is_cut_again(&mut server, &mut done, Instant::now() + SOON).await);
    }
    assert_eq!(n_cuts_after_kill(process, &folder.0).await, done);
}
