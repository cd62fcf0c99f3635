//! Server and clients that are stopped for seconds, and the end of a server at work.

use std::{
    thread,
    time::{Duration, Instant},
};

use palpate::service::proto::TrackMode;
use tonic::Code;

use crate::{
    seed::{figure, scaled},
    support::{
        messages::{SCENE, start, start_message, tick, tick_message},
        paced::Paced,
        process::Process,
        server::TestServer,
    },
};

/// Until an answer is fresh after the server goes on, milliseconds.
const FRESH_MS_MAX: f64 = 50.0;

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

/// All streams of a test share one connection: that is what HTTP/2's frame limits are hardest on.
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

/// A client whose threads stand still, as with SIGSTOP; another on its own connection does not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_was_stopped_goes_on_and_disturbs_nobody() {
    let (mut process, mut server) = served(&[]).await;
    let address = server.address;
    let other = Paced::start(&mut server).await;
    let stopped = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let mut server = TestServer::connect(address).await;
            let client = Paced::start(&mut server).await;
            client.fresh().await;
            // Nothing of this client runs meanwhile.
            thread::sleep(Duration::from_millis(scaled(500).min(8_000) as u64));
            let fresh = client.fresh().await;
            client.stop().await;
            fresh
        })
    });
    other.fresh().await;
    other.times();
    let fresh = tokio::task::spawn_blocking(|| stopped.join()).await.expect("no panic");
    let fresh = fresh.expect("it goes on");
    figure("client stopped: fresh answer after", fresh.as_secs_f64() * 1e3, FRESH_MS_MAX, "ms");
    println!("another client meanwhile: {}", other.times());
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
    // And one that says nothing.
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

/// Drained does not mean for ever: a client that keeps its connection busy is cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_end_is_cut() {
    let (process, mut server) = served(&["--set", "transport.drain_max=200ms"]).await;
    let (requests, sent) = tokio::sync::mpsc::channel(1);
    let upload = crate::support::messages::tissue_upload("late", &crate::support::server::tissue());
    requests.send(upload[0].clone()).await.expect("room");
    let mut scenes = server.scenes.clone();
    let pending = tokio::spawn(async move {
        scenes.add_tissue(tokio_stream::wrappers::ReceiverStream::new(sent)).await
    });
    // The upload has begun when a later call was answered on its connection.
    server.seen().await;
    let told = Instant::now();
    process.signal("TERM");
    let ended = tokio::task::spawn_blocking(move || process.end()).await.expect("no panic");
    assert_eq!(ended.code(), Some(0));
    figure(
        "SIGTERM with an upload that pauses: ended after",
        told.elapsed().as_secs_f64(),
        10.0,
        "s",
    );
    pending.await.expect("no panic").expect_err("it was cut");
    drop(requests);
}
