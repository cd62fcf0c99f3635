//! The closest points of two triangles.

use glam::DVec3;

use super::{point_triangle::closest_point, segment_segment::closest_parameters};

/// The closest points of triangles A and B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosestPair {
    /// On A.
    pub on_a: DVec3,
    /// Weights of A's vertices.
    pub barycentric_a: DVec3,
    /// On B.
    pub on_b: DVec3,
    /// Weights of B's vertices.
    pub barycentric_b: DVec3,
    /// Square metres; 0 when they cross.
    pub distance_squared: f64,
}

/// The closest points of two triangles: of six vertex-face and nine edge-edge pairs, unless an edge of one
/// crosses the other's face.
pub fn closest_pair(a: &[DVec3; 3], b: &[DVec3; 3]) -> ClosestPair {
    let mut best: Option<ClosestPair> = None;
    let mut offer = |pair: ClosestPair| {
        if best.is_none_or(|b| pair.distance_squared < b.distance_squared) {
            best = Some(pair);
        }
    };
    for k in 0..3 {
        let (c, weights) = (closest_point(a[k], b), DVec3::AXES[k]);
        offer(pair_of(a, weights, b, c.barycentric));
        let c = closest_point(b[k], a);
        offer(pair_of(a, c.barycentric, b, weights));
    }
    for i in 0..3 {
        let (a0, a1) = (a[i], a[(i + 1) % 3]);
        for j in 0..3 {
            let (s, t) = closest_parameters(a0, a1, b[j], b[(j + 1) % 3]);
            offer(pair_of(a, on_edge(i, s), b, on_edge(j, t)));
        }
    }
    if !is_on_one_side(a, b) && !is_on_one_side(b, a) {
        for i in 0..3 {
            if let Some((s, weights)) = crossing(a[i], a[(i + 1) % 3], b) {
                offer(crossing_pair(a, on_edge(i, s), b, weights));
            }
            if let Some((s, weights)) = crossing(b[i], b[(i + 1) % 3], a) {
                offer(crossing_pair(a, weights, b, on_edge(i, s)));
            }
        }
    }
    best.expect("six vertices were offered")
}

fn on_edge(k: usize, s: f64) -> DVec3 {
    DVec3::AXES[k] * (1.0 - s) + DVec3::AXES[(k + 1) % 3] * s
}

fn pair_of(a: &[DVec3; 3], wa: DVec3, b: &[DVec3; 3], wb: DVec3) -> ClosestPair {
    let on_a = a[0] * wa.x + a[1] * wa.y + a[2] * wa.z;
    let on_b = b[0] * wb.x + b[1] * wb.y + b[2] * wb.z;
    let distance_squared = on_a.distance_squared(on_b);
    ClosestPair { on_a, barycentric_a: wa, on_b, barycentric_b: wb, distance_squared }
}

fn crossing_pair(a: &[DVec3; 3], wa: DVec3, b: &[DVec3; 3], wb: DVec3) -> ClosestPair {
    ClosestPair { distance_squared: 0.0, ..pair_of(a, wa, b, wb) }
}

/// All of `a` is strictly on one side of the plane of `b`, as far as rounding lets tell: where it does not,
/// the distances are 0 to rounding.
fn is_on_one_side(a: &[DVec3; 3], b: &[DVec3; 3]) -> bool {
    let normal = (b[1] - b[0]).cross(b[2] - b[0]);
    let heights = a.map(|p| (p - b[0]).dot(normal));
    heights.iter().all(|h| *h > 0.0) || heights.iter().all(|h| *h < 0.0)
}

/// Where segment `p q` crosses the triangle's inside: (0 to 1 along it, weights). Touching a border is
/// left to the distances, which are 0 to rounding there.
fn crossing(p: DVec3, q: DVec3, triangle: &[DVec3; 3]) -> Option<(f64, DVec3)> {
    let [a, b, c] = triangle.map(|v| v - p);
    let d = q - p;
    // Volumes of the line with each edge; all of one sign when the line passes inside.
    let w = DVec3::new(d.dot(b.cross(c)), d.dot(c.cross(a)), d.dot(a.cross(b)));
    if !(w.min_element() > 0.0 || w.max_element() < 0.0) {
        return None;
    }
    let normal = (b - a).cross(c - a);
    let (from, along) = (a.dot(normal), d.dot(normal));
    let s = from / along;
    (0.0..=1.0).contains(&s).then(|| (s, w / w.element_sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: [DVec3; 3] = [DVec3::ZERO, DVec3::X, DVec3::Y];

    #[test]
    fn apart_face_to_vertex_and_edge_to_edge() {
        let above =
            [DVec3::new(0.2, 0.2, 1.0), DVec3::new(0.2, 0.3, 2.0), DVec3::new(0.3, 0.2, 2.0)];
        let pair = closest_pair(&T, &above);
        assert_eq!((pair.distance_squared, pair.on_a), (1.0, DVec3::new(0.2, 0.2, 0.0)));
        let beside =
            [DVec3::new(0.5, -1.0, -1.0), DVec3::new(0.5, -1.0, 1.0), DVec3::new(0.5, -2.0, 0.0)];
        let pair = closest_pair(&T, &beside);
        assert!((pair.distance_squared - 1.0).abs() < 1e-15);
        assert!((pair.on_b - DVec3::new(0.5, -1.0, 0.0)).length() < 1e-15);
    }

    #[test]
    fn crossing_is_zero_whichever_pierces() {
        let spike =
            [DVec3::new(0.2, 0.2, -1.0), DVec3::new(0.2, 0.2, 1.0), DVec3::new(3.0, 3.0, 0.5)];
        for pair in [closest_pair(&T, &spike), closest_pair(&spike, &T)] {
            assert_eq!(pair.distance_squared, 0.0);
            assert!((pair.on_a - pair.on_b).length() < 1e-15);
        }
    }
}
