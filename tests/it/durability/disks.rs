//! Full and slow disks: acknowledged changes are kept, all others change nothing, and no tick waits.

use std::{
    fs,
    path::PathBuf,
    pin::Pin,
    process::Command,
    time::{Duration, Instant},
};

use palpate::proto::{AddTissueHeader, EditTopologyRequest};
use tonic::{Code, Status};

use crate::{
    seed::against,
    support::{
        folder::Folder,
        messages::{SCENE, dense, sparse, tissue_head, tissue_header, tissue_piece},
        paced::Paced,
        process::Process,
        refusal::refusal,
        server::{TestServer, tissue},
    },
};

/// Limits files to 16 blocks; a write that goes on fails.
const SHORT_FILES: [&str; 3] = ["sh", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""];
/// Gives the server a small file system that only it sees; the system may not allow that.
const SMALL_DISK: [&str; 5] = [
    "unshare",
    "-rm",
    "sh",
    "-c",
    "mount -t tmpfs -o size=1m small \"$PALPATE_DATA_DIR\" || exit 1; exec \"$0\" \"$@\"",
];
/// Time that the slow disk takes for any write.
const SLOW: Duration = Duration::from_millis(500);
/// Maximum number of rounds, each long enough for a tick to meet the disk.
const ROUNDS_MAX: u64 = 3;
const SLOW_SYNC: &str = "
#include <unistd.h>
int fsync(int fd) { (void)fd; usleep(500000); return 0; }
int fdatasync(int fd) { (void)fd; usleep(500000); return 0; }
";

/// Number of cuts whose times are printed.
const CUTS: usize = 200;
/// Cuts in each of several scenes.
const CUTS_EACH: u32 = 4;

type EachScene = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Returns a cut that adds a vertex and a triangle.
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

pub async fn cut(server: &mut TestServer, done: &mut usize) -> Result<(), Status> {
    let mut after = *done;
    server.scenes.edit_topology(grow(&mut after)).await?;
    *done = after;
    Ok(())
}

