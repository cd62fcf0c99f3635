use bytes::{BufMut, BytesMut};
use glam::{DVec3, Vec3};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use prost::Message as _;
use tokio_stream::StreamExt;
use tonic::body::Body;
use tower::Service as _;

use super::*;
use crate::{
    client::local_model,
    config::{Config, SessionSettings, TickSettings, TransportSettings},
    coupling::{local_model::LocalModel, posture::Posture},
    geometry::{
        MeshData, Pose,
        mesh::load::{self, LoadOptions, LoadedMesh},
    },
    scene::{Link, Tissue, TissueOptions, ToolParts, tool::field::field_of},
    sdf::FieldOptions,
    service::{
        catch_panic::injected,
        host::{scene_life::PANICS_MAX, scene_state::SceneEvent, writer::Written},
        loops::{sessions::SessionRegistry, track::Track},
        rpc::haptic_service::Haptics,
        transport::call_middleware::HapticRoutes,
    },
    servo::{FADE_S, ServoOptions, ServoState},
    surface::Surface,
};

const STALE_AFTER: Duration = Duration::from_millis(20);

#[tokio::test]
async fn all_that_is_ready_is_one_answer_in_latest_mode() {
    let ready = [1, 2, 3, 7].map(|sequence| tick(sequence, 1.0));
    let answers = answers_to(proto::TrackMode::Latest, &ready).await;
    assert_eq!(answers, [(7, 3, None)]);
}

#[tokio::test]
async fn a_tick_that_goes_back_coalesces_nothing() {
    let ready = [1, 2, 2, 1, 3].map(|sequence| tick(sequence, 1.0));
    let refused = Some("sequence".to_owned());
    let answers = answers_to(proto::TrackMode::Latest, &ready).await;
    let expected = [(2, 1, None), (2, 0, refused.clone()), (1, 0, refused), (3, 0, None)];
    assert_eq!(answers, expected);
}

#[tokio::test]
async fn a_refused_tick_leaves_its_sequence_free() {
    let field = Some("tools[0].pose.position_m.x".to_owned());
    let ready = [tick(5, f64::NAN), tick(5, 1.0), tick(6, 1.0)];
    let latest = answers_to(proto::TrackMode::Latest, &ready).await;
    assert_eq!(latest, [(5, 0, field.clone()), (6, 1, None)]);
    let every = answers_to(proto::TrackMode::Every, &ready).await;
    assert_eq!(every, [(5, 0, field), (5, 0, None), (6, 0, None)]);
}

/// The server may see a reset before it has answered earlier messages.
#[tokio::test]
async fn the_session_of_a_loop_that_was_reset_waits_and_that_of_one_that_ended_is_over() {
    let (registry, _) = needle_and_sheet();
    for (end, n_waiting) in [(Some(Status::cancelled("RST_STREAM")), 1), (None, 0)] {
        let sessions = Arc::new(SessionRegistry::new(&SessionSettings::default()));
        let haptics = Haptics::new(Arc::clone(&registry), Arc::clone(&sessions));
        let (scene_id, tool_ids) = ("s".to_owned(), vec![1]);
        let start = proto::TrackStart { scene_id, tool_ids, ..Default::default() };
        let start = TrackRequest { message: Some(Message::Start(start)) };
        let mut message = BytesMut::new();
        message.put_u8(0);
        message.put_u32(start.encoded_len() as u32);
        start.encode(&mut message).expect("room");
        let frames = [Ok(Frame::data(message.freeze()))].into_iter().chain(end.map(Err));
        let request = http::Request::builder()
            .method("POST")
            .uri("/palpate.v1.HapticService/Track")
            .header("content-type", "application/grpc")
            .body(Body::new(StreamBody::new(tokio_stream::iter(frames))));
        let mut routes = HapticRoutes::new(haptics, &TransportSettings::default());
        let answer = routes.call(request.expect("good")).await.expect("infallible");
        let mut answer = answer.into_body();
        let end = answer.frame().await.expect("not answered yet").expect("it ends with trailers");
        drop(answer);
        assert_eq!(sessions.counted().waiting, n_waiting, "{:?}", end.trailers_ref());
    }
}

