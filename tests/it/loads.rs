//! Load on a server: paced streams while tissue moves and is cut, many sessions, many idle ones.

use std::{net::SocketAddr, time::Duration};

use palpate::{
    config::Config,
    proto::{EditTopologyRequest, Flag, TrackMode},
};
use tokio::time::{interval, timeout};

use crate::{
    seed::{against, figure, scaled},
    support::{
        messages::{SCENE, sparse, start, start_message, tick, tick_message},
        metrics::{get, value},
        paced::Paced,
        server::{TestServer, free_address},
    },
};

const SOON: Duration = Duration::from_secs(60);

async fn observed() -> (TestServer, SocketAddr) {
    let metrics = free_address();
    let mut config = Config::default();
    config.metrics.listen = Some(metrics);
    config.sessions.grace = Duration::from_millis(100);
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    (server, metrics)
}

async fn read(metrics: SocketAddr, series: &str) -> f64 {
    value(&get(metrics, "/metrics").await.1, series)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paced_streams_while_the_tissue_is_deformed() {
    for n in [1, 8, 32] {
        let (mut server, metrics) = observed().await;
        let mut streams = Vec::new();
        for _ in 0..n {
            streams.push(Paced::start(&mut server).await);
        }
        let mut pace = interval(Duration::from_micros(16_667));
        for sequence in 0..scaled(20) as u64 {
            pace.tick().await;
            let lift = 0.002 * (sequence as f32 * 0.3).sin();
            let done = server.deform(vec![sparse(sequence, &[0], &[0.1 + lift, 0.0, 0.0])]).await;
            done.into_iter().for_each(|answer| drop(answer.expect("good")));
        }
        let times: Vec<_> = streams.iter().map(Paced::times).collect();
        let answered: usize = times.iter().map(|t| t.answered).sum();
        let p99_us = times.iter().map(|t| t.p99_us).fold(0.0, f64::max);
        println!("{n} streams, 60 Hz deformation: {answered} answers");
        // The machine is measured if there are more streams than cores, with the clients on them.
        against(&format!("{n} streams: slowest p99"), p99_us, 1_000.0, "us");
        assert_eq!(read(metrics, "palpate_streams").await, n as f64);
        assert_eq!(read(metrics, "palpate_ticks_refused_total").await, 0.0);
        for stream in streams {
            assert!(stream.is_alive());
            stream.stop().await;
        }
    }
}

/// Triangle 0 is removed and added again; an answer has the one or the other, never both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_mixes_revisions_while_the_tissue_is_cut() {
    let (mut server, _) = observed().await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Every))).await;
    let (mut triangle, mut last, mut sequence) = (0, 0, 0);
    for cut in 0..scaled(20) as u64 {
        let edit = EditTopologyRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: 1,
            base_topology_revision: Some(cut),
            removed_triangles: vec![triangle],
            added_triangles: vec![0, 2, 4],
            ..Default::default()
        };
        let mut scenes = server.scenes.clone();
        let cutting = tokio::spawn(async move { scenes.edit_topology(edit).await });
        for _ in 0..10 {
            sequence += 1;
            // The tool is in front of the middle of the triangle between +x, +y and +z.
            let answer = stream.ask(tick_message(tick(sequence, 0.105))).await.expect("an answer");
            let seen = answer.tissues[0].topology_revision;
            assert!(seen >= last && seen <= cut + 1, "revision {seen} after {last}");
            assert_eq!(answer.flags & 1 << Flag::Degraded as u32, 0);
            last = seen;
            if let Some(contacts) = &answer.links[0].contacts {
                // The n-th cut adds triangle 7 + n; an answer of revision n has that and no older one.
                let cut_ids: Vec<_> =
                    contacts.triangle_ids.iter().filter(|id| **id == 0 || **id > 7).collect();
                let expected = if seen == 0 { 0 } else { 7 + seen as u32 };
                assert!(cut_ids.iter().all(|id| **id == expected), "{cut_ids:?} in {seen}");
            }
        }
        let done = cutting.await.expect("no panic").expect("a good cut").into_inner();
        triangle = done.first_triangle;
    }
    println!("{} cuts under a running loop: no answer mixed revisions", scaled(20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_opened_and_closed_leave_nothing() {
    let (mut server, metrics) = observed().await;
    let n = scaled(500);
    let mut last = Vec::new();
    // The second half is measured: the first lets buffers grow.
    for half in 0..2 {
        for at in 0..n / 2 {
            let mut stream = server.hand_fed(start_message(start(TrackMode::Latest))).await;
            stream.ask(tick_message(tick(1, 0.105))).await.expect("an answer");
            // Half of the sessions end, half of them break off.
            if at % 2 == 0 {
                drop(stream.requests);
                assert_eq!(stream.answers.message().await.expect("a good end"), None);
            }
        }
        let over = async { while read(metrics, "palpate_streams").await > 0.0 {} };
        timeout(SOON, over).await.unwrap_or_else(|_| panic!("sessions are left, half {half}"));
        last.push(read(metrics, "palpate_resident_bytes").await / 1e6);
        last.push(read(metrics, "palpate_open_descriptors").await);
    }
    println!(
        "{n} sessions: {:.1} then {:.1} MB, {} then {} descriptors",
        last[0], last[2], last[1], last[3]
    );
    // Tests of other threads share this process: only a full run is alone.
    figure("memory kept by sessions", last[2] - last[0], 8.0, "MB");
    figure("descriptors kept by sessions", last[3] - last[1], 4.0, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_sessions_cost_a_live_one_nothing() {
    let (mut server, metrics) = observed().await;
    let n = scaled(250).min(1_000);
    let live = Paced::start(&mut server).await;
    live.fresh().await;
    let mut idle = Vec::new();
    let mut connection = TestServer::connect(server.address).await;
    for at in 0..n {
        // A connection has 64 streams.
        if at % 60 == 59 {
            connection = TestServer::connect(server.address).await;
        }
        let mut stream = connection.hand_fed(start_message(start(TrackMode::Latest))).await;
        stream.ask(tick_message(tick(1, 0.105))).await.expect("an answer");
        idle.push(stream);
    }
    let stale = async { while read(metrics, "palpate_sessions_stale").await < n as f64 {} };
    timeout(SOON, stale).await.expect("they are stale");
    live.times();
    live.fresh().await;
    tokio::time::sleep(Duration::from_millis(scaled(100) as u64)).await;
    let times = live.times();
    println!("{n} idle sessions, a live one beside them: {times}");
    against("a live session beside idle ones: p99", times.p99_us, 1_000.0, "us");
    live.stop().await;
}
