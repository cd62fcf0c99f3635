//! Time from the deadline of a tick of real pliers to its end, in CPU time of the tick's own thread.

use std::sync::Arc;

use glam::{DQuat, DVec3};
use palpate::{
    geometry::{LoadOptions, MeshData, Pose, mesh::load::load},
    oracle::shapes,
    scene::{
        Limits, Link, Scene, TissueOptions, ToolParts,
        tick::{Session, TickOptions, ToolPose},
        tool::field::field_of,
    },
    sdf::FieldOptions,
    surface::Surface,
    time_left::TimeLeft,
};
use rustix::time::{ClockId, clock_gettime};

use crate::{
    differential::inputs::shared,
    seed::{Seed, figure, is_full, scaled},
};

const DEADLINE_NS: u64 = 1_000_000;
const P99_MS_MAX: f64 = 1.2;

/// CPU time of this thread, nanoseconds.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A liver, of 70 k triangles if time counts.
fn liver() -> MeshData {
    let liver = shared("liver-smooth.obj", 0.03);
    let liver = liver.map_or_else(|| shapes::organ(4_384, 7), |input| input.data);
    if is_full() { shapes::subdivide(&shapes::subdivide(&liver)) } else { liver }
}

fn pliers() -> MeshData {
    shared("pliers_binary.stl", 0.001).map_or_else(|| shapes::jaw(0.05, 40), |input| input.data)
}

/// Pliers are pushed into a liver, turned and pulled through it, with all pairs requested and a margin of 1 cm, which
/// is many milliseconds of work for a tick.
#[test]
fn a_tick_of_pliers_ends_soon_after_its_deadline() {
    let seed = Seed::or(61);
    let mut random = seed.random(0);
    let scene = Arc::new(Scene::new("deadline".to_owned(), Limits::default()));
    let loaded = |data| load(data, &LoadOptions::default()).expect("a mesh");
    let tissue =
        scene.add_tissue("liver", loaded(liver()), TissueOptions::default(), 0).expect("room");
    let mesh = loaded(pliers());
    // The tolerance is the default if time counts.
    let coarse = 4e-3 * mesh.mesh.used_box().diagonal();
    let tolerance_m = if is_full() { None } else { Some(coarse) };
    let options = FieldOptions { tolerance_m, ..FieldOptions::default() };
    let field = |surface: &Surface| field_of(surface, &options);
    let links = vec![Link::new("pliers".to_owned(), mesh, Pose::IDENTITY, field)];
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
    let (mut used_ms, mut n_cut, mut n_contacts) = (Vec::new(), 0, 0);
    let mut rotation = random.rotation();
    for sequence in 1..=scaled(300) as u64 {
        // Every tenth tick is a leap.
        let leap = sequence % 10 == 0;
        let turn = if leap { random.range(0.0, 3.0) } else { 0.01 };
        rotation = DQuat::from_axis_angle(random.unit_vector(), turn) * rotation;
        let s = (sequence as f64 * 0.02).sin();
        let at = bounds.centre() + DVec3::new(0.3 * s, 0.1, 0.1 * s) * bounds.size();
        let scene_from_tool = Pose::new(rotation, at).expect("a rotation");
        let pose = [ToolPose { tool, scene_from_tool, tool_from_link: vec![], teleport: false }];
        let started = thread_ns();
        let time = TimeLeft::until(&thread_ns, started + DEADLINE_NS);
        let answer = session.tick(sequence, &pose, 0, &time).expect("accepted");
        n_cut += usize::from(answer.flags.degraded);
        n_contacts += answer.links[0].contacts_total;
        used_ms.push((thread_ns() - started) as f64 / 1e6);
    }
    used_ms.sort_by(f64::total_cmp);
    let (n, at) =
        (used_ms.len(), |share: f64| used_ms[((used_ms.len() - 1) as f64 * share) as usize]);
    println!("{n} ticks, {n_cut} cut short, {n_contacts} contacts");
    println!("p50 {:.3} ms, p99.9 {:.3} ms, most {:.3} ms", at(0.5), at(0.999), at(1.0));
    assert!(n_cut > n / 2, "{n_cut} of {n} take longer than their deadline");
    figure("a tick of pliers with a deadline of 1 ms, p99", at(0.99), P99_MS_MAX, "ms");
}
