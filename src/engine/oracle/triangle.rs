//! Distances of single triangles, by formulas that differ from those of `geometry`.
//!
//! Point to triangle: the foot on the plane if signed areas find it inside, and the three segments; no Voronoi regions.
//! Triangle to triangle: the difference of the two is the convex hull of nine points, whose boundary is covered by the
//! triangles of those points, so its distance from the origin is the least of 84 point distances, and 0 if one of the
//! 126 tetrahedra holds the origin.

use glam::DVec3;

/// Height, in longest edges, below which a triangle is replaced by its edges. Its face is then at most half of that
/// from them, and a taller one's plane is known to 2^-52 / 1e-8 of the edge.
const THINNEST_FACE: f64 = 1e-8;

/// Point of the triangle nearest to `p`; accurate to 3e-8 of the longest edge at worst, for slivers, and to rounding
/// for others.
pub fn closest_on_triangle(p: DVec3, triangle: &[DVec3; 3]) -> DVec3 {
    let [a, b, c] = *triangle;
    let mut nearest = closest_on_segment(p, a, b);
    for other in [closest_on_segment(p, b, c), closest_on_segment(p, c, a)] {
        if p.distance_squared(other) < p.distance_squared(nearest) {
            nearest = other;
        }
    }
    let normal = (b - a).cross(c - a);
    if least_height(triangle) <= THINNEST_FACE * longest_edge(triangle) {
        return nearest;
    }
    let foot = p - normal * (normal.dot(p - a) / normal.length_squared());
    let signed_area = |u: DVec3, v: DVec3| (v - u).cross(foot - u).dot(normal);
    let inside = signed_area(a, b) >= 0.0 && signed_area(b, c) >= 0.0 && signed_area(c, a) >= 0.0;
    if inside { foot } else { nearest }
}

/// Length of the longest edge, metres.
pub fn longest_edge([a, b, c]: &[DVec3; 3]) -> f64 {
    a.distance(*b).max(b.distance(*c)).max(c.distance(*a))
}

/// Height over the longest edge, metres; 0 for a triangle without area.
pub fn least_height(triangle: &[DVec3; 3]) -> f64 {
    let [a, b, c] = *triangle;
    let longest = longest_edge(triangle);
    if longest == 0.0 { 0.0 } else { (b - a).cross(c - a).length() / longest }
}

/// Distance of two triangles, 0 if they cross or touch.
pub fn triangle_distance(s: &[DVec3; 3], t: &[DVec3; 3]) -> f64 {
    let hull: [DVec3; 9] = std::array::from_fn(|i| s[i / 3] - t[i % 3]);
    let mut least = f64::INFINITY;
    for i in 0..9 {
        for j in i + 1..9 {
            for k in j + 1..9 {
                let face = [hull[i], hull[j], hull[k]];
                least = least.min(closest_on_triangle(DVec3::ZERO, &face).length());
                let rest = &hull[k + 1..];
                // Strictly inside is enough: an origin on a face has the distance of that face, which is 0 except for
                // rounding.
                if rest.iter().any(|p| holds_origin([face[0], face[1], face[2], *p])) {
                    return 0.0;
                }
            }
        }
    }
    least
}

fn closest_on_segment(p: DVec3, a: DVec3, b: DVec3) -> DVec3 {
    let along = b - a;
    if along == DVec3::ZERO {
        return a;
    }
    let s = along.dot(p - a) / along.length_squared();
    if s <= 0.0 {
        a
    } else if s >= 1.0 {
        b
    } else {
        // Only between the ends: at 1 the sum is not always b to the bit.
        a + along * s
    }
}

/// Returns true if the origin is strictly inside: on the side of every face on which the vertex across is.
fn holds_origin([a, b, c, d]: [DVec3; 4]) -> bool {
    let volume = |p: DVec3, q: DVec3, r: DVec3| p.dot(q.cross(r));
    let parts = [volume(b, c, d), -volume(a, c, d), volume(a, b, d), -volume(a, b, c)];
    parts.iter().all(|v| *v > 0.0) || parts.iter().all(|v| *v < 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    /// The nearest of many points of a triangle is no nearer, and not much farther.
    #[test]
    fn agrees_with_sampling() {
        let mut random = Random::new(11);
        let n = 60;
        for _ in 0..200 {
            let mut point = || random.point(DVec3::NEG_ONE, DVec3::ONE);
            let (p, t) = (point(), [point(), point(), point()]);
            let cells = (0..=n).flat_map(|i| (0..=n - i).map(move |j| (i, j)));
            let sampled = cells
                .map(|(i, j)| t[0] * (n - i - j) as f64 + t[1] * i as f64 + t[2] * j as f64)
                .map(|q| p.distance(q / n as f64))
                .fold(f64::INFINITY, f64::min);
            let found = p.distance(closest_on_triangle(p, &t));
            assert!(found <= sampled + 1e-12 && sampled - found <= longest_edge(&t) / n as f64);
        }
    }

    #[test]
    fn triangles_apart_touching_and_crossing() {
        let t = [DVec3::ZERO, DVec3::X, DVec3::Y];
        let lifted = |z: f64| t.map(|p| p + DVec3::new(0.1, 0.1, z));
        assert!((triangle_distance(&t, &lifted(0.5)) - 0.5).abs() < 1e-15);
        assert!(triangle_distance(&t, &lifted(0.0)) < 1e-15);
        let spike =
            [DVec3::new(0.2, 0.2, -1.0), DVec3::new(0.2, 0.2, 1.0), DVec3::new(3.0, 3.0, 0.5)];
        assert_eq!(triangle_distance(&t, &spike), 0.0);
        let beside = t.map(|p| DVec3::new(p.x + 3.0, p.y, p.z));
        assert!((triangle_distance(&t, &beside) - 2.0).abs() < 1e-15);
    }
}
