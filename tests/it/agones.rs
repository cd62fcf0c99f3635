//! A server that Agones placed, by its sidecar's protocol. `src/service/agones` says which message is sent when.

mod fake_sidecar;

use palpate::proto::{DeleteSceneRequest, TrackMode};
use tonic::Code;

use crate::support::{
    messages::{SCENE, start, start_message, tick, tick_message},
    process::Process,
    program::has_feature,
    server::TestServer,
};
use fake_sidecar::{FakeSidecar, Heard};

mod sdk {
    #![allow(dead_code, clippy::all)]

    tonic::include_proto!("agones.dev.sdk");

    pub mod beta {
        tonic::include_proto!("agones.dev.sdk.beta");
    }
}

fn counted(name: &str, count: i64) -> Heard {
    Heard::Counted(name.to_owned(), count)
}

#[tokio::test]
async fn a_placed_server_is_ready_then_used_and_ends_when_agones_says_so() {
    if !has_feature("agones") {
        return;
    }
    let fake = FakeSidecar::start(&["scenes", "loops"]).await;
    let port = fake.address.port().to_string();
    let variables = [("AGONES_SDK_GRPC_HOST", "127.0.0.1"), ("AGONES_SDK_GRPC_PORT", &port)];
    let mut process = Process::serve_with("127.0.0.1:0", &[], &variables);
    let address = process.address();
    fake.until("ready and well", |fake| fake.heard() == [Heard::Ready] && !fake.beats().is_empty())
        .await;
    let mut server = TestServer::connect(address).await;
    server.create(SCENE).await.expect("it is ready");
    server.furnish().await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
    stream.ask(tick_message(tick(1, 0.2))).await.expect("an answer");
    fake.until("counted", |fake| fake.heard().contains(&counted("loops", 1))).await;
    assert_eq!(fake.heard()[..2], [Heard::Ready, Heard::Allocate]);
    assert!(fake.heard().contains(&counted("scenes", 1)));

    fake.set(|status| status.state = "Shutdown".to_owned());
    let told = stream.answers.message().await.expect_err("it drains");
    assert_eq!(told.code(), Code::Unavailable, "{told:?}");
    drop((stream, server));
    fake.until("told", |fake| fake.heard().last() == Some(&Heard::Shutdown)).await;
    assert!(process.end().success());
}

#[tokio::test]
async fn sigterm_is_told_too_and_places_are_free_again() {
    if !has_feature("agones") {
        return;
    }
    let fake = FakeSidecar::start(&["scenes", "loops"]).await;
    let port = fake.address.port().to_string();
    let variables = [("AGONES_SDK_GRPC_HOST", "127.0.0.1"), ("AGONES_SDK_GRPC_PORT", &port)];
    let mut process = Process::serve_with("127.0.0.1:0", &[], &variables);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("room");
    fake.until("counted", |fake| fake.heard().contains(&counted("scenes", 1))).await;
    let request = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.delete_scene(request).await.expect("it is there");
    fake.until("counted off", |fake| fake.heard().last() == Some(&counted("scenes", 0))).await;
    drop(server);
    process.signal("TERM");
    fake.until("told", |fake| fake.heard().last() == Some(&Heard::Shutdown)).await;
    assert!(process.end().success());
}
