//! Attacks on a server by a client with a key of its own.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use palpate::{
    client::{Client, LinkUpload, address::ServerAddress, mesh_source::MeshSource},
    oracle::shapes,
    proto::{
        DetectSelfCollisionsRequest, ExportTissueRequest, Pose, Quaternion, QueryDistancesRequest,
        RenderOptions, ReportOptions, Tick, TissueInterval, ToolPose, TrackMode, TrackRequest,
        TrackStart, Vec3, WatchRequest, haptic_service_client::HapticServiceClient,
        query_distances_request::Target, track_request,
    },
};
use prost::Message;
use tokio::{task::JoinSet, time::sleep};
use tonic::{Request, transport::Channel};

use crate::raw_http2::{
    CONTINUATION, DATA, HEADERS, PING, RST_STREAM, RawHttp2, call, frame, track_call, track_headers,
};

const SCENE: &str = "attack";
pub const SECRET: &str = "attacker-0123456789abcdef";
/// Tools of a hog's stream, and links of each.
const N_SPOKES: u32 = 8;
const SPOKE_LINKS: u32 = 8;
/// Simultaneous connections that read nothing.
const AT_ONCE: usize = 4;

/// An attack that `deploy/RESILIENCE.md` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Two streams of 64 links that cross each other and a tissue, as fast as they can.
    Hogs,
    /// A hundred connections at a time that do nothing.
    Connections,
    /// Blocks of headers that do not end.
    Headers,
    /// Streams that are reset as soon as they are open.
    Resets,
    /// Empty frames, bytes and pings.
    TinyFrames,
    /// Exports that nobody reads.
    Unread,
    /// Fields of new tools.
    Builds,
    /// Tissues of half a million triangles.
    Uploads,
    /// Self-collision jobs.
    SelfCollisions,
    /// Distances of 65,536 points.
    Queries,
    /// Sessions that are begun, answered once and left.
    Sessions,
    /// Live views that are left after their first frame.
    Viewers,
    /// Five thousand streams at a time of one connection.
    Streams,
    /// Two rendered balls that press on a vertex of 200,000 triangles, as fast as they can.
    Fan,
}

impl Attack {
    pub const ALL: [Attack; 14] = [
        Attack::Hogs,
        Attack::Connections,
        Attack::Headers,
        Attack::Resets,
        Attack::TinyFrames,
        Attack::Unread,
        Attack::Builds,
        Attack::Uploads,
        Attack::SelfCollisions,
        Attack::Queries,
        Attack::Sessions,
        Attack::Viewers,
        Attack::Streams,
        Attack::Fan,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Attack::Hogs => "hogs",
            Attack::Connections => "connections",
            Attack::Headers => "headers",
            Attack::Resets => "resets",
            Attack::TinyFrames => "tiny-frames",
            Attack::Unread => "unread-answers",
            Attack::Builds => "field-builds",
            Attack::Uploads => "uploads",
            Attack::SelfCollisions => "self-collisions",
            Attack::Queries => "queries",
            Attack::Sessions => "sessions",
            Attack::Viewers => "viewers",
            Attack::Streams => "streams",
            Attack::Fan => "fan",
        }
    }

    fn needs_tissue(self) -> bool {
        use Attack::*;
        matches!(self, Hogs | Unread | SelfCollisions | Queries | Sessions | Viewers)
    }
}

/// A server with the resources that an attack needs.
pub struct Ground {
    server: ServerAddress,
    address: SocketAddr,
    tool_ids: Vec<u32>,
}

