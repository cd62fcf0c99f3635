//! Floods of every kind, with a 1 kHz client on another connection.

use std::{
    future::Future,
    net::SocketAddr,
    time::{Duration, Instant},
};

use palpate::config::{Config, TransportSettings};
use tokio::{io::AsyncReadExt, net::TcpStream, time::timeout};

use crate::{
    seed::{against, scaled},
    support::{
        messages::SCENE,
        paced::Paced,
        raw_http2::{
            CONTINUATION, DATA, HEADERS, PING, RST_STREAM, RawHttp2, frame, track_call,
            track_headers,
        },
        server::TestServer,
    },
};

/// Maximum ratio of the client's p99 under a flood to its p99 without.
const SLOWER_TARGET: f64 = 1.25;
/// Time within which the client must be answered at all.
const ALIVE: Duration = Duration::from_secs(20);

/// Runs a flood against a server whose other client goes on all the while.
async fn withstand<F: Future<Output = ()>>(name: &str, flood: impl Fn(SocketAddr) -> F) {
    let transport =
        TransportSettings { preface_max: Duration::from_secs(1), ..TransportSettings::default() };
    let mut server = TestServer::configured(Config { transport, ..Config::default() }).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let victim = Paced::start(&mut server).await;
    timeout(ALIVE, victim.fresh()).await.expect("it begins");
    tokio::time::sleep(Duration::from_millis(scaled(100) as u64)).await;
    let before = victim.times();
    let (begun, mut floods) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_millis(scaled(200) as u64) {
        flood(server.address).await;
        floods += 1;
    }
    timeout(ALIVE, victim.fresh()).await.expect("it goes on");
    let during = victim.times();
    println!("{name}, {floods} times: before {before}; during {during}");
    let slower = during.p99_us / before.p99_us;
    // Attacker, server and client share the cores of one machine: that alone costs the client more.
    against(&format!("{name}: p99 against before"), slower, SLOWER_TARGET, "x");
    victim.stop().await;
    // New clients are accepted too.
    let mut other = TestServer::connect(server.address).await;
    timeout(ALIVE, other.seen()).await.expect("a new client is served");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_streams_on_one_connection() {
    withstand("5,000 streams", |address| async move {
        let mut raw = RawHttp2::connect(address).await;
        let calls: Vec<u8> = (0..5_000).flat_map(|n| track_call(2 * n + 1)).collect();
        // The server may close the connection before it has all calls.
        raw.send(&calls).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_are_reset_at_once() {
    withstand("rapid reset", |address| async move {
        let mut raw = RawHttp2::connect(address).await;
        let pairs = (0..5_000_u32).flat_map(|n| {
            let mut pair = track_call(2 * n + 1);
            pair.extend(frame(RST_STREAM, 0, 2 * n + 1, &8_u32.to_be_bytes()));
            pair
        });
        raw.send(&pairs.collect::<Vec<_>>()).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_without_end() {
    withstand("CONTINUATION", |address| async move {
        let mut raw = RawHttp2::connect(address).await;
        let mut sent = frame(HEADERS, 0, 1, &track_headers());
        for _ in 0..2_000 {
            sent.extend(frame(CONTINUATION, 0, 1, b"\x00\x01x\x01y"));
        }
        raw.send(&sent).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiny_frames_and_pings() {
    withstand("tiny DATA and PING", |address| async move {
        let mut raw = RawHttp2::connect(address).await;
        let mut sent = track_call(1);
        for _ in 0..10_000 {
            sent.extend(frame(DATA, 0, 1, &[]));
            sent.extend(frame(DATA, 0, 1, &[0]));
            sent.extend(frame(PING, 0, 0, &[0; 8]));
        }
        raw.send(&sent).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_stay_silent() {
    withstand("800 half-open connections", |address| async move {
        let mut silent = Vec::new();
        for _ in 0..800 {
            silent.push(TcpStream::connect(address).await.expect("it listens"));
        }
        for stream in &mut silent {
            let closed = timeout(ALIVE, stream.read(&mut [0])).await.expect("it closes");
            assert!(!matches!(closed, Ok(n) if n > 0));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_idle() {
    withstand("200 idle connections", |address| async move {
        let mut idle = Vec::new();
        for _ in 0..200 {
            idle.push(RawHttp2::connect(address).await);
        }
        // Idle connections are accepted up to the limit; more are not, and that is the only effect.
        let surplus = TcpStream::connect(address).await.expect("it listens");
        drop((idle, surplus));
    })
    .await;
}
