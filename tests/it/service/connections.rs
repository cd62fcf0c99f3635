//! Connections that make no call, and headers that never end.

use std::time::{Duration, Instant};

use palpate::{
    config::{Config, TransportSettings},
    proto::{ListScenesRequest, TrackMode},
};
use tokio::time::{sleep, timeout};

use crate::support::{
    folder::Folder,
    keys::{SURGEON, VIEWER, all_keys, by, with_keys},
    messages::{SCENE, start, start_message, tick, tick_message},
    metrics::{get, value},
    raw_http2::{
        CONTINUATION, END_HEADERS, HEADERS, RawHttp2, call, frame, track_call, track_headers,
    },
    server::{TestServer, free_address},
};

const SOON: Duration = Duration::from_secs(20);

/// Opens twice the server's limit of connections, from the one address that all clients have in this test.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_without_a_call_lock_nobody_out() {
    let metrics = free_address();
    let mut config = Config::default();
    config.metrics.listen = Some(metrics);
    let limit = config.transport.connections_max;
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
    let mut silent = Vec::new();
    for at in 0..2 * limit {
        silent.push(RawHttp2::connect(server.address).await);
        if at % 64 == 63 {
            let mut honest = TestServer::connect(server.address).await;
            timeout(SOON, honest.seen()).await.expect("let in beside them");
            let answer = stream.ask(tick_message(tick(at as u64, 0.2))).await;
            answer.expect("whoever has called stays");
        }
    }
    let (_, text) = get(metrics, "/metrics").await;
    let made_room = value(&text, "palpate_connections_closed_total{reason=\"made_room\"}");
    let open = value(&text, "palpate_connections");
    println!("{} connections without a call: {made_room} made room, {open} are open", silent.len());
    assert!(made_room > 0.0 && open <= limit as f64);
}

#[tokio::test]
async fn a_connection_without_a_call_that_is_let_in_is_closed() {
    let folder = Folder::new("first-call");
    let keys = folder.write("keys.toml", &all_keys(""));
    let first_call_max = Duration::from_millis(200);
    let transport = TransportSettings { first_call_max, ..TransportSettings::default() };
    let server = TestServer::lazily(Config { transport, ..with_keys(&keys) }).await;
    let list = |secret| call(1, "SceneService/ListScenes", secret, &[]);
    let cases = [
        ("silent", Vec::new()),
        ("without a key", list(None)),
        ("with a wrong key", list(Some("surgeon-0123456780"))),
    ];
    for (case, sent) in cases {
        let begun = Instant::now();
        let mut raw = RawHttp2::connect(server.address).await;
        assert!(raw.send(&sent).await);
        timeout(SOON, raw.until_closed()).await.expect(case);
        assert!(begun.elapsed() >= first_call_max, "{case}");
    }
    // A single call is enough to stay.
    let mut raw = RawHttp2::connect(server.address).await;
    assert!(raw.send(&list(Some(VIEWER))).await);
    assert!(timeout(5 * first_call_max, raw.until_closed()).await.is_err(), "it was let in");
    let mut scenes = server.scenes.clone();
    scenes.list_scenes(by(SURGEON, ListScenesRequest {})).await.expect("served");
}

/// A client could continue such calls for ever at no cost.
#[tokio::test]
async fn a_connection_whose_calls_are_all_refused_is_closed_soon() {
    let folder = Folder::new("refused");
    let keys = folder.write("keys.toml", &all_keys(""));
    let address = free_address();
    let mut config = with_keys(&keys);
    config.metrics.listen = Some(address);
    let server = TestServer::lazily(config).await;
    let calls = |n: u32| (0..n).flat_map(|n| track_call(2 * n + 1)).collect::<Vec<u8>>();
    let begun = Instant::now();
    let mut raw = RawHttp2::connect(server.address).await;
    raw.send(&calls(64)).await;
    timeout(SOON, raw.until_closed()).await.expect("closed");
    assert!(begun.elapsed() < TransportSettings::default().first_call_max / 2);
    let (_, text) = get(address, "/metrics").await;
    let name = "palpate_connections_closed_total{reason=\"refused\"}";
    assert_eq!(value(&text, name), 1.0, "{text}");
    // A client that errs a few times and then finds its key stays.
    let mut raw = RawHttp2::connect(server.address).await;
    assert!(raw.send(&calls(8)).await);
    assert!(raw.send(&call(17, "SceneService/ListScenes", Some(VIEWER), &[])).await);
    let later = begun.elapsed() + Duration::from_secs(2);
    assert!(timeout(later, raw.until_closed()).await.is_err(), "it was let in");
}

#[tokio::test]
async fn headers_that_never_end_are_closed() {
    let preface_max = Duration::from_millis(200);
    let transport = TransportSettings { preface_max, ..TransportSettings::default() };
    let shortest_other = transport.first_call_max;
    let mut server = TestServer::configured(Config { transport, ..Config::default() }).await;
    let begun = frame(HEADERS, 0, 1, &track_headers());
    let half = frame(HEADERS, END_HEADERS, 1, &track_headers())[..20].to_vec();
    for (case, sent, trickles) in [
        ("no CONTINUATION", &begun, false),
        ("half a frame", &half, false),
        ("CONTINUATION without end", &begun, true),
    ] {
        let at = Instant::now();
        let mut raw = RawHttp2::connect(server.address).await;
        assert!(raw.send(sent).await);
        let closed = async {
            if trickles {
                while raw.send(&frame(CONTINUATION, 0, 1, b"\x00\x01x\x01y")).await {
                    // Slowly: more than a few such frames end the connection by their number.
                    sleep(preface_max / 2).await;
                }
            } else {
                // Any other frame would end the connection by itself.
                raw.silent_until_closed().await;
            }
        };
        timeout(shortest_other, closed).await.expect(case);
        println!("{case}: closed after {:?}", at.elapsed());
        assert!(at.elapsed() >= preface_max, "{case}");
    }
    server.create(SCENE).await.expect("others are served");
}
