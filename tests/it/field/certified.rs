//! Certified values of a field hold everywhere.

use glam::DVec3;
use palpate::oracle::{Random, triangle::closest_on_triangle};

use super::{
    points,
    truth::{Case, Truth, pliers, probe, small},
};
use crate::{
    differential::bound::distance_error,
    seed::{Seed, scaled},
};

/// Points for each small shape, the probe and the pliers: 10^5 in all, 10^6 with `PALPATE_TEST_SCALE=10`.
const POINTS_SMALL: usize = 10_000;
const POINTS_LARGE: usize = 20_000;

/// Counts of comparisons.
#[derive(Default, Debug)]
struct Tally {
    exact: usize,
    signs: usize,
    uncertain: usize,
}

fn check(case: &Case, n: usize, random: &mut Random) {
    let mut tally = Tally::default();
    for _ in 0..n {
        let p = points::any(case, random);
        let truth = case.truth(p);
        check_reading(case, p, &truth, &mut tally);
        check_lower_bound(case, p, &truth);
    }
    assert!(tally.exact > n / 50, "{}: hardly any exact answer in {tally:?}", case.name);
    assert!(tally.uncertain < n / 2, "{}: hardly any sign in {tally:?}", case.name);
}

fn check_reading(case: &Case, p: DVec3, truth: &Truth, tally: &mut Tally) {
    let name = &case.name;
    let r = case.field.read(case.mesh(), p);
    assert!(r.lower <= r.value && r.value <= r.upper, "{name}: {r:?} at {p:?}");
    assert!(r.gradient.is_finite() && (0.0..=1.0).contains(&r.certainty), "{name}: {r:?} at {p:?}");
    let (d, error) = (truth.distance, truth.error);
    let within = |s: f64| r.lower - error <= s && s <= r.upper + error;
    assert!(within(d) || within(-d), "{name}: {d} is not in {r:?} at {p:?}");
    match truth.inside {
        Some(inside) if r.certainty > 0.0 => {
            let s = if inside { -d } else { d };
            assert!(within(s), "{name}: {s} is not in {r:?} at {p:?}");
            tally.signs += 1;
        }
        _ => tally.uncertain += 1,
    }
    if let Some((triangle, closest)) = r.exact {
        tally.exact += 1;
        let own = closest.distance_squared.sqrt();
        assert!((own - d).abs() <= error, "{name}: {own}, in truth {d}, at {p:?}");
        let of_triangle = closest_on_triangle(p, &case.mesh().triangle(triangle)).distance(p);
        let error = error + distance_error(case.mesh(), triangle, p);
        assert!((of_triangle - d).abs() <= error, "{name}: {triangle:?} is not nearest at {p:?}");
        assert!((r.gradient.length() - 1.0).abs() < 1e-12, "{name}: {r:?} at {p:?}");
    }
}

fn check_lower_bound(case: &Case, p: DVec3, truth: &Truth) {
    let lower = case.field.lower_bound(p);
    let s = if truth.inside == Some(true) { -truth.distance } else { truth.distance };
    let name = &case.name;
    assert!(lower <= s + truth.error, "{name}: {lower} is above {s} at {p:?}");
}

#[test]
fn small_shapes() {
    let seed = Seed::or(301);
    for (part, case) in small().iter().enumerate() {
        check(case, scaled(POINTS_SMALL), &mut seed.random(part as u64));
    }
}

#[test]
fn the_probe() {
    let Some(case) = probe() else { return };
    check(case, scaled(POINTS_LARGE), &mut Seed::or(302).random(0));
}

#[test]
fn the_pliers() {
    let Some(case) = pliers() else { return };
    check(case, scaled(POINTS_LARGE), &mut Seed::or(303).random(0));
}

/// Intervals just on either side of a border contain one distance, which changes by no more than the step.
#[test]
fn neighbours_agree_at_their_borders() {
    let seed = Seed::or(304);
    let cases = small().iter().chain(probe());
    for (part, case) in cases.enumerate() {
        let mut random = seed.random(part as u64);
        for _ in 0..scaled(2_000) {
            let (p, across) = points::on_border(case, &mut random);
            let ends =
                [-1.0, 1.0].map(|s| case.field.read(case.mesh(), p + across * s * points::BESIDE));
            let [a, b] = &ends;
            if a.certainty == 0.0 || b.certainty == 0.0 {
                continue;
            }
            let step = 2.0 * points::BESIDE + case.truth(p).error;
            let meet = a.lower - step <= b.upper && b.lower - step <= a.upper;
            assert!(meet, "{}: {ends:?} at {p:?}", case.name);
        }
    }
}
