//! Force on a hand in contact when the server stops, ends, or takes the scene or the key away: the force fades.

use std::{fs, future::pending, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use glam::DVec3;
use palpate::{
    client::local_model::fill,
    config::Config,
    coupling::{local_model::LocalModel, posture::Posture},
    geometry::Pose,
    oracle::shapes,
    proto::{self, DeleteSceneRequest, RenderOptions, TrackMode, TrackStart},
    service::{Listeners, SceneEvent, SceneRegistry, serve_registry},
    servo::{FADE_S, ServoOptions, ServoState},
};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::{iter, wrappers::ReceiverStream};

use crate::support::{
    folder::Folder,
    keys::{ADMIN, SURGEON, by, key},
    meshes::wire,
    messages::{
        SCENE, start, start_message, tick_message, tissue_head, tissue_header, tissue_piece,
        tool_head, tool_header, tool_piece, vec3,
    },
    process::Process,
    server::{HandFed, TestServer},
};

const RADIUS_M: f64 = 0.01;
const DEPTH_M: f64 = 0.003;
const DT_S: f64 = 1e-3;
/// Rate at which the servo lets a force rise by itself.
const RATE_N_S: f64 = 300.0;
/// Time after which an answer counts as missing; its sample goes on without it.
const ANSWER_MAX: Duration = Duration::from_millis(20);
const SOON: Duration = Duration::from_secs(60);

/// A server process, and the file of its keys.
struct KeyedProcess {
    process: Process,
    keys: PathBuf,
    _folder: Folder,
}

impl KeyedProcess {
    fn serve(name: &str) -> KeyedProcess {
        let folder = Folder::new(&format!("felt-{name}"));
        let all = key("surgeon", "full", SURGEON, "") + &key("admin", "admin", ADMIN, "");
        let keys = folder.write("keys.toml", &all);
        let file = format!("access.keys_file={}", keys.display());
        let more = ["--set", &file, "--set", "access.reload_interval=10ms"];
        let process = Process::serve("127.0.0.1:0", &more);
        KeyedProcess { process, keys, _folder: folder }
    }

    async fn pressed(&mut self) -> Felt {
        Felt::pressed(self.process.address()).await
    }
}

/// A ball on a slab, pressed by a hand that does not give way.
struct Felt {
    server: TestServer,
    stream: HandFed,
    servo: ServoState,
    sequence: u64,
}

impl Felt {
    async fn pressed(address: SocketAddr) -> Felt {
        let mut server = TestServer::connect(address).await;
        let creation = proto::CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
        server.scenes.create_scene(by(SURGEON, creation)).await.expect("a scene");
        let mut slab = shapes::cuboid(DVec3::new(0.2, 0.2, 0.04));
        slab.positions.iter_mut().for_each(|p| p.z -= 0.02);
        let slab = wire(&slab);
        let upload = iter([tissue_head(tissue_header("slab", &slab)), tissue_piece(slab.chunk())]);
        server.scenes.add_tissue(by(SURGEON, upload)).await.expect("a slab");
        let ball = wire(&shapes::sphere(RADIUS_M, 6));
        let upload = iter([tool_head(tool_header("ball", &ball)), tool_piece(ball.chunk())]);
        server.scenes.add_tool(by(SURGEON, upload)).await.expect("a ball");
        let render = RenderOptions { tool_id: 1, local_model: true, ..Default::default() };
        let begin = TrackStart { render: vec![render], ..start(TrackMode::Every) };
        let (requests, sent) = mpsc::channel(64);
        requests.send(start_message(begin)).await.expect("room");
        let answers = server.haptics.track(by(SURGEON, ReceiverStream::new(sent))).await;
        let stream = HandFed { requests, answers: answers.expect("a stream").into_inner() };
        let servo = ServoState::new(ServoOptions::of(1)).expect("options");
        let mut felt = Felt { server, stream, servo, sequence: 0 };
        felt.comes_back().await;
        felt
    }

    /// Waits until the tissue is felt again; the force rises no faster than ever.
    async fn comes_back(&mut self) {
        let mut force = 0.0f64;
        // A slow machine needs many ticks: a tick that had no time has no model.
        for _ in 0..10_000 {
            self.ask(SOON).await;
            let got = self.sample().force_n.length();
            assert!(got <= force + RATE_N_S * DT_S + 1e-9, "{got} N after {force} N");
            force = got;
            if force > 1.0 {
                return;
            }
        }
        panic!("nothing is felt");
    }

    fn device(&self) -> DVec3 {
        // The device starts 1 mm above the slab and goes down by 0.2 mm a tick.
        let height = (0.001 - 2e-4 * self.sequence as f64).max(-DEPTH_M);
        DVec3::new(0.02, 0.035, RADIUS_M + height)
    }

    /// Sends a tick and takes the model of its answer, if one comes.
    async fn ask(&mut self, within: Duration) -> bool {
        self.sequence += 1;
        let at = self.device();
        let pose = proto::Pose { position_m: Some(vec3(at.x, at.y, at.z)), orientation: None };
        let tool = proto::ToolPose { tool_id: 1, pose: Some(pose), ..Default::default() };
        let (sequence, tools) = (self.sequence, vec![tool]);
        let message = tick_message(proto::Tick { sequence, tools, ..Default::default() });
        // A stream that has ended takes no more.
        let _ = self.stream.requests.try_send(message);
        let answer = timeout(within, self.stream.answers.message()).await;
        let Ok(Ok(Some(answer))) = answer else { return false };
        let sent = answer.renderings.first().and_then(|r| r.local_model.as_ref());
        let Some(sent) = sent else { return false };
        let mut model = LocalModel::EMPTY;
        fill(&mut model, sent).expect("a model");
        self.servo.take(&model, 0.0).is_ok()
    }

    fn sample(&mut self) -> palpate::servo::ServoSample {
        let pose = Pose { translation: self.device(), ..Pose::IDENTITY };
        let device = Posture { scene_from_tool: pose, ..Posture::AT_ORIGIN };
        self.servo.step(&device, DT_S)
    }

    /// Checks that the force never rises once it fades after the last model, and is gone 50 ms after the model expired.
    async fn fades(&mut self, name: &str) {
        // Answers that were on their way still come.
        let mut missing = 0;
        while missing < 5 {
            missing = if self.ask(ANSWER_MAX).await { 0 } else { missing + 1 };
            self.sample();
        }
        let (mut last, mut fading_s, mut strongest) = (f64::INFINITY, 0.0, 0.0f64);
        for _ in 0..300 {
            let got = self.sample();
            let force = got.force_n.length();
            strongest = strongest.max(force);
            if got.is_fading {
                assert!(force <= last, "{name}: {force} N after {last} N");
                fading_s += DT_S;
                assert!(force == 0.0 || fading_s < FADE_S + DT_S, "{name}: {got:?}");
            }
            last = force;
        }
        println!("{name}: {strongest:.2} N, gone {:.0} ms after the model expired", 1e3 * FADE_S);
        assert!(strongest > 1.0 && last == 0.0, "{name}: {strongest} N, {last} N in the end");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_force_fades_when_the_server_is_stopped_and_comes_back_with_it() {
    let mut served = KeyedProcess::serve("stopped");
    let mut felt = served.pressed().await;
    served.process.signal("STOP");
    felt.fades("SIGSTOP").await;
    served.process.signal("CONT");
    felt.comes_back().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_force_fades_when_the_server_is_killed() {
    let mut served = KeyedProcess::serve("killed");
    let mut felt = served.pressed().await;
    served.process.signal("KILL");
    felt.fades("kill -9").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_force_fades_when_the_scene_or_the_key_is_taken_away() {
    let mut served = KeyedProcess::serve("deleted");
    let mut felt = served.pressed().await;
    let deletion = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    felt.server.scenes.delete_scene(by(SURGEON, deletion)).await.expect("its own");
    felt.fades("scene deleted").await;
    let mut served = KeyedProcess::serve("revoked");
    let mut felt = served.pressed().await;
    fs::write(&served.keys, key("admin", "admin", ADMIN, "")).expect("written");
    tokio::time::sleep(Duration::from_millis(200)).await;
    felt.fades("key revoked").await;
}

/// The stream is dropped, and the servo gets no notice of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_force_fades_when_the_stream_is_cut() {
    let mut served = KeyedProcess::serve("cut");
    let mut felt = served.pressed().await;
    let (requests, _) = mpsc::channel(1);
    felt.stream.requests = requests;
    felt.fades("stream cut").await;
}

/// The stream stays open, and each tick is refused until the scene is served again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_force_fades_when_the_scene_is_quarantined_and_comes_back_with_it() {
    let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ..Config::default() };
    let listeners = Listeners::bind(&config).await.expect("a free port");
    let address = listeners.address().expect("bound");
    let registry = Arc::new(SceneRegistry::new(&config));
    let served = Arc::clone(&registry);
    tokio::spawn(async move { serve_registry(listeners, &config, served, pending()).await });
    let mut felt = Felt::pressed(address).await;
    // No request makes a writer fail, so the test does here what a writer would do then.
    let life = registry.get(SCENE).expect("there").life();
    life.note(&SceneEvent::WriterFailed);
    felt.fades("scene quarantined").await;
    life.note(&SceneEvent::Rebuilt);
    felt.comes_back().await;
}
