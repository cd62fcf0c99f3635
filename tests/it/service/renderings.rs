//! Rendered tools over the wire: the proxy stays outside, the force is the spring's, and a session keeps the proxy.

use std::{net::SocketAddr, time::Duration};

use glam::DVec3;
use palpate::{
    oracle::shapes,
    proto::{
        AddTissueHeader, Flag, Pose, RenderOptions, RenderState, Rendering, Tick, TissueKind,
        TissueOptions, ToolPose, TrackMode, TrackResponse, TrackStart, Vec3,
    },
};
use tonic::Code;

use crate::support::{
    meshes::wire,
    messages::{
        SCENE, start, start_message, tick_message, tissue_head, tissue_header, tissue_piece,
        tool_head, tool_header, tool_piece, vec3,
    },
    metrics::{get, value},
    refusal::assert_refused,
    server::{HandFed, TestServer, free_address, with_kept_fields},
};

const RADIUS_M: f64 = 0.01;
const STIFFNESS_N_PER_M: f64 = 500.0;
/// Distance of the proxy from the surface that it lies on.
const STAND_OFF_M: f64 = 20e-6;
/// Ticks within which a force has reached its spring's, or is gone, however slow the machine is: the force's rate and
/// the ramp after a pause follow the server's clock, and each tick takes a millisecond at least.
const SETTLED_MAX: u64 = 5_000;

/// A slab whose upper face is z = 0 as tissue 1, and a ball as tool 1; returns the server and its metrics address.
async fn bench(kind: TissueKind) -> (TestServer, SocketAddr) {
    let metrics = free_address();
    let mut config = with_kept_fields();
    config.metrics.listen = Some(metrics);
    let mut server = TestServer::configured(config).await;
    server.create(SCENE).await.expect("a new scene");
    let mut slab = shapes::cuboid(DVec3::new(0.2, 0.2, 0.04));
    slab.positions.iter_mut().for_each(|p| p.z -= 0.02);
    let slab = wire(&slab);
    let options = Some(TissueOptions { kind: kind as i32, ..TissueOptions::default() });
    let header = AddTissueHeader { options, ..tissue_header("slab", &slab) };
    let upload = vec![tissue_head(header), tissue_piece(slab.chunk())];
    server.add_tissue(upload).await.expect("a slab");
    let ball = wire(&shapes::sphere(RADIUS_M, 6));
    let upload = vec![tool_head(tool_header("ball", &ball)), tool_piece(ball.chunk())];
    server.add_tool(upload).await.expect("a ball");
    (server, metrics)
}

fn rendered(options: RenderOptions) -> TrackStart {
    TrackStart { render: vec![options], ..start(TrackMode::Every) }
}

fn options() -> RenderOptions {
    RenderOptions { tool_id: 1, tissue_loads: true, device_distances: true, ..Default::default() }
}

/// A tick with the ball `height_m` over the slab.
pub fn at(sequence: u64, height_m: f64) -> Tick {
    // Off the slab's middle, through which its diagonal runs.
    let position = vec3(0.02, 0.035, RADIUS_M + height_m);
    let pose = Pose { position_m: Some(position), orientation: None };
    Tick {
        sequence,
        tools: vec![ToolPose { tool_id: 1, pose: Some(pose), ..Default::default() }],
        ..Default::default()
    }
}

