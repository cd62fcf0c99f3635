//! Server and clients that are stopped for seconds, and the shutdown of a server at work.

use std::{
    fs,
    time::{Duration, Instant},
};

use palpate::proto::TrackMode;
use tokio::time::timeout;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::{
    seed::{figure, scaled},
    support::{
        folder::Folder,
        messages::{SCENE, start, start_message, tick, tick_message},
        metrics::{get, of_scene, value},
        paced::Paced,
        process::Process,
        server::{TestServer, free_address, link, tissue},
    },
};

/// Maximum time until an answer is fresh after the server goes on, milliseconds.
const FRESH_MS_MAX: f64 = 50.0;
const SOON: Duration = Duration::from_secs(60);

async fn served(more: &[&str]) -> (Process, TestServer) {
    let mut process = Process::serve("127.0.0.1:0", more);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    (process, server)
}

async fn streams(server: &mut TestServer, n: usize) -> Vec<Paced> {
    let mut streams = Vec::new();
    for _ in 0..n {
        streams.push(Paced::start(server).await);
    }
    for stream in &streams {
        stream.fresh().await;
    }
    streams
}

/// All streams of a test share one connection: that is the hardest case for HTTP/2's frame limits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_stopped_goes_on_with_every_stream() {
    let longest = Duration::from_millis(scaled(500).min(8_000) as u64);
    let stops = [500, 1_000, 4_000, 8_000].map(Duration::from_millis);
    for stop in stops.into_iter().filter(|stop| *stop <= longest) {
        for n in [1, 8] {
            let (process, mut server) = served(&[]).await;
            let streams = streams(&mut server, n).await;
            process.signal("STOP");
            tokio::time::sleep(stop).await;
            process.signal("CONT");
            let mut slowest = Duration::ZERO;
            for fresh in streams.iter().map(Paced::fresh) {
                slowest = slowest.max(fresh.await);
            }
            let name = format!("server stopped for {stop:?}, {n} streams: fresh answer after");
            figure(&name, slowest.as_secs_f64() * 1e3, FRESH_MS_MAX, "ms");
            assert!(streams.iter().all(Paced::is_alive));
            for stream in streams {
                stream.stop().await;
            }
        }
    }
}

/// A client process that gets no processor; another on its own connection does not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_was_stopped_goes_on_and_disturbs_nobody() {
    let folder = Folder::new("stopped-client");
    let metrics = free_address();
    let (mut process, mut server) = served(&["--metrics", &metrics.to_string()]).await;
    let other = Paced::start(&mut server).await;
    let stop = Duration::from_millis(scaled(500).min(8_000) as u64);
    let [tissue, tool] = [tissue(), link()].map(|m| String::from_utf8(m.obj()).expect("ASCII"));
    let csv = folder.0.join("ticks.csv");
    let seconds = stop.as_secs_f64() + 2.0;
    let stopped = Process::load(&[
        &format!("--server={}", server.address),
        &format!("--seconds={seconds}"),
        "--deform-hz=0",
        &format!("--tissue={}", folder.write("tissue.obj", &tissue).display()),
        &format!("--tool={}", folder.write("tool.obj", &tool).display()),
        &format!("--csv={}", csv.display()),
    ]);
    let scene = format!("load-{}-1", stopped.id());
    let ticks = async || {
        let text = get(metrics, "/metrics").await.1;
        of_scene(&text, "palpate_stream_ticks_total", &scene).unwrap_or(0.0)
    };
    let read = async |series| value(&get(metrics, "/metrics").await.1, series);
    let is_at_work = async { while ticks().await < 100.0 {} };
    timeout(SOON, is_at_work).await.expect("the client begins");
    let before = read("palpate_resident_bytes").await;
    stopped.signal("STOP");
    let is_stale = async { while read("palpate_sessions_stale").await < 1.0 {} };
    timeout(SOON, is_stale).await.expect("it is noticed");
    other.fresh().await;
    other.times();
    tokio::time::sleep(stop).await;
    println!("another client meanwhile: {}", other.times());
    let grown = (read("palpate_resident_bytes").await - before) / 1e6;
    let answered = ticks().await;
    let goes_on = Instant::now();
    stopped.signal("CONT");
    let is_fresh = async { while ticks().await <= answered {} };
    timeout(SOON, is_fresh).await.expect("its stream is there yet");
    let fresh_ms = goes_on.elapsed().as_secs_f64() * 1e3;
    figure(
        &format!("client stopped for {stop:?}: fresh answer after"),
        fresh_ms,
        FRESH_MS_MAX,
        "ms",
    );
    figure("memory kept for a client that is stopped", grown, 8.0, "MB");
    // The client has only paused: in its last half second each of its ticks has an answer.
    tokio::task::spawn_blocking(move || stopped.end()).await.expect("no panic");
    let rows = fs::read_to_string(csv).expect("it wrote its ticks");
    let numbers = |row: &str| row.split(',').map(|n| n.parse().expect("a number")).collect();
    let rows = rows.lines().skip(1).map(numbers);
    let last: Vec<Vec<f64>> = rows.filter(|row: &Vec<f64>| row[0] >= seconds - 0.5).collect();
    assert_eq!(last.iter().map(|row| row[1]).sum::<f64>(), 500.0, "{last:?}");
    assert!(other.is_alive());
    other.stop().await;
    process.signal("TERM");
    drop(server);
    assert_eq!(process.errors(), "", "nothing panicked");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_to_end_tells_eight_live_streams_and_ends() {
    let (process, mut server) = served(&[]).await;
    let streams = streams(&mut server, 8).await;
    // Another stream is idle.
    let mut idle = server.hand_fed(start_message(start(TrackMode::Latest))).await;
    idle.ask(tick_message(tick(1, 0.2))).await.expect("an answer");
    let told = Instant::now();
    process.signal("TERM");
    for stream in streams {
        let status = stream.ended().await;
        assert_eq!(status.code(), Code::Unavailable, "{status:?}");
        assert!(status.message().contains("shutting down"), "{status:?}");
    }
    let status = idle.answers.message().await.expect_err("told as well");
    assert_eq!(status.code(), Code::Unavailable);
    drop((idle, server));
    let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
    assert_eq!(ended.code(), Some(0));
    figure("SIGTERM with 9 streams: ended after", told.elapsed().as_secs_f64(), 10.0, "s");
}

/// Draining ends: a client that keeps its connection busy is cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_end_is_cut() {
    let (process, mut server) = served(&["--set", "transport.drain_max=200ms"]).await;
    // A client may watch health for as long as it likes.
    let mut health = HealthClient::new(server.channel.clone());
    let watch = health.watch(HealthCheckRequest::default()).await.expect("known");
    let mut watch = watch.into_inner();
    watch.message().await.expect("good").expect("a status");
    server.seen().await;
    let told = Instant::now();
    process.signal("TERM");
    let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
    assert_eq!(ended.code(), Some(0));
    figure(
        "SIGTERM with a watch that goes on: ended after",
        told.elapsed().as_secs_f64(),
        10.0,
        "s",
    );
    let cut = async { while watch.message().await.is_ok_and(|status| status.is_some()) {} };
    timeout(SOON, cut).await.expect("it was cut");
}
