//! The kernel on integer corners against exact arithmetic.

use glam::DVec3;
use palpate::{
    geometry::{
        Pose,
        tolerance::POSE_ROUNDING,
        triangle_triangle::{PairVerdict, Rectangle, Rounded, Triangle, crossing, meet},
    },
    oracle::{
        Random,
        lattice::{self, Point},
    },
};

use crate::seed::{Seed, scaled};

/// Half the side of the lattice: the smaller, the more touching, coplanar and degenerate pairs.
const REACHES: [i64; 4] = [2, 3, 6, 40];
/// Pairs for each reach; 10^7 pairs in all with `PALPATE_TEST_SCALE=100`.
const PAIRS: usize = 25_000;

fn point(random: &mut Random, reach: i64) -> Point {
    std::array::from_fn(|_| random.below(2 * reach as usize + 1) as i64 - reach)
}

fn triangle(t: &[Point; 3]) -> Triangle {
    t.map(|p| DVec3::from_array(p.map(|x| x as f64)))
}

/// Counts of verdicts: those that met, those of which the fast path was certain, and all compared.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    met: usize,
    certain: usize,
    compared: usize,
}

impl Tally {
    fn compare(&mut self, verdict: PairVerdict, expected: bool, about: &dyn Fn() -> String) {
        let right = match verdict {
            PairVerdict::Meet => expected,
            PairVerdict::Apart => !expected,
            PairVerdict::Unsure => true,
        };
        assert!(right, "{verdict:?}, expected {expected}: {}", about());
        self.compared += 1;
        self.met += usize::from(expected);
        self.certain += usize::from(verdict != PairVerdict::Unsure);
    }
}

/// Checks the exact test, the crossing and the fast path in every role against the oracle.
fn check(a: &[Point; 3], b: &[Point; 3], random: &mut Random, tally: &mut Tally) {
    let expected = lattice::meet(a, b);
    let (p, q) = (triangle(a), triangle(b));
    let about = || format!("{a:?} and {b:?}");
    assert_eq!(meet(&p, &q), expected, "exact: {}", about());
    assert_eq!(crossing(&p, &q).is_some(), expected, "crossing: {}", about());
    let (frame_p, frame_q) = (Rectangle::of(&p), Rectangle::of(&q));
    if let Some(frame) = frame_p {
        tally.compare(frame.meets(&Rounded::new(q, 0.0)), expected, &about);
    }
    let turn = Pose::new(random.rotation(), random.unit_vector() * 50.0).expect("a rotation");
    // Corners of the other triangle, rounded in the turned frame.
    let turned = q.map(|v| turn.inverse().point(v));
    let size = p.iter().chain(&q).map(|v| v.length()).fold(0.0, f64::max);
    let error = POSE_ROUNDING * (2.0 * size + turn.translation.length());
    if let (Some(own), Some(other)) = (frame_p, Rectangle::of(&turned)) {
        let seen = own.see(&other, &turn);
        let about = || format!("{a:?} and {b:?} by way of {turn:?}");
        tally.compare(own.meets_seen(&other, &seen, error), expected, &about);
        let back = other.see(&own, &turn.inverse());
        tally.compare(other.meets_seen(&own, &back, error), expected, &about);
        let may = own.obb().may_meet(&other.obb(), &turn, error);
        assert!(may || !expected, "boxes: {}", about());
    }
    if let (None, Some(frame)) = (frame_p, frame_q) {
        tally.compare(frame.meets(&Rounded::new(p, 0.0)), expected, &about);
    }
}

#[test]
fn every_lattice_pair_is_decided_exactly() {
    let seed = Seed::or(61);
    for (part, reach) in REACHES.into_iter().enumerate() {
        let mut random = seed.random(part as u64);
        let mut tally = Tally::default();
        for _ in 0..scaled(PAIRS) {
            let mut next = || [(); 3].map(|()| point(&mut random, reach));
            let (a, b) = (next(), next());
            check(&a, &b, &mut random, &mut tally);
        }
        println!("reach {reach}: {tally:?}");
        assert!(tally.met * 20 > tally.compared, "{tally:?}");
    }
}
