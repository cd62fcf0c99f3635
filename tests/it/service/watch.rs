//! The live view over gRPC: a viewer's arrays equal the scene's, whatever it skipped, and ticks are shown.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use glam::DVec3;
use palpate::{
    config::{self, Config},
    oracle::shapes,
    proto::{
        CreateSceneRequest, DeleteSceneRequest, EditTopologyRequest, MoveDeviceRequest,
        RemoveTissueRequest, RenderOptions, RenderState, Tick, TrackMode, WatchPart, WatchRequest,
        watch_service_client::WatchServiceClient,
    },
    scene::Limits,
};
use tokio::time::sleep;
use tonic::{Code, transport::Channel};

use crate::support::{
    folder::Folder,
    keys::{SURGEON, VIEWER, all_keys, by, key, with_keys},
    meshes::wire,
    messages::{
        SCENE, dense, sparse, start, start_message, tick, tick_message, tissue_upload, tool_at,
        vec3,
    },
    refusal::assert_refused,
    server::{TestServer, link, tissue},
    viewer::{Viewer, all_of},
};

#[tokio::test]
async fn a_viewer_has_the_scene_and_follows_it() {
    let mut server = TestServer::furnished().await;
    let mut viewer = Viewer::of(&server).await;
    let first = viewer.frame().await.expect("a frame");
    assert_eq!((&*first.scene_id, &first.scene_ids[..]), (SCENE, &[SCENE.to_owned()][..]));
    assert_eq!((&first.tissue_ids[..], &first.tool_ids[..]), (&[1][..], &[1][..]));
    viewer.assert_drawn_as(&server.export(1).await.expect("exported"));
    assert_eq!(viewer.links[&(1, 0)].positions.as_flattened(), link().positions);

    server.deform(vec![sparse(1, &[2, 0], &[0.0, 0.15, 0.0, 0.12, 0.0, 0.0])]).await;
    viewer.until(|v, _| v.tissues[&1].geometry_revision == 1).await;
    assert_eq!(viewer.tissues[&1].n_moved, 2, "what did not move is not sent");
    viewer.assert_drawn_as(&server.export(1).await.expect("exported"));

    let cut = EditTopologyRequest {
        scene_id: SCENE.to_owned(),
        tissue_id: 1,
        removed_triangles: vec![5, 0],
        added_positions_m: vec![0.034, 0.034, 0.034],
        added_triangles: vec![0, 2, 6, 2, 4, 6, 4, 0, 6],
        ..Default::default()
    };
    server.scenes.edit_topology(cut).await.expect("a good cut");
    viewer.until(|v, _| v.tissues[&1].topology_revision == 1).await;
    viewer.assert_drawn_as(&server.export(1).await.expect("exported"));

    let request = RemoveTissueRequest { scene_id: SCENE.to_owned(), tissue_id: 1 };
    server.scenes.remove_tissue(request).await.expect("it was there");
    viewer.until(|v, _| v.tissues.is_empty()).await;
}

/// Tissue may move there and back between two frames.
#[tokio::test]
async fn a_revision_that_looks_like_the_one_before_is_told() {
    let mut server = TestServer::furnished().await;
    let mut viewer = Viewer::of(&server).await;
    viewer.frame().await.expect("a frame");
    let unmoved = viewer.tissues[&1].positions[0];
    server.deform(vec![sparse(1, &[0], &unmoved)]).await;
    viewer.until(|v, _| v.tissues[&1].geometry_revision == 1).await;
    assert_eq!(viewer.tissues[&1].positions.len(), tissue().positions.len() / 3);
    viewer.assert_drawn_as(&server.export(1).await.expect("exported"));
}

