//! Overrun of ticks that have too little time: on fine tissue, fans about one vertex, triangles in a point, copies.
//!
//! A machine that stops a thread may count the stop as the thread's own time. Beside each tick, as a measure of that, the
//! thread spins for the same budget: `spin_p99.9` is of those turns.

use std::sync::Arc;

use glam::{DQuat, DVec3};
use palpate::{
    geometry::{LoadOptions, MeshData, Pose, mesh::load::load},
    oracle::{Random, shapes},
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Limits, Link, Probe, Scene, TissueOptions, ToolParts,
        tick::{TickOptions, ToolPose},
        tool::field::field_of,
    },
    sdf::FieldOptions,
    surface::Surface,
    time_left::TimeLeft,
};

use crate::{
    run::{Figures, Run},
    turns::Effort,
};

const BUDGET_NS: u64 = 1_000_000;
const TICKS: u32 = 4_000;

/// Returns the processor time of this thread: a busy machine does not change it.
#[cfg(unix)]
fn thread_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(not(unix))]
fn thread_ns() -> u64 {
    use std::{sync::LazyLock, time::Instant};
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGIN.elapsed().as_nanos() as u64
}

/// Reads the clock until a budget has passed. Returns the time that took, in budgets.
fn spin() -> f64 {
    let start = thread_ns();
    loop {
        let passed = thread_ns() - start;
        if passed >= BUDGET_NS {
            return passed as f64 / BUDGET_NS as f64;
        }
    }
}

/// Returns triangles with corners within `size` metres of the origin: all different, or all equal.
fn crowd(n: u32, size: f64, is_same: bool) -> MeshData {
    let mut random = Random::new(11);
    let mut corner = || (random.unit_vector() * size).as_vec3();
    let first = [corner(), corner(), corner()];
    let corners = (0..n).map(|_| if is_same { first } else { [corner(), corner(), corner()] });
    let positions = corners.flatten().collect();
    MeshData { positions, triangles: (0..n).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect() }
}

/// Returns tissues with the height of their surface, metres.
fn tissues() -> Vec<(String, MeshData, f64)> {
    let faces = shapes::sphere(0.1, 1).triangles.len() as f64;
    let frequency = (1.5e6 / faces).sqrt() as u32;
    let mut all = vec![("ball_1500k".to_owned(), shapes::sphere(0.1, frequency), 0.1)];
    for n in [50, 400, 1500] {
        all.push((format!("fan_{n}k"), shapes::spindle(500 * n, 0.1, 0.03), 0.03));
    }
    all.push(("point_100k".to_owned(), crowd(100_000, 1e-6, false), 0.0));
    all.push(("copies_100k".to_owned(), crowd(100_000, 0.02, true), 0.0));
    all
}

pub fn run(run: &mut Run) {
    if run.effort == Effort::Smoke {
        return;
    }
    for (name, tissue, surface_m) in tissues() {
        let scene = Arc::new(Scene::new(name.clone(), Limits::default()));
        let loaded = load(tissue, &LoadOptions::default()).expect("a mesh");
        scene.add_tissue("tissue", loaded, TissueOptions::default(), 0).expect("room");
        let field = |surface: &Surface| field_of(surface, &FieldOptions::default());
        let ball = load(shapes::sphere(0.01, 8), &LoadOptions::default()).expect("a mesh");
        let probe = |z: f64| {
            let (name, position) = (format!("at {z}"), DVec3::Z * z);
            Probe { name, link: 0, position, radius: 1e-3 }
        };
        let parts = ToolParts {
            name: "tool".to_owned(),
            links: vec![Link::new("ball".to_owned(), ball, Pose::IDENTITY, field)],
            probes: vec![probe(-0.01), probe(0.0)],
        };
        let tool = scene.add_tool(parts).expect("added");
        for is_rendered in [false, true] {
            let render = RenderOptions { local_model: true, ..RenderOptions::of(tool.id) };
            let render = if is_rendered { vec![render] } else { Vec::new() };
            let options = TickOptions::default();
            let session = RenderedSession::new(Arc::clone(&scene), &[tool.id], options, &render);
            let mut session = session.expect("options");
            let mut spins = Vec::with_capacity(TICKS as usize);
            let mut took: Vec<f64> = (0..TICKS)
                .map(|tick| {
                    let t = f64::from(tick) / f64::from(TICKS);
                    // The tool comes from above on to the surface, goes 3 mm into it, and then along it.
                    let height = surface_m + 0.007 + 0.01 * (1.0 - 4.0 * t).max(0.0);
                    let pose = ToolPose {
                        tool: tool.id,
                        scene_from_tool: Pose::new(
                            DQuat::from_rotation_z(t),
                            DVec3::new(0.01 * t, -0.004 * t, height),
                        )
                        .expect("unit"),
                        tool_from_link: Vec::new(),
                        teleport: false,
                    };
                    let start = thread_ns();
                    let time = TimeLeft::until(&thread_ns, start + BUDGET_NS);
                    let (sequence, now_ns) = (u64::from(tick) + 1, u64::from(tick) * BUDGET_NS);
                    session.tick(sequence, &[pose], now_ns, &time).expect("accepted");
                    let took = thread_ns() - start;
                    spins.push(spin());
                    took as f64 / BUDGET_NS as f64
                })
                .collect();
            took.sort_unstable_by(f64::total_cmp);
            spins.sort_unstable_by(f64::total_cmp);
            let part = |of: &[f64], share| Figures(of[(share * f64::from(TICKS - 1)) as usize]);
            let at = |share: f64| part(&took, share);
            let case = format!("{name}_{}", if is_rendered { "rendered" } else { "plain" });
            let text = format!(
                "of_budget_p50={} p99={} p99.9={} max={} spin_p99.9={} spin_max={}",
                at(0.5),
                at(0.99),
                at(0.999),
                at(1.0),
                part(&spins, 0.999),
                part(&spins, 1.0),
            );
            run.line("A3", &case, 0.0, text);
        }
    }
}
