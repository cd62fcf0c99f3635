//! The Rust client and servers that share scenes: with several addresses, and behind Envoy, through which alone the
//! client and its loop follow a scene.

use std::time::{Duration, Instant};

use palpate::{
    client::{Client, ClientError, LoopStatus, ServerAddress, TrackLoop},
    proto::{self, EditTopologyRequest, ListScenesRequest, TrackResponse, Vec3},
};

use super::{
    editors::SOON,
    owners::known,
    theatre::{LEASE, Theatre},
};
use crate::support::{envoy::program, keeping::Keeping, messages::SCENE, slab::slab_and_ball};

const N_SERVERS: usize = 3;

/// Returns the server, other than `without`, that has the scene.
async fn owner(theatre: &Theatre, without: &[usize]) -> usize {
    let mut connections = theatre.addresses.connections();
    let until = Instant::now() + SOON;
    loop {
        for n in (0..N_SERVERS).filter(|n| !without.contains(n)) {
            let mut scenes = connections.scenes(theatre.servers[n].address);
            // A server whose lease is over for a moment does not list its scenes.
            let listed = scenes.list_scenes(ListScenesRequest {}).await;
            if listed.is_ok_and(|listed| !listed.into_inner().scenes.is_empty()) {
                return n;
            }
        }
        assert!(Instant::now() < until, "nobody has it");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn tick(haptics: &TrackLoop, height_m: f64) -> std::sync::Arc<TrackResponse> {
    let position_m = Some(Vec3 { x: 0.02, y: 0.035, z: height_m });
    let pose = proto::Pose { position_m, orientation: None };
    haptics.tick(&[(1, pose)]).await.expect("it goes on")
}

/// Waits until the loop has reconnected `n` times, with a session of its own.
async fn comes_back(haptics: &TrackLoop, n: u64) -> LoopStatus {
    let until = Instant::now() + SOON;
    while haptics.status().reconnected < n {
        assert!(Instant::now() < until, "{:?}", haptics.status());
        tick(haptics, 0.03).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    haptics.status()
}

/// Reads the scene until a server answers, as a caller does after a call that may or may not have been done.
async fn look(client: &mut Client) {
    let until = Instant::now() + 2 * LEASE + SOON;
    while let Err(error) = client.scene(SCENE).await {
        let may_pass = matches!(
            error,
            ClientError::Gone { .. } | ClientError::Connect { .. } | ClientError::Elsewhere { .. }
        );
        assert!(may_pass && Instant::now() < until, "{error:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A cut that hangs a triangle on the slab.
fn cut() -> EditTopologyRequest {
    EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        added_positions_m: vec![0.5, 0.5, -0.5],
        added_triangles: vec![0, 1, 2],
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_asks_another_of_its_addresses_when_one_dies() {
    let theatre = Theatre::open("clients", 2);
    let mut client = slab_and_ball(&ServerAddress::new(&theatre.addresses.text()), SCENE).await;
    // The client knows what another handle finds out.
    let mut handle = client.clone();
    client.edit_topology(cut()).await.expect("by its owner");
    theatre.servers[0].process.signal("KILL");
    // The cut may have been made, so the client does not retry it by itself.
    let lost = client.edit_topology(cut()).await.expect_err("its owner is gone");
    assert!(matches!(lost, ClientError::Gone { .. }), "{lost:?}");
    look(&mut handle).await;
    let made = client.edit_topology(cut()).await.expect("by the other");
    assert_eq!(made.topology_revision, 2, "what found nobody was not made");
    let mut deformations = client.deformations(SCENE).await.expect("a stream");
    deformations.move_some(1, vec![0], vec![-0.1, -0.1, -0.04]).await.expect("by the other");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_and_its_loop_follow_a_scene_behind_envoy() {
    let Some(program) = program() else { return };
    let keeping = Keeping::in_folder("cluster-front");
    let theatre = Theatre::behind_envoy(&program, keeping, N_SERVERS, 0);
    let mut connections = theatre.addresses.connections();
    for server in &theatre.servers {
        known(&mut connections.scenes(server.address)).await;
    }
    let mut client = slab_and_ball(&theatre.front(), SCENE).await;
    // Other clients reach any server first, and are redirected to the owner.
    let mut others = Vec::new();
    for _ in 0..4 {
        others.push(Client::connect(&theatre.front()).await.expect("Envoy serves"));
        look(others.last_mut().expect("just made")).await;
    }
    let haptics = client.haptics(SCENE, &[1]).await.expect("a loop");
    tick(&haptics, 0.03).await;

    let from = owner(&theatre, &[]).await;
    let to = (from + 1) % N_SERVERS;
    let address = theatre.servers[to].address.to_string();
    let moved = client.move_scene(SCENE, &address).await.expect("it moves");
    assert_eq!(moved.address, address);
    let status = comes_back(&haptics, 1).await;
    assert_eq!((status.reconnected, status.sessions_lost), (1, 1), "{status:?}");
    client.scene(SCENE).await.expect("led there");
    for other in &mut others {
        other.scene(SCENE).await.expect("led there");
    }
    let mut deformations = client.deformations(SCENE).await.expect("a stream");
    deformations.move_some(1, vec![0], vec![-0.1, -0.1, -0.04]).await.expect("it is there");
    assert_eq!(owner(&theatre, &[]).await, to);

    // Back to the server of the client's first calls, which then dies.
    let address = theatre.servers[from].address.to_string();
    client.move_scene(SCENE, &address).await.expect("it moves");
    comes_back(&haptics, 2).await;
    let killed = Instant::now();
    theatre.servers[from].process.signal("KILL");
    let status = comes_back(&haptics, 3).await;
    println!("killed behind Envoy: a loop is back after {:?}", killed.elapsed());
    assert_eq!(status.sessions_lost, 3, "{status:?}");
    look(&mut client).await;
    for other in &mut others {
        look(other).await;
    }
    assert_ne!(owner(&theatre, &[from]).await, from);
    // Calls that change the scene go on there as well.
    client.remove_tissue(SCENE, 1).await.expect("by its owner");
    client.delete_scene(SCENE).await.expect("by its owner");
}