/// A tissue larger than a message, and than all windows of a viewer that does not read.
#[tokio::test]
async fn a_slow_viewer_skips_frames() {
    let mut server = TestServer::with_scene().await;
    let mesh = wire(&shapes::sphere(0.1, 56));
    server.add_tissue(tissue_upload("liver", &mesh)).await.expect("a tissue");
    // The smallest window of HTTP/2: in flight for a viewer are only the contents of its own window, and pieces.
    let narrow = Channel::from_shared(format!("http://{}", server.address)).expect("an address");
    let narrow = narrow.initial_stream_window_size(65_535).connect().await.expect("it listens");
    let mut viewer = Viewer::of(&TestServer { channel: narrow, ..server.clone() }).await;
    viewer.frame().await.expect("a frame");
    viewer.assert_drawn_as(&server.export(1).await.expect("exported"));
    let n_deformations = 60;
    for sequence in 1..=n_deformations {
        let larger = 1.0 + 1e-3 * sequence as f32;
        let to: Vec<f32> = mesh.positions.iter().map(|x| x * larger).collect();
        server.deform(vec![dense(sequence, &to)]).await.remove(0).expect("it deforms");
        // Each deformation would have its own frame if the viewer read.
        sleep(Duration::from_millis(20)).await;
    }
    // Frames without motion are small: a busy machine may deform later than the next frame is due.
    let shown = RefCell::new(BTreeSet::new());
    viewer
        .until(|v, _| {
            let revision = v.tissues[&1].geometry_revision;
            shown.borrow_mut().insert(revision);
            revision == n_deformations
        })
        .await;
    // A frame has 376 kB. In flight are 400 KiB that HTTP/2 takes for a client that does not read, its window of 64
    // KiB, two bodies of 64 KiB and two messages of 192 KiB: parts of four frames at most. Then comes the newest.
    let shown = shown.into_inner();
    assert!(shown.len() <= 5, "kept for it: {shown:?}");
    viewer.assert_drawn_as(&server.export(1).await.expect("exported"));
}

#[tokio::test]
async fn haptic_loops_are_shown_with_contacts_forces_and_times() {
    let mut server = TestServer::furnished().await;
    let mut start = start(TrackMode::Every);
    start.render = vec![RenderOptions { tool_id: 1, ..Default::default() }];
    let mut stream = server.hand_fed(start_message(start)).await;
    let mut viewer = Viewer::of(&server).await;
    let mut sequence = 0;
    let mut press = async |x: f64| {
        sequence += 1;
        let tools = vec![tool_at(vec3(x, 0.0, 0.0))];
        let tick = Tick { sequence, tools, ..Default::default() };
        stream.ask(tick_message(tick)).await.expect("an answer")
    };
    press(0.13).await;
    let frame = viewer.until(|_, f| f.sessions.first().is_some_and(|s| s.sequence == 0)).await;
    assert_eq!(frame.sessions[0].contact_xyz_m, [0.0f32; 0], "nobody had asked before that tick");
    for i in 0..100 {
        press(0.13 - 2.5e-4 * f64::from(i)).await;
        sleep(Duration::from_millis(1)).await;
    }
    // A frame shows the first tick after the viewer's request: any of the ticks that hold still. The force rises from the
    // last late tick on.
    let mut answers = BTreeMap::new();
    let (frame, answer) = 'shown: {
        for _ in 0..1000 {
            let answer = press(0.105).await;
            answers.insert(answer.sequence, answer);
            let frame = viewer.frame().await.expect("a frame");
            if let Some(answer) = answers.remove(&frame.sessions[0].sequence)
                && answer.renderings[0].force_n.is_some_and(|force| force.x > 1.0)
            {
                break 'shown (frame, answer);
            }
        }
        panic!("no frame shows a tick that presses");
    };
    let session = &frame.sessions[0];
    let rendering = &answer.renderings[0];
    let [shown] = &session.tools[..] else { panic!("{} tools", session.tools.len()) };
    assert_eq!((shown.tool_id, shown.rendered), (1, true));
    assert_eq!(shown.state(), RenderState::Touching);
    assert_eq!((shown.force_n, shown.state), (rendering.force_n, rendering.state));
    assert_eq!(shown.device.expect("told").position_m, Some(vec3(0.105, 0.0, 0.0)));
    let of = |poses: &[palpate::proto::Pose]| poses[0].position_m.expect("told").x;
    assert_eq!(of(&shown.device_links), 0.105);
    assert!((of(&shown.links) - 0.11).abs() < 1e-4, "the proxy lies on the tip: {shown:?}");
    let contacts = answer.links[0].contacts.as_ref().expect("some");
    assert_eq!(session.contact_xyz_m, contacts.on_tissue_xyz_m);
    assert_eq!(session.contact_normal_xyz, contacts.normal_xyz);
    assert_eq!(session.contact_signed_distance_m, contacts.signed_distance_m);
    assert_eq!(session.force_xyz_n, rendering.contact_force_xyz_n);
    let figures = session.figures.expect("told");
    assert!(figures.ticks_answered >= answer.sequence, "{figures:?}");
    let [p50, p99, p999] = [figures.p50_us, figures.p99_us, figures.p999_us];
    assert!(p50 > Some(0.0) && p50 <= p99 && p99 <= p999, "{figures:?}");
    assert!(figures.recent_ticks >= 100 && figures.recent_missed <= figures.ticks_missed);
}