/// Moves to `height_m` from the slab's face in steps of 0.2 mm, from `sequence` on, and holds until the force is no
/// longer limited.
pub async fn press(stream: &mut HandFed, sequence: u64, height_m: f64) -> TrackResponse {
    let steps = (height_m.abs() / 2e-4).ceil() as u64;
    for i in 0..steps + SETTLED_MAX {
        let height = height_m * ((i + 1) as f64 / steps as f64).min(1.0);
        let answer = stream.ask(tick_message(at(sequence + i, height))).await.expect("answered");
        assert_eq!(answer.refusal, None);
        if i + 1 >= steps && !only(&answer).limited {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the force is limited after {SETTLED_MAX} ticks at {height_m} m");
}

pub fn only(answer: &TrackResponse) -> &Rendering {
    let [rendering] = &answer.renderings[..] else {
        panic!("{} renderings", answer.renderings.len())
    };
    rendering
}

fn dvec3(v: &Option<Vec3>) -> DVec3 {
    let v = v.as_ref().expect("set");
    DVec3::new(v.x, v.y, v.z)
}

fn sum(forces: &[f32]) -> DVec3 {
    forces.chunks_exact(3).map(|f| DVec3::new(f[0].into(), f[1].into(), f[2].into())).sum()
}

#[tokio::test]
async fn a_ball_that_is_pressed_into_a_slab_stays_on_it_and_is_pushed_back() {
    let (mut server, metrics) = bench(TissueKind::Tissue).await;
    let mut stream = server.hand_fed(start_message(rendered(options()))).await;
    let free = stream.ask(tick_message(at(1, 0.001))).await.expect("answered");
    assert_eq!(
        (only(&free).state(), dvec3(&only(&free).force_n)),
        (RenderState::Free, DVec3::ZERO)
    );
    let depth_m = 0.003;
    let answer = press(&mut stream, 2, -depth_m).await;
    let rendering = only(&answer);
    assert_eq!((rendering.tool_id, rendering.state()), (1, RenderState::Touching));
    // The nearest point of a ball of triangles is up to its sagitta nearer than its radius.
    let (force, expected) =
        (dvec3(&rendering.force_n), STIFFNESS_N_PER_M * (depth_m + STAND_OFF_M));
    assert!((force.z / expected - 1.0).abs() < 0.01 && force.length() < 1.01 * expected, "{force}");
    let proxy = dvec3(&rendering.proxy.as_ref().expect("set").position_m);
    assert!((proxy.z - RADIUS_M - STAND_OFF_M).abs() < 1e-6, "{proxy}");
    assert!(!rendering.limited);
    let contacts = sum(&rendering.contact_force_xyz_n);
    assert!((contacts - force).length() < 1e-6 * expected, "{contacts}");
    let [load] = &rendering.tissue_loads[..] else { panic!("one tissue bears") };
    let loads = sum(&load.force_xyz_n);
    assert!((loads + contacts).length() < 1e-6 * expected, "{loads}");
    // The links are answered at the proxy, and additionally at the device.
    assert!((answer.links[0].signed_distance_m - STAND_OFF_M).abs() < 1e-6);
    let device = rendering.device_distance_m[0];
    assert!((device + depth_m).abs() < 1e-4, "{device}");
    assert_eq!(rendering.device_distance_is_lower_bound, [false]);
    let (_, text) = get(metrics, "/metrics").await;
    assert!(value(&text, "palpate_renderings_total{state=\"touching\"}") >= 1.0);

    // Away from the slab the force falls to zero as fast as its rate allows.
    let back = press(&mut stream, answer.sequence + 1, 0.001).await;
    assert_eq!(dvec3(&only(&back).force_n), DVec3::ZERO);
    assert_eq!(only(&back).state(), RenderState::Free);
}

#[tokio::test]
async fn a_forbidden_region_holds_back_is_marked_and_bears_nothing() {
    let (mut server, _) = bench(TissueKind::ForbiddenRegion).await;
    let mut stream = server.hand_fed(start_message(rendered(options()))).await;
    stream.ask(tick_message(at(1, 0.001))).await.expect("answered");
    let answer = press(&mut stream, 2, -0.002).await;
    let rendering = only(&answer);
    assert!(dvec3(&rendering.force_n).z > 0.9 * STIFFNESS_N_PER_M * 0.002);
    assert!(rendering.tissue_loads.is_empty());
    assert!(
        !rendering.contact_forbidden.is_empty() && rendering.contact_forbidden.iter().all(|f| *f)
    );
    let contacts = answer.links[0].contacts.as_ref().expect("it is near");
    assert!(contacts.forbidden.len() == contacts.total as usize && contacts.forbidden[0]);
    let seen = server.seen().await;
    assert_eq!(seen.scene.tissues[0].kind(), TissueKind::ForbiddenRegion);
}

/// A resumed session continues its proxy: a device that was pressed in all the while is still held out.
#[tokio::test]
async fn a_resumed_session_keeps_its_proxy() {
    let (mut server, _) = bench(TissueKind::Tissue).await;
    let mut stream = server.hand_fed(start_message(rendered(options()))).await;
    let first = stream.ask(tick_message(at(1, 0.001))).await.expect("answered");
    let before = press(&mut stream, 2, -0.003).await;
    drop(stream.requests);
    drop(stream.answers);
    let resume_token = first.session_token;
    let again = TrackStart { resume_token, tool_ids: vec![], ..start(TrackMode::Every) };
    let mut stream = server.hand_fed(start_message(again)).await;
    let sequence = before.sequence + 1;
    let answer = stream.ask(tick_message(at(sequence, -0.003))).await.expect("answered");
    assert_eq!(only(&answer).state(), RenderState::Touching);
    // After a pause of more than 50 ms the force returns in a ramp.
    let answer = press(&mut stream, sequence + 1, -0.003).await;
    assert!(dvec3(&only(&answer).force_n).z > 0.99 * STIFFNESS_N_PER_M * 0.003);
}

#[tokio::test]
async fn a_proxy_goes_on_without_its_session() {
    let (mut server, _) = bench(TissueKind::Tissue).await;
    let mut stream = server.hand_fed(start_message(rendered(options()))).await;
    stream.ask(tick_message(at(1, 0.001))).await.expect("answered");
    let before = press(&mut stream, 2, -0.003).await;
    drop(stream);
    let pressed = DVec3::Z * (0.003 + STAND_OFF_M) * STIFFNESS_N_PER_M;
    assert!((dvec3(&only(&before).force_n) - pressed).length() < 1e-6);
    let Rendering { proxy, proxy_link_poses: link_poses, .. } = only(&before).clone();
    let goes_on = TrackStart {
        last_poses: at(0, -0.003).tools,
        last_proxies: vec![ToolPose { tool_id: 1, pose: proxy, link_poses, teleport: false }],
        ..rendered(options())
    };
    let mut stream = server.hand_fed(start_message(goes_on.clone())).await;
    let first = stream.ask(tick_message(at(7, -0.003))).await.expect("answered");
    assert_eq!(only(&first).state(), RenderState::Touching);
    assert_eq!(dvec3(&only(&first).force_n), DVec3::ZERO, "it rises from there");
    let after = press(&mut stream, 8, -0.003).await;
    assert!((dvec3(&only(&after).force_n) - pressed).length() < 1e-6, "{:?}", only(&after));
    let [one, two] = [&before, &after].map(|a| only(a).proxy.expect("it is somewhere"));
    let moved = dvec3(&one.position_m).distance(dvec3(&two.position_m));
    assert!(moved < 1e-7, "{one:?} {two:?}");

    // A loop that does not send its last pose is inside the slab.
    let mut stream = server.hand_fed(start_message(rendered(options()))).await;
    let first = stream.ask(tick_message(at(1, -0.003))).await.expect("answered");
    assert_eq!(only(&first).state(), RenderState::Embedded);

    // A loop whose last pose is now inside the slab is inside, too.
    let within = TrackStart { last_proxies: at(0, -0.001).tools, ..goes_on };
    let mut stream = server.hand_fed(start_message(within)).await;
    let first = stream.ask(tick_message(at(1, -0.003))).await.expect("answered");
    assert_eq!(only(&first).state(), RenderState::Embedded);
}

#[tokio::test]
async fn who_begins_inside_gets_no_force_until_it_was_outside() {
    let (mut server, _) = bench(TissueKind::Tissue).await;
    let mut stream = server.hand_fed(start_message(rendered(options()))).await;
    for (sequence, height_m) in [(1, -0.005), (2, -0.004), (3, -0.006)] {
        let answer = stream.ask(tick_message(at(sequence, height_m))).await.expect("answered");
        assert_eq!(only(&answer).state(), RenderState::Embedded);
        assert_eq!(dvec3(&only(&answer).force_n), DVec3::ZERO);
    }
    let outside = stream.ask(tick_message(at(4, 0.001))).await.expect("answered");
    assert_eq!(only(&outside).state(), RenderState::Free);
    let answer = press(&mut stream, 5, -0.002).await;
    assert_eq!(only(&answer).state(), RenderState::Touching);
}

/// Answers to a stream without rendered tools have no rendering fields.
#[tokio::test]
async fn without_render_an_answer_is_what_it_was() {
    let (mut server, _) = bench(TissueKind::Tissue).await;
    let mut stream = server.hand_fed(start_message(start(TrackMode::Every))).await;
    let answer = stream.ask(tick_message(at(1, -0.002))).await.expect("answered");
    assert!(answer.renderings.is_empty());
    let contacts = answer.links[0].contacts.as_ref().expect("inside");
    assert!(contacts.forbidden.is_empty() && answer.links[0].signed_distance_m < 0.0);
    assert_eq!(answer.flags & 1 << Flag::Degraded as u32, 0);
}

#[tokio::test]
async fn an_option_that_cannot_be_is_refused_by_its_name() {
    let (mut server, _) = bench(TissueKind::Tissue).await;
    let bad: [(RenderOptions, &str); 6] = [
        (RenderOptions { stiffness_n_per_m: -1.0, ..options() }, "stiffness_n_per_m"),
        (RenderOptions { friction: f64::NAN, ..options() }, "friction"),
        (RenderOptions { force_shading_rad: 1.01, ..options() }, "force_shading_rad"),
        (RenderOptions { tool_id: 7, ..options() }, "tool_id"),
        (RenderOptions { cutting_links: vec![1], ..options() }, "cutting_links"),
        (RenderOptions { hold_point_m: Some(vec3(0.0, 1e9, 0.0)), ..options() }, "hold_point_m.y"),
    ];
    for (options, field) in bad {
        let answers = server.track(vec![start_message(rendered(options))]).await;
        let refused = answers.into_iter().next().expect("a refusal").map(drop);
        let field = format!("start.render[0].{field}");
        assert_refused(refused, Code::InvalidArgument, &field, &field);
    }
}
