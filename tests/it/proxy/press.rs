//! A tool pressed into a flat slab, slid over it, and pulled back out.

use glam::DVec3;
use palpate::{
    geometry::TriangleId,
    oracle::{Random, shapes},
    proxy::{RenderOptions, RenderState, Rendering},
    scene::{Limits, tissue::edit::TopologyEdit},
};

use super::stage::{ProxyStage, STAND_OFF, STIFF, slab, to};

const RADIUS: f64 = 0.005;

/// The force is that of the spring at the sphere's depth below the stand-off, along the normal, whatever the
/// triangulation.
#[test]
fn a_sphere_pressed_into_a_slab_feels_its_depth() {
    let (mut worst_force, mut worst_angle) = (0.0f64, 0.0f64);
    for (cells, dx) in [(1, 0.06), (7, 0.009), (40, 0.0015)] {
        for at in [[0.0, 0.0], [0.0031, -0.0017], [0.0045, 0.0045]] {
            let mut stage =
                ProxyStage::new(&[slab(cells, dx, 0.01)], &[shapes::sphere(RADIUS, 12)], |o| o);
            stage.tick(to(at[0], at[1], 0.008));
            for step in 1..=60 {
                let depth = f64::from(step) * 1e-4;
                let got = stage.tick(to(at[0], at[1], RADIUS - depth));
                assert_eq!(got.state, RenderState::Touching, "at {depth}");
                // The sphere's lowest vertex is at its radius.
                let expected = 500.0 * (depth + STAND_OFF);
                worst_force = worst_force.max((got.force_n.length() - expected).abs() / expected);
                worst_angle = worst_angle.max(got.force_n.angle_between(DVec3::Z));
                assert!(step % 20 != 0 || !stage.crosses(&got), "at {depth}");
            }
        }
    }
    let degrees = worst_angle.to_degrees();
    println!("sphere on slab: force within {:.4} %, {degrees:.4} degrees", 100.0 * worst_force);
    assert!(worst_force < 0.01 && degrees < 1.0, "{worst_force}, {degrees} degrees");
}

/// Without friction no force acts along the surface, and inner edges change nothing.
#[test]
fn sliding_without_friction_feels_no_tessellation() {
    let (mut worst_tangent, mut least, mut most) = (0.0f64, f64::INFINITY, 0.0f64);
    let mut stage = ProxyStage::new(&[slab(20, 0.003, 0.01)], &[shapes::sphere(RADIUS, 12)], |o| o);
    stage.tick(to(-0.02, 0.001, 0.006));
    stage.tick(to(-0.02, 0.001, RADIUS - 0.002));
    for step in 0..2000 {
        let s = f64::from(step) * 20e-6;
        let got = stage.tick(to(-0.02 + s, 0.001 + 0.3 * s, RADIUS - 0.002));
        worst_tangent = worst_tangent.max(got.force_n.truncate().length());
        least = least.min(got.force_n.z);
        most = most.max(got.force_n.z);
    }
    let ripple = (most - least) / most;
    println!(
        "slide: normal force {least:.6} to {most:.6} N, ripple {:.5} %, tangential force {:.2e} N",
        100.0 * ripple,
        worst_tangent
    );
    assert!(ripple < 0.01 && worst_tangent < 0.01 * least, "{ripple}, {worst_tangent} N");
}

/// Pulled aside under friction, the proxy sticks up to the cone's limit, and then slips on it.
#[test]
fn friction_sticks_inside_its_cone_and_slips_on_it() {
    let mut stage = ProxyStage::new(&[slab(20, 0.003, 0.01)], &[shapes::sphere(RADIUS, 12)], |o| {
        RenderOptions { friction: 0.3, spring: STIFF, ..o }
    });
    let depth = 0.002;
    stage.tick(to(0.0011, 0.0004, 0.006));
    let start = stage.tick(to(0.0011, 0.0004, RADIUS - depth));
    let normal = 500.0 * (depth + STAND_OFF);
    let (mut worst_stick, mut worst_slip, mut crept) = (0.0f64, 0.0f64, 0.0f64);
    for step in 1..400 {
        let aside = f64::from(step) * 10e-6;
        let got = stage.tick(to(0.0011 + aside, 0.0004, RADIUS - depth));
        let pull = 500.0 * aside;
        let tangent = -got.force_n.x;
        if pull < 0.98 * 0.3 * normal {
            worst_stick = worst_stick.max((tangent - pull).abs() / pull.max(0.05));
            crept = crept.max(ProxyStage::origin(&got).x - ProxyStage::origin(&start).x);
        } else if pull > 1.02 * 0.3 * normal {
            worst_slip = worst_slip.max((tangent / got.force_n.z - 0.3).abs() / 0.3);
        }
    }
    println!(
        "friction: sticks within {:.3} %, creeps {:.2e} m, slips within {:.3} % of the cone",
        100.0 * worst_stick,
        crept,
        100.0 * worst_slip
    );
    assert!(worst_stick < 0.02 && worst_slip < 0.02, "{worst_stick}, {worst_slip}");
}

