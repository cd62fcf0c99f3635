//! Test points for a field.

use glam::DVec3;
use palpate::{geometry::TriangleId, oracle::Random};

use super::truth::Case;

/// Returns a random point: anywhere in the root, on and just beside the border of a subspace, near the surface at every
/// scale, or outside the root.
pub fn any(case: &Case, random: &mut Random) -> DVec3 {
    match random.below(5) {
        0 => in_root(case, random),
        1 => on_border(case, random).0 + random.unit_vector() * BESIDE,
        2 => on_border(case, random).0,
        3 => near_surface(case, random),
        _ => outside(case, random),
    }
}

/// Offset from a border, metres: far above rounding, far below a cell.
pub const BESIDE: f64 = 1e-9;

pub fn in_root(case: &Case, random: &mut Random) -> DVec3 {
    let root = case.field.bounds();
    random.point(root.min.as_dvec3(), root.max.as_dvec3())
}

/// Returns a point in a face of a subspace, and the axis across the face.
pub fn on_border(case: &Case, random: &mut Random) -> (DVec3, DVec3) {
    let n = random.below(case.field.subspaces().count());
    let (min, max) = case.field.subspaces().nth(n).expect("counted");
    let mut p = random.point(min, max);
    let axis = random.below(3);
    p[axis] = if random.below(2) == 0 { min[axis] } else { max[axis] };
    (p, DVec3::AXES[axis])
}

/// Returns a point from a nanometre to a tenth of the diagonal away from the surface, all decades alike.
pub fn near_surface(case: &Case, random: &mut Random) -> DVec3 {
    let mesh = case.mesh();
    let triangles: Vec<TriangleId> = mesh.triangle_ids().collect();
    let [a, b, c] = mesh.triangle(triangles[random.below(triangles.len())]);
    let (u, v) = (random.f64(), random.f64());
    let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
    let farthest = 0.1 * mesh.used_box().diagonal();
    let away = BESIDE * (farthest / BESIDE).powf(random.f64());
    a + (b - a) * u + (c - a) * v + random.unit_vector() * away
}

fn outside(case: &Case, random: &mut Random) -> DVec3 {
    let root = case.field.bounds();
    let reach = root.diagonal() * 10f64.powf(random.range(-3.0, 1.0));
    let direction = random.unit_vector();
    let edge = direction / direction.abs().max_element() * 0.5 * root.size().x;
    root.centre() + edge + direction * reach
}
