//! Scenes in an object store: outages, lost answers, stores that break their promise, and objects that are damaged,
//! missing or somebody else's. Tests of kills and of several servers are in `durability` and `cluster`.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use palpate::proto::{EditTopologyRequest, GetSceneRequest};
use tonic::{Code, Status};

use crate::{
    seed::{against, scaled},
    support::{
        bucket::{Bucket, Wire, WireState},
        folder::Folder,
        messages::{SCENE, sparse},
        paced::Paced,
        process::Process,
        program::under_test,
        server::TestServer,
    },
};

/// Lease longer than all outages of a test.
const LEASE: (&str, &str) = ("PALPATE_CLUSTER_LEASE", "15s");
/// Time limit of a request; an edit in an outage fails after three of these and their pauses.
const REQUEST_MAX: (&str, &str) = ("PALPATE_STORE_REQUEST_MAX", "300ms");
const OUTAGE: Duration = Duration::from_secs(2);

/// A server whose store is behind a [`Wire`].
struct Wired {
    folder: Folder,
    process: Process,
    server: TestServer,
}

impl Wired {
    async fn start(wire: &Wire, variables: &[(&str, &str)]) -> Wired {
        let folder = Folder::new("buckets");
        let mut process = serve(&folder, wire, variables);
        let server = TestServer::connect(process.address()).await;
        Wired { folder, process, server }
    }

    async fn furnished(wire: &Wire, variables: &[(&str, &str)]) -> Wired {
        let mut wired = Wired::start(wire, variables).await;
        wired.server.create(SCENE).await.expect("a new scene");
        wired.server.furnish().await;
        wired
    }

    /// Kills the server and starts another in its place, which waits for the lease to end.
    async fn killed(self, wire: &Wire, variables: &[(&str, &str)]) -> Wired {
        self.process.signal("KILL");
        self.process.end();
        let mut next = Wired::start(wire, variables).await;
        next.server.awaited().await;
        drop(self.folder);
        next
    }

    async fn revision(&mut self) -> u64 {
        self.server.seen().await.scene.tissues[0].topology_revision
    }
}

fn serve(folder: &Folder, wire: &Wire, variables: &[(&str, &str)]) -> Process {
    let own = Bucket::variables(wire.address);
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let all: Vec<_> = own.chain([LEASE, REQUEST_MAX]).chain(variables.iter().copied()).collect();
    Process::serve_keeping(&folder.0, &[], &all)
}

/// A cut that adds a vertex, based on the revision that is known.
fn cut(revision: u64) -> EditTopologyRequest {
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        base_topology_revision: Some(revision),
        added_positions_m: vec![0.1, 0.2, 0.001 * revision as f32],
        added_triangles: vec![0, 2, 6 + revision as u32],
        ..Default::default()
    }
}

async fn cuts(server: &mut TestServer, from: u64, n: u64) -> Result<(), Status> {
    for revision in from..from + n {
        let done = server.scenes.edit_topology(cut(revision)).await?.into_inner();
        assert_eq!(done.topology_revision, revision + 1);
        assert_eq!(done.durable_topology_revision, Some(revision + 1));
    }
    Ok(())
}

/// Returns whether a cut was refused with nothing changed, or is not known to be done: it was never acknowledged.
fn is_not_kept(status: &Status) -> bool {
    let words = status.message();
    match status.code() {
        Code::ResourceExhausted => words.contains("nothing was changed"),
        Code::Unavailable => words.contains("whether the change was made"),
        _ => false,
    }
}

