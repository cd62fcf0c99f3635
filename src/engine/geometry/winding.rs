//! Generalised winding number: how often a surface encloses a point, also for open surfaces.
//!
//! Jacobson, Kavan and Sorkine-Hornung, Robust inside-outside segmentation using generalized winding numbers, 2013; far
//! clusters by their moments as in Barill et al., Fast winding numbers, 2018, here with a bound on the remainder of the
//! expansion.

use std::f64::consts::PI;

use glam::{DMat3, DVec2, DVec3};

use super::{Aabb, TriangleId, TriangleMesh, tolerance::SPREAD_ROUNDING};

/// A winding number with its maximum error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Winding {
    /// 1 inside a closed body that faces outwards, 0 outside, between near the hole of an open one. More if parts of a
    /// surface overlap; negative if it is turned inside out, as in a pocket that a dent pushed out below.
    pub number: f64,
    /// Largest difference from the exact winding number.
    pub error: f64,
}

/// A point with a lesser winding number is enclosed negatively, as in a pocket that a dent pushed out below: such a
/// point counts as outside, which is a guess.
pub const ENCLOSED_NEGATIVELY: f64 = -0.5;

impl Winding {
    /// Inside by majority, with the certainty of that. Around a closed surface the number is whole, so an error below a
    /// half leaves no doubt; around an open one certainty falls to 0 at a half. Negatively enclosed points count as
    /// outside, and that is a guess.
    pub fn inside(&self, closed: bool) -> (bool, f64) {
        debug_assert!(self.error >= 0.0, "{self:?}");
        // A whole number is certain if the error allows no other; a fraction is as certain as its distance from a half.
        let certainty = if closed {
            let is_known = self.error < 0.5 - (self.number - self.number.round()).abs();
            f64::from(is_known && self.number > ENCLOSED_NEGATIVELY)
        } else {
            let from_a_change = (self.number - 0.5).abs().min(self.number + 1.0);
            (2.0 * (from_a_change - self.error)).clamp(0.0, 1.0)
        };
        (self.number > 0.5, certainty)
    }
}

/// Winding number of the whole mesh around `p`, exact to rounding, in O(n).
pub fn winding_number(mesh: &TriangleMesh, p: DVec3) -> f64 {
    winding_of(mesh.triangle_ids(), mesh, p)
}

/// Winding number of some of its triangles.
pub fn winding_of(
    triangles: impl Iterator<Item = TriangleId>,
    mesh: &TriangleMesh,
    p: DVec3,
) -> f64 {
    triangles.map(|t| solid_angle(p, &mesh.triangle(t))).sum::<f64>() / (4.0 * PI)
}

/// Signed solid angle of a triangle seen from `p`, in (-2 pi, 2 pi); positive from behind. 0 for a point
/// in its plane. (Van Oosterom and Strackee, 1983.)
pub fn solid_angle(p: DVec3, triangle: &[DVec3; 3]) -> f64 {
    // In the triangle's plane the angle is 0 inside and outside alike: a point on it is on neither side.
    let half = half_angle(p, triangle);
    if half.y == 0.0 { 0.0 } else { 2.0 * half.y.atan2(half.x) }
}

/// A vector whose angle from x is half the solid angle; along x for a point in the triangle's plane.
fn half_angle(p: DVec3, triangle: &[DVec3; 3]) -> DVec2 {
    let [a, b, c] = triangle.map(|v| v - p);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    DVec2::new(la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb, a.dot(b.cross(c)))
}

/// Sum of the solid angles of triangles seen from `p`: their half angles are the arguments of complex numbers, which
/// are multiplied, and turns are counted.
pub fn solid_angles(p: DVec3, triangles: impl Iterator<Item = [DVec3; 3]>) -> f64 {
    let (mut product, mut turns) = (DVec2::X, 0.0);
    for triangle in triangles {
        let DVec2 { x: re, y: im } = half_angle(p, &triangle);
        if im == 0.0 {
            continue;
        }
        let next = DVec2::new(product.x * re - product.y * im, product.x * im + product.y * re);
        // Arguments are in (-pi, pi]: a sum of two of equal sign leaves that range by passing the negative axis.
        if im > 0.0 && product.y >= 0.0 && next.y < 0.0 {
            turns += 1.0;
        } else if im < 0.0 && product.y < 0.0 && (next.y > 0.0 || next.y == 0.0 && next.x < 0.0) {
            turns -= 1.0;
        }
        // Kept near 1: a thousand products would otherwise overflow.
        product = next / next.abs().max_element();
    }
    2.0 * (product.y.atan2(product.x) + 2.0 * PI * turns)
}

