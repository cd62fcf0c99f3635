//! How often a surface encloses a point, from the solid angles of all its triangles.
//!
//! By the spherical excess (Girard): the three angles of the spherical triangle, less pi. Not the formula
//! of `geometry::winding`.

use std::f64::consts::PI;

use glam::DVec3;

use crate::geometry::TriangleMesh;

/// The generalised winding number around `p`: 1 inside a closed body that faces outwards.
pub fn winding_number(mesh: &TriangleMesh, p: DVec3) -> f64 {
    mesh.triangle_ids().map(|t| solid_angle(p, &mesh.triangle(t))).sum::<f64>() / (4.0 * PI)
}

/// In [-2 pi, 2 pi], positive seen from behind.
fn solid_angle(p: DVec3, triangle: &[DVec3; 3]) -> f64 {
    let [a, b, c] = triangle.map(|v| v - p);
    let volume = a.dot(b.cross(c));
    if volume == 0.0 {
        return 0.0;
    }
    // Between the planes through two edges: (u x v) x (u x w) = u (u . v x w).
    let angle = |u: DVec3, v: DVec3, w: DVec3| {
        (u.length() * volume.abs()).atan2(u.cross(v).dot(u.cross(w)))
    };
    let excess = angle(a, b, c) + angle(b, c, a) + angle(c, a, b) - PI;
    excess.copysign(volume)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::shapes;

    #[test]
    fn whole_in_and_out_of_a_ball_half_above_a_large_sheet() {
        let ball = TriangleMesh::new(shapes::sphere(0.1, 5));
        for (p, expected) in [(DVec3::new(0.02, 0.05, -0.03), 1.0), (DVec3::splat(0.2), 0.0)] {
            assert!((winding_number(&ball, p) - expected).abs() < 1e-12);
        }
        let cube = TriangleMesh::new(shapes::cuboid(DVec3::splat(2.0)));
        assert!((winding_number(&cube, DVec3::new(0.9, -0.4, 0.99)) - 1.0).abs() < 1e-12);
        let sheet = TriangleMesh::new(shapes::sheet(11, 11, 10.0));
        let (above, below) = (DVec3::new(50.0, 50.0, 0.01), DVec3::new(50.0, 50.0, -0.01));
        assert!((winding_number(&sheet, above) + 0.5).abs() < 1e-3);
        assert!((winding_number(&sheet, below) - 0.5).abs() < 1e-3);
    }
}
