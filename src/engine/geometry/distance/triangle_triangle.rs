//! The closest points of two triangles.

use glam::DVec3;

use super::{
    edge_lanes::EdgeLanes,
    edge_pairs::{ClosestEdges, closest_edges},
    point_triangle::{Feature, closest_point},
};
#[cfg(target_arch = "x86_64")]
use crate::geometry::four_lanes::Wide;
use crate::geometry::{
    direction::direction,
    four_lanes::{FOUR, Four, FourLanes, Portable},
    tolerance::{PLANE_GAP_ROUNDING, THIN_PLANE},
};

/// The closest points of triangles A and B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosestPair {
    /// Closest point on A.
    pub on_a: DVec3,
    /// Weights of A's vertices.
    pub barycentric_a: DVec3,
    /// Closest point on B.
    pub on_b: DVec3,
    /// Weights of B's vertices.
    pub barycentric_b: DVec3,
    /// Square metres; 0 if the triangles cross.
    pub distance_squared: f64,
}

impl ClosestPair {
    /// Unit vector from A to B; `None` if they cross, although rounding separates the two points there.
    pub fn direction(&self) -> Option<DVec3> {
        if self.distance_squared == 0.0 { None } else { direction(self.on_b - self.on_a) }
    }
}

/// Closest points of two triangles: of a vertex of one and the face of the other, or of two edges, unless an edge of
/// one crosses the other's face.
pub fn closest_pair(a: &[DVec3; 3], b: &[DVec3; 3]) -> ClosestPair {
    closest_pair_or_bound(a, b, f64::INFINITY).expect("no limit")
}

/// As [`closest_pair`], unless the plane of one triangle proves that they are farther apart than `limit`, square
/// metres.
///
/// # Errors
/// Returns the squared distance proved by the planes, square metres, which is more than `limit`.
pub fn closest_pair_or_bound(
    a: &[DVec3; 3],
    b: &[DVec3; 3],
    limit: f64,
) -> Result<ClosestPair, f64> {
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = Wide::here() {
        // SAFETY: lanes are wide only if the processor has AVX2.
        return unsafe { wide(lanes, a, b, limit) };
    }
    by(Portable, a, b, limit)
}

/// As [`by`], with four lanes to an instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide(lanes: Wide, a: &[DVec3; 3], b: &[DVec3; 3], limit: f64) -> Result<ClosestPair, f64> {
    by(lanes, a, b, limit)
}

#[inline(always)]
fn by<L: FourLanes>(
    lanes: L,
    a: &[DVec3; 3],
    b: &[DVec3; 3],
    limit: f64,
) -> Result<ClosestPair, f64> {
    // Both planes come first: most pairs that a search meets are farther apart than its limit, and six heights prove
    // that.
    let (of_a, of_b) = (EdgeLanes::of(lanes, a), EdgeLanes::of(lanes, b));
    let (over_b, over_a) = (Heights::of(lanes, &of_a, b), Heights::of(lanes, &of_b, a));
    let bound = over_b.bound_squared().max(over_a.bound_squared());
    if bound > limit {
        return Err(bound);
    }
    let mut over = None;
    if let Some((k, weights)) = over_b.over_face(lanes, a, (b, &of_b)) {
        over = Some((DVec3::AXES[k], weights, over_b.thin));
    }
    if over.is_none_or(|(.., thin)| thin)
        && let Some((k, weights)) = over_a.over_face(lanes, b, (a, &of_a))
    {
        over = Some((weights, DVec3::AXES[k], over_a.thin));
    }
    let over = over.map(|(of_a, of_b, thin)| (pair_of(a, of_a, b, of_b), thin));
    // A vertex over the inside of a face that is not thin is certainly in the closest pair, and saves nine edge pairs.
    if let Some((pair, false)) = over {
        return Ok(pair);
    }
    // The closest points are on two edges if no vertex is over a face.
    let ClosestEdges { edges: [i, j], at: [s, t] } = closest_edges(lanes, a, (b, &of_b));
    let edges = pair_of(a, on_edge(i, s), b, on_edge(j, t));
    if let Some((pair, _)) = over.filter(|(f, _)| f.distance_squared < edges.distance_squared) {
        return Ok(pair);
    }
    // Only triangles that each cut the other's plane can cross.
    let may_cross = over_a.lowest.is_none() && over_b.lowest.is_none();
    Ok(may_cross.then(|| crossing_pair(a, b)).flatten().unwrap_or(edges))
}

/// Heights of a triangle's vertices over the plane of another, in lengths of the plane's normal.
struct Heights {
    normal: DVec3,
    normal_squared: f64,
    /// The plane's triangle is so thin that its normal is unreliable.
    thin: bool,
    /// The vertex nearest to the plane, and its height, if all are strictly on one side of it within rounding;
    /// otherwise the distances are 0 to rounding.
    lowest: Option<(usize, f64)>,
}

