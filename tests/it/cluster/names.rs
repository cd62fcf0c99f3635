//! Scenes opened by name: which server answers for a scene, and which calls are refused.

use palpate::proto::{
    CreateSceneRequest, DeleteSceneRequest, GetSceneRequest, ListScenesRequest, MoveSceneRequest,
    TrackMode,
};
use tonic::{Code, Status};

use super::theatre::{Theatre, owner};
use crate::support::{
    folder::Folder,
    messages::{SCENE, start, start_message},
    process::Process,
    refusal::assert_refused,
    server::TestServer,
};

async fn ask(server: &mut TestServer, id: &str) -> Result<(), Status> {
    let request = GetSceneRequest { scene_id: id.to_owned() };
    server.scenes.get_scene(request).await.map(drop)
}

async fn shift(server: &mut TestServer, id: &str, to: &str) -> Result<u64, Status> {
    let request =
        MoveSceneRequest { scene_id: id.to_owned(), to_address: to.to_owned(), take_over: false };
    Ok(server.scenes.move_scene(request).await?.into_inner().epoch)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scene_is_one_server_s_and_others_name_it() {
    let mut theatre = Theatre::open("names", 2);
    let (mut here, mut there) = (theatre.connect(0).await, theatre.connect(1).await);
    let [a, b] = [0, 1].map(|n| theatre.servers[n].address);
    here.create(SCENE).await.expect("a new scene");
    here.furnish().await;
    let seen = here.seen().await;
    for status in [
        ask(&mut there, SCENE).await.expect_err("it is elsewhere"),
        there.export(1).await.expect_err("it is elsewhere"),
        there.track(vec![start_message(start(TrackMode::Every))]).await.remove(0).expect_err("too"),
    ] {
        assert_eq!(owner(&status), Some((a, 1)), "{status:?}");
    }
    assert_refused(ask(&mut there, "spleen").await, Code::NotFound, "scene spleen", "nowhere");
    let again = there.create(SCENE).await;
    assert_refused(again, Code::AlreadyExists, &format!("scene {SCENE}"), "it is there");
    let passing = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: Some(false) };
    let again = there.scenes.create_scene(passing).await;
    assert_refused(
        again,
        Code::AlreadyExists,
        &format!("scene {SCENE}"),
        "one that is not durable",
    );
    let list = there.scenes.list_scenes(ListScenesRequest {}).await.expect("a list");
    assert_eq!(list.into_inner().scenes.len(), 0, "those that it serves");

    // Moved to another server, and back.
    let nowhere = shift(&mut here, SCENE, "127.0.0.1:1").await;
    assert_refused(nowhere, Code::InvalidArgument, "to_address", "no server");
    assert_eq!(shift(&mut here, SCENE, &a.to_string()).await.expect("it is there"), 1);
    assert_eq!(shift(&mut here, SCENE, &b.to_string()).await.expect("it moves"), 2);
    assert_eq!(owner(&ask(&mut here, SCENE).await.expect_err("gone")), Some((b, 2)));
    assert_eq!(there.seen().await, seen, "the same scene");
    assert_eq!(shift(&mut there, SCENE, &a.to_string()).await.expect("it moves"), 3);
    assert_eq!(here.seen().await, seen, "the same scene");

    // Deleted by one server, made by the other: a name that is free again.
    let delete = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    here.scenes.delete_scene(delete).await.expect("it is its own");
    let gone = ask(&mut there, SCENE).await;
    assert_refused(gone, Code::NotFound, &format!("scene {SCENE}"), "deleted");
    let made = there.create(SCENE).await.expect("a new scene");
    assert_eq!(made.tissues.len(), 0);
    assert_eq!(owner(&ask(&mut here, SCENE).await.expect_err("elsewhere")), Some((b, 5)));

    // A server that shuts down cleanly leaves its scenes to any server that is asked, without a wait for a lease.
    there.furnish().await;
    let seen = there.seen().await;
    theatre.restart(1).await;
    let until = std::time::Instant::now() + super::theatre::LEASE / 2;
    while let Err(status) = ask(&mut here, SCENE).await {
        assert!(std::time::Instant::now() < until, "{status:?}");
    }
    assert_eq!(here.seen().await, seen, "the same scene");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_was_not_shared_can_be_and_the_other_way_round() {
    let folder = Folder::new("cluster-mode");
    let shared = [("PALPATE_CLUSTER_SHARED", "true")];
    let mut before = None;
    for variables in [&[][..], &shared, &[], &shared] {
        let mut process = Process::serve_keeping(&folder.0, &[], variables);
        let mut server = TestServer::connect(process.address()).await;
        match &before {
            None => {
                server.create(SCENE).await.expect("a new scene");
                server.furnish().await;
                before = Some(server.seen().await);
                let refused = shift(&mut server, SCENE, "127.0.0.1:1").await;
                assert_refused(refused, Code::FailedPrecondition, "scene_id", "not shared");
            }
            Some(before) => assert_eq!(&server.seen().await, before),
        }
        // A server of the other kind cannot run on the folder at the same time.
        let others = if variables.is_empty() { &shared[..] } else { &[] };
        let mut other = Process::serve_keeping(&folder.0, &[], others);
        assert!(other.errors().contains("in use by another server"));
        drop(server);
        process.signal("TERM");
        let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
        assert!(ended.success(), "{ended:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scene_that_is_not_durable_stays_where_it_is() {
    let theatre = Theatre::open("passing", 2);
    let mut here = theatre.connect(0).await;
    let request = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: Some(false) };
    here.scenes.create_scene(request).await.expect("a new scene");
    let refused = shift(&mut here, SCENE, &theatre.servers[1].address.to_string()).await;
    assert_refused(refused, Code::FailedPrecondition, "scene_id", "not durable");
    ask(&mut here, SCENE).await.expect("it is there");
}
