//! Segments of crossings: on both triangles, their whole intersection, in the documented direction.

use glam::{DQuat, DVec3};
use palpate::{
    geometry::triangle_triangle::{Crossing, CrossingEnd, CrossingKind, Triangle, crossing},
    oracle::{
        Random,
        triangle::{closest_on_triangle, least_height, longest_edge},
    },
};

use crate::seed::{Seed, scaled};

const PAIRS: usize = 20_000;
/// Rounding error from corners to an end: some thirty units of 2^-52.
const ROUNDINGS: f64 = 32.0 * f64::EPSILON;
/// Below this sine of the angle between two planes, the position of their crossing on a line is mostly rounding.
const STEEP: f64 = 0.01;

fn normal(t: &Triangle) -> DVec3 {
    (t[1] - t[0]).cross(t[2] - t[0]).normalize_or_zero()
}

fn at(t: &Triangle, weights: DVec3) -> DVec3 {
    t[0] * weights.x + t[1] * weights.y + t[2] * weights.z
}

/// Largest error of a correct end: rounding of the coordinates, times edge over height, over the sine of the least
/// angle between the crossing features.
fn tolerance(a: &Triangle, b: &Triangle, sine: f64) -> f64 {
    let size = a.iter().chain(b).map(|p| p.length()).fold(0.0, f64::max);
    let thin = |t: &Triangle| longest_edge(t) / least_height(t);
    ROUNDINGS * size * thin(a).max(thin(b)) / sine
}

fn check_end(end: &CrossingEnd, a: &Triangle, b: &Triangle, off: f64, about: &dyn Fn() -> String) {
    for (t, weights) in [(a, end.barycentric_a), (b, end.barycentric_b)] {
        let point = at(t, weights);
        assert!(
            point.distance(end.point) <= off,
            "{} off {off}: {end:?}, {}",
            point.distance(end.point),
            about()
        );
        assert!(weights.min_element() >= 0.0, "{end:?}, {}", about());
        assert!((weights.element_sum() - 1.0).abs() < 1e-15, "{end:?}, {}", about());
        assert!(
            closest_on_triangle(end.point, t).distance(end.point) <= off,
            "{end:?}, {}",
            about()
        );
    }
}

/// Interval of the planes' line in a triangle: from its three edges in turn, no signs shared with others.
fn stretch(t: &Triangle, plane: &Triangle, along: DVec3) -> Option<[f64; 2]> {
    let n = normal(plane);
    let heights = t.map(|p| n.dot(p - plane[0]));
    let mut range = [f64::INFINITY, f64::NEG_INFINITY];
    for k in 0..3 {
        let (p, q) = (k, (k + 1) % 3);
        if (heights[p] < 0.0) != (heights[q] < 0.0) {
            let point = t[p].lerp(t[q], heights[p] / (heights[p] - heights[q]));
            let s = along.dot(point);
            range = [range[0].min(s), range[1].max(s)];
        }
    }
    (range[0] <= range[1]).then_some(range)
}

/// Checks the ends against those of the intersection of both triangles' intervals on the planes' line.
fn check_extent(c: &Crossing, a: &Triangle, b: &Triangle, off: f64, about: &dyn Fn() -> String) {
    let along = normal(a).cross(normal(b)).normalize_or_zero();
    let [start, end] = c.ends.map(|e| along.dot(e.point));
    assert!(end - start >= -off, "runs backwards: {c:?}, {}", about());
    let (Some(of_a), Some(of_b)) = (stretch(a, b, along), stretch(b, a, along)) else { return };
    let expected = [of_a[0].max(of_b[0]), of_a[1].min(of_b[1])];
    let miss = (start - expected[0]).abs().max((end - expected[1]).abs());
    assert!(miss <= off, "{start}..{end}, expected {expected:?}, off {off}: {}", about());
}

#[test]
fn ends_are_on_both_triangles_and_are_all_there_is() {
    let seed = Seed::or(64);
    let mut random = seed.random(0);
    let (mut n_through, mut n_steep) = (0, 0);
    for i in 0..scaled(PAIRS) {
        let stretched = |random: &mut Random| {
            // Every third pair has thin triangles, another third nearly shares a plane.
            let squeeze = DVec3::new(1.0, 1.0, [1e-3, 1.0, 1e-2][i % 3]);
            let turn = if i % 3 == 2 { DQuat::IDENTITY } else { random.rotation() };
            [(); 3].map(|()| turn * (random.point(DVec3::NEG_ONE, DVec3::ONE) * squeeze))
        };
        let (a, b) = (stretched(&mut random), stretched(&mut random));
        let Some(c) = crossing(&a, &b) else { continue };
        let about = || format!("{a:?} and {b:?}");
        assert_eq!(c.kind, CrossingKind::Through, "{}", about());
        n_through += 1;
        let sine = normal(&a).cross(normal(&b)).length();
        if sine > STEEP {
            n_steep += 1;
            let off = tolerance(&a, &b, sine);
            c.ends.iter().for_each(|end| check_end(end, &a, &b, off, &about));
            check_extent(&c, &a, &b, off, &about);
        }
    }
    println!("{n_through} crossings, {n_steep} of them steep");
    assert!(n_steep * 10 > n_through * 8);
}

/// Triangles on a lattice, whose corners lie on edges and faces and whose planes coincide.
#[test]
fn ends_of_touching_and_coplanar_triangles() {
    let seed = Seed::or(65);
    let mut random = seed.random(0);
    let mut n_kinds = [0; 2];
    for _ in 0..scaled(PAIRS) {
        let mut next =
            || [(); 3].map(|()| DVec3::from_array([(); 3].map(|()| random.below(5) as f64)));
        let (a, mut b) = (next(), next());
        if random.below(4) == 0 {
            b = b.map(|p| p.with_z(a[0].z));
        }
        let Some(c) = crossing(&a, &b) else { continue };
        n_kinds[usize::from(c.kind == CrossingKind::Coplanar)] += 1;
        let about = || format!("{a:?} and {b:?}");
        // A small lattice: heights and sines are no smaller than 1/100.
        let off = ROUNDINGS * 1e4;
        c.ends.iter().for_each(|end| check_end(end, &a, &b, off, &about));
    }
    println!("{} through, {} in one plane", n_kinds[0], n_kinds[1]);
    assert!(n_kinds.iter().all(|n| *n > scaled(PAIRS) / 200), "{n_kinds:?}");
}