fn assert_not_kept(status: &Status) {
    assert!(is_not_kept(status), "{status:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_an_outage_nothing_acknowledged_is_lost_and_ticks_go_on() {
    let Some(bucket) = Bucket::open() else { return };
    let wire = Wire::to(bucket.address).await;
    let mut wired = Wired::furnished(&wire, &[]).await;
    let ticks = Paced::start(&mut wired.server).await;
    ticks.fresh().await;
    let mut known = 0;
    for outage in ["silent", "down", "stopped"] {
        cuts(&mut wired.server, known, 5).await.expect("the store is there");
        known += 5;
        ticks.times();
        match outage {
            "silent" => wire.set(WireState::Silent),
            "down" => wire.set(WireState::Down),
            _ => bucket.signal("STOP"),
        }
        let began = Instant::now();
        let (mut refused, mut longest) = (0, Duration::ZERO);
        while began.elapsed() < OUTAGE {
            let asked = Instant::now();
            let failed = cuts(&mut wired.server, known, 1).await.expect_err("nobody keeps it");
            longest = longest.max(asked.elapsed());
            assert_not_kept(&failed);
            refused += 1;
        }
        ticks.fresh().await;
        let times = ticks.times();
        println!("{outage}: {refused} cuts not kept, each within {longest:?}; a loop {times}");
        against("a loop in an outage of the store: p99", times.p99_us, 1_000.0, "us");
        // Requests that were under way arrive now, when nobody waits for them any more.
        wire.set(WireState::Up);
        bucket.signal("CONT");
        let until = Instant::now() + Duration::from_secs(30);
        while let Err(status) = cuts(&mut wired.server, known, 1).await {
            assert_not_kept(&status);
            assert!(Instant::now() < until, "{status:?}");
        }
        known += 1;
        assert_eq!(wired.revision().await, known, "{outage}: what was not kept is not there");
    }
    assert!(ticks.is_alive());
    ticks.stop().await;
    let before = wired.server.seen().await;
    let mut wired = wired.killed(&wire, &[]).await;
    let after = wired.server.seen().await;
    assert_eq!(after.surfaces, before.surfaces, "what was acknowledged, and nothing else");
    assert_eq!(wired.revision().await, known);
}

/// Makes calls one after the other until `until`. Returns when the last successful call was made.
async fn last_answered(
    until: Instant,
    mut ask: impl AsyncFnMut() -> Result<(), Status>,
) -> Option<Instant> {
    let mut last = None;
    while Instant::now() < until {
        let asked = Instant::now();
        match ask().await {
            Ok(()) => last = Some(asked),
            Err(status) => {
                assert!(status.code() == Code::Unavailable || is_not_kept(&status), "{status:?}")
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    last
}

/// The outage is longer than a lease, so the owner cannot tell whether another has the scene. It stops before others
/// may take it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_cannot_renew_refuses_its_scenes_until_it_can() {
    const TERM: Duration = Duration::from_millis(1_500);
    let Some(bucket) = Bucket::open() else { return };
    let wire = Wire::to(bucket.address).await;
    let lease = [("PALPATE_CLUSTER_LEASE", "1500ms")];
    let mut wired = Wired::furnished(&wire, &lease).await;
    cuts(&mut wired.server, 0, 3).await.expect("the store is there");
    wire.set(WireState::Down);
    // The last lease heartbeat was begun before this.
    let down = Instant::now();
    let until = down + 2 * TERM;
    let mut asked = [(); 3].map(|()| wired.server.clone());
    let [exporting, deforming, cutting] = &mut asked;
    let mut sequence = 0;
    let (exported, deformed, cut) = tokio::join!(
        last_answered(until, async || exporting.export(1).await.map(drop)),
        last_answered(until, async || {
            sequence += 1;
            let moved = sparse(sequence, &[0], &[0.1 + 1e-6 * sequence as f32, 0.0, 0.0]);
            deforming.deform(vec![moved]).await.remove(0).map(drop)
        }),
        last_answered(until, async || cuts(cutting, 3, 1).await),
    );
    for (what, last) in [("exported", exported), ("deformed", deformed), ("cut", cut)] {
        let after = last.map(|last| last - down);
        println!("the store is gone: {what} for the last time after {after:?}");
        assert!(after < Some(TERM - TERM / 8), "{what} after {after:?}, a lease of {TERM:?}");
    }
    assert_eq!(cut, None, "nobody keeps it");
    wire.set(WireState::Up);
    wired.server.awaited().await;
    assert_eq!(wired.revision().await, 3);
    cuts(&mut wired.server, 3, 3).await.expect("the store is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_put_whose_answer_is_lost_is_made_again_and_counts_once() {
    let Some(bucket) = Bucket::open() else { return };
    let wire = Wire::to(bucket.address).await;
    let mut wired = Wired::start(&wire, &[]).await;
    wire.set(WireState::LosesAnswers(5));
    wired.server.create(SCENE).await.expect("a new scene");
    wired.server.furnish().await;
    let n = 20 * scaled(1) as u64;
    cuts(&mut wired.server, 0, n).await.expect("each is kept at last");
    // A journal that had been broken would have been continued in another.
    let journals: std::collections::BTreeSet<_> = bucket
        .objects(SCENE)
        .into_iter()
        .filter_map(|name| name.split_once(".journal").map(|(g, _)| g.to_owned()))
        .collect();
    assert_eq!(journals.len(), 1, "{journals:?}");
    let mut wired = wired.killed(&wire, &[]).await;
    assert_eq!(wired.revision().await, n);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_puts_an_object_over_another_is_refused() {
    let Some(bucket) = Bucket::open() else { return };
    let wire = Wire::to(bucket.address).await;
    wire.set(WireState::Careless);
    let folder = Folder::new("careless");
    let mut process = serve(&folder, &wire, &[]);
    let (words, ended) = tokio::task::spawn_blocking(move || (process.errors(), process.end()))
        .await
        .expect("no panic");
    assert_eq!(ended.code(), Some(1));
    assert!(words.contains("in spite of the condition that there be none"), "{words}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_and_missing_objects_are_told_and_foreign_ones_left_alone() {
    let Some(bucket) = Bucket::open() else { return };
    let wire = Wire::to(bucket.address).await;
    let mut wired = Wired::furnished(&wire, &[]).await;
    cuts(&mut wired.server, 0, 4).await.expect("the store is there");
    let before = wired.server.seen().await;
    wired.process.signal("KILL");
    wired.process.end();
    // First files of epoch 1. The journal has a tissue, a tool and four cuts, each in an object of its own.
    let objects = bucket.objects(SCENE);
    let row = "4294967296.journal";
    let pieces = objects.iter().filter(|name| name.starts_with(row)).count();
    assert_eq!((pieces, objects.len()), (7, 8), "{objects:?}");
    bucket.put(SCENE, "notes.txt", b"of somebody else");
    bucket.put(SCENE, &format!("{row}/notes"), b"of somebody else");
    let mut wired = Wired::start(&wire, &[]).await;
    wired.server.awaited().await;
    assert_eq!(wired.server.seen().await.surfaces, before.surfaces, "foreign objects do not count");
    cuts(&mut wired.server, 4, 4).await.expect("the store is there");
    wired.process.signal("KILL");
    wired.process.end();
    // Damages the middle of the journal of epoch 2, and its snapshot: the older snapshot and the first cuts are left.
    bucket.remove(SCENE, "8589934592.journal/0000000002");
    let name = "8589934592.snapshot";
    let mut bytes = bucket.object(SCENE, name);
    *bytes.last_mut().expect("not empty") ^= 1;
    bucket.put(SCENE, name, &bytes);
    let mut wired = Wired::start(&wire, &[]).await;
    wired.server.awaited().await;
    assert_eq!(wired.revision().await, 5, "up to what is missing");
    let objects = bucket.objects(SCENE);
    assert!(objects.iter().any(|name| name == "8589934592.snapshot.damaged"), "{objects:?}");
    assert!(objects.iter().any(|name| name == "notes.txt"), "{objects:?}");
    cuts(&mut wired.server, 5, 1).await.expect("it goes on");
    wired.process.signal("TERM");
    let mut process = wired.process;
    let log = tokio::task::spawn_blocking(move || process.errors()).await.expect("no panic");
    assert!(log.contains("damaged on the disk") && log.contains("out of order"), "{log}");
}

/// Runs `palpate scenes` on the bucket.
fn scenes(wire: &Wire, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(under_test());
    command.arg("scenes").args(arguments).envs(Bucket::variables(wire.address));
    let done = command.env("RUST_LOG", "off").output().expect("it was built");
    let said = [done.stdout, done.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    (done.status.success(), said.concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenes_in_a_bucket_are_listed_verified_compacted_and_carried_on() {
    let Some(bucket) = Bucket::open() else { return };
    let wire = Wire::to(bucket.address).await;
    let mut wired = Wired::furnished(&wire, &[]).await;
    cuts(&mut wired.server, 0, 4).await.expect("the store is there");
    let before = wired.server.seen().await;
    let file = wired.folder.0.join("liver.scene");
    let file = file.to_str().expect("UTF-8").to_owned();
    let kept = tokio::task::spawn_blocking(move || {
        // The server that has the scene still runs.
        let (_, said) = scenes(&wire, &["list"]);
        assert!(said.contains(SCENE) && said.contains("cut 4 times"), "{said}");
        let (is_whole, said) = scenes(&wire, &["verify"]);
        assert!(is_whole && said.contains("whole"), "{said}");
        let (_, said) = scenes(&wire, &["compact"]);
        assert!(said.contains("left to the server that has it"), "{said}");
        let (is_done, said) = scenes(&wire, &["export", SCENE, &file]);
        assert!(is_done, "{said}");
        let (is_done, said) = scenes(&wire, &["import", &file]);
        assert!(!is_done && said.contains("exists"), "{said}");
        let (is_done, said) = scenes(&wire, &["import", &file, "--id", "copy"]);
        assert!(is_done && said.contains("copy: added"), "{said}");
        // A scene that no server has.
        let n = bucket.objects("copy").len();
        let (is_done, said) = scenes(&wire, &["compact"]);
        assert!(is_done && said.contains("copy: ") && said.contains("bytes before"), "{said}");
        assert!(n > 0 && !bucket.objects("copy").is_empty());
        let (is_whole, said) = scenes(&wire, &["verify"]);
        assert!(is_whole && said.contains("copy: whole"), "{said}");
        (bucket, wire)
    })
    .await
    .expect("no panic");
    let copy = GetSceneRequest { scene_id: "copy".to_owned() };
    let copy = wired.server.scenes.get_scene(copy).await.expect("whoever is asked takes it");
    let copy = copy.into_inner().scene.expect("described");
    assert_eq!(copy.tissues[0].topology_revision, 4);
    assert_eq!(copy.tissues[0].triangles, before.scene.tissues[0].triangles);
    drop(kept);
}

/// Prints the cost of keeping scenes in the store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_edit_and_a_scene_cost() {
    let Some(bucket) = Bucket::open() else { return };
    let wire = Wire::to(bucket.address).await;
    let mut wired = Wired::furnished(&wire, &[]).await;
    let n = 30 * scaled(1) as u64;
    let mut times = Vec::new();
    wire.requests();
    for revision in 0..n {
        let asked = Instant::now();
        cuts(&mut wired.server, revision, 1).await.expect("the store is there");
        times.push(asked.elapsed());
    }
    let per_edit = wire.requests() as f64 / n as f64;
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("an edit is acknowledged after p50 {:?}, p99 {:?}", at(0.5), at(0.99));
    let idle = Duration::from_secs(6);
    tokio::time::sleep(idle).await;
    let per_second = wire.requests() as f64 / idle.as_secs_f64();
    println!(
        "requests: {per_edit:.1} an edit, {per_second:.1} a second of a server with a scene at rest"
    );
    // A list before, the put, a list after; some requests of lease heartbeats in between.
    assert!((3.0..6.0).contains(&per_edit), "{per_edit}");
}
