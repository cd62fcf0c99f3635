//! Compares a surface in its current state with brute force.

use glam::DVec3;
use palpate::{
    geometry::{
        SignRule, TriangleId, TriangleMesh, distance::point_triangle::closest_point,
        tolerance::ON_SURFACE,
    },
    oracle::{Random, brute_force, solid_angle::winding_number, triangle::closest_on_triangle},
    surface::Surface,
};

use super::bound::distance_error;

/// Sides of a closed surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sides {
    /// Inside if the winding number exceeds a half.
    Two,
    /// The surface crosses itself: the side of its nearest face and the winding number may differ, so the check applies
    /// only to a surface whose sign is the winding number's.
    Crossing,
}

/// Counts of comparisons.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub points: usize,
    pub signs: usize,
    /// Signs too near the surface, or without a claim of certainty.
    pub signs_skipped: usize,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.points += other.points;
        self.signs += other.signs;
        self.signs_skipped += other.signs_skipped;
    }
}

/// Compares nearest and signed distance at `n` random points.
pub fn check_points(
    surface: &Surface,
    n: usize,
    sides: Sides,
    random: &mut Random,
    about: &str,
) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..n {
        let p = random_point(surface.mesh(), random);
        let oracle = check_nearest(surface, p, random, about);
        tally.points += 1;
        if sides == Sides::Two || surface.sign_rule() == SignRule::WindingNumber {
            match check_sign(surface, p, &oracle, about) {
                true => tally.signs += 1,
                false => tally.signs_skipped += 1,
            }
        }
    }
    tally
}

/// Returns a point around the surface, close to it, on a vertex, edge or face of it, or far away.
pub fn random_point(mesh: &TriangleMesh, random: &mut Random) -> DVec3 {
    let b = mesh.used_box();
    let (centre, size) = (b.centre(), b.size() + DVec3::splat(0.01 * b.diagonal() + 1e-6));
    let on_surface = |random: &mut Random| {
        let [p, q, r] = mesh.triangle(any_triangle(mesh, random));
        let (u, v) = (random.f64(), random.f64());
        let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
        let corner = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::new(0.5, 0.5, 0.0)];
        let w = match random.below(8) {
            0 => corner[1 + random.below(4)],
            _ => DVec3::new(1.0 - u - v, u, v),
        };
        p * w.x + q * w.y + r * w.z
    };
    match random.below(10) {
        0..4 => centre + random.point(-size, size),
        4 => random.point(b.min.as_dvec3(), b.max.as_dvec3()),
        5..8 => {
            let off = b.diagonal() * 10f64.powf(random.range(-6.0, -0.5));
            on_surface(random) + random.unit_vector() * off
        }
        8 => on_surface(random),
        _ => centre + random.unit_vector() * 10f64.powf(random.range(-1.0, 3.0)),
    }
}

fn any_triangle(mesh: &TriangleMesh, random: &mut Random) -> TriangleId {
    loop {
        let t = TriangleId(random.below(mesh.triangle_id_end() as usize) as u32);
        if mesh.get(t).is_some() {
            return t;
        }
    }
}

/// Compares the nearest query at `p` with brute force, with and without hint and largest distance.
pub fn check_nearest(
    surface: &Surface,
    p: DVec3,
    random: &mut Random,
    about: &str,
) -> brute_force::BruteNearest {
    let mesh = surface.mesh();
    let oracle = brute_force::nearest(mesh, p).expect("has triangles");
    let found = surface.nearest(p, f64::INFINITY, None).expect("has triangles");
    let distance = found.closest.distance_squared.sqrt();
    let error = distance_error(mesh, found.triangle, p) + distance_error(mesh, oracle.triangle, p);
    assert!(
        (distance - oracle.distance).abs() <= error,
        "{about}: at {p:?} {distance} by {:?}, oracle {} by {:?}: {:e} apart, bound {error:e}",
        found.triangle,
        oracle.distance,
        oracle.triangle,
        (distance - oracle.distance).abs(),
    );
    check_on_triangle(mesh, found.triangle, found.closest.point, found.closest.barycentric, about);

    let scanned = scan(mesh, p);
    assert_eq!(found.triangle, scanned.0, "{about}: at {p:?}, smallest id of the equally near");
    assert_eq!(found.closest.distance_squared, scanned.1, "{about}: at {p:?}");

    let hint = TriangleId(random.below(mesh.triangle_id_end() as usize + 3) as u32);
    let hinted = surface.nearest(p, f64::INFINITY, Some(hint));
    assert_eq!(hinted, Some(found), "{about}: at {p:?}, hint {hint:?}");
    let reach = distance * (1.0 + 1e-9);
    assert_eq!(surface.nearest(p, reach, Some(hint)), Some(found), "{about}: at {p:?}");
    assert_eq!(surface.nearest(p, reach, None), Some(found), "{about}: at {p:?}");
    if distance > 0.0 {
        let short = distance * (1.0 - 1e-9);
        assert_eq!(surface.nearest(p, short, None), None, "{about}: at {p:?}");
        assert_eq!(surface.nearest(p, short, Some(hint)), None, "{about}: at {p:?}");
    }
    oracle
}

