//! Exact side of a plane or line for a point: Shewchuk's adaptive predicates. (Barring underflow: coordinates may not
//! differ by less than 1e-100.)

use glam::{DVec2, DVec3};
use robust::{Coord, Coord3D};

/// Corners in stored order.
pub type Triangle = [DVec3; 3];

/// Positive if `d` is on the side of the plane from which `a`, `b`, `c` appear counter-clockwise. The sign is exact.
#[inline]
pub(super) fn orient_3d(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> f64 {
    let coordinate = |p: DVec3| Coord3D { x: p.x, y: p.y, z: p.z };
    // The crate's sign is opposite.
    -robust::orient3d(coordinate(a), coordinate(b), coordinate(c), coordinate(d))
}

/// Positive if `a`, `b`, `c` turn left. The sign is exact.
#[inline]
pub(crate) fn orient_2d(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    let coordinate = |p: DVec2| Coord { x: p.x, y: p.y };
    robust::orient2d(coordinate(a), coordinate(b), coordinate(c))
}

/// Side of the plane of `face` for each vertex of `t`.
#[inline]
pub(super) fn sides(t: &Triangle, face: &Triangle) -> [f64; 3] {
    t.map(|p| orient_3d(face[0], face[1], face[2], p))
}

/// Returns true if all are strictly on one side.
#[inline]
pub(super) fn on_one_side(sides: &[f64]) -> bool {
    sides.iter().all(|s| *s > 0.0) || sides.iter().all(|s| *s < 0.0)
}
