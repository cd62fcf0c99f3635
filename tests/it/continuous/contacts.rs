//! Contacts constructed in exact arithmetic: all coordinates are small multiples of a power of two, and so is
//! the point of contact at its time.

use glam::{DVec3, I64Vec3};
use palpate::{
    ccd::FeatureVerdict,
    oracle::{Random, ccd_queries::QueryKind},
};

use super::features::Case;
use crate::seed::{Seed, scaled};

/// A contact at `numerator / denominator` of the step.
struct Contact {
    case: Case,
    numerator: i64,
    denominator: i64,
}

impl Contact {
    /// Returns whether a time is not after the contact; exactly.
    fn is_not_before(&self, toi: f64) -> bool {
        const ONE: i128 = 1 << 80;
        let scaled = (toi * ONE as f64).ceil() as i128;
        scaled * i128::from(self.denominator) <= ONE * i128::from(self.numerator)
    }
}

fn lattice(random: &mut Random, reach: i64) -> I64Vec3 {
    let mut along = || random.below(2 * reach as usize + 1) as i64 - reach;
    I64Vec3::new(along(), along(), along())
}

/// Returns weights in eighths that sum to one; often some are zero.
fn weights(random: &mut Random) -> [i64; 3] {
    let (a, b) = (random.below(9) as i64, random.below(9) as i64);
    let mut w = match random.below(3) {
        0 => [8, 0, 0],
        1 => [a, 8 - a, 0],
        _ => [a.min(b), (a - b).abs(), 8 - a.max(b)],
    };
    w.rotate_left(random.below(3));
    w
}

/// Returns the positions of the four points at the time of contact.
fn touching(random: &mut Random, kind: QueryKind, reach: i64) -> [I64Vec3; 4] {
    let mut corner = || lattice(random, reach) * 8;
    match kind {
        QueryKind::VertexFace => {
            let (a, b, c) = (corner(), corner(), corner());
            let [u, v, w] = weights(random);
            [(a * u + b * v + c * w) / 8, a, b, c]
        }
        QueryKind::EdgeEdge => {
            let (a, b) = (corner(), corner());
            let (s, e) = (random.below(9) as i64, lattice(random, reach));
            let at = a + (b - a) / 8 * s;
            let s = [0, 8, random.below(9) as i64][random.below(3)];
            [a, b, at - e * s, at + e * (8 - s)]
        }
    }
}

fn contact(random: &mut Random) -> Contact {
    let kind = [QueryKind::VertexFace, QueryKind::EdgeEdge][random.below(2)];
    let reach = [1, 2, 100, 100_000][random.below(4)];
    let (numerator, denominator) = match random.below(5) {
        0 => (0, 1),
        1 => (1, 1),
        2 => (1, 3),
        3 => (2, 3),
        _ => (random.below(17) as i64, 16),
    };
    let at = touching(random, kind, reach);
    let common = lattice(random, reach);
    let flat = random.below(4) == 0;
    let mut t0 = at;
    let mut t1 = at;
    for k in 0..4 {
        let own = if random.below(8) == 0 { I64Vec3::ZERO } else { lattice(random, reach) };
        let moved = (own + common) * denominator;
        t0[k] = at[k] - moved / denominator * numerator;
        t1[k] = t0[k] + moved;
    }
    if flat {
        // All points stay in one plane.
        for p in t0.iter_mut().chain(&mut t1) {
            p.z = p.x - p.y;
        }
    }
    let scale = 2f64.powi(random.below(40) as i32 - 30);
    let points = |t: [I64Vec3; 4]| t.map(|p| p.as_dvec3() * scale);
    Contact { case: Case { kind, t0: points(t0), t1: points(t1) }, numerator, denominator }
}

/// Contacts may be reported early if a face without area, or a case all in one plane, is grazed: at most this far
/// apart, as a share of the extent, and in less than one of 500 (of cases that are mostly degenerate).
const EARLY_GAP_MAX: f64 = 1e-4;
/// Gap above which a contact counts as early, larger than the error of the distance by other formulas.
const ON_TIME_GAP: f64 = 1e-7;

