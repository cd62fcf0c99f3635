//! Shutdown of a server, and the messages that its clients receive.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use palpate::{
    config::Config,
    proto::TrackMode,
    service::{Listeners, serve},
};
use tokio::{sync::oneshot, time::timeout};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tonic::Code;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::support::{
    messages::{SCENE, sparse, start, start_message, tick, tick_message},
    program::under_test,
    server::{HandFed, TestServer},
};

const SOON: Duration = Duration::from_secs(20);

/// The pipe to a server closes however its parent ends. Input before that means nothing.
#[test]
fn server_ends_in_order_when_stdin_closes() {
    let mut server = Command::new(under_test())
        .args(["serve", "--listen", "127.0.0.1:0", "--until-stdin-closes"])
        .env("PALPATE_STORE_SCENES", "false")
        .env("PALPATE_DATA_DIR", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    let mut stdout = BufReader::new(server.stdout.take().expect("piped"));
    stdout.read_line(&mut line).expect("text");
    let address = line.trim_end().strip_prefix("listening on ").expect(&line);
    let mut stdin = server.stdin.take().expect("piped");
    stdin.write_all(b"ignored\n").expect("it is read");
    TcpStream::connect(address).expect("it listens");
    assert!(server.try_wait().expect("a child").is_none());
    drop(stdin);
    let closed = Instant::now();
    let ended = loop {
        if let Some(ended) = server.try_wait().expect("a child") {
            break ended;
        }
        if closed.elapsed() > SOON {
            server.kill().expect("it runs");
            panic!("the server outlives its parent");
        }
        thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.success(), "{ended}");
}

/// Health is watched in a stream, so that the order of the messages can be seen.
#[tokio::test]
async fn idle_streams_are_told_at_once_and_health_first() {
    let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ..Config::default() };
    let listeners = Listeners::bind(&config).await.expect("a free port");
    let address = listeners.address().expect("bound");
    let (tell, told) = oneshot::channel();
    let served = tokio::spawn(async move {
        let told = async { told.await.expect("the test goes on") };
        serve(listeners, &config, told).await
    });
    let mut server = TestServer::connect(address).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let mut idle = Vec::new();
    for _ in 0..8 {
        let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
        stream.ask(tick_message(tick(1, 0.2))).await.expect("an answer");
        idle.push(stream);
    }
    // The server waits for its first message.
    let (silent, sent) = tokio::sync::mpsc::channel(1);
    let answers = server.haptics.track(ReceiverStream::new(sent)).await.expect("a stream");
    idle.push(HandFed { requests: silent, answers: answers.into_inner() });
    let (deforms, sent) = tokio::sync::mpsc::channel(1);
    deforms.send(sparse(1, &[0], &[0.1, 0.0, 0.0])).await.expect("room");
    let deformed = server.scenes.deform(ReceiverStream::new(sent)).await.expect("a stream");
    let mut deformed = deformed.into_inner();
    deformed.message().await.expect("good").expect("an answer");
    let watch = HealthCheckRequest { service: "palpate.v1.HapticService".to_owned() };
    let mut health = HealthClient::new(server.channel.clone());
    let mut health = health.watch(watch).await.expect("known").into_inner();
    let first = health.next().await.expect("a status").expect("good");
    assert_eq!(first.status(), ServingStatus::Serving);

    let started = Instant::now();
    tell.send(()).expect("it serves");
    let second = timeout(SOON, health.next()).await.expect("soon").expect("a status");
    assert_eq!(second.expect("good").status(), ServingStatus::NotServing);
    for stream in &mut idle {
        let ended = timeout(SOON, stream.answers.message()).await.expect("soon");
        let status = ended.expect_err("the server ends");
        assert_eq!(status.code(), Code::Unavailable);
        assert!(status.message().contains("shutting down"), "{status:?}");
    }
    let ended = timeout(SOON, deformed.message()).await.expect("soon");
    assert_eq!(ended.expect_err("the server ends").code(), Code::Unavailable);
    println!("9 idle Track streams and a Deform stream told within {:?}", started.elapsed());
    drop((idle, deformed, deforms, health, server));
    timeout(SOON, served).await.expect("soon").expect("no panic").expect("a good end");
}