/// The forces of consecutive frames are those of the answers, each once and in order.
#[tokio::test]
async fn frames_tell_the_force_of_every_tick() {
    let mut server = TestServer::furnished().await;
    let mut start = start(TrackMode::Every);
    start.render = vec![RenderOptions { tool_id: 1, ..Default::default() }];
    let mut stream = server.hand_fed(start_message(start)).await;
    let mut viewer = Viewer::of(&server).await;
    viewer.frame().await.expect("a frame");
    // Force, distance against it since the tool was free, and state, of each answer and of each tick that was told.
    let (mut answered, mut told) = (Vec::new(), Vec::new());
    let (mut free_at, mut told_until) = (0.13_f64, 0);
    let (n_ticks, mut sequence) = (400, 0_u64);
    while told_until < n_ticks {
        // Twenty ticks for each frame: in, and halfway back.
        for _ in 0..20 {
            sequence += 1;
            let steps = sequence.min(300) as f64 - sequence.saturating_sub(300).min(150) as f64;
            let x = 0.13 - 8e-5 * steps;
            let tools = vec![tool_at(vec3(x, 0.0, 0.0))];
            let tick = Tick { sequence, tools, ..Default::default() };
            let answer = stream.ask(tick_message(tick)).await.expect("an answer");
            let rendering = &answer.renderings[0];
            let force = rendering.force_n.expect("told");
            let force = DVec3::new(force.x, force.y, force.z);
            if rendering.state() == RenderState::Free {
                free_at = x;
            }
            let pressed = (free_at - x) * force.normalize_or_zero().x;
            answered.push((force.length(), pressed, rendering.state()));
        }
        let frame = viewer.frame().await.expect("a frame");
        let session = &frame.sessions[0];
        told_until = session.sequence;
        let Some(felt) = session.tools.first().and_then(|tool| tool.felt_ticks.as_ref()) else {
            continue;
        };
        let n = felt.age_us.len();
        assert!(felt.age_us.is_sorted_by(|a, b| a >= b), "oldest first: {:?}", felt.age_us);
        assert_eq!((felt.latency_us.len(), felt.pressed_m.len()), (n, n));
        assert!(felt.latency_us.iter().all(|us| *us > 0), "{:?}", felt.latency_us);
        let each = felt.force_n.iter().zip(&felt.pressed_m).zip(felt.state());
        told.extend(each.map(|((force, pressed), state)| (*force, *pressed, state)));
    }
    assert_eq!(told.len() as u64, told_until, "each once");
    for (at, (told, (force, pressed, state))) in told.iter().zip(&answered).enumerate() {
        assert_eq!(*told, (*force as f32, *pressed as f32, *state), "tick {}", at + 1);
    }
    let deepest = told.iter().map(|(_, pressed, _)| *pressed).fold(0.0, f32::max);
    assert!(deepest > 2e-3 && told.iter().any(|(force, ..)| *force > 1.0), "{deepest} m");
}

