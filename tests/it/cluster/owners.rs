//! Kills, stops, restarts and moves under edits: nothing that was acknowledged is lost, and no scene has two owners.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use palpate::proto::{CreateSceneRequest, ListScenesRequest, MoveSceneRequest};
use tokio_stream::iter;

use super::{
    editors::{Editors, PAUSE, SOON, scene_id},
    lookers::Lookers,
    sleeper::{HeldCuts, fenced},
    theatre::{LEASE, Scenes, Theatre},
};
use crate::{
    seed::{Seed, scaled},
    support::{
        envoy::program,
        keeping::Keeping,
        meshes::octahedron,
        messages::{tissue_head, tissue_header, tissue_piece},
    },
};

/// Number of servers that share the scenes.
const N_SERVERS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_edit_is_lost_and_no_scene_has_two_owners() {
    disturb(Theatre::open("owners", N_SERVERS), scaled(12), PAUSE).await;
}

/// As [`no_acknowledged_edit_is_lost_and_no_scene_has_two_owners`], but without a common folder. Fewer scenes, as the
/// stand-in answers one request after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_edit_is_lost_and_no_scene_has_two_owners_in_an_object_store() {
    let Some(bucket) = Keeping::in_bucket("owners-s3") else { return };
    let n_scenes = scaled(6);
    disturb(Theatre::of(bucket, N_SERVERS), n_scenes, pause_of_bucket(n_scenes)).await;
}

/// Envoy is the only way to the servers, which have no common folder if there is an object store.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_edit_is_lost_and_no_scene_has_two_owners_behind_envoy() {
    let Some(program) = program() else { return };
    let keeping =
        Keeping::in_bucket("owners-envoy").unwrap_or_else(|| Keeping::in_folder("owners-envoy"));
    // Addresses for the replacement of the killed server, and for each server that is restarted.
    let theatre = Theatre::behind_envoy(&program, keeping, N_SERVERS, 1 + N_SERVERS);
    let n_scenes = scaled(6);
    disturb(theatre, n_scenes, pause_of_bucket(n_scenes)).await;
}

/// Pause after each cut: the stand-in has time for some ten cuts a second beside the servers' lease heartbeats.
fn pause_of_bucket(n_scenes: usize) -> Duration {
    PAUSE + Duration::from_millis(70) * n_scenes.saturating_sub(6) as u32
}

async fn disturb(mut theatre: Theatre, n_scenes: usize, pause: Duration) {
    let seed = Seed::or(25);
    let mut connections = theatre.addresses.connections();
    for n in 0..n_scenes {
        let mut scenes = connections.scenes(theatre.servers[n % N_SERVERS].address);
        known(&mut scenes).await;
        furnish(&mut scenes, &scene_id(n)).await;
    }
    let editors = Editors::start(&theatre.addresses, n_scenes, pause, |n| seed.random(n));
    let lookers =
        Lookers::start(&theatre.addresses, n_scenes, |n| seed.random((n_scenes as u64) + n));
    let nobody = SocketAddr::from(([0, 0, 0, 0], 0));
    editors.gaps(&(0..n_scenes).collect::<Vec<_>>(), Instant::now(), nobody).await;

    // Move the scenes, one after the other.
    let (mut moved, mut served) = (Vec::new(), Vec::new());
    for n in 0..n_scenes {
        let from = editors.newest()[&n].by;
        let all = theatre.addresses.all();
        let to = all[(all.iter().position(|a| *a == from).expect("there") + 1) % N_SERVERS];
        let asked = Instant::now();
        let request = MoveSceneRequest {
            scene_id: scene_id(n),
            to_address: to.to_string(),
            take_over: false,
        };
        let done =
            connections.scenes(from).move_scene(request).await.expect("it moves").into_inner();
        assert_eq!(done.address, to.to_string());
        served.extend(lookers.gaps(&[n], asked, from).await);
        moved.extend(editors.gaps(&[n], asked, from).await);
    }
    print("moved: cuts", moved);
    print("moved: looks", served);

    // Kill a server: its scenes are taken when its leases end.
    let from = theatre.servers[0].address;
    let killed = owned(&editors, from);
    theatre.servers[0].process.signal("KILL");
    let at = Instant::now();
    theatre.replace(0);
    print("killed: cuts", editors.gaps(&killed, at, from).await);
    print("killed: looks", lookers.gaps(&killed, at, from).await);

    // Stop a server for longer than its leases: when it resumes, it is no longer the owner.
    let from = theatre.servers[1].address;
    let stopped = owned(&editors, from);
    let sleeper = connections.scenes(from);
    let held = HeldCuts::send(&sleeper, from, &stopped);
    theatre.servers[1].process.signal("STOP");
    let at = Instant::now();
    print("stopped: cuts", editors.gaps(&stopped, at, from).await);
    print("stopped: looks", lookers.gaps(&stopped, at, from).await);
    tokio::time::sleep(LEASE).await;
    let woken = Instant::now();
    theatre.servers[1].process.signal("CONT");
    for n in &stopped {
        fenced(sleeper.clone(), *n, from).await;
    }
    let held = held.acknowledged(woken).await;

    // Restart the servers, one after the other.
    let (mut restarted, mut served) = (Vec::new(), Vec::new());
    for n in 0..N_SERVERS {
        let from = theatre.servers[n].address;
        let (own, at) = (owned(&editors, from), Instant::now());
        theatre.restart(n).await;
        restarted.extend(editors.gaps(&own, at, from).await);
        served.extend(lookers.gaps(&own, at, from).await);
    }
    print("restarted: cuts", restarted);
    print("restarted: looks", served);
    lookers.end().await;
    let led = editors.led.load(std::sync::atomic::Ordering::Relaxed);
    // Added only here: until now the book says which server has which scene.
    editors.book.lock().extend(held);
    let n_cuts = editors.check().await;
    println!("{n_cuts} cuts of {n_scenes} scenes acknowledged, {led} calls led to the owner");
    assert!(n_cuts > 20 * n_scenes, "{n_cuts} are too few");
}

/// Returns the scenes whose newest acknowledged cut is from `server`.
pub fn owned(editors: &Editors, server: SocketAddr) -> Vec<usize> {
    let newest = editors.newest();
    newest.iter().filter(|(_, cut)| cut.by == server).map(|(n, _)| *n).collect()
}

/// Waits until a server answers: Envoy notices a started server within a second.
pub async fn known(scenes: &mut Scenes) {
    let until = Instant::now() + SOON;
    while let Err(status) = scenes.list_scenes(ListScenesRequest {}).await {
        assert!(Instant::now() < until, "{status:?}");
        tokio::time::sleep(PAUSE).await;
    }
}

pub async fn furnish(scenes: &mut Scenes, id: &str) {
    let request = CreateSceneRequest { scene_id: id.to_owned(), durable: None };
    let made = scenes.create_scene(request).await.expect("a new scene").into_inner();
    assert!(made.scene.expect("described").durable);
    let mesh = octahedron(0.1);
    let mut header = tissue_header("liver", &mesh);
    header.scene_id = id.to_owned();
    let upload = iter([tissue_head(header), tissue_piece(mesh.chunk())]);
    scenes.add_tissue(upload).await.expect("a tissue");
}

pub fn print(what: &str, mut gaps: Vec<Duration>) {
    gaps.sort();
    let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share).round() as usize];
    assert!(!gaps.is_empty(), "nothing was {what}");
    println!("{what}: {} scenes, gap p50 {:?}, p99 {:?}", gaps.len(), at(0.5), at(0.99));
}
