//! P14: a tick's way to the engine and back beyond the engine's own time: in this process, as the C library goes it in
//! lock-step, against gRPC to a server on this machine. The same bead in the same organ, rendered, with its local model.

use std::{sync::Arc, time::Instant};

use palpate::{
    client::{
        Client, LinkUpload, LoopOptions, TrackLoop,
        local_model::{on_the_wire, servo_options},
        mesh_source::MeshSource,
    },
    geometry::Pose,
    proto,
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Limits, Link, Scene, TissueOptions, ToolId, ToolParts,
        tick::{TickOptions, ToolPose},
        tool::field::default_field,
    },
    servo::{DeviceFeed, device_servo},
    time_left::TimeLeft,
};

use crate::{
    run::{Figures, Run},
    served::{Served, bead, bead_plan},
};

const SCENE: &str = "in-process";
/// Of ticks one after the other, nanoseconds.
const TICK_NS: u64 = 1_000_000;
/// From above the organ to below its top, metres.
const ABOVE_M: f64 = 1e-3;

/// Prints its line.
pub fn run(run: &mut Run) {
    let organ = bead_plan(1, 1e3, 1.0).organ;
    let n = run.effort.of(4_000, 100);
    let top = organ.bounds.max.as_dvec3().with_x(0.0).with_y(0.0);
    let poses: Vec<Pose> = (0..n)
        .map(|i| {
            let share = i as f64 / n as f64;
            let translation = top + glam::DVec3::Z * ABOVE_M * (1.0 - 2.0 * share);
            Pose { translation, ..Pose::IDENTITY }
        })
        .collect();
    let (mut here, felt_here) = in_process(&organ.mesh, &poses);
    let (mut there, felt_there) = over_grpc(&organ.mesh, &poses);
    for (i, (a, b)) in felt_here.iter().zip(&felt_there).enumerate() {
        // The wire has doubles; poses go as quaternions.
        assert!((a - b).abs() < 1e-6, "tick {i}: {a} N in the process, {b} N over gRPC");
    }
    let [ours, peer] = [&mut here, &mut there].map(|times| {
        times.sort_by(f64::total_cmp);
        [times[n / 2], times[n * 99 / 100]]
    });
    let text = format!(
        "ours_us={} ours_p99_us={} peer=grpc peer_us={} peer_p99_us={} ratio={} ratio_p99={}",
        Figures(ours[0]),
        Figures(ours[1]),
        Figures(peer[0]),
        Figures(peer[1]),
        Figures(peer[0] / ours[0]),
        Figures(peer[1] / ours[1]),
    );
    run.line("P14", "bead/lock-step", felt_here.iter().sum(), text);
}

/// Beyond the engine, microseconds, and the force of each tick.
fn in_process(organ: &MeshSource, poses: &[Pose]) -> (Vec<f64>, Vec<f64>) {
    let scene = Arc::new(Scene::new(SCENE.to_owned(), Limits::default()));
    let organ = organ.load(0.0).expect("a mesh");
    scene.add_tissue("organ", organ, TissueOptions::default(), 0).expect("room");
    let bead = MeshSource::Raw(bead()).load(0.0).expect("a mesh");
    let link = Link::new("bead".to_owned(), bead, Pose::IDENTITY, default_field);
    let parts = ToolParts { name: "bead".to_owned(), links: vec![link], probes: Vec::new() };
    let tool = scene.add_tool(parts).expect("room").id;
    let render = RenderOptions { local_model: true, ..RenderOptions::of(tool) };
    let session = RenderedSession::new(scene, &[tool], TickOptions::default(), &[render]);
    let mut session = session.expect("it is rendered");
    let (_, mut feed) = device_servo(servo_options(&asked(tool.0))).expect("options");
    let mut pose =
        ToolPose { tool, scene_from_tool: Pose::IDENTITY, tool_from_link: vec![], teleport: false };
    let tick = |(at, sequence): (&Pose, u64)| {
        let began = Instant::now();
        pose.scene_from_tool = *at;
        let (poses, now_ns) = (std::slice::from_ref(&pose), sequence * TICK_NS);
        let engine = Instant::now();
        session.tick(sequence, poses, now_ns, &TimeLeft::endless()).expect("a tick");
        let engine = engine.elapsed();
        let force_n = hand_over(&session, &mut feed, now_ns);
        ((began.elapsed() - engine).as_secs_f64() * 1e6, force_n)
    };
    poses.iter().zip(1..).map(tick).unzip()
}

fn hand_over(session: &RenderedSession, feed: &mut DeviceFeed, now_ns: u64) -> f64 {
    let rendering = session.renderings().next().expect("one is rendered");
    if let Some(model) = &rendering.local_model {
        feed.give(model, now_ns);
    }
    rendering.force_n.length()
}

fn over_grpc(organ: &MeshSource, poses: &[Pose]) -> (Vec<f64>, Vec<f64>) {
    let served = Served::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    runtime.block_on(async {
        let mut client = Client::connect(&served.server.address()).await.expect("it listens");
        client.create_scene(SCENE).await.expect("a scene");
        client.add_tissue(SCENE, "organ", organ).await.expect("a tissue");
        let link = LinkUpload {
            name: "bead".to_owned(),
            mesh: MeshSource::Raw(bead()),
            rest_pose: None,
            fill_holes_m: 0.0,
        };
        let tool = client.add_tool(SCENE, "bead", &[link], &[]).await.expect("a tool").tool_id;
        let (_, feed) = device_servo(servo_options(&asked(tool))).expect("options");
        let options = LoopOptions { device: Some(feed), rate_hz: 0.0, ..LoopOptions::default() };
        let start = proto::TrackStart {
            scene_id: SCENE.to_owned(),
            tool_ids: vec![tool],
            render: vec![asked(tool)],
            ..Default::default()
        };
        let haptics = client.haptics_with(start, options).await.expect("a loop");
        let (mut beyond, mut felt) = (Vec::new(), Vec::new());
        for at in poses {
            let (us, force_n) = round_trip(&haptics, ToolId(tool), at).await;
            beyond.push(us);
            felt.push(force_n);
        }
        (beyond, felt)
    })
}

async fn round_trip(haptics: &TrackLoop, tool: ToolId, at: &Pose) -> (f64, f64) {
    let began = Instant::now();
    let pose = Some(on_the_wire(at));
    let sent = proto::ToolPose { tool_id: tool.0, pose, ..Default::default() };
    let sequence = haptics.send(vec![sent]).expect("open");
    let answer = haptics.wait(sequence).await.expect("an answer");
    let us = began.elapsed().as_secs_f64() * 1e6 - answer.compute_us;
    let force = answer.renderings[0].force_n.unwrap_or_default();
    (us, glam::DVec3::new(force.x, force.y, force.z).length())
}

fn asked(tool_id: u32) -> proto::RenderOptions {
    proto::RenderOptions { tool_id, local_model: true, ..Default::default() }
}
