//! Closest points of two segments.

use glam::DVec3;

use super::point_triangle::nearest_on_segment;
use crate::geometry::tolerance::PARALLEL_SINE_SQUARED;

/// Parameters (0 to 1 on each) of the closest points of segments `a0 a1` and `b0 b1`. Also correct for parallel
/// segments and for segments without length.
pub fn closest_parameters(a0: DVec3, a1: DVec3, b0: DVec3, b1: DVec3) -> (f64, f64) {
    let (u, v, w) = (a1 - a0, b1 - b0, a0 - b0);
    let (uu, uv, vv) = (u.length_squared(), u.dot(v), v.length_squared());
    let determinant = uu * vv - uv * uv;
    if determinant <= PARALLEL_SINE_SQUARED * uu * vv {
        return closest_of_ends(a0, a1, b0, b1);
    }
    let (uw, vw) = (u.dot(w), v.dot(w));
    // Clamped, then the best t for that s, then the best s for that t: the last step corrects the error of the first
    // clamping.
    let s = ((uv * vw - vv * uw) / determinant).clamp(0.0, 1.0);
    // Both segments have a length: the determinant would be 0 otherwise.
    let t = ((uv * s + vw) / vv).clamp(0.0, 1.0);
    (((uv * t - uw) / uu).clamp(0.0, 1.0), t)
}

/// Closest pair of parallel segments that contains an end: one always does.
pub(super) fn closest_of_ends(a0: DVec3, a1: DVec3, b0: DVec3, b1: DVec3) -> (f64, f64) {
    let candidates = [
        (0.0, nearest_on_segment(a0, b0, b1)),
        (1.0, nearest_on_segment(a1, b0, b1)),
        (nearest_on_segment(b0, a0, a1), 0.0),
        (nearest_on_segment(b1, a0, a1), 1.0),
    ];
    let gap = |(s, t): (f64, f64)| a0.lerp(a1, s).distance_squared(b0.lerp(b1, t));
    candidates
        .into_iter()
        .reduce(|a, b| if gap(b) < gap(a) { b } else { a })
        .expect("four candidates")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(a0: DVec3, a1: DVec3, b0: DVec3, b1: DVec3) -> f64 {
        let (s, t) = closest_parameters(a0, a1, b0, b1);
        a0.lerp(a1, s).distance(b0.lerp(b1, t))
    }

    #[test]
    fn crossing_parallel_and_point_segments() {
        let z = DVec3::Z;
        assert_eq!(gap(-DVec3::X, DVec3::X, z - DVec3::Y, z + DVec3::Y), 1.0);
        assert_eq!(gap(DVec3::ZERO, DVec3::X, z + DVec3::X * 0.5, z + DVec3::X * 2.0), 1.0);
        assert_eq!(gap(DVec3::ZERO, DVec3::X, DVec3::X * 3.0, DVec3::X * 3.0), 2.0);
        assert_eq!(gap(z, z, DVec3::ZERO, DVec3::ZERO), 1.0);
    }
}
