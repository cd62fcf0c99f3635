//! Compares a link's answer with all its pairs with tissues.

use std::collections::HashMap;

use glam::DVec3;
use palpate::{
    geometry::{Pose, TriangleId, TriangleMesh},
    scene::{Contact, Distance, LinkAnswer, SurfacePoint},
};

use super::{
    check::check_on_triangle,
    collision_pair::{CollisionPair, Depth},
};

/// Error that frames and roundings may cause, metres.
const EXACT: f64 = 1e-9;

/// Counts of comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compared {
    pub apart: usize,
    pub inside: usize,
    pub beyond: usize,
    pub contacts: usize,
    pub touching_triangles: usize,
    /// Contacts and depths whose side cannot be decided.
    pub doubtful: usize,
}

/// Compares a link's answer, with all contacts requested, with brute force.
pub fn check_link(
    answer: &LinkAnswer,
    pairs: &[CollisionPair],
    max_distance: f64,
    compared: &mut Compared,
    about: &str,
) {
    let contacts = &answer.contacts;
    assert_eq!(answer.contacts_total, contacts.len(), "{about}: not all were asked for");
    let ordered = |w: &[Contact]| w[0].signed_distance_m <= w[1].signed_distance_m;
    assert!(contacts.windows(2).all(ordered), "{about}: not deepest first");
    let mut deepest = 0.0f64;
    for pair in pairs {
        let met: Vec<&Contact> = contacts.iter().filter(|c| c.tissue == pair.id).collect();
        let of_tissue = check_complete(&met, pair, compared, about);
        deepest = deepest.min(of_tissue).min(pair.deepest_link_vertex());
    }
    let pair_of = |c: &Contact| pairs.iter().find(|m| m.id == c.tissue).expect("a tissue");
    for c in contacts {
        check_points(c, pair_of(c), about);
        let is_answer = matches!(&answer.distance, Distance::Within(d) if d == c);
        if c.wholly_inside {
            // The contact stands for all of a link that is inside a tissue.
            check_depth(c, pair_of(c), about);
        } else if !is_answer {
            let given = value_of(c, pair_of(c).in_link(c.on_tissue.position), about);
            compared.doubtful += usize::from(given.doubtful);
        }
        compared.contacts += 1;
    }
    let tolerance = pairs.iter().map(|m| m.tolerance).fold(0.0, f64::max);
    match &answer.distance {
        Distance::Beyond(bound) => {
            assert_eq!(*bound, max_distance, "{about}");
            assert!(deepest >= 0.0, "{about}: inside by {deepest} and not told");
            let apart = apart(pairs);
            assert!(apart >= max_distance - EXACT, "{about}: {apart} apart and not told");
            compared.beyond += 1;
        }
        Distance::Within(c) if c.signed_distance_m >= 0.0 => {
            check_points(c, pair_of(c), about);
            let (got, apart) = (c.signed_distance_m, apart(pairs));
            assert!((got - apart).abs() <= EXACT, "{about}: {got}, oracle {apart} apart");
            assert!(deepest >= -tolerance, "{about}: inside by {deepest}, got {got}");
            compared.apart += 1;
        }
        Distance::Within(c) => {
            check_points(c, pair_of(c), about);
            check_depth(c, pair_of(c), about);
            let got = c.signed_distance_m;
            assert!(got <= deepest + tolerance, "{about}: {got}, oracle {deepest}");
            compared.inside += 1;
        }
    }
}

fn apart(pairs: &[CollisionPair]) -> f64 {
    pairs.iter().map(CollisionPair::surface_distance).fold(f64::INFINITY, f64::min)
}

/// Checks that every tissue triangle with a sample within the margin has a contact at least as deep, and none has two.
/// Returns the deepest sample, 0 if none is inside.
fn check_complete(
    contacts: &[&Contact],
    pair: &CollisionPair,
    compared: &mut Compared,
    about: &str,
) -> f64 {
    let mut of_triangle: HashMap<TriangleId, &Contact> = HashMap::new();
    for c in contacts {
        let earlier = of_triangle.insert(c.on_tissue.triangle, c);
        assert!(earlier.is_none(), "{about}: {:?} has two contacts", c.on_tissue.triangle);
        assert!(c.signed_distance_m <= pair.margin + pair.tolerance, "{about}: {c:?}");
    }
    let mut deepest = 0.0f64;
    for (t, depth) in pair.touching_triangles() {
        let found = of_triangle.get(&t);
        let c = found.unwrap_or_else(|| panic!("{about}: {t:?}, {depth}, is no contact"));
        let got = c.signed_distance_m;
        assert!(got <= depth + pair.tolerance, "{about}: {t:?} is {got}, a sample {depth}");
        deepest = deepest.min(depth);
        compared.touching_triangles += 1;
    }
    deepest
}

/// Returns the depth of a contact's tissue point in the link, which must be the contact's value.
fn value_of(c: &Contact, oracle: Option<Depth>, about: &str) -> Depth {
    let oracle = oracle.unwrap_or_else(|| panic!("{about}: {c:?} is nowhere near the link"));
    let apart = |x: f64| (c.signed_distance_m - x).abs();
    let least = if oracle.doubtful {
        apart(oracle.signed_distance).min(apart(-oracle.signed_distance))
    } else {
        apart(oracle.signed_distance)
    };
    assert!(least <= EXACT, "{about}: {c:?}, oracle {oracle:?}");
    oracle
}

/// Checks that a negative distance is the depth of one of the contact's points in the other body.
fn check_depth(c: &Contact, pair: &CollisionPair, about: &str) {
    let is_it = |d: Option<Depth>| {
        d.is_some_and(|d| {
            let oracle = if d.doubtful { -d.signed_distance.abs() } else { d.signed_distance };
            (oracle - c.signed_distance_m).abs() <= EXACT
        })
    };
    let (in_link, in_tissue) =
        (pair.in_link(c.on_tissue.position), pair.in_tissue(c.on_tool.position));
    assert!(
        is_it(in_link) || is_it(in_tissue),
        "{about}: {c:?}, oracle {in_link:?}, {in_tissue:?}"
    );
}

/// Checks that both points are where their triangles and weights say, as far apart as the distance says, along the
/// normal.
fn check_points(c: &Contact, pair: &CollisionPair, about: &str) {
    let on = |at: &SurfacePoint, mesh: &TriangleMesh, local_from_scene: &Pose| {
        let local = local_from_scene.point(at.position);
        let DVec3 { x, y, z } = at.barycentric;
        let [p, q, r] = mesh.triangle(at.triangle);
        let reproduced = p * x + q * y + r * z;
        assert!(reproduced.distance(local) <= EXACT, "{about}: {c:?}");
        check_on_triangle(mesh, at.triangle, reproduced, at.barycentric, about);
    };
    on(&c.on_tissue, pair.tissue.mesh, &Pose::IDENTITY);
    on(&c.on_tool, pair.link.mesh, &pair.scene_from_link.inverse());
    let between = c.on_tool.position - c.on_tissue.position;
    let off = (between.length() - c.signed_distance_m.abs()).abs();
    assert!(off <= EXACT, "{about}: the points of {c:?} are {off:e} off its distance");
    assert!((0.0..=1.0).contains(&c.sign_certainty), "{about}: {c:?}");
    let length = c.normal.length();
    assert!(length == 0.0 || (length - 1.0).abs() < 1e-12, "{about}: {c:?}");
    if c.signed_distance_m.abs() > 1e-6 {
        let along = between.dot(c.normal) - c.signed_distance_m;
        assert!(along.abs() <= EXACT, "{about}: the normal of {c:?} does not point to the tool");
    }
}
