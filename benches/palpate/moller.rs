//! A second peer of P7: Moller's interval test without division, in `f64` and without a tolerance.
//!
//! "A fast triangle-triangle intersection test", JGT 2, 1997, with the later refinement.

use glam::DVec3;
use palpate::geometry::triangle_triangle::{Triangle, meet};

/// Returns true if two triangles meet; coplanar ones are left to the exact test.
pub fn overlap(v: &Triangle, u: &Triangle) -> bool {
    let heights = |face: &Triangle, t: &Triangle| {
        let n = (face[1] - face[0]).cross(face[2] - face[0]);
        let d = -n.dot(face[0]);
        (n, t.map(|p| n.dot(p) + d))
    };
    let (n1, du) = heights(v, u);
    if du[0] * du[1] > 0.0 && du[0] * du[2] > 0.0 {
        return false;
    }
    let (n2, dv) = heights(u, v);
    if dv[0] * dv[1] > 0.0 && dv[0] * dv[2] > 0.0 {
        return false;
    }
    let along = n1.cross(n2).abs();
    let project = |p: DVec3| {
        if along.x >= along.y && along.x >= along.z {
            p.x
        } else if along.y >= along.z {
            p.y
        } else {
            p.z
        }
    };
    let (Some([a, b, c, x0, x1]), Some([d, e, f, y0, y1])) =
        (interval(v.map(project), dv), interval(u.map(project), du))
    else {
        return meet(v, u);
    };
    let (xx, yy) = (x0 * x1, y0 * y1);
    let xxyy = xx * yy;
    let sorted = |p: f64, q: f64| if p > q { [q, p] } else { [p, q] };
    let first = sorted(a * xxyy + b * x1 * yy, a * xxyy + c * x0 * yy);
    let second = sorted(d * xxyy + e * xx * y1, d * xxyy + f * xx * y0);
    !(first[1] < second[0] || second[1] < first[0])
}

/// Returns `None` if everything is in one plane.
fn interval([v0, v1, v2]: [f64; 3], [d0, d1, d2]: [f64; 3]) -> Option<[f64; 5]> {
    if d0 * d1 > 0.0 {
        Some([v2, (v0 - v2) * d2, (v1 - v2) * d2, d2 - d0, d2 - d1])
    } else if d0 * d2 > 0.0 {
        Some([v1, (v0 - v1) * d1, (v2 - v1) * d1, d1 - d0, d1 - d2])
    } else if d1 * d2 > 0.0 || d0 != 0.0 {
        Some([v0, (v1 - v0) * d0, (v2 - v0) * d0, d0 - d1, d0 - d2])
    } else if d1 != 0.0 {
        Some([v1, (v0 - v1) * d1, (v2 - v1) * d1, d1 - d0, d1 - d2])
    } else if d2 != 0.0 {
        Some([v2, (v0 - v2) * d2, (v1 - v2) * d2, d2 - d0, d2 - d1])
    } else {
        None
    }
}
