//! Closest points of the borders of two triangles: the nine pairs of their edges, three to a pass.
//!
//! Each pair equals [`closest_parameters`](super::segment_segment::closest_parameters) to the last bit. Edge pairs take
//! most of the time of a triangle pair.

use glam::DVec3;

use super::{edge_lanes::EdgeLanes, segment_segment::closest_of_ends};
use crate::geometry::{
    four_lanes::{FOUR, Four, FourLanes},
    tolerance::PARALLEL_SINE_SQUARED,
};

/// Two edges, edge k from vertex k to (k + 1) % 3, and the parameters (0 to 1) of their closest points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClosestEdges {
    pub(super) edges: [usize; 2],
    pub(super) at: [f64; 2],
}

/// Closest points of one edge of A with each edge of B.
struct ClosestToEach<F> {
    s: F,
    t: F,
    gap_squared: F,
    /// Bit n: edge n of B is parallel to it, and lane n of the other fields means nothing.
    parallel: u32,
}

/// Closest pair of edges; of equally near pairs the first, by the edge of A and then that of B. `of_b`: the edges of
/// `b`.
#[inline(always)]
pub(super) fn closest_edges<L: FourLanes>(
    lanes: L,
    a: &[DVec3; 3],
    (b, of_b): (&[DVec3; 3], &EdgeLanes<L::Four>),
) -> ClosestEdges {
    let found = [
        closest_to_each(lanes, (a[0], a[1]), of_b),
        closest_to_each(lanes, (a[1], a[2]), of_b),
        closest_to_each(lanes, (a[2], a[0]), of_b),
    ];
    let parallel = found[0].parallel | found[1].parallel | found[2].parallel;
    if parallel != 0 {
        return with_parallel_ones(a, b, &found);
    }
    // Computed without branches, since the nearest pair is unpredictable. The fourth lane repeats the first, and comes
    // after it.
    let [x, y, z] = [found[0].gap_squared, found[1].gap_squared, found[2].gap_squared];
    let [p, q, r, _] = x.lesser(y).lesser(z).numbers();
    let least = lanes.all(lesser(lesser(p, q), r));
    let equal = x.equal(least) | y.equal(least) << FOUR | z.equal(least) << (2 * FOUR);
    // One pair is equal, unless coordinates are not finite.
    let first = equal.trailing_zeros() as usize % (3 * FOUR);
    let (i, j) = (first / FOUR, first % FOUR);
    ClosestEdges { edges: [i, j], at: [found[i].s.numbers()[j], found[i].t.numbers()[j]] }
}

#[inline(always)]
fn closest_to_each<L: FourLanes>(
    lanes: L,
    (p, to): (DVec3, DVec3),
    edges: &EdgeLanes<L::Four>,
) -> ClosestToEach<L::Four> {
    let ([bx, by, bz], [vx, vy, vz], vv) = (edges.from, edges.along, edges.length_squared);
    let u = to - p;
    let [px, py, pz] = [lanes.all(p.x), lanes.all(p.y), lanes.all(p.z)];
    let [ux, uy, uz] = [lanes.all(u.x), lanes.all(u.y), lanes.all(u.z)];
    let uu = lanes.all(u.length_squared());
    let (zero, one) = (lanes.all(0.0), lanes.all(1.0));
    let clamped = |x: L::Four| one.lesser(zero.greater(x));
    let (wx, wy, wz) = (px - bx, py - by, pz - bz);
    let uv = ux * vx + uy * vy + uz * vz;
    let uw = ux * wx + uy * wy + uz * wz;
    let vw = vx * wx + vy * wy + vz * wz;
    let determinant = uu * vv - uv * uv;
    let parallel = determinant.up_to(lanes.all(PARALLEL_SINE_SQUARED) * uu * vv);
    let s = clamped((uv * vw - vv * uw) / determinant);
    let t = clamped((uv * s + vw) / vv);
    let s = clamped((uv * t - uw) / uu);
    let dx = (px + ux * s) - (bx + vx * t);
    let dy = (py + uy * s) - (by + vy * t);
    let dz = (pz + uz * s) - (bz + vz * t);
    ClosestToEach { s, t, gap_squared: dx * dx + dy * dy + dz * dz, parallel }
}

/// Searches with parallel edges, whose ends are compared.
#[cold]
#[inline(never)]
fn with_parallel_ones<F: Four>(
    a: &[DVec3; 3],
    b: &[DVec3; 3],
    found: &[ClosestToEach<F>; 3],
) -> ClosestEdges {
    let mut best = ClosestEdges { edges: [0, 0], at: [0.0, 0.0] };
    let mut least = f64::INFINITY;
    for (i, found) in found.iter().enumerate() {
        let (a0, a1) = (a[i], a[(i + 1) % 3]);
        let (s, t, gaps) = (found.s.numbers(), found.t.numbers(), found.gap_squared.numbers());
        for j in 0..3 {
            let (b0, b1) = (b[j], b[(j + 1) % 3]);
            let (mut at, mut gap) = ((s[j], t[j]), gaps[j]);
            if found.parallel & 1 << j != 0 {
                at = closest_of_ends(a0, a1, b0, b1);
                gap = (a0 + (a1 - a0) * at.0).distance_squared(b0 + (b1 - b0) * at.1);
            }
            if gap < least {
                least = gap;
                best = ClosestEdges { edges: [i, j], at: [at.0, at.1] };
            }
        }
    }
    best
}

#[inline(always)]
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use std::array;

    use super::*;
    use crate::{
        geometry::{distance::segment_segment::closest_parameters, four_lanes::Portable},
        oracle::random::Random,
    };

    /// Tests one pair after the other.
    fn one_by_one(a: &[DVec3; 3], b: &[DVec3; 3]) -> ClosestEdges {
        let mut best = (f64::INFINITY, ClosestEdges { edges: [0, 0], at: [0.0, 0.0] });
        for (i, j) in (0..9).map(|n| (n / 3, n % 3)) {
            let (a0, a1, b0, b1) = (a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3]);
            let (s, t) = closest_parameters(a0, a1, b0, b1);
            let gap = (a0 + (a1 - a0) * s).distance_squared(b0 + (b1 - b0) * t);
            if gap < best.0 {
                best = (gap, ClosestEdges { edges: [i, j], at: [s, t] });
            }
        }
        best.1
    }

    /// With rounded corners many edges are parallel, without length, or equally near.
    #[test]
    fn three_to_a_pass_are_as_one_by_one_to_the_last_bit() {
        let mut random = Random::new(20_260_723);
        let mut parallel = 0;
        for n in 0..60_000 {
            let steps = [1.0, 2.0, 4.0, 1e9][n % 4];
            let rounded = |p: DVec3| (p * steps).round() / steps;
            let mut triangle =
                || array::from_fn(|_| rounded(random.point(-DVec3::ONE, DVec3::ONE)));
            let (a, b): ([DVec3; 3], [DVec3; 3]) = (triangle(), triangle());
            let expected = one_by_one(&a, &b);
            let of_b = EdgeLanes::of(Portable, &b);
            let found = closest_edges(Portable, &a, (&b, &of_b));
            assert_eq!(found, expected, "of {a:?} and {b:?}");
            let [u, v] = [&a, &b].map(|t| t[1] - t[0]);
            parallel += usize::from(u.cross(v) == DVec3::ZERO);
        }
        assert!(parallel > 1_000, "{parallel} parallel edges");
    }
}
