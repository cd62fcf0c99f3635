//! Division-free decision in a triangle's own rectangle: sides of the plane, then sixteen cases.
//!
//! The sixteen cases by the regions of two points are merged. The seven N mean that both points are beyond one of the
//! edges at the corner; the other nine together, that they are not both beyond the third edge and that the corners are
//! not all on one side of the points' line. These are the separating lines of a segment and a triangle, so nothing is
//! left out, and a test compares them with the table. Without branches a pair takes 32 ns instead of the table's 44
//! (`cargo bench -- P7`, `reused`).

use glam::DVec2;

/// A triangle in its own frame: (0, 0), (l, 0) and (al, d).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LocalTriangle {
    /// Length of the longest edge.
    pub(super) l: f64,
    /// Height over the longest edge.
    pub(super) d: f64,
    /// Distance from the start of the longest edge to the foot of the height.
    pub(super) al: f64,
}

/// Result of a floating-point test of two triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// The triangles certainly have no point in common.
    Apart,
    /// The triangles certainly have a point in common.
    Meet,
    /// Too close to decide: exact predicates decide.
    Unsure,
}

/// Decides whether triangle B, with heights `z` over the plane of A and positions `xy` in it, meets A.
///
/// `error` bounds the distance of each of the coordinates, and `l`, `d` and `al`, from one and the same exact
/// placement; `reach` bounds them all, and is at least `error`. The bounds below are accurate to first order in `error
/// / reach`, which is enough: from 1/16 on every pair that passes the plane is unsure. The function's own few
/// roundings, 2^-53 of the terms, are within FRAME_ROUNDING.
pub(super) fn decide(
    a: &LocalTriangle,
    z: [f64; 3],
    xy: impl FnOnce() -> [DVec2; 3],
    error: f64,
    reach: f64,
) -> PairVerdict {
    debug_assert!(0.0 <= error && error <= reach, "{error} of {reach}");
    let above = z.map(|z| z > error);
    let below = z.map(|z| z < -error);
    // All vertices are certainly on one side.
    if above == [true; 3] || below == [true; 3] {
        return PairVerdict::Apart;
    }
    let bits = |b: [bool; 3]| u32::from(b[0]) | u32::from(b[1]) << 1 | u32::from(b[2]) << 2;
    let (above, below) = (bits(above), bits(below));
    // A height that may be zero is never decided here: touching goes to the exact predicates, which cost 150 ns and are
    // seldom needed.
    if above | below != 0b111 {
        let coplanar = above | below == 0;
        let apart = coplanar && apart_in_plane(a, &xy(), error, reach);
        return if apart { PairVerdict::Apart } else { PairVerdict::Unsure };
    }
    // The vertex that is alone on its side.
    let alone = if above.count_ones() == 1 { above } else { below };
    let k = alone.trailing_zeros() as usize;
    let (i, j) = ((k + 1) % 3, (k + 2) % 3);
    let p = xy();
    let (zk, zi, zj) = (z[k].abs(), z[i].abs(), z[j].abs());
    // 2.3: delta1 = zk - zi, N1 = zk p_i - zi p_k, with zk > 0 > zi.
    let (delta1, delta2) = (zk + zi, zk + zj);
    let (n1, n2) = (p[i] * zk + p[k] * zi, p[j] * zk + p[k] * zj);
    cross(a, [delta1, delta2], [n1, n2], error, reach)
}

/// Position of the points `n[j] / delta[j]`, between which B crosses the plane of A, relative to A's corner.
///
/// With e the error and m the reach: delta <= 2m is off by 2e, N <= 2m^2 by 4em, c1 <= 2m^3 by 6em^2, c2 <= 4m^3 by
/// 12em^2, `inside` by 24em^2, N1 x N2 by 32em^3, o1 and o2 by 80em^3. The constants below leave a quarter and more for
/// roundings and second-order terms.
fn cross(a: &LocalTriangle, delta: [f64; 2], n: [DVec2; 2], error: f64, reach: f64) -> PairVerdict {
    debug_assert!(delta[0] > 0.0 && delta[1] > 0.0, "{delta:?}");
    // 2.4: c1 = e1 x N, c2 = e2 x N; both points beyond e1, or both beyond e2, are the seven N.
    let c1 = n.map(|n| a.l * n.y);
    let c2 = n.map(|n| a.al * n.y - a.d * n.x);
    let beyond_edges = greater(-greater(c1[0], c1[1]), lesser(c2[0], c2[1]));
    // in_j: both beyond the third edge.
    let area = a.l * a.d;
    let inside = [c2[0] - c1[0] + delta[0] * area, c2[1] - c1[1] + delta[1] * area];
    let beyond_third = -greater(inside[0], inside[1]);
    // o, o1, o2: the three corners on one side of the points' line.
    let o = n[0].perp_dot(n[1]);
    let o1 = o - delta[0] * c1[1] + delta[1] * c1[0];
    let o2 = o - delta[0] * c2[1] + delta[1] * c2[0];
    let beside = greater(lesser(o, lesser(o1, o2)), -greater(o, greater(o1, o2)));
    // One comparison at the end and no branch before it, unlike the table of sixteen cases.
    let apart = greater(greater(beyond_edges, 0.5 * beyond_third) * (8.0 * reach), beside);
    let off = 128.0 * error * reach * reach * reach;
    if apart > off {
        PairVerdict::Apart
    } else if apart < -off {
        PairVerdict::Meet
    } else {
        PairVerdict::Unsure
    }
}