/// The start and the end are on one side of a sheet, the coalesced pose on the other.
#[tokio::test]
async fn the_sweep_goes_through_a_coalesced_pose() {
    let ways = [(&[-0.05, 0.05, -0.05][..], true), (&[-0.05, -0.06, -0.05], false)];
    for (way, crossed) in ways {
        let (_table, mut running) = needle_and_sheet();
        let message =
            |x: &f64, sequence| TrackRequest { message: Some(Message::Tick(tick(sequence, *x))) };
        running.take(message(&way[0], 1), now_ns()).expect("good");
        let waiting = running.waiting.take().expect("a tick");
        running.answer(waiting).expect("it is alone");
        for (x, sequence) in way[1..].iter().zip(2..) {
            running.take(message(x, sequence), now_ns()).expect("good");
        }
        let waiting = running.waiting.take().expect("a tick");
        let answer = running.answer(waiting).expect("it is alone");
        assert_eq!((answer.sequence, answer.coalesced), (3, 1));
        assert_ne!(answer.flags & 1 << proto::Flag::Swept as u32, 0);
        let contacts = answer.links[0].contacts.as_ref();
        let met = contacts.is_some_and(|c| c.toi.iter().any(|toi| *toi > 0.0));
        assert_eq!(met, crossed, "{answer:?}");
    }
}

/// A machine that stops a tick for 5 ms must not change its answer.
fn unhurried() -> Config {
    let time_max = Duration::from_secs(60);
    Config { ticks: TickSettings { time_max, ..TickSettings::default() }, ..Config::default() }
}

fn needle_and_sheet() -> (Arc<SceneRegistry>, HapticLoop) {
    let registry = Arc::new(SceneRegistry::new(&unhurried()));
    let scene = Arc::clone(&registry.create("s", &Caller::ANYBODY).expect("room").scene);
    scene.add_tool(needle()).expect("room");
    scene.add_tissue("sheet", sheet(), TissueOptions::default(), 0).expect("room");
    let (scene_id, tool_ids) = ("s".to_owned(), vec![1]);
    let start = proto::TrackStart { scene_id, tool_ids, ..Default::default() };
    let running =
        HapticLoop::start(&registry, STALE_AFTER, &Caller::ANYBODY, &start).expect("a good start");
    (registry, running)
}

fn ask(running: &mut HapticLoop, sequence: u64) -> TrackResponse {
    ask_at(running, sequence, 0.0)
}

fn ask_at(running: &mut HapticLoop, sequence: u64, x: f64) -> TrackResponse {
    let message = Some(Message::Tick(tick(sequence, x)));
    running.take(TrackRequest { message }, now_ns()).expect("good");
    let waiting = running.waiting.take().expect("a tick");
    running.answer(waiting).expect("it is alone")
}

#[tokio::test]
async fn a_panic_costs_its_answer_and_no_contact_id_comes_twice() {
    let (_table, mut running) = needle_and_sheet();
    let ids = |answer: &TrackResponse| {
        answer.links[0].contacts.as_ref().expect("they touch").contact_ids.clone()
    };
    let before = ids(&ask(&mut running, 1));
    assert_eq!(ids(&ask(&mut running, 2)), before);
    injected::panics(1);
    let refusal = ask(&mut running, 3).refusal.expect("it panicked");
    assert_eq!(refusal.code, tonic::Code::Internal as u32);
    let after = ids(&ask(&mut running, 3));
    assert!(after.iter().all(|id| !before.contains(id)), "{before:?}, {after:?}");
}

#[tokio::test]
async fn a_quarantined_scene_refuses_ticks_until_it_is_served_again() {
    let (registry, mut running) = needle_and_sheet();
    let life = registry.get("s").expect("there").life();
    assert_eq!(ask(&mut running, 1).refusal, None);
    life.note(&SceneEvent::WriterFailed);
    let refusal = ask(&mut running, 2).refusal.expect("not served");
    assert_eq!(refusal.code, tonic::Code::FailedPrecondition as u32);
    assert!(refusal.message.contains("quarantined"), "{refusal:?}");
    life.note(&SceneEvent::Rebuilt);
    assert_eq!(ask(&mut running, 3).refusal, None);
}

