//! The peer of P7: Guigue and Devillers' test in `f64` as published, nothing filtered, nothing exact.
//!
//! "Fast and robust triangle-triangle overlap test using orientation predicates", JGT 8, 2003.

use glam::DVec3;
use palpate::geometry::triangle_triangle::{Triangle, meet};

/// Returns true if two triangles meet; coplanar ones, which random input lacks, are left to the exact test.
pub fn overlap(a: &Triangle, b: &Triangle) -> bool {
    let [p1, q1, r1] = *a;
    let [p2, q2, r2] = *b;
    let n2 = (p2 - r2).cross(q2 - r2);
    let (dp1, dq1, dr1) = ((p1 - r2).dot(n2), (q1 - r2).dot(n2), (r1 - r2).dot(n2));
    if dp1 * dq1 > 0.0 && dp1 * dr1 > 0.0 {
        return false;
    }
    let n1 = (q1 - p1).cross(r1 - p1);
    let (dp2, dq2, dr2) = ((p2 - r1).dot(n1), (q2 - r1).dot(n1), (r2 - r1).dot(n1));
    if dp2 * dq2 > 0.0 && dp2 * dr2 > 0.0 {
        return false;
    }
    let (forth, back) = (([p2, q2, r2], [dp2, dq2, dr2]), ([p2, r2, q2], [dp2, dr2, dq2]));
    let (a, (b, d)) = match (sign(dp1), sign(dq1), sign(dr1)) {
        (1, 1, _) => ([r1, p1, q1], back),
        (1, _, 1) => ([q1, r1, p1], back),
        (1, _, _) => ([p1, q1, r1], forth),
        (-1, -1, _) => ([r1, p1, q1], forth),
        (-1, _, -1) => ([q1, r1, p1], forth),
        (-1, _, _) => ([p1, q1, r1], back),
        (_, -1, -1) => ([p1, q1, r1], forth),
        (_, -1, _) => ([q1, r1, p1], back),
        (_, 1, 1) => ([p1, q1, r1], back),
        (_, 1, _) => ([q1, r1, p1], forth),
        (_, _, 1) => ([r1, p1, q1], forth),
        (_, _, -1) => ([r1, p1, q1], back),
        _ => return meet(a, b),
    };
    second_form(a, b, d)
}

fn sign(x: f64) -> i32 {
    i32::from(x > 0.0) - i32::from(x < 0.0)
}

fn second_form([p1, q1, r1]: Triangle, [p2, q2, r2]: Triangle, [dp2, dq2, dr2]: [f64; 3]) -> bool {
    let (forth, back) = ([p1, q1, r1], [p1, r1, q1]);
    match (sign(dp2), sign(dq2), sign(dr2)) {
        (1, 1, _) => check_min_max(back, [r2, p2, q2]),
        (1, _, 1) => check_min_max(back, [q2, r2, p2]),
        (1, _, _) => check_min_max(forth, [p2, q2, r2]),
        (-1, -1, _) => check_min_max(forth, [r2, p2, q2]),
        (-1, _, -1) => check_min_max(forth, [q2, r2, p2]),
        (-1, _, _) => check_min_max(back, [p2, q2, r2]),
        (_, -1, -1) => check_min_max(forth, [p2, q2, r2]),
        (_, -1, _) => check_min_max(back, [q2, r2, p2]),
        (_, 1, 1) => check_min_max(back, [p2, q2, r2]),
        (_, 1, _) => check_min_max(forth, [q2, r2, p2]),
        (_, _, 1) => check_min_max(forth, [r2, p2, q2]),
        (_, _, -1) => check_min_max(back, [r2, p2, q2]),
        _ => meet(&[p1, q1, r1], &[p2, q2, r2]),
    }
}

fn check_min_max([p1, q1, r1]: Triangle, [p2, q2, r2]: Triangle) -> bool {
    let volume = |u: DVec3, v: DVec3, w: DVec3| w.dot(u.cross(v));
    volume(p2 - q1, p1 - q1, q2 - q1) <= 0.0 && volume(p2 - p1, r1 - p1, r2 - p1) <= 0.0
}