impl Heights {
    /// `vertices`: a triangle, as the starts of its edges.
    #[inline(always)]
    fn of<L: FourLanes>(lanes: L, vertices: &EdgeLanes<L::Four>, plane: &[DVec3; 3]) -> Heights {
        let (e1, e2) = (plane[1] - plane[0], plane[2] - plane[0]);
        let normal = e1.cross(e2);
        let (normal_squared, longest) =
            (normal.length_squared(), e1.length_squared().max(e2.length_squared()));
        let ([x, y, z], at) = (vertices.from, plane[0]);
        let heights = (x - lanes.all(at.x)) * lanes.all(normal.x)
            + (y - lanes.all(at.y)) * lanes.all(normal.y)
            + (z - lanes.all(at.z)) * lanes.all(normal.z);
        let zero = lanes.all(0.0);
        let same = zero.below(heights) == ALL || heights.below(zero) == ALL;
        Heights {
            normal,
            normal_squared,
            thin: normal_squared < THIN_PLANE * longest * longest,
            lowest: same.then(|| lowest(heights.numbers())),
        }
    }

    /// The vertex nearest to the inside of the plane's triangle, if one is over it: only the lowest of those on one
    /// side can be. Nothing is nearer to the plane, so no points of the two are nearer to each other.
    #[inline(always)]
    fn over_face<L: FourLanes>(
        &self,
        lanes: L,
        vertices: &[DVec3; 3],
        (plane, edges): (&[DVec3; 3], &EdgeLanes<L::Four>),
    ) -> Option<(usize, DVec3)> {
        let (k, _) = self.lowest?;
        // Most vertices are not over it: an edge's area with the vertex, seen along the normal, shows that as in
        // `closest_point`.
        let p = vertices[k];
        let ([fx, fy, fz], [x, y, z]) = (edges.from, edges.along);
        let (px, py, pz) = (lanes.all(p.x) - fx, lanes.all(p.y) - fy, lanes.all(p.z) - fz);
        let areas = lanes.all(self.normal.x) * (y * pz - py * z)
            + lanes.all(self.normal.y) * (z * px - pz * x)
            + lanes.all(self.normal.z) * (x * py - px * y);
        if lanes.all(0.0).below(areas) != ALL {
            return None;
        }
        let c = closest_point(p, plane);
        (c.feature == Feature::Face).then_some((k, c.barycentric))
    }

    /// Squared lower bound of the vertices' distance to the plane, square metres; 0 if the plane bounds nothing.
    #[inline(always)]
    fn bound_squared(&self) -> f64 {
        let Some((_, height)) = self.lowest.filter(|_| !self.thin) else { return 0.0 };
        height * height / (self.normal_squared * (1.0 + PLANE_GAP_ROUNDING))
    }
}

/// A bit for each lane.
const ALL: u32 = (1 << FOUR) - 1;

/// The lowest of three heights of equal sign.
#[inline(always)]
fn lowest([x, y, z, _]: [f64; FOUR]) -> (usize, f64) {
    let (y_or_x, k) = if y.abs() < x.abs() { (y, 1) } else { (x, 0) };
    if z.abs() < y_or_x.abs() { (2, z) } else { (k, y_or_x) }
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

/// Point at which an edge of one triangle crosses the other.
#[inline(never)]
fn crossing_pair(a: &[DVec3; 3], b: &[DVec3; 3]) -> Option<ClosestPair> {
    let at = |pair: ClosestPair| ClosestPair { distance_squared: 0.0, ..pair };
    for i in 0..3 {
        if let Some((s, weights)) = crossing(a[i], a[(i + 1) % 3], b) {
            return Some(at(pair_of(a, on_edge(i, s), b, weights)));
        }
        if let Some((s, weights)) = crossing(b[i], b[(i + 1) % 3], a) {
            return Some(at(pair_of(a, weights, b, on_edge(i, s))));
        }
    }
    None
}

/// Crossing of segment `p q` with the triangle's inside: (0 to 1 along it, weights). Touching a border is left to the
/// distances, which are 0 to rounding there.
fn crossing(p: DVec3, q: DVec3, triangle: &[DVec3; 3]) -> Option<(f64, DVec3)> {
    let [a, b, c] = triangle.map(|v| v - p);
    let d = q - p;
    // Volumes of the line with each edge; all have one sign if the line passes inside.
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
    use crate::oracle::random::Random;

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

    /// With rounded corners many edges are parallel, without length, or equally near, and many triangles cross.
    #[test]
    fn wide_lanes_find_the_same_to_the_last_bit() {
        let mut random = Random::new(20_261_126);
        let (mut crossing, mut beyond) = (0, 0);
        for n in 0..60_000 {
            let steps = [1.0, 2.0, 4.0, 1e9][n % 4];
            let rounded = |p: DVec3| (p * steps).round() / steps;
            let mut corner = |away| rounded(random.point(-DVec3::ONE, DVec3::ONE)) + away;
            let away = DVec3::Z * [0.0, 0.5, 2.0][n % 3];
            let (a, b) = ([(); 3].map(|()| corner(DVec3::ZERO)), [(); 3].map(|()| corner(away)));
            for limit in [f64::INFINITY, 0.3] {
                let portable = by(Portable, &a, &b, limit);
                assert_eq!(closest_pair_or_bound(&a, &b, limit), portable, "{a:?} and {b:?}");
                crossing += u32::from(portable.is_ok_and(|pair| pair.distance_squared == 0.0));
                beyond += u32::from(portable.is_err());
            }
        }
        assert!(crossing > 1_000 && beyond > 1_000, "{crossing}, {beyond}");
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
