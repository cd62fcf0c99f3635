//! A2: how much of its thread a tick of pliers in a liver takes when it has a deadline of 1 ms and more work than that.

use std::sync::Arc;

use glam::{DQuat, DVec3};
use palpate::{
    geometry::Pose,
    oracle::Random,
    scene::{
        Limits, Link, Scene, TissueOptions, ToolParts,
        tick::{Session, TickOptions, ToolPose},
        tool::field::default_field,
    },
    time_left::TimeLeft,
};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    inputs::{TOOLS, liver},
    run::{Figures, Run},
};

const DEADLINE_NS: u64 = 1_000_000;
/// Microseconds.
const TARGET_P99_US: f64 = 1_200.0;

/// Nanoseconds that this thread has had a core for.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Prints a line: pushed in, turned and pulled through, every tenth tick a leap, all pairs asked for, a margin of 1 cm.
pub fn run(run: &mut Run) {
    let (tissue_name, liver) = liver(run.effort);
    let (tool_name, pliers) = TOOLS[1].load(run.effort);
    let n_triangles = pliers.mesh.n_triangles() + liver.mesh.n_triangles();
    let scene = Arc::new(Scene::new("deadline".to_owned(), Limits::default()));
    let tissue = scene.add_tissue("liver", liver, TissueOptions::default(), 0).expect("room");
    let links = vec![Link::new("pliers".to_owned(), pliers, Pose::IDENTITY, default_field)];
    let parts = ToolParts { name: "pliers".to_owned(), links, probes: Vec::new() };
    let tool = scene.add_tool(parts).expect("room").id;
    let report = TickOptions {
        contact_margin_m: 0.01,
        max_contacts: 1_024,
        triangle_pairs: true,
        ..TickOptions::default()
    };
    let mut session = Session::new(Arc::clone(&scene), &[tool], report).expect("a tool");
    let bounds = *tissue.current().surface.bounds();
    let (mut used_us, mut n_cut) = (Vec::new(), 0);
    let mut random = Random::new(61);
    let mut rotation = random.rotation();
    for sequence in 1..=run.effort.of(4_000, 100) {
        let is_leap = sequence % 10 == 0;
        let turn = if is_leap { random.range(0.0, 3.0) } else { 0.01 };
        rotation = (DQuat::from_axis_angle(random.unit_vector(), turn) * rotation).normalize();
        let s = (sequence as f64 * 0.02).sin();
        let at = bounds.centre() + DVec3::new(0.3 * s, 0.1, 0.1 * s) * bounds.size();
        let scene_from_tool = Pose::new(rotation, at).expect("a rotation");
        let pose = [ToolPose { tool, scene_from_tool, tool_from_link: vec![], teleport: false }];
        let started = thread_ns();
        let time = TimeLeft::until(&thread_ns, started + DEADLINE_NS);
        let answer = session.tick(sequence, &pose, 0, &time).expect("accepted");
        n_cut += u32::from(answer.flags.degraded);
        used_us.push((thread_ns() - started) as f64 / 1e3);
    }
    used_us.sort_by(f64::total_cmp);
    let n = used_us.len();
    let at = |share: f64| used_us[((n - 1) as f64 * share) as usize];
    let is_met = if at(0.99) <= TARGET_P99_US { "yes" } else { "no" };
    let text = format!(
        "ours_us={} p99_us={} p999_us={} max_us={} cut_short={n_cut} ticks={n} target_p99_us={TARGET_P99_US} \
         met={is_met}",
        Figures(at(0.5)),
        Figures(at(0.99)),
        Figures(at(0.999)),
        Figures(at(1.0)),
    );
    run.line("A2", &format!("{tool_name}/{tissue_name}"), n_triangles as f64, text);
}
