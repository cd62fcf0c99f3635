//! Force shading: a coarse mesh of a smooth organ feels smooth, edges stay edges, and the proxy still crosses nothing.

use glam::DVec3;
use palpate::{
    geometry::MeshData,
    oracle::shapes,
    proxy::{RenderOptions, RenderState},
};

use super::stage::{ProxyStage, STIFF, slab, to};
use crate::seed::{Seed, scaled};

/// Stiffness of the spring, N/m.
const STIFFNESS: f64 = 500.0;

/// A ball of 50 mm in `n` rings of `2 n` facets.
fn ball(n: u32) -> MeshData {
    let at = |ring: u32, place: u32| {
        let (polar, azimuth) = (
            std::f64::consts::PI * f64::from(ring) / f64::from(n),
            std::f64::consts::PI * f64::from(place % (2 * n)) / f64::from(n),
        );
        let (sin, cos) = polar.sin_cos();
        (DVec3::new(sin * azimuth.cos(), sin * azimuth.sin(), cos) * 0.05).as_vec3()
    };
    let mut positions = vec![at(0, 0)];
    positions.extend((1..n).flat_map(|ring| (0..2 * n).map(move |place| at(ring, place))));
    positions.push(at(n, 0));
    let last = positions.len() as u32 - 1;
    let id = |ring: u32, place: u32| 1 + (ring - 1) * 2 * n + place % (2 * n);
    let mut triangles = Vec::new();
    for place in 0..2 * n {
        triangles.push([0, id(1, place), id(1, place + 1)]);
        triangles.push([last, id(n - 1, place + 1), id(n - 1, place)]);
        for ring in 1..n - 1 {
            let [a, b] = [id(ring, place), id(ring, place + 1)];
            let [c, d] = [id(ring + 1, place), id(ring + 1, place + 1)];
            triangles.push([a, c, b]);
            triangles.push([b, c, d]);
        }
    }
    MeshData { positions, triangles }
}

fn stage(tissue: MeshData, force_shading_rad: f64, friction: f64) -> ProxyStage {
    ProxyStage::new(&[tissue], &[shapes::sphere(0.002, 6)], |options| RenderOptions {
        spring: STIFF,
        force_shading_rad,
        friction,
        ..options
    })
}

/// Force on the way around a ball at 48 mm/s, 2.5 mm deep.
struct Slide {
    /// Greatest change of the force from tick to tick, newtons.
    step: f64,
    /// Least and greatest length of the force, newtons.
    least: f64,
    greatest: f64,
    /// Greatest ratio of the force along the way to that towards the ball's centre.
    slope: f64,
}

fn slide(n: u32, force_shading_rad: f64, friction: f64) -> Slide {
    let mut stage = stage(ball(n), force_shading_rad, friction);
    for i in 0..=150 {
        stage.tick(to(0.06 - 0.0105 * f64::from(i) / 150.0, 0.0, 0.001));
    }
    let mut felt = Slide { step: 0.0, least: f64::INFINITY, greatest: 0.0, slope: 0.0 };
    let mut last: Option<DVec3> = None;
    for i in 0..600 {
        let angle = 0.3 * (f64::from(i) / 300.0);
        let (sin, cos) = angle.sin_cos();
        let rendering = stage.tick(to(0.0495 * cos, 0.0495 * sin, 0.001));
        let force = rendering.force_n;
        assert_eq!(rendering.state, RenderState::Touching);
        assert!(i % 20 != 0 || !stage.crosses(&rendering), "at {angle}");
        let device = stage.pose.scene_from_tool.translation;
        let spring = (ProxyStage::origin(&rendering) - device) * STIFFNESS;
        assert!(force.distance(spring) < 0.01, "{force} N, the spring {spring} at {angle}");
        felt.step = last.map_or(felt.step, |last| felt.step.max(force.distance(last)));
        felt.least = felt.least.min(force.length());
        felt.greatest = felt.greatest.max(force.length());
        if i > 50 {
            let along = DVec3::new(-sin, cos, 0.0).dot(force).abs();
            felt.slope = felt.slope.max(along / DVec3::new(cos, sin, 0.0).dot(force));
        }
        last = Some(force);
    }
    felt
}

