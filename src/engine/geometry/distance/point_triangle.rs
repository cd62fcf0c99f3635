//! Closest point of a triangle, and the feature that it lies on.
//!
//! Ericson, Real-Time Collision Detection, 5.1.5: by the Voronoi region of the point.

use glam::DVec3;

use crate::geometry::tolerance::{SLIVER, UNITY_ROUNDING};

/// A part of a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Vertex 0, 1 or 2.
    Vertex(u8),
    /// The edge from vertex k to vertex (k + 1) % 3.
    Edge(u8),
    /// The interior.
    Face,
}

/// The point of a triangle that is nearest to another point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosestPoint {
    /// In the frame of the triangle.
    pub point: DVec3,
    /// Weights of the vertices; each in [0, 1], sum 1.
    pub barycentric: DVec3,
    /// Feature that the point lies on.
    pub feature: Feature,
    /// Square metres.
    pub distance_squared: f64,
}

/// Point of triangle `[a, b, c]` nearest to `p`. Also correct for triangles without area.
pub fn closest_point(p: DVec3, triangle: &[DVec3; 3]) -> ClosestPoint {
    let [a, b, c] = *triangle;
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let longest = ab.length_squared().max(ac.length_squared()).max(b.distance_squared(c));
    let normal = ab.cross(ac);
    if normal.length_squared() <= SLIVER * longest * longest {
        return closest_of_edges(p, triangle);
    }
    // Areas of p with each edge, seen along the normal. Ericson computes them as d1 d4 - d3 d2 and so on, which loses
    // digits with the square of edge over height.
    let area = |edge: DVec3, to_p: DVec3| normal.dot(edge.cross(to_p));
    // 5.1.5: vertices first, then edges; otherwise the region is the face. The search ends at the first region found.
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return at(p, triangle, DVec3::X, Feature::Vertex(0));
    }
    let bp = p - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return at(p, triangle, DVec3::Y, Feature::Vertex(1));
    }
    let vc = area(ab, ap);
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        let s = d1 / (d1 - d3);
        return at(p, triangle, DVec3::new(1.0 - s, s, 0.0), Feature::Edge(0));
    }
    let cp = p - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return at(p, triangle, DVec3::Z, Feature::Vertex(2));
    }
    let vb = area(-ac, cp);
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        let s = d2 / (d2 - d6);
        return at(p, triangle, DVec3::new(1.0 - s, 0.0, s), Feature::Edge(2));
    }
    let va = area(c - b, bp);
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let s = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return at(p, triangle, DVec3::new(0.0, 1.0 - s, s), Feature::Edge(1));
    }
    if va.min(vb).min(vc) <= 0.0 {
        // Within rounding, p projects onto an edge.
        return closest_of_edges(p, triangle);
    }
    let scale = 1.0 / (va + vb + vc);
    let (v, w) = (vb * scale, vc * scale);
    at(p, triangle, DVec3::new(1.0 - v - w, v, w), Feature::Face)
}

/// Closest point on the nearest of the three edges: a sliver's interior is nowhere farther from them than half its
/// height.
fn closest_of_edges(p: DVec3, triangle: &[DVec3; 3]) -> ClosestPoint {
    let edge = |k: usize| {
        let (a, b) = (triangle[k], triangle[(k + 1) % 3]);
        let s = nearest_on_segment(p, a, b);
        let mut weights = [0.0; 3];
        weights[k] = 1.0 - s;
        weights[(k + 1) % 3] = s;
        let feature = match s {
            0.0 => Feature::Vertex(k as u8),
            1.0 => Feature::Vertex(((k + 1) % 3) as u8),
            _ => Feature::Edge(k as u8),
        };
        at(p, triangle, DVec3::from_array(weights), feature)
    };
    let nearer = |a: ClosestPoint, b: ClosestPoint| {
        // The first of equally near edges wins, so that a tie has an identical feature each time.
        if b.distance_squared < a.distance_squared { b } else { a }
    };
    nearer(nearer(edge(0), edge(1)), edge(2))
}

/// Parameter, from `a` (0) to `b` (1), of the point of the segment nearest to `p`.
pub fn nearest_on_segment(p: DVec3, a: DVec3, b: DVec3) -> f64 {
    let ab = b - a;
    let length_squared = ab.length_squared();
    if length_squared == 0.0 { 0.0 } else { ((p - a).dot(ab) / length_squared).clamp(0.0, 1.0) }
}

fn at(p: DVec3, [a, b, c]: &[DVec3; 3], barycentric: DVec3, feature: Feature) -> ClosestPoint {
    debug_assert!((barycentric.element_sum() - 1.0).abs() <= UNITY_ROUNDING, "{barycentric}");
    // Computed from the weights and not along an edge: point and weights then agree to the bit.
    let point = *a * barycentric.x + *b * barycentric.y + *c * barycentric.z;
    ClosestPoint { point, barycentric, feature, distance_squared: p.distance_squared(point) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: [DVec3; 3] = [DVec3::ZERO, DVec3::new(2.0, 0.0, 0.0), DVec3::new(0.0, 1.0, 0.0)];

    /// All orders of the vertices reach each feature, with an identical point.
    #[test]
    fn every_feature_in_every_order() {
        let cases = [
            (DVec3::new(-1.0, -1.0, 0.5), "v0"),
            (DVec3::new(3.0, -0.5, 0.5), "v1"),
            (DVec3::new(-0.5, 2.0, 0.5), "v2"),
            (DVec3::new(1.0, -1.0, 0.5), "e01"),
            (DVec3::new(2.0, 2.0, 0.5), "e12"),
            (DVec3::new(-1.0, 0.5, 0.5), "e02"),
            (DVec3::new(0.5, 0.25, 0.5), "f"),
        ];
        let orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];
        for (p, name) in cases {
            let expected = closest_point(p, &T).point;
            for order in orders {
                let got = closest_point(p, &order.map(|i| T[i]));
                let feature = match got.feature {
                    Feature::Vertex(k) => format!("v{}", order[k as usize]),
                    Feature::Edge(k) => {
                        let (i, j) = (order[k as usize], order[(k as usize + 1) % 3]);
                        format!("e{}{}", i.min(j), i.max(j))
                    }
                    Feature::Face => "f".to_owned(),
                };
                assert_eq!(feature, name, "order {order:?}");
                assert!((got.point - expected).length() < 1e-15);
                assert!((got.barycentric.element_sum() - 1.0).abs() < 1e-15);
            }
        }
    }

    /// A point on a thin triangle is found on it, to rounding times edge over height.
    #[test]
    fn on_a_thin_triangle() {
        for height in [1e-2, 1e-4, 2e-6] {
            let along = DVec3::new(0.6, 0.0, 0.8);
            let t = [DVec3::ZERO, along, along * 0.4 + DVec3::new(0.8, 0.0, -0.6) * height];
            for (u, v) in [(0.3, 0.3), (0.1, 0.8), (0.45, 0.1)] {
                let p = t[0] * (1.0 - u - v) + t[1] * u + t[2] * v;
                let found = closest_point(p, &t);
                assert!(found.distance_squared.sqrt() < 1e-14 / height, "height {height}");
            }
        }
    }

    #[test]
    fn triangles_without_area() {
        let p = DVec3::new(0.25, 1.0, 0.0);
        let segment = [DVec3::ZERO, DVec3::X, DVec3::X * 0.5];
        assert_eq!(closest_point(p, &segment).point, DVec3::new(0.25, 0.0, 0.0));
        let point = [DVec3::Y; 3];
        assert_eq!(closest_point(p, &point).distance_squared, 0.0625);
    }
}
