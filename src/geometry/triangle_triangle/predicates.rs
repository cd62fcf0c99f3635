//! On which side of a plane or line a point is, exactly: Shewchuk's adaptive predicates. (Barring underflow:
//! coordinates may not differ by less than 1e-100.)

use glam::{DVec2, DVec3};
use robust::{Coord, Coord3D};

/// Corners in their stored order.
pub type Triangle = [DVec3; 3];

/// Positive when `d` is on the side of the plane from which `a`, `b`, `c` are seen counter-clockwise. The
/// sign is exact.
#[inline]
pub(super) fn orient_3d(a: DVec3, b: DVec3, c: DVec3, d: DVec3) -> f64 {
    let coordinate = |p: DVec3| Coord3D { x: p.x, y: p.y, z: p.z };
    // The crate's sign is the opposite one.
    -robust::orient3d(coordinate(a), coordinate(b), coordinate(c), coordinate(d))
}

/// Positive when `a`, `b`, `c` turn to the left. The sign is exact.
#[inline]
pub(crate) fn orient_2d(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    let coordinate = |p: DVec2| Coord { x: p.x, y: p.y };
    robust::orient2d(coordinate(a), coordinate(b), coordinate(c))
}

/// On which side of the plane of `face` each vertex of `t` is.
#[inline]
pub(super) fn sides(t: &Triangle, face: &Triangle) -> [f64; 3] {
    t.map(|p| orient_3d(face[0], face[1], face[2], p))
}

/// All strictly on one side.
#[inline]
pub(super) fn on_one_side(sides: &[f64]) -> bool {
    sides.iter().all(|s| *s > 0.0) || sides.iter().all(|s| *s < 0.0)
}