/// The facets' steps are those of their angle. With shading the force is that of the round ball.
#[test]
fn facets_of_a_coarse_ball_are_not_felt() {
    for n in [12, 24] {
        let (facets, smooth) = (slide(n, 0.0, 0.0), slide(n, 0.5, 0.0));
        println!(
            "{} degrees a facet: steps of {:.3} N, {:.3} N with shading; {:.3} to {:.3} N",
            180 / n,
            facets.step,
            smooth.step,
            smooth.least,
            smooth.greatest
        );
        assert!(facets.step > 0.9 * (std::f64::consts::PI / f64::from(n)).sin(), "{}", facets.step);
        let most = if n == 12 { 0.06 } else { 0.02 };
        assert!(smooth.step < most, "{n} rings: {} N from tick to tick", smooth.step);
        // The force of the round ball, 2.5 mm deep.
        let off = (1.25 - smooth.least).max(smooth.greatest - 1.25);
        assert!(off < most + 0.01, "{n} rings: {off} N off the ball's");
    }
}

/// With friction the force leans by the friction angle and the slope of the polygon, and no more than in smooth shading.
#[test]
fn friction_acts_along_the_smooth_surface() {
    for n in [24, 32] {
        let smooth = slide(n, 0.5, 0.3);
        println!("{n} rings: steps of {:.3} N, slope {:.3}", smooth.step, smooth.slope);
        assert!(smooth.step < 0.06, "{n} rings: {} N from tick to tick", smooth.step);
        assert!((0.27..0.36).contains(&smooth.slope), "{n} rings: {}", smooth.slope);
    }
}

/// An edge sharper than the angle holds the tool as before: its force is that of the spring to the edge.
#[test]
fn sharp_edges_are_as_sharp_as_without_shading() {
    let path = |force_shading_rad: f64| {
        let mut stage = stage(slab(10, 0.004, 0.02), force_shading_rad, 0.0);
        stage.tick(to(0.0, 0.001, 0.01));
        let along = (0..1_500).map(|i| to(2e-5 * f64::from(i), 0.001, 0.0));
        along.map(|pose| stage.tick(pose).force_n).collect::<Vec<_>>()
    };
    let (sharp, shaded) = (path(0.0), path(1.0));
    let off = sharp.iter().zip(&shaded).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
    println!("{off} N off at the most");
    assert!(sharp.iter().any(|f| f.x.abs() > f.z) && sharp.contains(&DVec3::ZERO));
    assert!(off < 0.02, "{off} N");
}

/// Organs of noisy facets, dragged over at up to 10 m/s: the proxy crosses nothing, and rests where the spring of the
/// force leaves it.
#[test]
fn a_shaded_proxy_crosses_nothing() {
    let seed = Seed::or(61);
    let mut n_touching = 0;
    for run in 0..scaled(12) {
        let mut random = seed.random(run as u64);
        let mut organ = shapes::organ(1_000, run as u64);
        let mut moved = || random.unit_vector().as_vec3() * 5e-4;
        organ.positions.iter_mut().for_each(|p| *p += moved());
        let corners = organ.positions.clone();
        let (shading, friction) = (random.range(0.05, 1.0), [0.0, 0.3][run % 2]);
        let mut stage = stage(organ, shading, friction);
        let mut device = DVec3::Z * 0.2;
        for _ in 0..8 {
            let corner = corners[random.below(corners.len())].as_dvec3();
            let (from, goal) = (device, corner * random.range(0.9, 1.1));
            let n = (from.distance(goal) / random.range(2e-4, 1e-2)).ceil();
            for k in 1..=n as u32 {
                device = from.lerp(goal, f64::from(k) / n);
                let got = stage.tick(to(device.x, device.y, device.z));
                assert!(k % 4 != 0 || !stage.crosses(&got), "run {run} at {device}");
                assert!(got.force_n.is_finite() && got.torque_nm.is_finite());
                n_touching += usize::from(got.state == RenderState::Touching);
            }
        }
    }
    assert!(n_touching > 20 * scaled(12), "{n_touching} ticks touched");
}
