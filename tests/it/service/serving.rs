//! The server as a process: health, reflection, start and end.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
};

use palpate::service::proto::TrackMode;
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
    messages::{
        SCENE, start, start_message, tick, tick_message, tissue_upload, tool_head, tool_header,
        tool_piece,
    },
    server::{TestServer, link, tissue},
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

/// The binary, killed when a test fails before it ended.
struct Process(Child);

impl Process {
    fn serve(listen: &str) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
        command.args(["serve", "--listen", listen]).env("RUST_LOG", "off");
        command.env("PALPATE_DATA_DIR", env!("CARGO_TARGET_TMPDIR"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Process(command.spawn().expect("it was built"))
    }

    fn first_line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.0.stdout.as_mut().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("UTF-8");
        line
    }

    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status().expect("kill");
        assert!(status.success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error: it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_binary_says_where_it_listens_and_ends_when_told_with_a_stream_open() {
    for signal in ["TERM", "INT"] {
        let mut process = Process::serve("127.0.0.1:0");
        let line = process.first_line();
        let address = line.strip_prefix("listening on ").and_then(|a| a.strip_suffix('\n'));
        let address = address.unwrap_or_else(|| panic!("{line:?}"));
        let mut server = TestServer::connect(address.parse().expect("an address")).await;
        server.create(SCENE).await.expect("a new scene");
        server.add_tissue(tissue_upload("liver", &tissue())).await.expect("a mesh");
        let tool = vec![tool_head(tool_header("probe", &link())), tool_piece(link().chunk())];
        server.add_tool(tool).await.expect("a tool");
        let mut stream = server.hand_fed(start_message(start(TrackMode::Every))).await;
        stream.ask(tick_message(tick(1, 0.2))).await.expect("an answer");

        process.signal(signal);
        let told = loop_until_told(&mut stream).await;
        assert_eq!(told, Code::Unavailable, "{signal}");
        drop((stream, server));
        // Off this thread, where the client still has to take leave of the server.
        let ended = tokio::task::spawn_blocking(move || process.0.wait()).await;
        let ended = ended.expect("no panic").expect("it ends");
        assert_eq!(ended.code(), Some(0), "{signal}");
    }
}

/// Goes on with the haptic loop, as a client does, until the server ends it.
async fn loop_until_told(stream: &mut crate::support::server::HandFed) -> Code {
    for sequence in 2.. {
        if let Err(status) = stream.ask(tick_message(tick(sequence, 0.2))).await {
            return status.code();
        }
    }
    unreachable!("sequences do not run out")
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let mut process = Process::serve("0.0.0.0:0");
    assert_eq!(process.first_line(), "");
    let mut message = String::new();
    let stderr = process.0.stderr.as_mut().expect("piped");
    stderr.read_to_string(&mut message).expect("UTF-8");
    assert!(message.contains("0.0.0.0:0") && message.contains("loopback"), "{message}");
    assert_eq!(process.0.wait().expect("it ends").code(), Some(1));
}

#[test]
fn an_address_in_use_is_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let mut process = Process::serve(&address);
    assert_eq!(process.first_line(), "");
    let mut message = String::new();
    let stderr = process.0.stderr.as_mut().expect("piped");
    stderr.read_to_string(&mut message).expect("UTF-8");
    assert!(message.contains(&address), "{message}");
    assert_eq!(process.0.wait().expect("it ends").code(), Some(1));
}
