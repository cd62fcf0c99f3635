//! Borders that coincide are one surface to a tool that slides over them with friction.

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{MeshData, TriangleId},
    oracle::shapes,
    proxy::RenderOptions,
    scene::tissue::edit::TopologyEdit,
};

use super::stage::{ProxyStage, slab, to};

const FRICTION: f64 = 0.3;
const RADIUS: f64 = 0.002;
/// Depth to which the hand presses, metres.
const DEPTH: f64 = 0.002;
/// Distance that the tool moves in a tick, metres.
const STEP: f64 = 80e-6;

/// A slab 60 mm wide, its top in z = 0, with an edge along x = 0.
fn whole() -> MeshData {
    slab(20, 0.003, 0.01)
}

fn centre(mesh: &MeshData, t: &[u32; 3]) -> Vec3 {
    t.iter().map(|v| mesh.positions[*v as usize]).sum::<Vec3>() / 3.0
}

/// The triangles whose centres satisfy `is_kept`.
fn part(mesh: &MeshData, is_kept: impl Fn(Vec3) -> bool) -> MeshData {
    let kept = mesh.triangles.iter().copied().filter(|t| is_kept(centre(mesh, t)));
    MeshData { positions: mesh.positions.clone(), triangles: kept.collect() }
}

/// A seam in the top along a line in x = 0: the vertices to add, and the triangles on its right with those vertices.
fn seam(mesh: &MeshData) -> (Vec<Vec3>, Vec<(usize, [u32; 3])>) {
    let is_on = |p: &Vec3| p.x.abs() < 1e-6 && p.z > -1e-6 && p.y.abs() < 0.029;
    let (mut named, mut added) = (vec![u32::MAX; mesh.positions.len()], Vec::new());
    for (v, p) in mesh.positions.iter().enumerate().filter(|(_, p)| is_on(p)) {
        named[v] = (mesh.positions.len() + added.len()) as u32;
        added.push(*p);
    }
    let is_right = |t: &[u32; 3]| centre(mesh, t).x > 0.0 && centre(mesh, t).z > -1e-6;
    let renamed =
        |t: &[u32; 3]| t.map(|v| if named[v as usize] < u32::MAX { named[v as usize] } else { v });
    let right = mesh.triangles.iter().enumerate().filter(|(_, t)| is_right(t));
    let right = right.map(|(i, t)| (i, renamed(t))).filter(|(i, t)| mesh.triangles[*i] != *t);
    (added, right.collect())
}

/// Checks a ball and a needle that slide along a line from x = -10 mm to 10 mm, pressed throughout: the force along the
/// surface is friction times the force along the normal, and both change little from tick to tick.
fn assert_slides(what: &str, tissues: &[MeshData], prepare: impl Fn(&mut ProxyStage)) {
    let mut needle = shapes::cuboid(DVec3::new(2e-4, 2e-4, 0.02));
    needle.positions.iter_mut().for_each(|p| p.z += 0.01);
    let ball = shapes::sphere(RADIUS, 4);
    for (tool, link, bottom) in [("ball", ball, RADIUS), ("needle", needle, 0.0)] {
        for [dx, dy] in [[1.0, 0.0], [0.9, 0.4]] {
            let options = |o| RenderOptions { friction: FRICTION, ..o };
            let mut stage = ProxyStage::new(tissues, std::slice::from_ref(&link), options);
            prepare(&mut stage);
            let at = |s: f64, height: f64| to(s * dx, 3e-4 + s * dy, bottom + height);
            stage.tick(at(-0.01, 0.003));
            stage.tick(at(-0.01, -DEPTH));
            let mut last: Option<DVec3> = None;
            for i in 1..=(0.02 / STEP) as usize {
                let got = stage.tick(at(-0.01 + i as f64 * STEP, -DEPTH));
                let force = got.force_n;
                let what = format!("{what}, {tool}, step {i}: {force} after {last:?}");
                // The tool does not slip yet.
                if i < 20 {
                    continue;
                }
                let lateral = force.truncate().length();
                assert!((lateral - FRICTION * force.z).abs() < 0.05 * lateral, "{what}");
                let step = last.map_or(0.0, |last| last.distance(force));
                assert!(force.z > 0.5 && step < 0.05, "{what}");
                last = Some(force);
            }
            let got = stage.tick(at(0.01, -DEPTH));
            assert!(!stage.crosses(&got), "{what}, {tool}");
        }
    }
}

#[test]
fn a_tool_slides_over_borders_that_lie_on_each_other() {
    let whole = whole();
    assert_slides("in one piece", std::slice::from_ref(&whole), |_| ());
    let [left, right] = [false, true].map(|side| part(&whole, |p| (p.x > 0.0) == side));
    assert_slides("two tissues", &[left.clone(), right], |_| ());
    // Three parts that meet in a line and in points of it.
    let [front, back] =
        [false, true].map(|side| part(&whole, |p| p.x > 0.0 && (p.y > 0.0) == side));
    assert_slides("three tissues", &[back, left, front], |_| ());
    let (added, right) = seam(&whole);
    let mut parted = whole.clone();
    parted.positions.extend(&added);
    right.iter().for_each(|(i, t)| parted.triangles[*i] = *t);
    assert_slides("a seam", &[parted], |_| ());
    assert_slides("a cut of no width", std::slice::from_ref(&whole), |stage| {
        let edit = TopologyEdit {
            base_revision: None,
            removed: right.iter().map(|(i, _)| TriangleId(*i as u32)).collect(),
            added_positions: added.clone(),
            added: right.iter().map(|(_, t)| *t).collect(),
            parents: Vec::new(),
            ..TopologyEdit::default()
        };
        let limits = palpate::scene::Limits::default();
        stage.tissue(0).edit(edit, &limits, 0).expect("a cut");
    });
    // Each triangle of the top has vertices of its own, as with hard normals.
    let split = MeshData {
        positions: whole.triangles.iter().flatten().map(|v| whole.positions[*v as usize]).collect(),
        triangles: (0..whole.triangles.len() as u32)
            .map(|t| [0, 1, 2].map(|k| 3 * t + k))
            .collect(),
    };
    assert_slides("all split", &[split], |_| ());
}
