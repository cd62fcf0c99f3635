//! The metrics and the health page, checked against what happened.

use std::{net::SocketAddr, time::Duration};

use crate::support::{
    folder::Folder,
    keys::{ADMIN, all_keys, by, with_keys},
    messages::{SCENE, dense, sparse, start, start_message, tick, tick_message},
    metrics::{get, value},
    server::{TestServer, free_address, tissue},
};
use palpate::{
    config::Config,
    proto::{DeformRequest, ListScenesRequest, RenderOptions, TrackMode, TrackStart},
};
use tokio::time::timeout;
use tonic::Code;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

/// Timeout for events that must not occur.
const SOON: Duration = Duration::from_millis(50);
/// Timeout for events that must occur.
const FOREVER: Duration = Duration::from_secs(20);

async fn observed() -> (TestServer, SocketAddr) {
    let address = free_address();
    let mut config = Config::default();
    config.metrics.listen = Some(address);
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    (server, address)
}

#[tokio::test]
async fn health_is_asked_over_grpc_at_the_port_of_metrics_too() {
    let folder = Folder::new("health");
    let address = free_address();
    let mut config = with_keys(&folder.write("keys.toml", &all_keys("")));
    config.metrics.listen = Some(address);
    let _server = TestServer::configured(config).await;
    let at_metrics = TestServer::connect(address).await;
    let mut health = HealthClient::new(at_metrics.channel.clone());
    // Without a key, as on the port of ticks, and on one connection with what is asked over HTTP/1.1 elsewhere.
    let until = tokio::time::Instant::now() + FOREVER;
    for service in ["", "palpate.v1.SceneService", "palpate.v1.HapticService"] {
        let asked = || HealthCheckRequest { service: service.to_owned() };
        // The server listens a moment before it serves.
        while health.check(asked()).await.expect("it answers").get_ref().status()
            != ServingStatus::Serving
        {
            assert!(tokio::time::Instant::now() < until, "{service:?}");
        }
    }
    let unknown = health.check(HealthCheckRequest { service: "none".to_owned() }).await;
    assert_eq!(unknown.expect_err("there is none").code(), Code::NotFound);
    let large = health.check(HealthCheckRequest { service: "n".repeat(8 << 10) }).await;
    assert_eq!(large.expect_err("too large").code(), Code::ResourceExhausted);
    // Calls that stay open, up to a limit: one more waits, and starts when another ends.
    let watch = || HealthCheckRequest { service: String::new() };
    let mut watches = Vec::new();
    for _ in 0..16 {
        watches.push(health.watch(watch()).await.expect("a stream"));
    }
    assert!(timeout(SOON, health.watch(watch())).await.is_err(), "sixteen on a connection");
    watches.pop();
    timeout(FOREVER, health.watch(watch())).await.expect("one has ended").expect("a stream");
    // No other call is served there, whoever asks.
    let listed = at_metrics.scenes.clone().list_scenes(by(ADMIN, ListScenesRequest {})).await;
    listed.expect_err("another port's");
    let (status, _) = get(address, "/grpc.health.v1.Health/Check").await;
    assert_eq!(status, "HTTP/1.1 505 HTTP Version Not Supported");
    assert_eq!(get(address, "/health").await.1, "SERVING\n");
}

