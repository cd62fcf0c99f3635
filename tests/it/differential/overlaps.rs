//! Overlap queries against brute force: every box that overlaps, before and after the exact test.

use std::cell::Cell;

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{Aabb, TriangleId},
    oracle::{Random, brute_force, separating_axis::triangle_meets_box},
    surface::Surface,
};

use super::{check::random_point, inputs, motion::Motion};
use crate::seed::{Seed, scaled};

/// Random boxes for each state of each input: with twenty inputs and nine states of each, 27,000 in all.
const BOXES: usize = 150;

/// Compares overlap queries with `n` random boxes.
pub fn check_overlaps(surface: &Surface, n: usize, random: &mut Random, about: &str) {
    for _ in 0..n {
        check_box(surface, &random_box(surface, random), about);
    }
    let everywhere = Aabb { min: Vec3::NEG_INFINITY, max: Vec3::INFINITY };
    assert_eq!(candidates(surface, &everywhere, about).len(), surface.mesh().n_triangles());
    assert_eq!(candidates(surface, &Aabb::EMPTY, about), []);
    check_ball(surface, random, about);
}

pub fn check_box(surface: &Surface, b: &Aabb, about: &str) {
    let mesh = surface.mesh();
    let found = candidates(surface, b, about);
    for t in brute_force::box_overlaps(mesh, b) {
        assert!(found.binary_search(&t).is_ok(), "{about}: {b:?} misses {t:?}");
    }
    let exact = |t: &TriangleId| triangle_meets_box(&mesh.triangle(*t), b);
    let exact: Vec<_> = found.into_iter().filter(exact).collect();
    assert_eq!(exact, brute_force::triangles_in_box(mesh, b), "{about}: {b:?}");
}

/// Returns the candidates of the index, ascending; each occurs once, and none is a removed triangle.
fn candidates(surface: &Surface, b: &Aabb, about: &str) -> Vec<TriangleId> {
    let mut found = Vec::new();
    surface.overlap(b, |t| found.push(t));
    found.sort_unstable();
    let n = found.len();
    found.dedup();
    assert_eq!(found.len(), n, "{about}: {b:?} gives a triangle twice");
    assert!(found.iter().all(|t| surface.mesh().get(*t).is_some()), "{about}: a removed one");
    found
}

/// Checks a test that is no box: within some distance of a point.
fn check_ball(surface: &Surface, random: &mut Random, about: &str) {
    let (p, radius) = (random_point(surface.mesh(), random), random.range(0.0, 0.05));
    let asked = Cell::new(0);
    let near = |b: &Aabb| {
        asked.set(asked.get() + 1);
        b.distance_squared(p) <= radius * radius
    };
    let mut found = Vec::new();
    surface.overlap(&near, |t| found.push(t));
    let mesh = surface.mesh();
    for t in mesh.triangle_ids().filter(|t| near(&mesh.triangle_box(*t))) {
        assert!(found.contains(&t), "{about}: the ball {radius} about {p:?} misses {t:?}");
    }
    assert!(asked.get() > 0);
}

/// Returns a point, a slab, a small or a large box; some touch a triangle's box exactly.
fn random_box(surface: &Surface, random: &mut Random) -> Aabb {
    let mesh = surface.mesh();
    let p = random_point(mesh, random);
    let size = mesh.used_box().diagonal() * 10f64.powf(random.range(-4.0, 0.0));
    let half = random.point(DVec3::ZERO, DVec3::splat(size));
    match random.below(6) {
        0 => Aabb::of_points([p.as_vec3()]),
        1 => {
            let mut slab = half;
            slab[random.below(3)] = 0.0;
            Aabb::around([p - slab, p + slab])
        }
        2 => {
            let t = mesh.triangle_ids().nth(random.below(mesh.n_triangles())).expect("is there");
            let b = mesh.triangle_box(t);
            let axis = random.below(3);
            let mut beside = b;
            beside.min[axis] = b.max[axis];
            beside.max[axis] = b.max[axis] + half[axis] as f32;
            beside
        }
        _ => Aabb::around([p - half, p + half]),
    }
}

#[test]
fn every_input_before_and_after_motion() {
    let seed = Seed::or(4);
    let all = inputs::shapes().into_iter().chain(inputs::improper());
    for (i, input) in all.enumerate() {
        let mut random = seed.random(i as u64);
        let mut surface = input.surface();
        let rest = surface.mesh().positions().to_vec();
        check_overlaps(&surface, scaled(BOXES), &mut random, &input.name);
        for motion in Motion::ALL {
            surface.move_all(motion.apply(&rest, surface.mesh(), &mut random));
            surface.assert_well_formed();
            let about = format!("{} after {motion:?}", input.name);
            check_overlaps(&surface, scaled(BOXES), &mut random, &about);
        }
    }
}

#[test]
fn shared_meshes_before_and_after_motion() {
    let seed = Seed::or(5);
    for (i, (file, scale_to_m)) in inputs::SHARED.into_iter().enumerate() {
        let Some(input) = inputs::shared(file, scale_to_m) else { return };
        let mut random = seed.random(i as u64);
        let mut surface = input.surface();
        let rest = surface.mesh().positions().to_vec();
        for motion in [Motion::Back, Motion::Tremble, Motion::Twist, Motion::Scatter] {
            surface.move_all(motion.apply(&rest, surface.mesh(), &mut random));
            let about = format!("{file} after {motion:?}");
            check_overlaps(&surface, scaled(100), &mut random, &about);
        }
    }
}
