//! Winding number of a surface around a point, from the solid angles of all its triangles.
//!
//! Near triangles use the spherical excess (Girard): the three angles of the spherical triangle, less pi. Far
//! triangles, whose excess would be lost in rounding, use quadrature of n . r / |r|^3 over their area. Neither is the
//! formula of `geometry::winding`.

use std::f64::consts::PI;

use glam::DVec3;

use super::triangle::longest_edge;
use crate::geometry::TriangleMesh;

/// Generalised winding number around `p`: 1 inside a closed body that faces outwards.
pub fn winding_number(mesh: &TriangleMesh, p: DVec3) -> f64 {
    winding_of(mesh.triangle_ids().map(|t| mesh.triangle(t)), p)
}

/// As [`winding_number`], but of any triangles.
pub fn winding_of(triangles: impl Iterator<Item = [DVec3; 3]>, p: DVec3) -> f64 {
    triangles.map(|t| solid_angle(p, &t)).sum::<f64>() / (4.0 * PI)
}

/// Distance, in longest edges, from which a triangle is far. Quadrature of degree 5 is then wrong by about 32^-6 = 1e-9
/// of the angle, which is less than 1e-3.
const FAR_EDGES: f64 = 32.0;

/// Solid angle in [-2 pi, 2 pi], positive seen from behind.
fn solid_angle(p: DVec3, triangle: &[DVec3; 3]) -> f64 {
    let [a, b, c] = triangle.map(|v| v - p);
    let near = a.length().min(b.length()).min(c.length());
    if near > FAR_EDGES * longest_edge(triangle) { far_angle([a, b, c]) } else { excess([a, b, c]) }
}

fn excess([a, b, c]: [DVec3; 3]) -> f64 {
    let volume = a.dot(b.cross(c));
    // A point in the triangle's plane is on neither side, so its angle has no sign.
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

/// Seven points of degree 5 by Radon: the centroid and two orbits of three.
fn far_angle([a, b, c]: [DVec3; 3]) -> f64 {
    let area_vector = (b - a).cross(c - a) * 0.5;
    let flux = |r: DVec3| area_vector.dot(r) / r.length().powi(3);
    let orbit = |root: f64| {
        let outer = (6.0 + root) / 21.0;
        let inner = 1.0 - 2.0 * outer;
        [[inner, outer, outer], [outer, inner, outer], [outer, outer, inner]]
            .iter()
            .map(|w| flux(a * w[0] + b * w[1] + c * w[2]))
            .sum::<f64>()
            * (155.0 + root)
            / 1200.0
    };
    let root = 15f64.sqrt();
    flux((a + b + c) / 3.0) * 0.225 + orbit(root) + orbit(-root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::shapes;

    #[test]
    fn near_and_far_agree_where_they_meet() {
        let t = [DVec3::ZERO, DVec3::X, DVec3::new(0.3, 0.8, 0.0)];
        for direction in [DVec3::Z, DVec3::new(0.6, 0.0, -0.8), DVec3::new(0.36, 0.48, 0.8)] {
            let seen = t.map(|v| v + direction * FAR_EDGES);
            let (near, far) = (excess(seen), far_angle(seen));
            assert!((near - far).abs() < 1e-9 * near.abs() + 1e-13, "{near} and {far}");
        }
    }

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
