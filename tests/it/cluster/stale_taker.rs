//! A server that is stopped between its claim of a scene and its first read of the files, and resumes when the previous
//! owner has claimed the scene back.

use std::{ops::Range, time::Instant};

use palpate::proto::GetSceneRequest;
use tonic::Code;

use super::{
    editors::{PAUSE, SOON, mark, scene_id},
    owners::furnish,
    sleeper::cut,
    take_over::taking,
    theatre::{Scenes, Theatre, owner},
};
use crate::support::server::TestServer;

/// Makes each of these cuts once, after retries if the scene has no owner or another one.
async fn made(scenes: &mut Scenes, cuts: Range<u64>) {
    let until = Instant::now() + SOON;
    for n in cuts {
        while let Err(status) = scenes.edit_topology(cut(0, mark(n))).await {
            assert!(owner(&status).is_some() || status.code() == Code::Unavailable, "{status:?}");
            assert!(Instant::now() < until, "cut {n}: {status:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_taker_that_was_stopped_changes_nothing_of_what_the_next_owner_acknowledges() {
    let mut theatre = Theatre::open("stale-taker", 2);
    let [first, taker] = [0, 1].map(|n| theatre.servers[n].address);
    let id = scene_id(0);
    let mut connections = theatre.addresses.connections();
    let mut scenes = connections.scenes(first);
    furnish(&mut scenes, &id).await;
    made(&mut scenes, 0..10).await;

    let request = taking(&id, taker);
    let mut admin = theatre.connect(1).await;
    let taken = tokio::spawn(async move { admin.scenes.move_scene(request).await });
    // The claim is there, and the server waits until the first owner's lease ends.
    let claim = theatre.keeping.path().join("leases/scenes").join(&id).join("2");
    let until = Instant::now() + SOON;
    while !claim.exists() {
        assert!(Instant::now() < until, "it is not claimed");
        tokio::time::sleep(PAUSE).await;
    }
    theatre.servers[1].process.signal("STOP");
    made(&mut scenes, 10..20).await;
    theatre.servers[1].process.signal("CONT");
    match taken.await.expect("no panic") {
        Err(refused) => assert_eq!(owner(&refused), Some((first, 3)), "{refused:?}"),
        // It was stopped before it knew that its claim had been the newest, and claimed once more.
        Ok(moved) => {
            assert_eq!(moved.into_inner().epoch, 4);
            scenes = connections.scenes(taker);
        }
    }
    made(&mut scenes, 20..45).await;

    // Both servers shut down cleanly, each replaced by another.
    theatre.restart(0).await;
    theatre.restart(1).await;
    let mut next: TestServer = theatre.connect(0).await;
    let until = Instant::now() + SOON;
    let found = loop {
        let look = GetSceneRequest { scene_id: id.clone() };
        match next.scenes.get_scene(look).await {
            Ok(found) => break found.into_inner().scene.expect("described"),
            Err(status) => assert!(Instant::now() < until, "{status:?}"),
        }
        tokio::time::sleep(PAUSE).await;
    };
    assert_eq!(found.tissues[0].topology_revision, 45, "cuts of 45 that were acknowledged");
    theatre.keeping.verify();
}