/// Applies the engine's own formula to every triangle: the index may leave out none that answers.
fn scan(mesh: &TriangleMesh, p: DVec3) -> (TriangleId, f64) {
    let squared = |t: TriangleId| closest_point(p, &mesh.triangle(t)).distance_squared;
    mesh.triangle_ids()
        .map(|t| (t, squared(t)))
        .reduce(|best, next| if next.1 < best.1 { next } else { best })
        .expect("has triangles")
}

/// Checks that the weights are in [0, 1], have the sum 1 and give the point, which is on the triangle.
pub fn check_on_triangle(
    mesh: &TriangleMesh,
    t: TriangleId,
    point: DVec3,
    weights: DVec3,
    about: &str,
) {
    let [a, b, c] = mesh.triangle(t);
    let rounding = 8.0 * f64::EPSILON;
    let within = |w: f64| (-rounding..=1.0 + rounding).contains(&w);
    assert!(weights.to_array().into_iter().all(within), "{about}: weights {weights:?} of {t:?}");
    assert!((weights.element_sum() - 1.0).abs() <= rounding, "{about}: weights {weights:?}");
    let reproduced = a * weights.x + b * weights.y + c * weights.z;
    let error = distance_error(mesh, t, point);
    assert!(reproduced.distance(point) <= error, "{about}: {weights:?} gives {reproduced:?}");
    let off = closest_on_triangle(point, &[a, b, c]).distance(point);
    assert!(off <= error, "{about}: {point:?} is {off:e} off {t:?}");
}

/// Compares the sign at `p` with the winding number. Returns false if it is undecided: on the surface to rounding, no
/// certainty claimed, or next to a place where the surface crosses itself.
pub fn check_sign(
    surface: &Surface,
    p: DVec3,
    oracle: &brute_force::BruteNearest,
    about: &str,
) -> bool {
    let mesh = surface.mesh();
    let signed = surface.signed_distance(p, f64::INFINITY, None).expect("has triangles");
    let nearest = surface.nearest(p, f64::INFINITY, None).expect("has triangles");
    assert_eq!(signed.signed_distance.abs(), nearest.closest.distance_squared.sqrt());
    assert_eq!((signed.triangle, signed.closest), (nearest.triangle, nearest.closest));
    assert!((0.0..=1.0).contains(&signed.certainty), "{about}: certainty {}", signed.certainty);
    let length = signed.normal.length();
    assert!(length == 0.0 || (length - 1.0).abs() < 1e-12, "{about}: normal {:?}", signed.normal);
    let error = distance_error(mesh, oracle.triangle, p);
    let winding = winding_number(mesh, p);
    if oracle.distance <= error || signed.certainty == 0.0 || (winding - 0.5).abs() < 1e-9 {
        return false;
    }
    // A point this near is on the surface, and either side of it is correct if the surface is open.
    let is_on = oracle.distance <= ON_SURFACE * mesh.used_box().diagonal();
    if is_on && surface.sign_rule() == SignRule::WindingNumber {
        return false;
    }
    let inside = winding > 0.5;
    if (signed.signed_distance < 0.0) != inside
        && surface.sign_rule() == SignRule::Pseudonormal
        && brute_force::beside_crossings(mesh).contains(&signed.triangle)
    {
        return false;
    }
    assert_eq!(
        signed.signed_distance < 0.0,
        inside,
        "{about}: at {p:?} {} from {:?}, winding number {winding}, certainty {}",
        signed.signed_distance,
        signed.triangle,
        signed.certainty,
    );
    true
}
