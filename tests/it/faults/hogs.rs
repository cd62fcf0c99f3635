//! Streams whose ticks need seconds of work: no other client waits for them.

use std::{
    env, fs,
    os::unix::net::UnixDatagram,
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use palpate::{
    oracle::shapes,
    proto::{
        AddToolHeader, AddToolRequest, Flag, LinkHeader, Pose, Quaternion, ReportOptions, Tick,
        ToolPose, TrackMode, TrackStart,
    },
};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::{
    seed::scaled,
    support::{
        meshes::Mesh,
        messages::{
            SCENE, start_message, tick_message, tissue_upload, tool_head, tool_piece, vec3,
        },
        metrics::get,
        process::Process,
        server::{TestServer, free_address},
    },
};

const N_TOOLS: u32 = 8;
const N_LINKS: u32 = 8;
/// Maximum wait; without a bound on a tick these waits were 10 to 46 s.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// Maximum wait for a thread that has nothing else to do, on a machine whose cores are all busy.
const APART_WAIT_MAX: Duration = Duration::from_secs(1);
/// Watchdog timeout; the server notifies the watchdog twice in it.
const SILENCE_MAX: Duration = Duration::from_secs(2);

fn mesh(data: palpate::geometry::MeshData) -> Mesh {
    Mesh {
        positions: data.positions.iter().flat_map(|p| p.to_array()).collect(),
        triangles: data.triangles.into_iter().flatten().collect(),
    }
}

/// Returns a tool of eight links that cross each other like the spokes of a wheel.
fn hog(name: &str, link: &Mesh) -> Vec<AddToolRequest> {
    let header = |i: u32| {
        let half = 0.5 * std::f64::consts::PI * f64::from(i) / f64::from(N_LINKS);
        let orientation = Quaternion { x: half.sin(), y: 0.0, z: 0.0, w: half.cos() };
        let rest_pose = Pose { position_m: None, orientation: Some(orientation) };
        LinkHeader {
            name: format!("spoke-{i}"),
            mesh: Some(link.header()),
            rest_pose: Some(rest_pose),
            ..Default::default()
        }
    };
    let links = (0..N_LINKS).map(header).collect();
    let header =
        AddToolHeader { scene_id: SCENE.to_owned(), name: name.to_owned(), links, probes: vec![] };
    let mut upload = vec![tool_head(header)];
    upload.extend((0..N_LINKS).map(|i| {
        let mut chunk = link.chunk();
        chunk.link = i;
        tool_piece(chunk)
    }));
    upload
}

/// Runs a stream of all hogs in the tissue, which never waits for an answer.
async fn attack(address: std::net::SocketAddr, stop: Arc<AtomicBool>, cut_short: Arc<AtomicU64>) {
    let mut server = TestServer::connect(address).await;
    let report = ReportOptions {
        contact_margin_m: 0.01,
        max_contacts: 1_024,
        triangle_pairs: true,
        link_pairs: true,
        ..Default::default()
    };
    let start = TrackStart {
        scene_id: SCENE.to_owned(),
        tool_ids: (2..2 + N_TOOLS).collect(),
        mode: TrackMode::Every as i32,
        report: Some(report),
        ..Default::default()
    };
    let mut stream = server.hand_fed(start_message(start)).await;
    let requests = stream.requests.clone();
    let stopped = Arc::clone(&stop);
    let sender = tokio::spawn(async move {
        for sequence in 1.. {
            let x = 0.02 * (sequence as f64 * 0.1).sin();
            let at = |i: u32| Pose {
                position_m: Some(vec3(x, 0.002 * f64::from(i), 0.07)),
                orientation: None,
            };
            let pose = |i| ToolPose { tool_id: 2 + i, pose: Some(at(i)), ..Default::default() };
            let tools = (0..N_TOOLS).map(pose).collect();
            let tick = Tick { sequence, tools, ..Default::default() };
            if stopped.load(Relaxed) || requests.send(tick_message(tick)).await.is_err() {
                return;
            }
        }
    });
    while !stop.load(Relaxed) {
        let answer = stream.answers.message().await.expect("an answer").expect("it goes on");
        assert_eq!(answer.refusal, None);
        cut_short.fetch_add(u64::from(answer.flags >> Flag::Degraded as u32 & 1), Relaxed);
    }
    sender.abort();
}

/// Waiting times, one after the other.
#[derive(Default)]
struct Waits(Vec<Duration>);

impl Waits {
    fn note(&mut self, asked: Instant) {
        self.0.push(asked.elapsed());
    }

    fn check(mut self, who: &str, wait_max: Duration) {
        self.0.sort();
        let (n, most) = (self.0.len(), *self.0.last().expect("asked"));
        let p99 = self.0[(n - 1) * 99 / 100];
        println!("{who}: {n} answers, p50 {:?}, p99 {p99:?}, most {most:?}", self.0[n / 2]);
        assert!(most <= wait_max, "{who} waited {most:?}");
    }
}

async fn set_up(server: &mut TestServer) {
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let organ = mesh(shapes::organ(20_000, 5));
    server.add_tissue(tissue_upload("organ", &organ)).await.expect("tissue 2");
    // All triangles of each tip share a vertex, whose ring no tick may walk for each contact.
    let spindle = mesh(shapes::spindle(20_000, 0.05, 0.07));
    server.add_tissue(tissue_upload("spindle", &spindle)).await.expect("tissue 3");
    // All tools share a mesh: its field is built once and read again.
    let spoke = mesh(shapes::capsule(0.006, 0.08, 20));
    for i in 0..N_TOOLS {
        server.add_tool(hog(&format!("hog-{i}"), &spoke)).await.expect("a tool");
    }
}

/// Counts the notifications to systemd that the server is well, until `stop`.
fn count_signs(socket: &UnixDatagram, stop: &AtomicBool) -> usize {
    let mut n_told = 0;
    while !stop.load(Relaxed) {
        let mut text = [0; 256];
        let n = socket.recv(&mut text).expect("systemd is told in time");
        n_told += usize::from(text[..n].starts_with(b"WATCHDOG"));
    }
    n_told
}

/// Two streams with 8 tools of 8 links each that cross each other and the tissue, with all pairs requested and a margin
/// of 1 cm, on two threads. At the same time: a client on its own connection, health both ways, and the watchdog.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_streams_of_64_crossing_links_keep_nobody_waiting() {
    let path = env::temp_dir().join(format!("palpate-hogs-{}", process::id()));
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket.set_read_timeout(Some(SILENCE_MAX)).expect("a socket");
    let silence_us = SILENCE_MAX.as_micros().to_string();
    let notify = path.to_str().expect("UTF-8");
    let variables = [("NOTIFY_SOCKET", notify), ("WATCHDOG_USEC", &silence_us)];
    let http = free_address();
    let more = ["--metrics", &http.to_string(), "--set", "runtime.threads=2"];
    let mut served = Process::serve_with("127.0.0.1:0", &more, &variables);
    let address = served.address();
    let mut server = TestServer::connect(address).await;
    set_up(&mut server).await;
    let (stop, cut_short) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let attackers: Vec<_> = (0..2)
        .map(|_| tokio::spawn(attack(address, Arc::clone(&stop), Arc::clone(&cut_short))))
        .collect();
    let told = Arc::clone(&stop);
    let watchdog = std::thread::spawn(move || count_signs(&socket, &told));
    while cut_short.load(Relaxed) < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let before = cut_short.load(Relaxed);
    let mut victim = TestServer::connect(address).await;
    let mut stream =
        victim.hand_fed(start_message(crate::support::messages::start(TrackMode::Latest))).await;
    let mut health = HealthClient::new(TestServer::connect(address).await.channel);
    // Health on a thread of its own, at the port of metrics.
    let mut apart = HealthClient::new(TestServer::connect(http).await.channel);
    let [mut ticks, mut checks, mut checks_apart, mut pages] = [(); 4].map(|()| Waits::default());
    let begun = Instant::now();
    let mut sequence = 0;
    while begun.elapsed() < Duration::from_secs(scaled(2).min(60) as u64) {
        for _ in 0..10 {
            sequence += 1;
            let asked = Instant::now();
            let x = 0.105 + 0.01 * (sequence as f64 * 0.01).sin();
            let tick = crate::support::messages::tick(sequence, x);
            stream.ask(tick_message(tick)).await.expect("an answer");
            ticks.note(asked);
        }
        let asked = Instant::now();
        health.check(HealthCheckRequest { service: String::new() }).await.expect("serving");
        checks.note(asked);
        let asked = Instant::now();
        apart.check(HealthCheckRequest { service: String::new() }).await.expect("serving");
        checks_apart.note(asked);
        let asked = Instant::now();
        assert_eq!(get(http, "/health").await.1, "SERVING\n");
        pages.note(asked);
    }
    assert!(cut_short.load(Relaxed) > before, "the attack goes on");
    ticks.check("ticks of the victim", WAIT_MAX);
    checks.check("gRPC health beside the ticks", WAIT_MAX);
    checks_apart.check("gRPC health on a thread of its own", APART_WAIT_MAX);
    pages.check("HTTP health", APART_WAIT_MAX);
    stop.store(true, Relaxed);
    let n_told = tokio::task::spawn_blocking(|| watchdog.join()).await.expect("no panic");
    let n_told = n_told.expect("systemd was told in time");
    println!("systemd: told {n_told} times, never later than after {SILENCE_MAX:?}");
    assert!(n_told > 0);
    for attacker in attackers {
        attacker.await.expect("no panic");
    }
    let gone = health.check(HealthCheckRequest { service: "none".to_owned() }).await;
    assert_eq!(gone.expect_err("unknown").code(), Code::NotFound);
    fs::remove_file(path).expect("it was there");
}