/// A seam of a tissue or of a tool, and a cut without width, change nothing: at each step the force is that on whole
/// tissue, to rounding. A cut with a width changes it.
#[test]
fn friction_slides_over_seams_as_over_whole_tissue() {
    let mut random = Random::new(8);
    let slab = || slab(20, 0.003, 0.01);
    let ball = || shapes::sphere(RADIUS, 4);
    let mut split = |data, share| shapes::split(data, share, &mut random);
    let stages = [
        (slab(), ball()),
        (split(slab(), 0.2), ball()),
        (split(slab(), 1.0), ball()),
        (slab(), split(ball(), 1.0)),
        (slab(), ball()),
        (slab(), ball()),
    ];
    for friction in [0.0, 0.3] {
        let mut stages = stages.clone().map(|(tissue, tool)| {
            ProxyStage::new(&[tissue], &[tool], |o| RenderOptions { friction, ..o })
        });
        // All triangles on one side of x = 0 have vertices of their own there, 0 or 50 um away.
        let [.., closed, open] = &mut stages;
        cut(closed, 0.0);
        cut(open, 5e-5);
        let tick = |stages: &mut [ProxyStage], at| -> Vec<Rendering> {
            stages.iter_mut().map(|stage| stage.tick(at)).collect()
        };
        tick(&mut stages, to(-0.01, 0.0003, 0.006));
        let mut farthest = [0.0f64; 5];
        for step in 0..500 {
            let x = -0.01 + f64::from(step) * 4e-5;
            let got = tick(&mut stages, to(x, 0.0003, RADIUS - 0.002));
            for (far, other) in farthest.iter_mut().zip(&got[1..]) {
                *far = far.max(other.force_n.distance(got[0].force_n));
            }
        }
        println!("friction {friction}: forces differ by {farthest:?} N");
        assert!(farthest[..4].iter().all(|far| *far < 1e-9), "{friction}: {farthest:?}");
        assert!(farthest[4] > 1e-3, "{friction}: {farthest:?}");
    }
}

/// Gives the triangles at x > 0 of a slab's upper side that touch x = 0 vertices of their own there, `aside` away along
/// x.
fn cut(stage: &mut ProxyStage, aside: f32) {
    let tissue = stage.tissue(0);
    let current = tissue.current();
    let mesh = current.surface.mesh();
    let is_on = |v: &u32| {
        let p = mesh.positions()[*v as usize];
        p.x == 0.0 && p.y.abs() < 0.029 && p.z == 0.0
    };
    let line: Vec<u32> = (0..mesh.positions().len() as u32).filter(is_on).collect();
    let is_right = |t: &TriangleId| {
        let corners = mesh.corners(*t);
        mesh.vertices(*t).iter().any(is_on) && corners.iter().all(|p| p.x >= 0.0 && p.z == 0.0)
    };
    let removed: Vec<TriangleId> = mesh.triangle_ids().filter(is_right).collect();
    let first = mesh.positions().len() as u32;
    let new = |v: u32| line.iter().position(|l| *l == v).map_or(v, |i| first + i as u32);
    let edit = TopologyEdit {
        added: removed.iter().map(|t| mesh.vertices(*t).map(new)).collect(),
        added_positions: line
            .iter()
            .map(|v| mesh.positions()[*v as usize] + glam::Vec3::X * aside)
            .collect(),
        parents: removed.clone(),
        removed,
        ..TopologyEdit::default()
    };
    drop(current);
    tissue.edit(edit, &Limits::default(), 0).expect("a cut");
}

/// When the device leaves the surface, the force is 0 and nothing sticks.
#[test]
fn backing_out_ends_at_the_surface() {
    let mut stage = ProxyStage::new(&[slab(7, 0.009, 0.01)], &[shapes::sphere(RADIUS, 12)], |o| o);
    stage.tick(to(0.001, 0.002, 0.006));
    let mut last_force_at = f64::INFINITY;
    for step in 0..1100 {
        // In by 5 mm and out again, while sliding.
        let s = f64::from(step) * 10e-6;
        let height = (s - 0.005).abs() - 0.0045;
        let got = stage.tick(to(0.001 + s, 0.002, RADIUS + height));
        if got.force_n.length() > 0.0 {
            last_force_at = height;
        }
        assert!(step < 600 || got.force_n.dot(DVec3::Z) >= 0.0, "it is pulled back: {got:?}");
    }
    println!("back out: last force {:.4} mm above the surface", 1e3 * last_force_at);
    assert!(last_force_at < 5e-5, "{last_force_at} m");
}
