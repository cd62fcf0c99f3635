//! Contact within a thickness, against distances sampled along the step.

use glam::DVec3;
use palpate::oracle::{Random, ccd_queries::QueryKind};

use super::features::Case;
use crate::seed::{Seed, scaled};

const SAMPLES: usize = 64;

fn case(random: &mut Random) -> Case {
    let kind = [QueryKind::VertexFace, QueryKind::EdgeEdge][random.below(2)];
    let spread = [0.01, 0.3, 1.0][random.below(3)];
    let mut point = || random.point(DVec3::NEG_ONE, DVec3::ONE);
    let t0: [DVec3; 4] = std::array::from_fn(|_| point());
    let common = point();
    Case { kind, t0, t1: t0.map(|p| p + common + point() * spread) }
}

/// Returns the fastest approach of two corners, which no two points of the features exceed.
fn speed(case: &Case) -> f64 {
    let moved: [DVec3; 4] = std::array::from_fn(|k| case.t1[k] - case.t0[k]);
    let sides = if case.kind == QueryKind::VertexFace { (0..1, 1..4) } else { (0..2, 2..4) };
    let pairs = sides.0.flat_map(|i| sides.1.clone().map(move |j| (i, j)));
    pairs.map(|(i, j)| moved[i].distance(moved[j])).fold(0.0, f64::max)
}

/// Samples before the time of contact are farther apart than the thickness; at that time the features are that near,
/// but for the last advance; without contact no sample is within the thickness.
#[test]
fn thickness_against_sampled_distances() {
    let seed = Seed::or(120);
    let mut random = seed.random(0);
    let mut n_touching = 0;
    let n = scaled(20_000);
    for _ in 0..n {
        let case = case(&mut random);
        let thickness = [1e-6, 1e-3, 0.05, 0.5][random.below(4)];
        // Error of the distance by other formulas.
        let slack = 1e-7 * case.scale();
        let toi = case.judge(thickness).toi();
        let before = toi.unwrap_or(1.0);
        for i in 0..=SAMPLES {
            let t = before * i as f64 / SAMPLES as f64;
            let is_over = toi.is_some_and(|toi| t >= toi);
            let distance = case.distance(t);
            assert!(
                is_over || distance > thickness - slack,
                "{distance} at {t} before {toi:?}: {case:?}"
            );
        }
        if let Some(toi) = toi {
            n_touching += 1;
            let distance = case.distance(toi);
            let near = thickness + speed(&case) * 2f64.powi(-24) + slack;
            assert!(distance <= near, "{distance} at {toi}, thickness {thickness}: {case:?}");
        }
    }
    println!("queries={n} touching={n_touching}");
    assert!(n_touching > n / 10 && n_touching < n);
}

/// A larger thickness never gives a later contact, and no thickness gives the latest.
#[test]
fn thicker_is_earlier() {
    let seed = Seed::or(121);
    let mut random = seed.random(0);
    for _ in 0..scaled(20_000) {
        let case = case(&mut random);
        let mut earlier = 0.0;
        for thickness in [0.5, 0.05, 1e-3, 1e-6, 0.0] {
            let toi = case.judge(thickness).toi().unwrap_or(f64::INFINITY);
            assert!(toi >= earlier - 2f64.powi(-24), "{toi} with {thickness}: {case:?}");
            earlier = toi;
        }
    }
}
