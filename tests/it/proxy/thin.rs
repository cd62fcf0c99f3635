//! Proxies pass through no sheet, membrane or needle, however far beyond the device is and however it got there.

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{MeshData, Pose},
    oracle::{Random, shapes},
    proxy::{RenderState, Rendering},
    scene::tissue::deform::Deformation,
};

use super::stage::{ProxyStage, slab, to, turned};
use crate::seed::{Seed, scaled};

/// Runs for each of six pairs of sheet and tool: `PALPATE_TEST_SCALE=12` makes 10,800 runs, 1112 a million.
const RUNS: usize = 150;
/// Largest number of ticks in a run; every eighth run covers the whole path instead.
const TICKS_MAX: usize = 60;
/// Enough cells that no tool reaches the border, which it could go around.
const SHEET_CELLS: u32 = 24;
const SHEET_DX: f64 = 0.004;

/// A needle of 0.3 mm along z, its tip at the origin, pointing down.
fn needle() -> MeshData {
    let mut needle = shapes::cuboid(DVec3::new(3e-4, 3e-4, 0.02));
    needle.positions.iter_mut().for_each(|p| p.z += 0.01);
    needle
}

/// An open sheet in z = 0 about the origin.
fn sheet() -> MeshData {
    let mut data = shapes::sheet(SHEET_CELLS + 1, SHEET_CELLS + 1, SHEET_DX);
    let half = (0.5 * f64::from(SHEET_CELLS) * SHEET_DX) as f32;
    data.positions.iter_mut().for_each(|p| *p -= Vec3::new(half, half, 0.0));
    data
}

fn tools() -> [MeshData; 3] {
    [needle(), shapes::cuboid(DVec3::new(0.004, 0.001, 0.001)), shapes::sphere(0.002, 3)]
}

/// Checks that every vertex of the proxy over the sheet is on its initial side.
fn assert_above(stage: &ProxyStage, at: &Rendering, height: f64, run: usize) {
    let half = 0.5 * f64::from(SHEET_CELLS) * SHEET_DX;
    for link in &stage.tool.links {
        let mesh = link.surface.mesh();
        for v in 0..mesh.positions().len() as u32 {
            let p = at.scene_from_proxy.point(mesh.position(v));
            let is_over = p.x.abs() < half && p.y.abs() < half;
            assert!(!is_over || p.z > height, "run {run}: vertex {v} is at {p}, {at:?}");
        }
    }
}

/// A random pose at the given height above or below the sheet, well within its border.
fn pose(random: &mut Random, height: f64) -> Pose {
    let at = DVec3::new(random.range(-0.005, 0.005), random.range(-0.005, 0.005), height);
    Pose::new(random.rotation(), at).expect("a rotation")
}

/// Up to 50 mm beyond in one tick, at 1 m/s, through coalesced poses, with rotation on the way.
#[test]
fn sheets_and_membranes_are_never_passed() {
    let seed = Seed::or(11);
    let runs = scaled(RUNS);
    let (mut touched, mut late, mut far) = (0, 0, 0);
    for (kind, tissue) in [sheet(), slab(SHEET_CELLS, SHEET_DX, 2e-4)].into_iter().enumerate() {
        for (tool_kind, tool) in tools().into_iter().enumerate() {
            let mut stage = ProxyStage::new(std::slice::from_ref(&tissue), &[tool], |o| o);
            for run in 0..runs {
                let part = (run * 6 + kind * 3 + tool_kind) as u64;
                let mut random = seed.random(part);
                stage.pose.teleport = true;
                let mut start = pose(&mut random, 0.0);
                // Slightly above the least height over the sheet that the vertices allow.
                let lowest = stage.lowest(&start);
                start.translation.z += random.range(5e-5, 5e-3) - lowest;
                let got = stage.tick(start);
                assert_eq!(got.state, RenderState::Free, "run {run}");
                let beyond = random.f64() * 0.05;
                let end = pose(&mut random, -beyond);
                let speed = [1e-3, 2e-4, 0.1][random.below(3)];
                let n = ((start.translation.distance(end.translation) / speed) as usize).max(1);
                let swallows = random.below(2) == 0;
                let step = |i: usize| {
                    let s = (i + 1) as f64 / n as f64;
                    between(&start, &end, s)
                };
                let ticks = if run % 8 == 0 { n } else { n.min(TICKS_MAX) };
                far += usize::from(step(ticks - 1).translation.z < -0.04);
                for i in 0..ticks {
                    let is_last = i + 1 == ticks;
                    if swallows && !is_last && random.below(3) > 0 {
                        stage.coalesce(step(i));
                        continue;
                    }
                    let got = stage.tick(step(i));
                    assert_above(&stage, &got, 0.0, run);
                    touched += usize::from(got.state == RenderState::Touching);
                    late += usize::from(got.state == RenderState::Late);
                    assert!(!is_last || !stage.crosses(&got), "run {run}: it crosses");
                }
            }
        }
    }
    println!(
        "{} runs against sheets, {far} to more than 40 mm beyond: {touched} ticks touching, {late} late",
        6 * runs
    );
    assert!(touched > runs && far > runs / 2, "{touched} of {runs}, {far} far");
}