#[tokio::test]
async fn an_empty_id_is_the_first_scene_there_is() {
    let mut server = TestServer::empty(Limits::default()).await;
    let mut viewer = Viewer::open(&server, "", all_of("")).await.expect("a stream");
    assert_eq!(viewer.frame().await.expect("a frame").scene_id, "");
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    viewer.until(|v, f| f.scene_id == SCENE && v.tissues.contains_key(&1)).await;
    let delete = DeleteSceneRequest { scene_id: SCENE.to_owned() };
    server.scenes.delete_scene(delete.clone()).await.expect("it was there");
    viewer.until(|v, f| f.scene_id.is_empty() && v.tissues.is_empty()).await;
    // A scene that is created again with an equal id is sent completely.
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    viewer.until(|v, _| v.tissues.get(&1).is_some_and(|t| t.corners.len() == 8)).await;
    viewer.assert_drawn_as(&server.export(1).await.expect("exported"));

    let mut named = Viewer::of(&server).await;
    named.frame().await.expect("a frame");
    server.scenes.delete_scene(delete).await.expect("it was there");
    let ended = async {
        loop {
            if let Err(status) = named.frame().await {
                return status;
            }
        }
    };
    assert_eq!(ended.await.code(), Code::NotFound);
}

#[tokio::test]
async fn only_what_is_asked_for_is_sent_and_bad_requests_are_refused() {
    let server = TestServer::furnished().await;
    let tools_alone = WatchRequest { parts: vec![WatchPart::Tools as i32], ..all_of(SCENE) };
    let mut viewer = Viewer::open(&server, "", tools_alone).await.expect("a stream");
    let frame = viewer.frame().await.expect("a frame");
    assert!(viewer.tissues.is_empty() && frame.tissue_ids.is_empty() && !viewer.links.is_empty());
    let bad = Code::InvalidArgument;
    for rate_hz in [0.5, 61.0, f64::NAN] {
        let request = WatchRequest { rate_hz, ..all_of(SCENE) };
        assert_refused(open(&server, request).await, bad, "rate_hz", "a rate");
    }
    let request = WatchRequest { parts: vec![1, 99], ..all_of(SCENE) };
    assert_refused(open(&server, request).await, bad, "parts[1]", "a part");
    assert_refused(open(&server, all_of("Liver")).await, bad, "scene_id", "an id");
    assert_refused(open(&server, all_of("gone")).await, Code::NotFound, "scene gone", "no scene");
}

async fn open(server: &TestServer, request: WatchRequest) -> Result<(), tonic::Status> {
    Viewer::open(server, "", request).await.map(drop)
}

#[tokio::test]
async fn a_read_only_key_watches_within_its_quota_and_moves_nothing() {
    let folder = Folder::new("watchers");
    let keys = all_keys("") + &key("wall", "read-only", "wall-0123456789abcd", "streams = 1");
    let mut server = TestServer::configured(with_keys(&folder.write("keys.toml", &keys))).await;
    let create = CreateSceneRequest { scene_id: SCENE.to_owned(), durable: None };
    server.scenes.create_scene(by(SURGEON, create)).await.expect("a full key");
    let watch = async |secret: &str| Viewer::open(&server, secret, all_of(SCENE)).await;
    let unknown = watch("wrong-0123456789ab").await.map(drop);
    assert_refused(unknown, Code::Unauthenticated, "", "a wrong key");
    watch(VIEWER).await.expect("it may look").frame().await.expect("a frame");
    let mut wall = watch("wall-0123456789abcd").await.expect("one stream");
    wall.frame().await.expect("a frame");
    let second = watch("wall-0123456789abcd").await.map(drop);
    assert_refused(second, Code::ResourceExhausted, "streams_per_key", "a second stream");
    drop(wall);
    // Freed once the server has noticed that the viewer is gone.
    let again = async {
        while watch("wall-0123456789abcd").await.is_err() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), again).await.expect("given back");
    let mut client = WatchServiceClient::new(server.channel.clone());
    let moved = client.move_device(by(VIEWER, wish(0.1))).await.map(drop);
    assert_refused(moved, Code::PermissionDenied, "key viewer", "to move");
}

fn wish(x: f64) -> MoveDeviceRequest {
    let position_m = Some(vec3(x, 0.0, 0.0));
    MoveDeviceRequest { scene_id: SCENE.to_owned(), tool_id: 1, position_m }
}