/// Returns true if triangles in one plane are certainly apart in it (2.5): the other triangle is certainly beyond some
/// edge of one, or beyond the corner across. `error` and `reach` as for `decide`. Triangles that are apart along the
/// plane are apart for any heights.
fn apart_in_plane(a: &LocalTriangle, b: &[DVec2; 3], error: f64, reach: f64) -> bool {
    let a = [DVec2::ZERO, DVec2::new(a.l, 0.0), DVec2::new(a.al, a.d)];
    // Differences of at most 2m are off by 2e, each of the two products by 8em.
    let off = 32.0 * error * reach;
    edge_separates(&a, b, off) || edge_separates(b, &a, off)
}

fn edge_separates(own: &[DVec2; 3], other: &[DVec2; 3], off: f64) -> bool {
    (0..3).any(|k| {
        let edge = own[(k + 1) % 3] - own[k];
        let across = edge.perp_dot(own[(k + 2) % 3] - own[k]);
        let beyond = other.map(|p| edge.perp_dot(p - own[k]));
        let (least, most) =
            (beyond[0].min(beyond[1]).min(beyond[2]), beyond[0].max(beyond[1]).max(beyond[2]));
        most < across.min(0.0) - 2.0 * off || least > across.max(0.0) + 2.0 * off
    })
}

/// Takes one instruction, for numbers: `f64::min` also handles NaN.
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    /// The original table of 2.4, on integers: rows and columns I, II, III, IV.
    fn table(e1: [i64; 2], e2: [i64; 2], delta: [i64; 2], n: [[i64; 2]; 2]) -> bool {
        let cross = |u: [i64; 2], v: [i64; 2]| u[0] * v[1] - u[1] * v[0];
        let e = cross(e1, e2);
        let c1 = n.map(|n| cross(e1, n));
        let c2 = n.map(|n| cross(e2, n));
        let o = cross(n[0], n[1]);
        let o1 = o - delta[0] * c1[1] + delta[1] * c1[0];
        let o2 = o - delta[0] * c2[1] + delta[1] * c2[0];
        let inside = |j: usize| c2[j] - c1[j] + delta[j] * e >= 0;
        let region = |j: usize| match (c1[j] >= 0, c2[j] <= 0) {
            (true, false) => 1,
            (false, false) => 2,
            (false, true) => 3,
            (true, true) => 4,
        };
        match (region(0), region(1)) {
            (4, 4) => inside(0) || inside(1),
            (4, 1) => o2 <= 0 || inside(0),
            (4, 3) => o1 >= 0 || inside(0),
            (3, 1) => o >= 0 && (o1 <= 0 || o2 <= 0),
            (4, 2) => (o >= 0 && o2 <= 0) || (o <= 0 && o1 >= 0),
            (1..=3, 4) | (1, 3) => table(e1, e2, [delta[1], delta[0]], [n[1], n[0]]),
            _ => false,
        }
    }

    /// The merged separating lines decide as the sixteen cases do.
    #[test]
    fn separating_lines_are_the_sixteen_cases() {
        let mut random = Random::new(16);
        let (mut n_certain, mut n_met) = (0, 0);
        for _ in 0..200_000 {
            let mut next =
                |from: i64, to: i64| from + random.below((to - from + 1) as usize) as i64;
            let (l, d) = (next(1, 6), next(1, 6));
            let al = next(0, l);
            let delta = [next(1, 4), next(1, 4)];
            let n = [[next(-20, 20), next(-20, 20)], [next(-20, 20), next(-20, 20)]];
            let expected = table([l, 0], [al, d], delta, n);
            let flat = LocalTriangle { l: l as f64, d: d as f64, al: al as f64 };
            let points = n.map(|[x, y]| DVec2::new(x as f64, y as f64));
            // All values are exact, so only zero is unsure.
            let got = cross(&flat, delta.map(|x| x as f64), points, 1e-30, 1.0);
            n_certain += usize::from(got != PairVerdict::Unsure);
            n_met += usize::from(expected);
            let right = match got {
                PairVerdict::Meet => expected,
                PairVerdict::Apart => !expected,
                PairVerdict::Unsure => true,
            };
            assert!(right, "{got:?}, expected {expected}: {flat:?}, {delta:?}, {n:?}");
        }
        assert!(n_certain > 150_000 && n_met > 20_000, "{n_certain} certain, {n_met} met");
    }
}
