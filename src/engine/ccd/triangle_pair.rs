//! Two moving triangles: the earliest of their 6 vertex-face and 9 edge-edge contacts.

use glam::DVec3;

use super::{
    moving_features::{AxisGaps, MovingFeatures},
    owners::Owned,
    separation,
    step_budget::StepBudget,
    verdict::judge,
};
use crate::geometry::{
    direction::span_along,
    distance::{
        point_triangle::closest_point, segment_segment::closest_parameters,
        triangle_triangle::closest_pair,
    },
    tolerance::UNITY_ROUNDING,
};

/// A triangle whose corners move straight from `t0` to `t1`, metres.
#[derive(Clone, Copy, Debug)]
pub struct MovingTriangle {
    /// Corners at the start of the step.
    pub t0: [DVec3; 3],
    /// Corners at the end of the step.
    pub t1: [DVec3; 3],
    /// Features to test; the face is always tested.
    pub owned: Owned,
}

impl MovingTriangle {
    /// Corners at a time of the step.
    pub fn at(&self, t: f64) -> [DVec3; 3] {
        std::array::from_fn(|k| self.t0[k].lerp(self.t1[k], t))
    }

    /// Edge k as its two ends at the start and at the end of the step.
    fn edge(&self, k: usize) -> [[DVec3; 2]; 2] {
        let next = (k + 1) % 3;
        [[self.t0[k], self.t0[next]], [self.t1[k], self.t1[next]]]
    }
}

/// Vertices that two triangles of one mesh have in common. Features that share a vertex always touch and are not
/// tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared(u16);

impl Shared {
    /// No shared vertex, as between two meshes.
    pub const NONE: Shared = Shared(0);

    /// Finds the shared vertices by the triangles' vertex numbers.
    pub fn between(a: [u32; 3], b: [u32; 3]) -> Shared {
        let bit = |n: usize| u16::from(a[n / 3] == b[n % 3]) << n;
        Shared((0..9).fold(0, |bits, n| bits | bit(n)))
    }

    /// Returns true if vertex i of the first is vertex j of the second.
    fn has(self, i: usize, j: usize) -> bool {
        self.0 >> (3 * i + j) & 1 == 1
    }

    fn edges(self, i: usize, j: usize) -> bool {
        let ends = |k: usize| [k, (k + 1) % 3];
        ends(i).iter().any(|i| ends(j).iter().any(|j| self.has(*i, *j)))
    }
}

/// Features of two triangles that meet, by their numbers in the triangle, in the order in which simultaneous contacts
/// are preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeaturePair {
    /// A vertex of the first, the face of the second.
    VertexFace(u8),
    /// The face of the first, a vertex of the second.
    FaceVertex(u8),
    /// An edge of each; edge k goes from vertex k to (k + 1) % 3.
    EdgeEdge(u8, u8),
}

/// First contact of two triangles during a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriangleContact {
    /// In [0, 1], never later than the true time.
    pub toi: f64,
    /// Features that meet.
    pub features: FeaturePair,
    /// Weights of the first triangle's vertices at the contact.
    pub first: DVec3,
    /// Weights of the second triangle's vertices at the contact.
    pub second: DVec3,
    /// Unit normal from the second towards the first as they come together; zero if neither the features nor their
    /// motion determine it.
    pub normal: DVec3,
}

/// Earliest contact of the features that the triangles own; of simultaneous contacts the least [`FeaturePair`]. With a
/// `thickness` (metres, >= 0) contact means coming within it. If a chord stands in for a turning path, add its greatest
/// error to the thickness. All tests of the pair share a step budget: if many features turn together a tiny distance
/// apart, the rest of the step counts as contact when the budget is used up.
pub fn triangle_pair(
    a: &MovingTriangle,
    b: &MovingTriangle,
    shared: Shared,
    thickness: f64,
) -> Option<TriangleContact> {
    let mut first: Option<(f64, FeaturePair)> = None;
    let mut budget = StepBudget::new();
    each_feature_pair(a, b, shared, thickness, |features, moving| {
        let toi = judge(moving, thickness, &mut budget).toi();
        if let Some(toi) = toi.filter(|toi| first.is_none_or(|(best, _)| *toi < best)) {
            first = Some((toi, features));
        }
    });
    first.map(|(toi, features)| contact(a, b, toi, features, thickness))
}

/// Passes the first contact of every two features that the triangles own to `visit`, in the order of [`FeaturePair`].
/// Otherwise as [`triangle_pair`].
pub fn every_contact(
    a: &MovingTriangle,
    b: &MovingTriangle,
    shared: Shared,
    thickness: f64,
    mut visit: impl FnMut(TriangleContact),
) {
    let mut budget = StepBudget::new();
    each_feature_pair(a, b, shared, thickness, |features, moving| {
        if let Some(toi) = judge(moving, thickness, &mut budget).toi() {
            visit(contact(a, b, toi, features, thickness));
        }
    });
}