/// A viewer's copy: 6 vertices and 8 triangles, 12 bytes each, twice.
#[tokio::test]
async fn a_viewer_s_copies_count_as_bytes_of_its_key() {
    let folder = Folder::new("watched-bytes");
    let poor = |bytes: u32| {
        let secret = format!("poor-{bytes}-0123456789ab");
        (key(&format!("poor-{bytes}"), "read-only", &secret, &format!("bytes = {bytes}")), secret)
    };
    let ((one, just_enough), (other, too_little)) = (poor(336), poor(335));
    let keys = all_keys("") + &one + &other;
    let mut server = TestServer::configured(with_keys(&folder.write("keys.toml", &keys))).await;
    let create = CreateSceneRequest { scene_id: SCENE.to_owned(), ..Default::default() };
    server.scenes.create_scene(by(SURGEON, create)).await.expect("a full key");
    let upload = tokio_stream::iter(tissue_upload("liver", &tissue()));
    server.scenes.add_tissue(by(SURGEON, upload)).await.expect("a tissue");
    let mut viewer = Viewer::open(&server, &just_enough, all_of(SCENE)).await.expect("a stream");
    viewer.frame().await.expect("a frame");
    let mut viewer = Viewer::open(&server, &too_little, all_of(SCENE)).await.expect("a stream");
    let refused = viewer.frame().await.map(drop);
    assert_refused(refused, Code::ResourceExhausted, "bytes_per_key", "a byte too little");
}

#[tokio::test]
async fn a_server_has_so_many_live_views() {
    let server = TestServer::furnished().await;
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut viewer = Viewer::of(&server).await;
        viewer.frame().await.expect("a frame");
        open.push(viewer);
    }
    let more = Viewer::open(&server, "", all_of(SCENE)).await.map(drop);
    assert_refused(more, Code::ResourceExhausted, "watchers", "one more");
}

#[tokio::test]
async fn a_wish_is_told_and_moves_nothing() {
    let mut server = TestServer::furnished().await;
    let mut viewer = Viewer::of(&server).await;
    let mut client = WatchServiceClient::new(server.channel.clone());
    let bad = MoveDeviceRequest { tool_id: 7, ..wish(0.1) };
    let refused = client.move_device(bad).await.map(drop);
    assert_refused(refused, Code::NotFound, "tool 7", "an unknown tool");
    let refused = client.move_device(wish(f64::NAN)).await.map(drop);
    assert_refused(refused, Code::InvalidArgument, "position_m.x", "no number");
    let before = server.seen().await;
    client.move_device(wish(0.2)).await.expect("said");
    let frame = viewer.until(|_, f| !f.wishes.is_empty()).await;
    assert_eq!(frame.wishes[0].position_m, Some(vec3(0.2, 0.0, 0.0)));
    let mut stream = server.hand_fed(start_message(start(TrackMode::Every))).await;
    stream.ask(tick_message(tick(1, 0.3))).await.expect("the device is where its client says");
    let let_go = MoveDeviceRequest { position_m: None, ..wish(0.0) };
    client.move_device(let_go).await.expect("said");
    viewer.until(|_, f| f.wishes.is_empty()).await;
    assert_eq!(server.seen().await, before);
    assert_eq!(tissue().positions.len(), 18);
}

#[tokio::test]
async fn a_server_that_ends_says_so_to_viewers() {
    let settings = config::SessionSettings::default();
    let config = Config { sessions: settings, ..Config::default() };
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ..config };
    let listeners = palpate::service::Listeners::bind(&config).await.expect("free");
    let address = listeners.address().expect("bound");
    let served = tokio::spawn(async move {
        palpate::service::serve(listeners, &config, async { drop(ended.await) }).await
    });
    let server = TestServer::connect(address).await;
    let request = WatchRequest { rate_hz: 1.0, ..all_of("") };
    let mut viewer = Viewer::open(&server, "", request).await.expect("a stream");
    viewer.frame().await.expect("a frame");
    end.send(()).expect("it serves");
    let status = viewer.frame().await.expect_err("it ends");
    assert_eq!(status.code(), Code::Unavailable);
    served.await.expect("no panic").expect("it ended well");
}
