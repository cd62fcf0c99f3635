//! The closest points of two triangles.

use glam::DVec3;

use super::{
    edge_pairs::{ClosestEdges, closest_edges},
    point_triangle::{Feature, closest_point},
};
use crate::geometry::{
    direction::direction,
    tolerance::{PLANE_GAP_ROUNDING, THIN_PLANE},
};

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

impl ClosestPair {
    /// Unit, from A to B; `None` where they cross, although rounding parts the two points there.
    pub fn direction(&self) -> Option<DVec3> {
        if self.distance_squared == 0.0 { None } else { direction(self.on_b - self.on_a) }
    }
}

/// The closest points of two triangles: of a vertex of one and the face of the other, or of two edges, unless an
/// edge of one crosses the other's face.
pub fn closest_pair(a: &[DVec3; 3], b: &[DVec3; 3]) -> ClosestPair {
    closest_pair_or_bound(a, b, f64::INFINITY).expect("no limit")
}

/// The same, unless the plane of one triangle tells that they are farther apart than `limit`, square metres.
///
/// # Errors
/// They are farther apart; the square of the distance that the planes tell, square metres, which is more than `limit`.
pub fn closest_pair_or_bound(
    a: &[DVec3; 3],
    b: &[DVec3; 3],
    limit: f64,
) -> Result<ClosestPair, f64> {
    // Two planes first: most pairs that a search meets are farther apart than its limit, and six heights tell.
    let (over_b, over_a) = (Heights::of(a, b), Heights::of(b, a));
    let bound = over_b.bound_squared().max(over_a.bound_squared());
    if bound > limit {
        return Err(bound);
    }
    let (mut best, mut is_least) = (None, false);
    if let Some((k, weights)) = over_b.over_face(a, b) {
        (best, is_least) = (Some(pair_of(a, DVec3::AXES[k], b, weights)), !over_b.thin);
    }
    if !is_least && let Some((k, weights)) = over_a.over_face(b, a) {
        (best, is_least) = (Some(pair_of(a, weights, b, DVec3::AXES[k])), !over_a.thin);
    }
    // A vertex over the inside of a face that is not thin is the closest pair for certain, and saves nine edge
    // pairs.
    if let Some(best) = best.filter(|_| is_least) {
        return Ok(best);
    }
    // Without a vertex over a face the closest points are on two edges.
    let edges = edge_pair(a, b);
    let best = best.filter(|f| f.distance_squared < edges.distance_squared).unwrap_or(edges);
    // Only triangles that each cut the other's plane can cross.
    if over_a.lowest().is_none() && over_b.lowest().is_none() {
        for i in 0..3 {
            if let Some((s, weights)) = crossing(a[i], a[(i + 1) % 3], b) {
                return Ok(crossing_pair(a, on_edge(i, s), b, weights));
            }
            if let Some((s, weights)) = crossing(b[i], b[(i + 1) % 3], a) {
                return Ok(crossing_pair(a, weights, b, on_edge(i, s)));
            }
        }
    }
    Ok(best)
}

/// The closest points of the borders.
fn edge_pair(a: &[DVec3; 3], b: &[DVec3; 3]) -> ClosestPair {
    let ClosestEdges { edges: [i, j], at: [s, t] } = closest_edges(a, b);
    pair_of(a, on_edge(i, s), b, on_edge(j, t))
}

/// Heights of a triangle's vertices over the plane of another, in lengths of the plane's normal.
struct Heights {
    of: [f64; 3],
    normal_squared: f64,
    /// The plane's triangle is so thin that its normal tells little.
    thin: bool,
}

impl Heights {
    fn of(vertices: &[DVec3; 3], plane: &[DVec3; 3]) -> Heights {
        let (e1, e2) = (plane[1] - plane[0], plane[2] - plane[0]);
        let normal = e1.cross(e2);
        let (normal_squared, longest) =
            (normal.length_squared(), e1.length_squared().max(e2.length_squared()));
        Heights {
            of: vertices.map(|p| (p - plane[0]).dot(normal)),
            normal_squared,
            thin: normal_squared < THIN_PLANE * longest * longest,
        }
    }

    /// The vertex nearest to the plane when all are strictly on one side of it, as far as rounding lets tell:
    /// where it does not, the distances are 0 to rounding.
    fn lowest(&self) -> Option<usize> {
        let [x, y, z] = self.of;
        let same = (x > 0.0 && y > 0.0 && z > 0.0) || (x < 0.0 && y < 0.0 && z < 0.0);
        let [x, y, z] = [x.abs(), y.abs(), z.abs()];
        same.then_some(if x <= y && x <= z {
            0
        } else if y <= z {
            1
        } else {
            2
        })
    }

    /// The vertex that is nearest to the inside of the plane's triangle, when one is: only the lowest of those on
    /// one side can be. As nothing is nearer to the plane, no points of the two are nearer to each other.
    fn over_face(&self, vertices: &[DVec3; 3], plane: &[DVec3; 3]) -> Option<(usize, DVec3)> {
        let k = self.lowest()?;
        let c = closest_point(vertices[k], plane);
        (c.feature == Feature::Face).then_some((k, c.barycentric))
    }

    /// No vertex is nearer to the plane than the root of this, square metres; 0 where the plane tells nothing.
    fn bound_squared(&self) -> f64 {
        let Some(k) = self.lowest().filter(|_| !self.thin) else { return 0.0 };
        self.of[k] * self.of[k] / (self.normal_squared * (1.0 + PLANE_GAP_ROUNDING))
    }
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

/// Where segment `p q` crosses the triangle's inside: (0 to 1 along it, weights). Touching a border is
/// left to the distances, which are 0 to rounding there.
fn crossing(p: DVec3, q: DVec3, triangle: &[DVec3; 3]) -> Option<(f64, DVec3)> {
    let [a, b, c] = triangle.map(|v| v - p);
    let d = q - p;
    // Volumes of the line with each edge; all of one sign when the line passes inside.
    let w = DVec3::new(d.dot(b.cross(c)), d.dot(c.cross(a)), d.dot(a.cross(b)));
    // Strictly inside: a border is left to the distances, which are 0 to rounding there.
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
        assert_eq!(pair.direction(), Some(-DVec3::Y));
    }

    #[test]
    fn crossing_has_no_direction_however_it_is_rounded() {
        let mut parted = 0;
        for k in 1..=50 {
            let x = 0.008 * f64::from(k);
            let spike =
                [DVec3::new(x, x, -1.0), DVec3::new(x, 0.3, 1.1), DVec3::new(3.0, 3.0, 0.5)];
            let pair = closest_pair(&T, &spike);
            assert_eq!((pair.distance_squared, pair.direction()), (0.0, None), "at {x}");
            parted += u32::from(pair.on_a != pair.on_b);
        }
        assert!(parted > 0, "rounding parted no points");
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