/// Pose at fraction `s` of an even motion and rotation.
fn between(from: &Pose, to: &Pose, s: f64) -> Pose {
    let quat = |p: &Pose| glam::DQuat::from_mat3(&p.rotation);
    let rotation = quat(from).slerp(quat(to), s);
    Pose::new(rotation, from.translation.lerp(to.translation, s)).expect("a rotation")
}

/// A sheet swept across a still tool at 60 Hz pushes the tool along, at up to 1 m/s.
#[test]
fn a_sheet_swept_across_a_still_tool_pushes_it() {
    let seed = Seed::or(12);
    let (runs, mut pushed) = (scaled(40), 0);
    for run in 0..runs {
        let mut random = seed.random(run as u64);
        let tool = tools()[run % 3].clone();
        let mut stage = ProxyStage::new(&[sheet()], &[tool], |o| o);
        let mut start = pose(&mut random, 0.0);
        start.translation.z += random.range(1e-4, 5e-3) - stage.lowest(&start);
        stage.tick(start);
        let rest: Vec<Vec3> = stage.tissue(0).current().surface.mesh().positions().to_vec();
        let speed = random.range(0.05, 1.0);
        let (tilt, mut height) = (random.range(-0.1, 0.1) as f32, 0.0);
        for revision in 1..=6 {
            height += speed / 60.0;
            // Several deformations between two ticks now and then.
            for part in (0..1 + random.below(7)).rev() {
                let h = (height - part as f64 * speed / 600.0) as f32;
                let place = |p: &Vec3| *p + Vec3::Z * (h + tilt * p.x * (revision as f32 / 6.0));
                let positions = rest.iter().map(place).collect();
                stage.tissue(0).deform(Deformation::Dense(positions), 0).expect("deformed");
            }
            for _ in 0..2 {
                let got = stage.tick(start);
                assert!(!stage.crosses(&got), "run {run}: it crosses, {got:?}");
                let embedded = got.state == RenderState::Embedded;
                assert!(!embedded, "run {run}, revision {revision}: {:?}", got.state);
                pushed += usize::from(got.force_n.z > 0.0);
                let least = height - 0.024 * f64::from(tilt.abs());
                assert_above(&stage, &got, least.min(height - 0.003), run);
            }
        }
    }
    println!("{runs} sheets swept across a still tool: {pushed} ticks with a force");
    assert!(pushed > 4 * runs, "{pushed}");
}

/// A bar that lies on a sheet and is turned through it stays on its side.
#[test]
fn a_tool_turned_through_a_sheet_stays_on_its_side() {
    let tool = shapes::cuboid(DVec3::new(0.02, 0.001, 0.001));
    for n in [1, 3, 200] {
        let mut stage = ProxyStage::new(&[sheet()], std::slice::from_ref(&tool), |o| o);
        stage.tick(to(0.0, 0.0, 0.001));
        for i in 1..=n {
            let angle = 1.5 * f64::from(i) / f64::from(n);
            let got = stage.tick(turned(DVec3::Y, angle, DVec3::Z * 0.001));
            assert_above(&stage, &got, 0.0, i as usize);
            assert!(i < n || !stage.crosses(&got));
        }
        let got = stage.proxy.rendering();
        println!("turned in {n} ticks: {:?}, {} N, {} N m", got.state, got.force_n, got.torque_nm);
        assert!(got.force_n.z > 1.0, "{got:?}");
    }
}