impl Ground {
    pub fn prepare(attack: Attack, server: &ServerAddress) -> Ground {
        let address = server.to_string().parse().expect("an IP address");
        let mut ground = Ground { server: server.clone(), address, tool_ids: Vec::new() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(ground.furnish(attack));
        ground
    }

    async fn furnish(&mut self, attack: Attack) {
        let mut client = self.client().await;
        client.create_scene(SCENE).await.expect("room");
        if attack.needs_tissue() {
            let organ = MeshSource::Raw(shapes::organ(20_000, 5));
            client.add_tissue(SCENE, "organ", &organ).await.expect("room");
        }
        if attack == Attack::Fan {
            let fan = MeshSource::Raw(shapes::spindle(200_000, 0.1, 0.03));
            client.add_tissue(SCENE, "fan", &fan).await.expect("room");
            let link = LinkUpload::new("ball", MeshSource::Raw(shapes::sphere(0.01, 8)));
            let added = client.add_tool(SCENE, "ball", &[link], &[]).await;
            self.tool_ids.push(added.expect("room").tool_id);
        }
        if attack == Attack::Sessions {
            let mesh = MeshSource::Raw(shapes::capsule(0.006, 0.08, 20));
            let link = LinkUpload::new("probe", mesh);
            let added = client.add_tool(SCENE, "probe", &[link], &[]).await;
            self.tool_ids.push(added.expect("room").tool_id);
        }
        if attack == Attack::Hogs {
            let spoke = MeshSource::Raw(shapes::capsule(0.006, 0.08, 20));
            let turned = |i: u32| {
                let half = 0.5 * std::f64::consts::PI * f64::from(i) / f64::from(SPOKE_LINKS);
                let orientation = Quaternion { x: half.sin(), y: 0.0, z: 0.0, w: half.cos() };
                Pose { position_m: None, orientation: Some(orientation) }
            };
            let link = |i| LinkUpload {
                rest_pose: Some(turned(i)),
                ..LinkUpload::new(format!("spoke-{i}"), spoke.clone())
            };
            let links: Vec<LinkUpload> = (0..SPOKE_LINKS).map(link).collect();
            for i in 0..N_SPOKES {
                let added = client.add_tool(SCENE, &format!("hog-{i}"), &links, &[]).await;
                self.tool_ids.push(added.expect("room").tool_id);
            }
        }
    }

    async fn client(&self) -> Client {
        Client::connect(&self.server).await.expect("it listens")
    }

    /// Attacks until it is dropped, or the server ends it; `done` counts the strikes.
    pub async fn wage(&self, attack: Attack, done: &AtomicU64) {
        match attack {
            Attack::Hogs => {
                let report = ReportOptions {
                    contact_margin_m: 0.01,
                    max_contacts: 1_024,
                    triangle_pairs: true,
                    link_pairs: true,
                    ..Default::default()
                };
                let start = || TrackStart { report: Some(report), ..Default::default() };
                tokio::join!(self.hog(start(), 0.07, done), self.hog(start(), 0.07, done));
            }
            Attack::Fan => {
                let render = RenderOptions { tool_id: self.tool_ids[0], ..Default::default() };
                let start = || TrackStart { render: vec![render.clone()], ..Default::default() };
                tokio::join!(self.hog(start(), 0.037, done), self.hog(start(), 0.037, done));
            }
            Attack::Connections => loop {
                let mut idle = Vec::new();
                for _ in 0..100 {
                    idle.push(RawHttp2::connect(self.address).await);
                    done.fetch_add(1, Relaxed);
                }
                sleep(Duration::from_millis(100)).await;
            },
            Attack::Headers => {
                let block = |_| frame(CONTINUATION, 0, 1, b"\x00\x01x\x01y");
                let first = frame(HEADERS, 0, 1, &track_headers());
                let sent = [first, (0..2_000).flat_map(block).collect()].concat();
                self.flood(&sent, done).await
            }
            Attack::Resets => {
                let pair = |n: u32| {
                    let reset = frame(RST_STREAM, 0, 2 * n + 1, &8_u32.to_be_bytes());
                    [track_call(2 * n + 1), reset].concat()
                };
                self.flood(&(0..5_000).flat_map(pair).collect::<Vec<u8>>(), done).await
            }
            Attack::TinyFrames => {
                let few =
                    [frame(DATA, 0, 1, &[]), frame(DATA, 0, 1, &[0]), frame(PING, 0, 0, &[0; 8])];
                self.flood(&[track_call(1), few.concat().repeat(10_000)].concat(), done).await
            }
            Attack::Streams => {
                let calls: Vec<u8> = (0..5_000).flat_map(|n| track_call(2 * n + 1)).collect();
                self.flood(&calls, done).await
            }
            Attack::Sessions => {
                let come_and_go = || self.come_and_go(done);
                tokio::join!(come_and_go(), come_and_go(), come_and_go(), come_and_go());
            }
            Attack::Viewers => {
                let look = || self.look_and_leave(done);
                tokio::join!(look(), look(), look(), look());
            }
            Attack::Unread => self.leave_unread(done).await,
            Attack::Builds | Attack::Uploads | Attack::SelfCollisions | Attack::Queries => {
                // Each call loop has a connection of its own.
                let call = || self.call_again_and_again(attack, done);
                tokio::join!(call(), call(), call(), call());
            }
        }
    }

    /// Sends bytes to one connection after another.
    async fn flood(&self, bytes: &[u8], done: &AtomicU64) {
        loop {
            // The server may close before it has all of them.
            RawHttp2::connect(self.address).await.send(bytes).await;
            done.fetch_add(1, Relaxed);
        }
    }

    async fn leave_unread(&self, done: &AtomicU64) {
        let export = ExportTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
        let message = export.encode_to_vec();
        loop {
            let mut left = JoinSet::new();
            for _ in 0..AT_ONCE {
                let mut raw = RawHttp2::that_reads_nothing(self.address).await;
                for n in 0..60 {
                    let sent = call(2 * n + 1, "SceneService/ExportTissue", Some(SECRET), &message);
                    raw.send(&sent).await;
                    done.fetch_add(1, Relaxed);
                }
                left.spawn(async move { raw.until_closed().await });
            }
            sleep(Duration::from_secs(2)).await;
        }
    }

    async fn come_and_go(&self, done: &AtomicU64) {
        let mut client = self.client().await;
        loop {
            let (scene_id, tool_ids) = (SCENE.to_owned(), self.tool_ids.clone());
            let start = TrackStart { scene_id, tool_ids, ..Default::default() };
            // An error means that a limit is reached.
            if let Ok(mut stream) = client.track(start, 1).await {
                let position_m = Some(Vec3 { x: 0.0, y: 0.0, z: 0.07 });
                let pose = Some(Pose { position_m, orientation: None });
                let tool = ToolPose { tool_id: self.tool_ids[0], pose, ..Default::default() };
                let tick = Tick { sequence: 1, tools: vec![tool], ..Default::default() };
                let message = TrackRequest { message: Some(track_request::Message::Tick(tick)) };
                let _ = stream.requests.send(message).await;
                let _ = stream.answers.message().await;
            }
            done.fetch_add(1, Relaxed);
        }
    }

    async fn look_and_leave(&self, done: &AtomicU64) {
        let mut client = self.client().await;
        loop {
            let request = WatchRequest { rate_hz: 60.0, ..Default::default() };
            // An error means that the limit of views is reached.
            if let Ok(mut frames) = client.watch(request).await {
                let _ = frames.message().await;
            }
            done.fetch_add(1, Relaxed);
        }
    }

    /// Moves all tools there and back at a height, metres, as fast as they are answered.
    async fn hog(&self, start: TrackStart, z: f64, done: &AtomicU64) {
        let start = TrackStart {
            scene_id: SCENE.to_owned(),
            tool_ids: self.tool_ids.clone(),
            mode: TrackMode::Every as i32,
            ..start
        };
        let stream = self.client().await.track(start, 64).await.expect("a stream");
        let mut answers = stream.answers;
        let send = async {
            for sequence in 1.. {
                let x = 0.02 * (sequence as f64 * 0.1).sin();
                let at = |y| Pose { position_m: Some(Vec3 { x, y, z }), orientation: None };
                let pose = |(i, tool_id): (usize, &u32)| ToolPose {
                    tool_id: *tool_id,
                    pose: Some(at(0.002 * i as f64)),
                    ..Default::default()
                };
                let tools = self.tool_ids.iter().enumerate().map(pose).collect();
                let tick = Tick { sequence, tools, ..Default::default() };
                let message = TrackRequest { message: Some(track_request::Message::Tick(tick)) };
                if stream.requests.send(message).await.is_err() {
                    break;
                }
            }
        };
        let take = async {
            while matches!(answers.message().await, Ok(Some(_))) {
                done.fetch_add(1, Relaxed);
            }
        };
        tokio::join!(send, take);
    }

    async fn call_again_and_again(&self, attack: Attack, done: &AtomicU64) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mut client = self.client().await;
        loop {
            done.fetch_add(1, Relaxed);
            let n = NUMBER.fetch_add(1, Relaxed);
            let scene = format!("attack-{n}");
            match attack {
                // Errors of these calls mean that a limit is reached.
                Attack::Builds => {
                    let _ = client.create_scene(&scene).await;
                    // Each radius is new: a known field would be read from the disk.
                    let radius = 0.02 + 1e-6 * f64::from(n);
                    let mesh = MeshSource::Raw(shapes::torus(0.05, radius, 160, 80));
                    let link = LinkUpload::new("ring", mesh);
                    let _ = client.add_tool(&scene, "tool", &[link], &[]).await;
                    let _ = client.delete_scene(&scene).await;
                }
                Attack::Uploads => {
                    let _ = client.create_scene(&scene).await;
                    let mesh = MeshSource::Raw(shapes::sphere(0.1, 150));
                    let _ = client.add_tissue(&scene, "tissue", &mesh).await;
                    let _ = client.delete_scene(&scene).await;
                }
                Attack::SelfCollisions => self.detect().await,
                _ => {
                    let at = |i: u32| f64::from(i % 257) * 1e-3 - 0.1;
                    let request = QueryDistancesRequest {
                        scene_id: SCENE.to_owned(),
                        target: Some(Target::TissueId(1)),
                        points_xyz_m: (0..3 * 65_536).map(at).collect(),
                        max_distance_m: 0.0,
                    };
                    let _ = client.query_distances(request).await;
                }
            }
        }
    }

    async fn detect(&self) {
        let endpoint = Channel::from_shared(format!("http://{}", self.address));
        let channel = endpoint.expect("an address").connect().await.expect("it listens");
        let tissues = vec![TissueInterval { tissue_id: 1, ..Default::default() }];
        let mut request = Request::new(DetectSelfCollisionsRequest {
            scene_id: SCENE.to_owned(),
            tissues,
            thickness_m: 2e-3,
            ..Default::default()
        });
        let key = format!("Bearer {SECRET}").parse().expect("ASCII");
        request.metadata_mut().insert("authorization", key);
        let answers = HapticServiceClient::new(channel).detect_self_collisions(request).await;
        // An error means that the call's time or a limit was exceeded.
        if let Ok(answers) = answers {
            let mut answers = answers.into_inner();
            while matches!(answers.message().await, Ok(Some(_))) {}
        }
    }
}
