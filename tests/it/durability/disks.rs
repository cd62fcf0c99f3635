//! Disks that are full or slow: what is acknowledged is kept, what is not changes nothing, and no tick waits.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    time::{Duration, Instant},
};

use palpate::proto::EditTopologyRequest;
use tonic::{Code, Status};

use crate::{
    seed::against,
    support::{
        folder::Folder,
        messages::{SCENE, dense, sparse},
        paced::Paced,
        process::Process,
        refusal::refusal,
        server::{TestServer, tissue},
    },
};

/// Files end after 16 blocks, and the write that goes on fails.
const SHORT_FILES: [&str; 3] = ["sh", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""];
/// A small file system of its own, which only the server sees; the system may not allow that.
const SMALL_DISK: [&str; 5] = [
    "unshare",
    "-rm",
    "sh",
    "-c",
    "mount -t tmpfs -o size=1m small \"$PALPATE_DATA_DIR\" || exit 1; exec \"$0\" \"$@\"",
];
/// How long the slow disk takes to write anything.
const SLOW: Duration = Duration::from_millis(500);
const SLOW_SYNC: &str = "
#include <unistd.h>
int fsync(int fd) { (void)fd; usleep(500000); return 0; }
int fdatasync(int fd) { (void)fd; usleep(500000); return 0; }
";

/// Adds a vertex and a triangle.
fn grow(model: &mut usize) -> EditTopologyRequest {
    *model += 1;
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        added_positions_m: vec![0.1; 3],
        added_triangles: vec![0, 2, 5 + *model as u32],
        ..Default::default()
    }
}

async fn cut(server: &mut TestServer, done: &mut usize) -> Result<(), Status> {
    let mut after = *done;
    server.scenes.edit_topology(grow(&mut after)).await?;
    *done = after;
    Ok(())
}

fn assert_no_room(refused: Status) {
    let (code, about) = refusal(&refused);
    assert_eq!((code, &*about), (Code::ResourceExhausted, "disk"), "{refused:?}");
    assert!(refused.message().contains("nothing was changed"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_cannot_be_written_to_its_end_refuses_the_cut_and_goes_on_in_another() {
    let folder = Folder::new("short-journals");
    let variables = [("PALPATE_STORE_POSITIONS_INTERVAL", "1h")];
    let mut process = Process::serve_keeping(&folder.0, &SHORT_FILES, &variables);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let (mut done, mut refused) = (0, 0);
    for _ in 0..400 {
        if let Err(status) = cut(&mut server, &mut done).await {
            assert_no_room(status);
            refused += 1;
            let tissue = server.seen().await.scene.tissues.remove(0);
            assert_eq!(tissue.topology_revision, done as u64, "a refused cut changes nothing");
        }
    }
    assert!(refused > 0 && done > 300, "{refused} refused, {done} done");
    let before = server.seen().await;
    process.signal("KILL");
    process.end();
    let mut process = Process::serve_keeping(&folder.0, &[], &variables);
    let mut server = TestServer::connect(process.address()).await;
    assert_eq!(server.seen().await, before);
    println!("{done} cuts kept over {} journals", refused + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_cuts_are_refused_and_ticks_and_deformations_go_on() {
    let folder = Folder::new("small-disk");
    let mut mount = Command::new("unshare");
    mount.args(["-rm", "mount", "-t", "tmpfs", "none"]).arg(&folder.0);
    if !mount.output().is_ok_and(|done| done.status.success()) {
        println!("skipped: this system gives no file systems to a user (unshare -rm)");
        return;
    }
    let mut process = Process::serve_keeping(&folder.0, &SMALL_DISK, &[]);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let mut done = 0;
    cut(&mut server, &mut done).await.expect("room");
    // As the server sees it.
    let rest = format!("/proc/{}/root{}/rest", process.id(), folder.0.display());
    // An error: it is full now.
    let _ = fs::write(&rest, vec![1; 4 << 20]);
    let ticks = Paced::start(&mut server).await;
    ticks.fresh().await;
    ticks.times();
    let mut n_refused = 0;
    for sequence in 1..=400 {
        let place = [0.1 + 1e-5 * sequence as f32, 0.0, 0.0];
        let moved = server.deform(vec![sparse(sequence, &[0], &place)]).await.remove(0);
        moved.expect("a deformation does not wait for the disk");
        if let Err(status) = cut(&mut server, &mut done).await {
            assert_no_room(status);
            n_refused += 1;
        }
    }
    assert!(n_refused > 300, "{n_refused} refused, {done} done");
    assert!(ticks.is_alive());
    let times = ticks.times();
    println!("a loop on a full disk: {times}");
    against("a loop on a full disk: p99", times.p99_us, 1_000.0, "us");
    fs::remove_file(&rest).expect("there");
    cut(&mut server, &mut done).await.expect("room again");
    let tissue = server.seen().await.scene.tissues.remove(0);
    assert_eq!(tissue.topology_revision, done as u64);
    assert_eq!(tissue.durable_topology_revision, Some(done as u64));
    ticks.stop().await;
}

/// A library that takes the place of the system's, made with the C compiler that the project needs anyway.
fn slow_sync(folder: &Folder) -> Option<PathBuf> {
    let (source, library) = (folder.write("slow.c", SLOW_SYNC), folder.0.join("slow.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    compiler.output().is_ok_and(|done| done.status.success()).then_some(library)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_disk_is_waited_for_by_cuts_and_by_nothing_else() {
    let folder = Folder::new("slow-disk");
    let Some(library) = slow_sync(&folder) else {
        println!("skipped: there is no C compiler");
        return;
    };
    let variables = [("LD_PRELOAD", library.to_str().expect("UTF-8"))];
    let mut process = Process::serve_keeping(&folder.0, &[], &variables);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let ticks = Paced::start(&mut server).await;
    ticks.fresh().await;
    ticks.times();
    let mut other = TestServer::connect(server.address).await;
    let cuts = async {
        let (mut done, started) = (0, Instant::now());
        for _ in 0..4 {
            cut(&mut other, &mut done).await.expect("room");
        }
        started.elapsed() / 4
    };
    let deforms = async {
        let mut all = Vec::new();
        for sequence in 1..=100 {
            let started = Instant::now();
            let place = [0.1 + 1e-5 * sequence as f32, 0.0, 0.0];
            server.deform(vec![sparse(sequence, &[0], &place)]).await.remove(0).expect("good");
            all.push(started.elapsed());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        all.sort();
        all[all.len() / 2]
    };
    let (a_cut, a_deformation) = tokio::join!(cuts, deforms);
    let times = ticks.times();
    println!(
        "a sync of {SLOW:?}: a cut {a_cut:?}, a deformation {a_deformation:?}, a loop {times}"
    );
    assert!(a_cut >= SLOW, "acknowledged before it was on the disk: {a_cut:?}");
    assert!(a_deformation < SLOW / 2, "{a_deformation:?}");
    against("a loop beside a slow disk: p99", times.p99_us, 1_000.0, "us");
    assert!(ticks.is_alive());
    ticks.stop().await;
    // And what was told is there.
    let all =
        server.deform(vec![dense(101, &[&tissue().positions[..], &[0.1; 12]].concat())]).await;
    all.into_iter().for_each(|a| drop(a.expect("good")));
    let before = server.seen().await.scene.tissues.remove(0).topology_revision;
    process.signal("KILL");
    process.end();
    let mut process = Process::serve_keeping(&folder.0, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    assert_eq!(server.seen().await.scene.tissues[0].topology_revision, before);
}