/// Moments of a cluster of triangles for a far point. They are about the origin of the mesh's frame, so that clusters
/// join by addition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Integral of the unit normal over the area, square metres.
    area_vector: DVec3,
    /// Integral of the position.
    area_position: DVec3,
    /// Integral of position times normal transposed.
    position_normal: DMat3,
    /// Integral of the squared distance from the origin.
    area_square: f64,
    /// Square metres.
    area: f64,
}

impl Moments {
    /// Moments of no triangle.
    pub const NONE: Moments = Moments {
        area_vector: DVec3::ZERO,
        area_position: DVec3::ZERO,
        position_normal: DMat3::ZERO,
        area_square: 0.0,
        area: 0.0,
    };

    /// Moments of one triangle.
    pub fn of_triangle([a, b, c]: &[DVec3; 3]) -> Moments {
        let area_vector = (*b - *a).cross(*c - *a) * 0.5;
        let (area, centroid) = (area_vector.length(), (*a + *b + *c) / 3.0);
        let squares = a.length_squared() + b.length_squared() + c.length_squared();
        Moments {
            area_vector,
            area_position: centroid * area,
            position_normal: outer(centroid, area_vector),
            // Exact integral of |x|^2 over a triangle: corners and centroid weigh 1 to 9.
            area_square: area / 12.0 * (squares + 9.0 * centroid.length_squared()),
            area,
        }
    }

    /// Moments of both clusters together.
    pub fn union(&self, other: &Moments) -> Moments {
        Moments {
            area_vector: self.area_vector + other.area_vector,
            area_position: self.area_position + other.area_position,
            position_normal: self.position_normal + other.position_normal,
            area_square: self.area_square + other.area_square,
            area: self.area + other.area,
        }
    }

    /// Area in square metres.
    pub fn area(&self) -> f64 {
        self.area
    }

    /// The cluster's share of the winding number around `p`, if `p` is far enough from `bounds`, the box of its
    /// triangles; `None` if the cluster has to be opened.
    ///
    /// The kernel K(x) = x / |x|^3 is expanded to first order at the cluster's centre. Its second derivatives are at
    /// most 6 / |x|^4, so the remainder is at most 3 S / (d - r)^4 with S the integral of the squared distance from the
    /// centre, r the cluster's radius and d the centre's distance.
    pub fn far_winding(&self, bounds: &Aabb, p: DVec3) -> Option<Winding> {
        if self.area == 0.0 {
            return Some(Winding::default());
        }
        let centre = self.area_position / self.area;
        let farthest =
            (bounds.max.as_dvec3() - centre).abs().max((bounds.min.as_dvec3() - centre).abs());
        let (r, x) = (farthest.length(), centre - p);
        let d = x.length();
        // For nearer points the error of the expansion outweighs the cost of the exact sum.
        if d < FAR_RADII * r {
            return None;
        }
        // Moments are about the mesh's origin, so that clusters add up; here they are shifted to the cluster's centre.
        let about_centre = self.position_normal - outer(centre, self.area_vector);
        let trace = about_centre.x_axis.x + about_centre.y_axis.y + about_centre.z_axis.z;
        let first_order = trace - 3.0 * x.dot(about_centre * x) / (d * d);
        let number = (self.area_vector.dot(x) + first_order) / (4.0 * PI * d.powi(3));
        let square = centre.length_squared() * self.area;
        let spread = (self.area_square - square).max(0.0) + SPREAD_ROUNDING * square;
        let error = 3.0 * spread / (4.0 * PI * (d - r).powi(4));
        debug_assert!(error >= 0.0 && number.is_finite(), "{number} within {error}");
        Some(Winding { number, error })
    }
}

/// Distance, in radii, from which a cluster is evaluated by its moments: a sphere seen from its centre then has a bound
/// of 0.1 on the sum of all errors, against the half that decides.
const FAR_RADII: f64 = 6.0;

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}