/// The pairs of features to be tested, in their order.
fn each_feature_pair(
    a: &MovingTriangle,
    b: &MovingTriangle,
    shared: Shared,
    thickness: f64,
    mut test: impl FnMut(FeaturePair, &MovingFeatures),
) {
    // Computed once for all fifteen tests of the pair; most pairs end here.
    if AxisGaps::at(a.t0, b.t0).during(AxisGaps::at(a.t1, b.t1)).separate(thickness) {
        return;
    }
    // Costs a sixth of the tests; nearly all pairs of a tool that slides near tissue end here.
    if thickness > 0.0
        && shared == Shared::NONE
        && let Some(along) = closest_pair(&a.t0, &b.t0).direction()
        && stay_apart(a, b, along, thickness)
    {
        return;
    }
    for k in 0..3 {
        // A vertex that both triangles have touches all along and is no contact.
        if a.owned.vertex(k) && !(0..3).any(|j| shared.has(k, j)) {
            test(FeaturePair::VertexFace(k as u8), &vertex_face(a, k, b));
        }
    }
    for k in 0..3 {
        if b.owned.vertex(k) && !(0..3).any(|i| shared.has(i, k)) {
            test(FeaturePair::FaceVertex(k as u8), &vertex_face(b, k, a));
        }
    }
    for i in (0..3).filter(|i| a.owned.edge(*i)) {
        for j in (0..3).filter(|j| b.owned.edge(*j) && !shared.edges(i, *j)) {
            test(FeaturePair::EdgeEdge(i as u8, j as u8), &edge_edge(a, i, b, j));
        }
    }
}

/// Returns true only if `b` is farther along a direction than `a` by more than `thickness` metres, from the start of
/// the step to its end: distances of corners along a fixed direction change linearly. The direction from `a` to `b`
/// between their closest points decides most pairs. `along` is a unit vector, or shorter, which decides fewer.
pub fn stay_apart(a: &MovingTriangle, b: &MovingTriangle, along: DVec3, thickness: f64) -> bool {
    debug_assert!(along.length() <= 1.0 + UNITY_ROUNDING, "{along}");
    // Relative to one corner, since coordinates may be large while triangles are small.
    let from = a.t0[0];
    let (mut extent, mut gap) = (DVec3::ZERO, f64::INFINITY);
    for (a, b) in [(&a.t0, &b.t0), (&a.t1, &b.t1)] {
        let (a, b) = (seen_from(from, a), seen_from(from, b));
        for corner in a.iter().chain(&b) {
            extent = extent.max(corner.abs());
        }
        let ([_, ends], [begins, _]) = (span_along(&a, along), span_along(&b, along));
        gap = gap.min(begins - ends);
    }
    gap > separation::apart(thickness, extent)
}

#[inline(always)]
fn seen_from(from: DVec3, [p, q, r]: &[DVec3; 3]) -> [DVec3; 3] {
    [*p - from, *q - from, *r - from]
}

fn vertex_face(of: &MovingTriangle, k: usize, face: &MovingTriangle) -> MovingFeatures {
    let points = |v: DVec3, [a, b, c]: [DVec3; 3]| [v, a, b, c];
    MovingFeatures::vertex_face(&points(of.t0[k], face.t0), &points(of.t1[k], face.t1))
}

fn edge_edge(a: &MovingTriangle, i: usize, b: &MovingTriangle, j: usize) -> MovingFeatures {
    let (a, b) = (a.edge(i), b.edge(j));
    let points = |end: usize| [a[end][0], a[end][1], b[end][0], b[end][1]];
    MovingFeatures::edge_edge(&points(0), &points(1))
}

fn contact(
    a: &MovingTriangle,
    b: &MovingTriangle,
    toi: f64,
    features: FeaturePair,
    thickness: f64,
) -> TriangleContact {
    let (p, q) = (a.at(toi), b.at(toi));
    let (first, second) = weights(&p, &q, features);
    let gap = |p: &[DVec3; 3], q: &[DVec3; 3]| weighed(p, first) - weighed(q, second);
    let at_contact = gap(&p, &q);
    // With a thickness the gap itself points from one to the other; without, or if the gap is lost in rounding, the
    // features' own normal is used.
    let normal = if at_contact.length() > 0.5 * thickness && thickness > 0.0 {
        at_contact.normalize()
    } else {
        let across = across(&p, &q, features);
        let before = across.dot(gap(&a.t0, &b.t0));
        // Together from the start on: the features are pushed back against their motion.
        let side = if before == 0.0 { -across.dot(gap(&a.t1, &b.t1)) } else { before };
        across * if side < 0.0 { -1.0 } else { 1.0 }
    };
    debug_assert!((0.0..=1.0).contains(&toi), "{toi}");
    let is_whole = |w: DVec3| (w.element_sum() - 1.0).abs() <= UNITY_ROUNDING;
    debug_assert!(is_whole(first) && is_whole(second), "{first}, {second}");
    TriangleContact { toi, features, first, second, normal }
}

