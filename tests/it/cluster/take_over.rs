//! Take-overs by an admin from an owner that hangs: before its lease ends, and with edits under way.

use std::{
    net::SocketAddr,
    process::{Command, Output},
    time::Instant,
};

use palpate::proto::{GetSceneRequest, MoveSceneRequest};
use tokio::task::spawn_blocking;
use tonic::{Code, Request};

use super::{
    editors::{Editors, PAUSE, scene_id},
    owners::{furnish, owned, print},
    sleeper::{HeldCuts, fenced},
    theatre::{LEASE, Theatre, owner},
};
use crate::{
    seed::{Seed, scaled},
    support::{
        folder::Folder,
        keys::{ADMIN, SURGEON, all_keys, by},
        messages::SCENE,
        process::Process,
        program::under_test,
        refusal::assert_refused,
        server::TestServer,
        viewer::{Viewer, all_of},
    },
};

pub fn taking(scene_id: &str, to: SocketAddr) -> MoveSceneRequest {
    let scene_id = scene_id.to_owned();
    MoveSceneRequest { scene_id, to_address: to.to_string(), take_over: true }
}

/// Runs the take-over command, as an admin does. No server listens at the address of `--server`.
fn take_over(id: String, to: SocketAddr) -> Output {
    let mut command = Command::new(under_test());
    let to = to.to_string();
    command.args(["scenes", "move", &id, "--to", &to, "--take-over", "--server", "127.0.0.1:1"]);
    command.env("RUST_LOG", "off").output().expect("it was built")
}

/// Checks that a live view of a server that was stopped past its lease ends. `seen_ns`: an earlier frame's server time.
async fn shows_nothing_more(viewer: &mut Viewer, seen_ns: u64) {
    let status = loop {
        match viewer.frame().await {
            // A frame from before the server was stopped, read only now.
            Ok(frame) => assert!(frame.server_time_ns < seen_ns + LEASE.as_nanos() as u64),
            Err(status) => break status,
        }
    };
    assert!(owner(&status).is_some() || status.code() == Code::Unavailable, "{status:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_hangs_or_works_on_loses_its_scenes_and_nothing_acknowledged() {
    let seed = Seed::or(26);
    let theatre = Theatre::open("taken-over", 2);
    let [from, to] = [0, 1].map(|n| theatre.servers[n].address);
    let n_scenes = scaled(6);
    let mut connections = theatre.addresses.connections();
    for n in 0..n_scenes {
        furnish(&mut connections.scenes(from), &scene_id(n)).await;
    }
    let editors = Editors::start(&theatre.addresses, n_scenes, PAUSE, |n| seed.random(n));
    let all: Vec<usize> = (0..n_scenes).collect();
    let nobody = SocketAddr::from(([0, 0, 0, 0], 0));
    editors.gaps(&all, Instant::now(), nobody).await;

    // Taken from a healthy server, which renews its leases all the time.
    let (worked, hung) = all.split_at(n_scenes / 2);
    let at = Instant::now();
    let asked = worked.iter().map(|n| {
        let id = scene_id(*n);
        tokio::spawn(async move {
            TestServer::connect(to).await.scenes.move_scene(taking(&id, to)).await
        })
    });
    for answer in asked.collect::<Vec<_>>() {
        let taken = answer.await.expect("no panic").expect("it is taken").into_inner();
        assert_eq!((taken.address, taken.epoch), (to.to_string(), 2));
    }
    print("taken from one at work", editors.gaps(worked, at, from).await);
    for n in worked {
        let look = GetSceneRequest { scene_id: scene_id(*n) };
        let status = theatre.connect(0).await.scenes.get_scene(look).await.expect_err("it is gone");
        assert_eq!(owner(&status), Some((to, 2)), "{status:?}");
    }

    // Taken from a server that hangs, and does not know of the take-over when it resumes.
    assert_eq!(owned(&editors, from), hung);
    let sleeper = connections.scenes(from);
    let watched = all_of(&scene_id(hung[0]));
    let mut viewer =
        Viewer::open(&theatre.connect(0).await, "", watched).await.expect("it is served");
    let seen_ns = viewer.frame().await.expect("a frame").server_time_ns;
    let held = HeldCuts::send(&sleeper, from, hung);
    theatre.servers[0].process.signal("STOP");
    let at = Instant::now();
    let asked = hung.iter().map(|n| {
        let id = scene_id(*n);
        spawn_blocking(move || take_over(id, to))
    });
    for done in asked.collect::<Vec<_>>() {
        let done = done.await.expect("no panic");
        let said = String::from_utf8_lossy(&done.stdout);
        let errors = String::from_utf8_lossy(&done.stderr);
        let expected = format!("served at {to} since epoch 2");
        assert!(done.status.success() && said.contains(&expected), "{said} {errors}");
    }
    print("taken from one that hangs", editors.gaps(hung, at, from).await);
    tokio::time::sleep(LEASE).await;
    let woken = Instant::now();
    theatre.servers[0].process.signal("CONT");
    shows_nothing_more(&mut viewer, seen_ns).await;
    for n in hung {
        fenced(sleeper.clone(), *n, from).await;
    }
    let held = held.acknowledged(woken).await;
    editors.book.lock().extend(held);
    let n_cuts = editors.check().await;
    println!("{n_cuts} cuts of {n_scenes} scenes acknowledged");
    assert!(n_cuts > 10 * n_scenes, "{n_cuts} are too few");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_over_is_an_admin_s_and_of_the_server_that_is_asked() {
    let folder = Folder::new("take-over-refused");
    let keys = folder.write("keys.toml", &all_keys(""));
    let shared = [
        ("PALPATE_CLUSTER_SHARED", "true"),
        ("PALPATE_ACCESS_KEYS_FILE", keys.to_str().expect("a name in ASCII")),
    ];
    let mut process = Process::serve_keeping(&folder.0.join("data"), &[], &shared);
    let own = process.address();
    let mut server = TestServer::connect(own).await;
    let ask = async |server: &mut TestServer, request: Request<MoveSceneRequest>| {
        server.scenes.move_scene(request).await.map(|done| done.into_inner().epoch)
    };
    let refused = ask(&mut server, by(SURGEON, taking(SCENE, own))).await;
    assert_refused(refused, Code::PermissionDenied, "key surgeon", "not an admin's");
    let refused =
        ask(&mut server, by(ADMIN, taking(SCENE, SocketAddr::from(([127, 0, 0, 1], 1))))).await;
    assert_refused(refused, Code::InvalidArgument, "to_address", "another's");
    let refused = ask(&mut server, by(ADMIN, taking(SCENE, own))).await;
    assert_refused(refused, Code::NotFound, &format!("scene {SCENE}"), "there is none");

    let mut alone = Process::serve_keeping(&folder.0.join("alone"), &[], &[]);
    let own = alone.address();
    let mut server = TestServer::connect(own).await;
    let refused = ask(&mut server, Request::new(taking(SCENE, own))).await;
    assert_refused(refused, Code::FailedPrecondition, "scene_id", "not shared");
}
