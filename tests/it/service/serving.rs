//! The server as a process: health, reflection, start and end.

use std::fs;

use palpate::proto::TrackMode;
use tokio_stream::StreamExt;
use tonic::Code;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use crate::support::{
    folder::Folder,
    messages::{SCENE, start, start_message, tick, tick_message},
    process::Process,
    server::TestServer,
};

const SERVICES: [&str; 2] = ["palpate.v1.SceneService", "palpate.v1.HapticService"];

#[tokio::test]
async fn health_is_serving_from_the_start() {
    let server = TestServer::with_scene().await;
    let mut health = HealthClient::new(server.channel);
    for service in ["", SERVICES[0], SERVICES[1]] {
        let request = HealthCheckRequest { service: service.to_owned() };
        let answer = health.check(request).await.expect("known").into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service:?}");
    }
}

#[tokio::test]
async fn reflection_lists_the_services_and_their_files() {
    let server = TestServer::with_scene().await;
    let mut reflection = ServerReflectionClient::new(server.channel);
    let ask =
        |message| ServerReflectionRequest { host: String::new(), message_request: Some(message) };
    let sent = [
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol(SERVICES[1].to_owned())),
    ];
    let answers = reflection.server_reflection_info(tokio_stream::iter(sent)).await;
    let answers: Vec<_> = answers.expect("a stream").into_inner().collect().await;
    let mut answers = answers.into_iter().map(|a| a.expect("good").message_response);
    let Some(Some(MessageResponse::ListServicesResponse(list))) = answers.next() else {
        panic!("no list of services");
    };
    let names: Vec<_> = list.service.iter().map(|s| s.name.as_str()).collect();
    for service in SERVICES.into_iter().chain(["grpc.health.v1.Health"]) {
        assert!(names.contains(&service), "{service} is not in {names:?}");
    }
    assert!(matches!(answers.next(), Some(Some(MessageResponse::FileDescriptorResponse(_)))));
}

#[tokio::test]
async fn the_binary_says_where_it_listens_and_ends_when_told_with_a_stream_open() {
    for signal in ["TERM", "INT"] {
        let mut process = Process::serve("127.0.0.1:0", &[]);
        let mut server = TestServer::connect(process.address()).await;
        server.create(SCENE).await.expect("a new scene");
        server.furnish().await;
        let mut stream = server.hand_fed(start_message(start(TrackMode::Every))).await;
        stream.ask(tick_message(tick(1, 0.2))).await.expect("an answer");

        process.signal(signal);
        let told = loop_until_told(&mut stream).await;
        assert_eq!(told, Code::Unavailable, "{signal}");
        drop((stream, server));
        // On another thread, because the client still has to disconnect from the server.
        let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
        assert_eq!(ended.code(), Some(0), "{signal}");
    }
}

/// A client that waits for the server's first line may connect to all its listeners.
#[test]
fn the_binary_says_where_it_listens_only_when_it_listens_everywhere() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let metrics = taken.local_addr().expect("bound").to_string();
    let folder = Folder::new("no-socket");
    let socket = folder.0.join("file");
    fs::write(&socket, "").expect("a temporary folder");
    let socket = socket.to_str().expect("UTF-8");
    let free = "127.0.0.1:0";
    let cases = [
        (&*metrics, &[][..], &*metrics),
        #[cfg(unix)]
        (free, &["--unix-socket", socket], socket),
        (free, &["--metrics", &metrics], &metrics),
    ];
    for (listen, more, place) in cases {
        let mut process = Process::serve(listen, more);
        assert_eq!(process.first_line(), "", "{more:?}");
        let said = process.errors();
        assert!(said.contains(&format!("cannot listen on {place}")), "{more:?}: {said}");
        assert_eq!(process.end().code(), Some(1), "{more:?}");
    }
    assert_eq!(fs::read(socket).expect("what was there is left"), b"");
}

/// A server that listens at TCP alone would leave clients of the socket without one.
#[cfg(not(unix))]
#[test]
fn a_unix_socket_is_refused_where_there_is_none() {
    let mut process = Process::serve("127.0.0.1:0", &["--unix-socket", "palpate.sock"]);
    assert_eq!(process.first_line(), "");
    let said = process.errors();
    assert!(said.contains("unix_socket is set, expected a system that has"), "{said}");
    assert_eq!(process.end().code(), Some(1));
}

/// Continues the haptic loop, as a client does, until the server ends it.
async fn loop_until_told(stream: &mut crate::support::server::HandFed) -> Code {
    for sequence in 2.. {
        if let Err(status) = stream.ask(tick_message(tick(sequence, 0.2))).await {
            return status.code();
        }
    }
    unreachable!("sequences do not run out")
}

/// Runs the server as a unit with `Type=notify` and `WatchdogSec` does.
#[cfg(unix)]
#[test]
fn systemd_is_told_that_the_server_is_ready_alive_and_ending() {
    use std::{os::unix::net::UnixDatagram, time::Duration};

    let folder = Folder::new("notify");
    let path = folder.0.join("socket");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    let path = path.to_str().expect("UTF-8");
    let variables = [("NOTIFY_SOCKET", path), ("WATCHDOG_USEC", "100000")];
    let server = Process::serve_with("127.0.0.1:0", &[], &variables);
    let heard = || {
        let mut text = [0; 256];
        let n = socket.recv(&mut text).expect("told in time");
        String::from_utf8_lossy(&text[..n]).trim().to_owned()
    };
    // The server reports that it is alive from the start, also while it reads its scenes.
    while heard() != "READY=1" {}
    for _ in 0..3 {
        assert_eq!(heard(), "WATCHDOG=1");
    }
    server.signal("TERM");
    while heard() != "STOPPING=1" {}
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let mut process = Process::serve("0.0.0.0:0", &[]);
    assert_eq!(process.first_line(), "");
    let message = process.errors();
    assert!(message.contains("0.0.0.0:0") && message.contains("loopback"), "{message}");
    assert_eq!(process.end().code(), Some(1));
}

#[test]
fn an_address_in_use_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let mut process = Process::serve(&address, &[]);
    assert_eq!(process.first_line(), "");
    let message = process.errors();
    assert!(message.contains(&address), "{message}");
    assert_eq!(process.end().code(), Some(1));
}