fn weighed(triangle: &[DVec3; 3], weights: DVec3) -> DVec3 {
    triangle[0] * weights.x + triangle[1] * weights.y + triangle[2] * weights.z
}

/// Perpendicular to both features, of length 1 or zero.
fn across(p: &[DVec3; 3], q: &[DVec3; 3], features: FeaturePair) -> DVec3 {
    let normal = |t: &[DVec3; 3]| (t[1] - t[0]).cross(t[2] - t[0]);
    let edge = |t: &[DVec3; 3], k: u8| t[(k as usize + 1) % 3] - t[k as usize];
    match features {
        FeaturePair::VertexFace(_) => normal(q),
        FeaturePair::FaceVertex(_) => normal(p),
        FeaturePair::EdgeEdge(i, j) => edge(p, i).cross(edge(q, j)),
    }
    .normalize_or_zero()
}

/// Weights of the points on both triangles at which their features are nearest to each other.
fn weights(p: &[DVec3; 3], q: &[DVec3; 3], features: FeaturePair) -> (DVec3, DVec3) {
    match features {
        FeaturePair::VertexFace(k) => {
            (DVec3::AXES[k as usize], closest_point(p[k as usize], q).barycentric)
        }
        FeaturePair::FaceVertex(k) => {
            (closest_point(q[k as usize], p).barycentric, DVec3::AXES[k as usize])
        }
        FeaturePair::EdgeEdge(i, j) => {
            let ends = |k: u8| (k as usize, (k as usize + 1) % 3);
            let ((i0, i1), (j0, j1)) = (ends(i), ends(j));
            let (s, t) = closest_parameters(p[i0], p[i1], q[j0], q[j1]);
            let on = |k0: usize, k1: usize, s| DVec3::AXES[k0] * (1.0 - s) + DVec3::AXES[k1] * s;
            (on(i0, i1, s), on(j0, j1, t))
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DQuat;

    use super::*;
    use crate::oracle::Random;

    fn still(t: [DVec3; 3]) -> MovingTriangle {
        MovingTriangle { t0: t, t1: t, owned: Owned::ALL }
    }

    fn falling(t: [DVec3; 3], by: f64) -> MovingTriangle {
        MovingTriangle { t0: t, t1: t.map(|p| p - DVec3::Z * by), owned: Owned::ALL }
    }

    const FLOOR: [DVec3; 3] =
        [DVec3::new(-4.0, -3.0, 0.0), DVec3::new(4.0, -3.0, 0.0), DVec3::new(0.0, 5.0, 0.0)];

    #[test]
    fn a_corner_first_and_the_same_seen_from_the_other() {
        let tip =
            [DVec3::new(0.0, 0.0, 1.0), DVec3::new(0.1, 1.0, 2.0), DVec3::new(-0.1, 1.0, 2.0)];
        let (floor, tip) = (still(FLOOR), falling(tip, 2.0));
        let c = triangle_pair(&tip, &floor, Shared::NONE, 0.0).expect("contact");
        assert_eq!((c.features, c.first), (FeaturePair::VertexFace(0), DVec3::X));
        assert!(c.toi <= 0.5 && c.toi > 0.5 - 1e-9, "{}", c.toi);
        let back = triangle_pair(&floor, &tip, Shared::NONE, 0.0).expect("contact");
        assert_eq!((back.toi, back.features), (c.toi, FeaturePair::FaceVertex(0)));
        assert_eq!((back.first, back.second), (c.second, c.first));
        assert_eq!((c.normal, back.normal), (DVec3::Z, DVec3::NEG_Z));
        let thick = triangle_pair(&tip, &floor, Shared::NONE, 0.25).expect("contact");
        assert!(thick.normal.distance(DVec3::Z) < 1e-12);
        assert!(thick.toi <= 0.375 && thick.toi > 0.375 - 1e-6, "{}", thick.toi);
    }

    #[test]
    fn crossing_edges_when_nothing_else_is_owned() {
        let blade =
            [DVec3::new(3.0, 0.0, 1.0), DVec3::new(-1.0, 5.0, 1.0), DVec3::new(3.0, 5.0, 1.0)];
        let (floor, blade) = (still(FLOOR), falling(blade, 4.0));
        let c = triangle_pair(&floor, &blade, Shared::NONE, 0.0).expect("contact");
        assert!(matches!(c.features, FeaturePair::EdgeEdge(1, _)), "{:?}", c.features);
        let (p, q) = (floor.at(c.toi), blade.at(c.toi));
        assert!(weighed(&p, c.first).distance(weighed(&q, c.second)) < 1e-9);
        assert_eq!(c.normal, DVec3::NEG_Z, "the floor is below");
        let faces = |t: MovingTriangle| MovingTriangle { owned: Owned::NONE, ..t };
        assert_eq!(triangle_pair(&faces(floor), &faces(blade), Shared::NONE, 0.0), None);
    }

    /// Two layers that turn together, edge for edge. Their chords bring them together in the middle of the turn,
    /// slightly farther than the thickness: nine of the fifteen tests take all steps that a test may.
    #[test]
    fn features_that_turn_together_share_their_steps() {
        const TURN: f64 = 1.5;
        let turned = |t: [DVec3; 3]| t.map(|p| DQuat::from_rotation_x(TURN).mul_vec3(p));
        let thickness = 1e-3;
        let gap = thickness / (0.5 * TURN).cos() * (1.0 + 1e-6);
        let above = FLOOR.map(|p| p + DVec3::Z * gap);
        let [a, b] =
            [FLOOR, above].map(|t| MovingTriangle { t0: t, t1: turned(t), owned: Owned::ALL });
        let mut budget = StepBudget::new();
        let mut alone = 0;
        each_feature_pair(&a, &b, Shared::NONE, thickness, |_, moving| {
            judge(moving, thickness, &mut budget);
            let mut own = StepBudget::new();
            judge(moving, thickness, &mut own);
            alone += own.taken;
        });
        let taken = budget.taken;
        println!("{taken} steps, {alone} with a limit for each test");
        assert!(taken <= 1_600, "{taken} steps");
        assert!(alone > 5_000, "it is easy: {alone} steps");
    }

    /// Two triangles that shrink to one point: all polynomials have a multiple root there, to which hulls alone
    /// converge in some twenty intervals a test.
    #[test]
    fn features_that_come_together_in_one_point_take_few_steps() {
        let mut random = Random::new(12);
        for round in 0..200 {
            let [s, t] = [(); 2].map(|()| [(); 3].map(|()| random.unit_vector()));
            let [a, b] =
                [s, t].map(|t0| MovingTriangle { t0, t1: [DVec3::X; 3], owned: Owned::ALL });
            let (mut budget, mut tests, mut met) = (StepBudget::new(), 0, 0);
            each_feature_pair(&a, &b, Shared::NONE, 0.0, |_, moving| {
                tests += 1;
                let toi = judge(moving, 0.0, &mut budget).toi();
                met += usize::from(toi.is_some());
            });
            assert_eq!(met, tests, "round {round}: all meet in the end");
            assert!(budget.taken <= 6 * tests as u32, "round {round}: {} steps", budget.taken);
        }
    }

    /// At every instant they are farther apart than the thickness, whatever the direction; along their closest points,
    /// few such pairs go undetected.
    #[test]
    fn what_stays_apart_is_apart_at_every_instant() {
        let mut random = Random::new(11);
        let (mut n_told, mut n_apart) = (0, 0);
        for round in 0..4_000 {
            let mut point = || random.point(DVec3::splat(-1.0), DVec3::splat(1.0));
            let [t0, other] = [(); 2].map(|()| std::array::from_fn(|_| point()));
            let by = point() * 2.0;
            let a = MovingTriangle { t0, t1: t0.map(|p| p + 0.3 * point()), owned: Owned::ALL };
            let b0 = other.map(|p| p + by);
            let b = MovingTriangle { t0: b0, t1: b0.map(|p| p + point()), owned: Owned::ALL };
            let thickness = 0.2;
            let gap = |t: f64| closest_pair(&a.at(t), &b.at(t)).distance_squared.sqrt();
            let least = (0..=32).map(|k| gap(f64::from(k) / 32.0)).fold(f64::INFINITY, f64::min);
            let nearest = closest_pair(&a.t0, &b.t0).direction();
            let along = if round % 4 == 0 { point().try_normalize() } else { nearest };
            let told = along.is_some_and(|along| stay_apart(&a, &b, along, thickness));
            assert!(!told || least > thickness, "{least} m apart in round {round}");
            n_told += u32::from(told);
            n_apart += u32::from(least > thickness);
        }
        assert!(n_told > n_apart / 3 && n_told < n_apart, "{n_told} of {n_apart}");
    }

    #[test]
    fn neighbours_do_not_touch_by_what_they_share() {
        let other = [FLOOR[0], FLOOR[1], DVec3::new(0.0, -9.0, 1.0)];
        let (a, b) = (still(FLOOR), still(other));
        assert!(triangle_pair(&a, &b, Shared::NONE, 0.0).is_some());
        assert_eq!(triangle_pair(&a, &b, Shared::between([0, 1, 2], [0, 1, 3]), 0.0), None);
    }
}
