//! P13: a rendered tick: the dental probe's device dragged through the liver of 70 k triangles 5 mm below its surface,
//! the proxy along it; compared with an unrendered tick at the proxy, and with one that penetrates as deep as the
//! device. Rendering adds the proxy's motion, and saves the searches for deepest points.

use std::{hint::black_box, time::Instant};

use palpate::{
    geometry::LoadedMesh,
    proxy::{RenderOptions, RenderState, RenderedSession},
    scene::{
        Distance,
        tick::{TickOptions, ToolPose},
    },
    time_left::TimeLeft,
};

use crate::{
    counting::calls_during,
    inputs::{FILLED_PROBE, TOOLS, Tool, liver},
    run::{Figures, Run, Timed},
    tick::{Stage, ThereAndBack},
    turns::by_turns,
};

/// Depth below the pose at which the probe touches with [`crate::tick`]'s contacts, metres.
const DEPTH_M: f64 = 5e-3;
/// Height from which the device comes, metres, at which nothing of the bent probe is in the liver, and ticks down from
/// it.
const ABOVE_M: f64 = 30e-3;
const TICKS_DOWN: usize = 350;
/// Time between two ticks, nanoseconds.
const TICK_NS: u64 = 1_000_000;

/// Prints a line for each tool.
pub fn run(run: &mut Run) {
    let (name, loaded) = liver(run.effort);
    for tool in [&TOOLS[0], &FILLED_PROBE] {
        drag(run, (&name, loaded.clone()), tool);
    }
}

fn drag(run: &mut Run, (name, liver): (&str, LoadedMesh), tool: &Tool) {
    let n = run.effort.of(400, 100);
    let stage = Stage::new(run.effort, liver, tool, n);
    let case = format!("{}/{name}", tool.name);
    let inwards = stage.way_in();
    let lowered = |pose: &[ToolPose; 1], depth_m: f64| {
        let [mut pose] = pose.clone();
        pose.scene_from_tool.translation += pose.scene_from_tool.vector(inwards) * depth_m;
        [pose]
    };
    let device: Vec<_> = stage.way.iter().map(|pose| lowered(pose, DEPTH_M)).collect();
    let down = (0..=TICKS_DOWN).map(|i| {
        let share = i as f64 / TICKS_DOWN as f64;
        lowered(&stage.way[0], DEPTH_M * share - ABOVE_M * (1.0 - share))
    });
    let mut felt = Felt::new(&stage);
    down.for_each(|pose| felt.tick(&pose));

    // Records the proxy's poses along the way, and checks that it is where it should be.
    let (mut proxies, mut force_n, mut added_ns) = (Vec::new(), 0.0, Vec::new());
    for pose in &device {
        let before = Instant::now();
        felt.tick(pose);
        added_ns.push(before.elapsed().as_nanos());
        let rendering = felt.session.renderings().next().expect("rendered");
        assert_eq!(rendering.state, RenderState::Touching, "{case}");
        force_n += rendering.force_n.length();
        let distance = &felt.session.last_answer().links[0].distance;
        assert!(
            matches!(distance, Distance::Within(at) if at.signed_distance_m > 0.0),
            "{case}: {distance:?}"
        );
        let [mut there] = pose.clone();
        there.scene_from_tool = rendering.scene_from_proxy;
        proxies.push([there]);
    }
    added_ns.sort_unstable();
    let p99 = added_ns[added_ns.len() * 99 / 100] as f64 * 1e-3;

    let calls = calls_during(|| felt.go(&device));
    let options = TickOptions::default();
    let mut at_proxy = ThereAndBack::new(stage.session(options.clone()), &proxies);
    let mut inside = ThereAndBack::new(stage.session(options), &device);
    let [ours, at_proxy, inside] = by_turns(
        run.effort,
        device.len(),
        [&mut || felt.go(&device), &mut || at_proxy.go(), &mut || inside.go()],
    );
    let text = format!(
        "{} ours_p99_us={} {} ratio={} {} ratio_inside={} allocator_calls={calls}",
        Timed("ours", &ours),
        Figures(p99),
        Timed("at_proxy", &at_proxy),
        Figures(ours.p50 / at_proxy.p50),
        Timed("inside", &inside),
        Figures(ours.p50 / inside.p50),
    );
    run.line("P13", &case, force_n, text);
}

/// A rendered loop that goes along a way and back.
struct Felt {
    session: RenderedSession,
    ticks: u64,
    is_back: bool,
}

impl Felt {
    fn new(stage: &Stage) -> Felt {
        let render = [RenderOptions::of(stage.tool.id)];
        let session = stage.rendered(TickOptions::default(), &render);
        Felt { session, ticks: 0, is_back: true }
    }

    fn tick(&mut self, pose: &[ToolPose]) {
        self.ticks += 1;
        let now_ns = self.ticks * TICK_NS;
        let answer = self.session.tick(self.ticks, pose, now_ns, &TimeLeft::endless());
        black_box(answer.expect("accepted"));
    }

    /// Ticks along the way from the end at which the loop stands.
    fn go(&mut self, way: &[[ToolPose; 1]]) {
        if self.is_back {
            way.iter().rev().for_each(|pose| self.tick(pose));
        } else {
            way.iter().for_each(|pose| self.tick(pose));
        }
        self.is_back = !self.is_back;
    }
}