/// Tests 10^5 contacts; 10^6 with `PALPATE_TEST_SCALE=10`.
#[test]
fn no_constructed_contact_is_culled_or_found_late() {
    let seed = Seed::or(100);
    let mut random = seed.random(0);
    let n_contacts = scaled(100_000);
    let mut n_early = 0;
    for n in 0..n_contacts {
        let contact = contact(&mut random);
        let case = &contact.case;
        let FeatureVerdict::Touching(toi) = case.judge(0.0) else {
            panic!("contact {n} was culled: {:?} {case:?}", case.judge(0.0));
        };
        assert!(contact.is_not_before(toi), "contact {n}: late at {toi}: {case:?}");
        let gap = case.distance(toi) / case.scale().max(f64::MIN_POSITIVE);
        assert!(gap <= EARLY_GAP_MAX, "contact {n}: {gap} apart at {toi}: {case:?}");
        n_early += usize::from(gap > ON_TIME_GAP);
        let thick = case.judge(1e-3 * case.scale()).toi();
        assert!(thick.is_some_and(|t| contact.is_not_before(t)), "contact {n}: with a thickness");
    }
    println!("contacts={n_contacts} culled=0 late=0 early={n_early}");
    assert!(500 * n_early <= n_contacts, "{n_early} of {n_contacts} are early");
}

/// A plain crossing is found to 1e-9 of the step.
#[test]
fn plain_crossings_are_found_on_time() {
    let seed = Seed::or(101);
    let mut random = seed.random(0);
    for _ in 0..scaled(20_000) {
        let toi = random.range(0.01, 0.99);
        let along = random.unit_vector();
        let (side, up) = along.any_orthonormal_pair();
        let speed = up * random.range(0.1, 10.0);
        let face = [-along - side, along - side, side * 2.0];
        let points = |t: f64| [speed * (t - toi), face[0], face[1], face[2]];
        let case = Case { kind: QueryKind::VertexFace, t0: points(0.0), t1: points(1.0) };
        let found = case.judge(0.0).toi().expect("contact");
        assert!(found <= toi + 1e-15 && found >= toi - 1e-9, "{found}, expected {toi}");
    }
}

#[test]
fn what_stays_in_one_plane_and_what_stays_parallel() {
    let p = |x: f64, y: f64| DVec3::new(x, y, 0.0);
    let case = |kind, t0, t1| Case { kind, t0, t1 };
    // A vertex slides into a face in the face's own plane.
    let slides = case(
        QueryKind::VertexFace,
        [p(-3.0, 0.5), p(0.0, 0.0), p(2.0, 0.0), p(0.0, 2.0)],
        [p(1.0, 0.5), p(0.0, 0.0), p(2.0, 0.0), p(0.0, 2.0)],
    );
    let toi = slides.judge(0.0).toi().expect("it slides in");
    assert!(toi <= 0.75 && toi > 0.75 - 1e-9, "{toi}");
    // Parallel edges approach side by side, and past each other's ends.
    let meet = |x: f64| {
        let t1 = [p(0.0, 0.0), p(1.0, 0.0), p(x, 0.0), p(x + 1.0, 0.0)];
        let t0 = [t1[0], t1[1], t1[2] + p(0.0, 4.0), t1[3] + p(0.0, 4.0)];
        case(QueryKind::EdgeEdge, t0, t1).judge(0.0).toi()
    };
    assert!(meet(0.5).is_some_and(|toi| toi <= 1.0 && toi > 1.0 - 1e-9));
    assert!(meet(1.0).is_some() && meet(1.25).is_none());
    // The edges stay in one line.
    let along = |x: f64| [p(0.0, 0.0), p(1.0, 1.0), p(x, x), p(x + 1.0, x + 1.0)];
    let in_line = case(QueryKind::EdgeEdge, along(3.0), along(0.5)).judge(0.0).toi();
    assert!(in_line.is_some_and(|toi| toi <= 0.8 && toi > 0.8 - 1e-9), "{in_line:?}");
    assert_eq!(case(QueryKind::EdgeEdge, along(3.0), along(1.5)).judge(0.0).toi(), None);
}