#[tokio::test]
async fn what_happened_is_counted() {
    let (mut server, address) = observed().await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Every))).await;
    for sequence in [1, 2, 3] {
        stream.ask(tick_message(tick(sequence, 0.105))).await.expect("an answer");
    }
    stream.ask(tick_message(tick(3, 0.2))).await.expect("a refusal").refusal.expect("refused");
    let ended =
        server.track(vec![start_message(start(TrackMode::Every)), tick_message(tick(1, 0.2))]);
    ended.await.remove(0).expect("an answer");
    let unknown = DeformRequest { tissue_id: 9, ..dense(2, &tissue().positions) };
    server.deform(vec![sparse(1, &[0], &[0.11, 0.0, 0.0]), unknown]).await;

    let (status, text) = get(address, "/metrics").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    let of = |series: &str| value(&text, series);
    assert_eq!(of("palpate_ticks_answered_total"), 4.0);
    assert_eq!(of("palpate_ticks_refused_total"), 1.0);
    assert_eq!(of("palpate_streams"), 1.0);
    assert_eq!(of("palpate_stream_ticks_total{scene=\"liver-1\",stream=\"1\"}"), 3.0);
    assert_eq!(of("palpate_connections"), 1.0);
    assert_eq!(of("palpate_deformations_total{scene=\"liver-1\",tissue=\"liver\"}"), 1.0);
    assert_eq!(of("palpate_tissue_triangles{scene=\"liver-1\",tissue=\"liver\"}"), 8.0);
    assert!(of("palpate_tissue_index_wear{scene=\"liver-1\",tissue=\"liver\"}") > 0.0);
    assert_eq!(of("palpate_writer_lag_seconds_count"), 1.0);
    assert_eq!(of("palpate_calls_total{method=\"SceneService/AddTissue\",code=\"OK\"}"), 1.0);
    assert!(of("palpate_resident_bytes") > 1e6);
    let all = |text: &str, stage: &str| {
        value(text, &format!("palpate_tick_seconds_bucket{{stage=\"{stage}\",le=\"+Inf\"}}"))
    };
    let sum = |text: &str, stage: &str| {
        value(text, &format!("palpate_tick_seconds_sum{{stage=\"{stage}\"}}"))
    };
    for stage in ["wait", "engine", "convert", "total"] {
        assert_eq!(all(&text, stage), 4.0);
        assert!(sum(&text, stage) > 0.0);
    }
    assert_eq!(all(&text, "render"), 0.0);

    // Metrics of a loop that renders its tool.
    let render = vec![RenderOptions { tool_id: 1, ..Default::default() }];
    let rendering = TrackStart { render, ..start(TrackMode::Every) };
    let mut stream = server.hand_fed(start_message(rendering)).await;
    for sequence in [1, 2] {
        stream.ask(tick_message(tick(sequence, 0.2))).await.expect("an answer");
    }
    let (_, text) = get(address, "/metrics").await;
    assert_eq!((all(&text, "render"), all(&text, "engine")), (2.0, 6.0));
    let drawn = sum(&text, "render");
    assert!(drawn > 0.0 && drawn < sum(&text, "engine"), "{drawn} s");
}

/// Checks as `promtool check metrics` does: each family once, with help and type, followed by its series.
#[tokio::test]
async fn families_are_well_formed() {
    let (_server, address) = observed().await;
    let (_, text) = get(address, "/metrics").await;
    let mut families = Vec::new();
    for line in text.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, help] => {
                assert!(!families.contains(&name), "{name} comes twice");
                assert!(help.ends_with('.'), "{line}");
                families.push(name);
            }
            ["#", "TYPE", name, kind] => {
                assert_eq!(families.last(), Some(&name));
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            }
            _ => {
                let family = families.last().expect("a family");
                assert!(line.starts_with(family), "{line} is not of {family}");
                let value = line.rsplit(' ').next().expect("a value");
                value.parse::<f64>().expect("a number");
            }
        }
    }
    assert!(families.len() > 20, "{families:?}");
}

#[tokio::test]
async fn the_page_is_for_people_and_needs_nothing_else() {
    let (mut server, address) = observed().await;
    server.seen().await;
    let (status, page) = get(address, "/").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    for part in ["serving, up", SCENE, "liver", "p99, us"] {
        assert!(page.contains(part), "{page} lacks {part}");
    }
    for part in ["<script", "http://", "https://", "<img", "<link"] {
        assert!(!page.contains(part), "{part}");
    }
    assert_eq!(
        get(address, "/health").await,
        ("HTTP/1.1 200 OK".to_owned(), "SERVING\n".to_owned())
    );
    assert_eq!(get(address, "/none").await.0, "HTTP/1.1 404 Not Found");
}