/// The scene's writer fails while the hand presses: answers have no model any more, and the felt force fades.
#[tokio::test]
async fn a_force_fades_when_the_scene_is_quarantined_in_contact() {
    const DT_S: f64 = 1e-3;
    const PRESSED_M: f64 = -3e-3;
    let registry = Arc::new(SceneRegistry::new(&unhurried()));
    let host = registry.create("s", &Caller::ANYBODY).expect("room");
    host.scene.add_tool(needle()).expect("room");
    let tissue =
        host.scene.add_tissue("sheet", sheet(), TissueOptions::default(), 0).expect("room");
    let render = proto::RenderOptions { tool_id: 1, local_model: true, ..Default::default() };
    let (scene_id, tool_ids, render) = ("s".to_owned(), vec![1], vec![render]);
    let start = proto::TrackStart { scene_id, tool_ids, render, ..Default::default() };
    let mut running =
        HapticLoop::start(&registry, STALE_AFTER, &Caller::ANYBODY, &start).expect("a good start");
    let mut servo = ServoState::new(ServoOptions::of(1)).expect("options");
    let mut model = LocalModel::EMPTY;
    let (mut last, mut strongest, mut fading_s) = (0.0, 0.0f64, 0.0);
    for sequence in 1..=400 {
        if sequence == 100 {
            assert!(last > 1.0, "{last} N in contact");
            for at in 1..=PANICS_MAX {
                let job = move |_: &Tissue, _| {
                    // The recovery panics too: the scene stays refused.
                    injected::panics(u32::from(at == PANICS_MAX));
                    panic!("on purpose");
                };
                let failed = host.writer.run(Arc::clone(&tissue), job).await;
                let failed: Result<(), _> = failed.map(|w: Written<()>| w.result);
                failed.expect_err("it panicked");
            }
            // After the failed recovery there is no writer.
            let gone = host.writer.run(Arc::clone(&tissue), |_, _| ()).await;
            gone.map(|w| w.result).expect_err("not recovered");
        }
        let x = (1e-3 - 2e-4 * sequence as f64).max(PRESSED_M);
        let answer = ask_at(&mut running, sequence, x);
        assert_eq!(answer.refusal.is_some(), sequence >= 100, "{answer:?}");
        assert!(sequence < 100 || answer.renderings.is_empty(), "{answer:?}");
        if let Some(sent) = answer.renderings.first().and_then(|r| r.local_model.as_ref()) {
            local_model::fill(&mut model, sent).expect("a model");
            servo.take(&model, 0.0).expect("newer");
        }
        let pose = Pose { translation: DVec3::X * x, ..Pose::IDENTITY };
        let device = Posture { scene_from_tool: pose, ..Posture::AT_ORIGIN };
        let got = servo.step(&device, DT_S);
        let force = got.force_n.length();
        strongest = strongest.max(force);
        if got.is_fading {
            assert!(force <= last, "{force} N after {last} N");
            fading_s += DT_S;
            assert!(force == 0.0 || fading_s < FADE_S + DT_S, "{got:?}");
        }
        last = force;
    }
    assert!(fading_s > FADE_S && last == 0.0, "{strongest} N, {last} N in the end");
}

/// A sheet across x, 20 mm wide.
fn sheet() -> LoadedMesh {
    let corners = [[0.0, -1.0, -1.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0]];
    let positions = corners.map(|c| Vec3::from(c) * 0.01).to_vec();
    let mesh = MeshData { positions, triangles: vec![[0, 1, 2], [0, 2, 3]] };
    load::load(mesh, &LoadOptions::default()).expect("a sheet")
}

fn tick(sequence: u64, x: f64) -> proto::Tick {
    let position_m = Some(proto::Vec3 { x, y: 0.0, z: 0.0 });
    let pose = Some(proto::Pose { position_m, orientation: None });
    let tool = proto::ToolPose { tool_id: 1, pose, ..Default::default() };
    proto::Tick { sequence, tools: vec![tool], ..Default::default() }
}

/// Returns sequence, coalesced and refused field of each answer to ticks that all arrive at once.
async fn answers_to(
    mode: proto::TrackMode,
    ready: &[proto::Tick],
) -> Vec<(u64, u32, Option<String>)> {
    let registry = Arc::new(SceneRegistry::new(&unhurried()));
    let scene = Arc::clone(&registry.create("s", &Caller::ANYBODY).expect("room").scene);
    scene.add_tool(needle()).expect("room");
    let (scene_id, tool_ids) = ("s".to_owned(), vec![1]);
    let start = proto::TrackStart { scene_id, tool_ids, mode: mode as i32, ..Default::default() };
    let messages = [Message::Start(start)].into_iter();
    let messages = messages.chain(ready.iter().cloned().map(Message::Tick));
    let requests = messages.map(|message| Ok(TrackRequest { message: Some(message) }));
    let requests: Vec<_> = requests.collect();
    let sessions = Arc::new(SessionRegistry::new(&SessionSettings::default()));
    let requests = tokio_stream::iter(requests);
    let answers =
        Track::new(registry, sessions, Caller::ANYBODY, requests).collect::<Vec<_>>().await;
    let answers = answers.into_iter().map(|a| a.expect("an answer"));
    answers.map(|a| (a.sequence, a.coalesced, a.refusal.map(|r| r.field))).collect()
}

fn needle() -> ToolParts {
    let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
    let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let options = LoadOptions {
        scale_to_m: 0.01,
        max_vertices: 9,
        max_triangles: 9,
        ..LoadOptions::default()
    };
    let mesh = load::load(MeshData { positions, triangles }, &options);
    let field = |s: &Surface| field_of(s, &FieldOptions::default());
    let link = Link::new("tip".to_owned(), mesh.expect("closed"), Pose::IDENTITY, field);
    ToolParts { name: "needle".to_owned(), links: vec![link], probes: Vec::new() }
}