pub fn assert_no_room(refused: Status) {
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
    // Path of the file as the server sees it.
    let rest = format!("/proc/{}/root{}/rest", process.id(), folder.0.display());
    // The write returns an error, because the disk is full now.
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

/// Builds a library that replaces the system's `fsync`, with the C compiler that the project needs anyway.
fn slow_sync(folder: &Folder) -> Option<PathBuf> {
    let (source, library) = (folder.write("slow.c", SLOW_SYNC), folder.0.join("slow.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source);
    compiler.output().is_ok_and(|done| done.status.success()).then_some(library)
}

/// Mean time of four cuts, one after the other.
async fn a_cut(server: &mut TestServer, done: &mut usize) -> Duration {
    let started = Instant::now();
    for _ in 0..4 {
        cut(server, done).await.expect("room");
    }
    started.elapsed() / 4
}

/// Median time of a hundred deformations in a second.
async fn a_deformation(server: &mut TestServer, round: u64) -> Duration {
    let mut all = Vec::new();
    for sequence in 1..=100 {
        let started = Instant::now();
        let place = [0.1 + 1e-5 * (100 * round + sequence) as f32, 0.0, 0.0];
        server.deform(vec![sparse(sequence, &[0], &place)]).await.remove(0).expect("good");
        all.push(started.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    all.sort();
    all[all.len() / 2]
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
    let mut done = 0;
    // A machine may stop for as long as the disk does, but not each time.
    for round in 1..=ROUNDS_MAX {
        let of_cuts = a_cut(&mut other, &mut done);
        let of_deformations = a_deformation(&mut server, round);
        let (a_cut, a_deformation) = tokio::join!(of_cuts, of_deformations);
        let times = ticks.times();
        println!(
            "a sync of {SLOW:?}: a cut {a_cut:?}, a deformation {a_deformation:?}, a loop {times}"
        );
        assert!(a_cut >= SLOW, "acknowledged before it was on the disk: {a_cut:?}");
        against("a loop beside a slow disk: p99", times.p99_us, 1_000.0, "us");
        // The first tick of a millisecond in which a sync begins would wait for all of it.
        let is_waited_for = times.longest >= SLOW / 2 || a_deformation >= SLOW / 2;
        if !is_waited_for {
            break;
        }
        assert!(round < ROUNDS_MAX, "a deformation {a_deformation:?}, a loop {times}");
    }
    assert!(ticks.is_alive());
    ticks.stop().await;
    // Acknowledged cuts are there.
    let grown = [&tissue().positions[..], &vec![0.1; 3 * done][..]].concat();
    let all = server.deform(vec![dense(1, &grown)]).await;
    all.into_iter().for_each(|a| drop(a.expect("good")));
    let before = server.seen().await.scene.tissues.remove(0).topology_revision;
    process.signal("KILL");
    process.end();
    let mut process = Process::serve_keeping(&folder.0, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    assert_eq!(server.seen().await.scene.tissues[0].topology_revision, before);
}

/// Returns the `n`-th cut of a scene that has neighbours.
fn grow_in(scene: &str, n: u32) -> EditTopologyRequest {
    EditTopologyRequest {
        scene_id: scene.to_owned(),
        tissue_id: 1,
        added_positions_m: vec![0.1; 3],
        added_triangles: vec![0, 2, 6 + n],
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cuts_of_four_scenes_wait_for_a_slow_disk_together() {
    let folder = Folder::new("four-scenes");
    let Some(library) = slow_sync(&folder) else {
        println!("skipped: there is no C compiler");
        return;
    };
    let library = library.to_str().expect("UTF-8");
    let variables = [("LD_PRELOAD", library), ("PALPATE_STORE_POSITIONS_INTERVAL", "1h")];
    let mut process = Process::serve_keeping(&folder.0, &[], &variables);
    let server = TestServer::connect(process.address()).await;
    let scenes = ["one", "two", "three", "four"];
    let each = |work: fn(TestServer, &'static str) -> EachScene| {
        let tasks = scenes.map(|scene| tokio::spawn(work(server.clone(), scene)));
        async move {
            for task in tasks {
                task.await.expect("no panic");
            }
        }
    };
    each(|mut server, scene| {
        Box::pin(async move {
            server.create(scene).await.expect("a new scene");
            let head = tissue_header("liver", &tissue());
            let head = AddTissueHeader { scene_id: scene.to_owned(), ..head };
            let upload = vec![tissue_head(head), tissue_piece(tissue().chunk())];
            server.add_tissue(upload).await.expect("tissue 1");
        })
    })
    .await;
    let started = Instant::now();
    each(|mut server, scene| {
        Box::pin(async move {
            for n in 0..CUTS_EACH {
                server.scenes.edit_topology(grow_in(scene, n)).await.expect("room");
            }
        })
    })
    .await;
    let (took, in_turn) = (started.elapsed(), SLOW * CUTS_EACH * scenes.len() as u32);
    println!("{CUTS_EACH} cuts of each of four scenes: {took:?}, one after the other {in_turn:?}");
    assert!(took >= SLOW * CUTS_EACH, "acknowledged before they were on the disk: {took:?}");
    assert!(took < in_turn * 3 / 4, "{took:?}: scenes wait for each other");
}

/// Prints the time that cuts take if nothing else is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_is_acknowledged_when_the_disk_has_it() {
    let folder = Folder::new("acknowledged");
    let mut process = Process::serve_keeping(&folder.0, &[], &[]);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let (mut done, mut times) = (0, Vec::new());
    for _ in 0..CUTS {
        let asked = Instant::now();
        cut(&mut server, &mut done).await.expect("room");
        times.push(asked.elapsed());
    }
    times.sort();
    let ms = |share: f64| 1e3 * times[(share * (CUTS - 1) as f64) as usize].as_secs_f64();
    let of = folder.0.display();
    println!("{CUTS} cuts kept under {of}: p50 {:.2} ms, p99 {:.2} ms", ms(0.5), ms(0.99));
    let tissue = server.seen().await.scene.tissues.remove(0);
    assert_eq!(tissue.durable_topology_revision, Some(CUTS as u64));
}
