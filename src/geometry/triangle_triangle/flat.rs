//! Triangles in one plane, and triangles without area, exactly.
//!
//! A triangle without area is a segment or a point. What then lies in one plane is seen along an axis that
//! keeps its points apart; two convex shapes of the plane meet when a vertex of one is in the other or when
//! two of their edges cross.

use glam::{DVec2, DVec3};

use super::{
    Crossing, CrossingKind, End, Triangle,
    exact::{on_one_side, orient_2d, orient_3d},
};

/// What is left of a triangle: its vertices' numbers.
enum Shape {
    Face,
    /// From the lexicographically least vertex to the greatest, which may be one point.
    Segment(usize, usize),
}

/// Where triangles meet of which one has no area, or that are in one plane.
pub(super) fn crossing(a: &Triangle, b: &Triangle) -> Option<Crossing> {
    match (shape(a), shape(b)) {
        (Shape::Face, Shape::Face) => in_one_plane(a, b),
        (Shape::Segment(p, q), Shape::Face) => {
            pierce(a, [p, q], b, |sides| End::on_a(a, sides, [p, q], b))
                .unwrap_or_else(|| in_one_plane(a, b))
        }
        (Shape::Face, Shape::Segment(p, q)) => {
            pierce(b, [p, q], a, |sides| End::on_b(a, b, sides, [p, q]))
                .unwrap_or_else(|| in_one_plane(a, b))
        }
        (Shape::Segment(p, q), Shape::Segment(r, s)) => {
            if orient_3d(a[p], a[q], b[r], b[s]) == 0.0 { in_one_plane(a, b) } else { None }
        }
    }
}

fn shape(t: &Triangle) -> Shape {
    if (0..3).any(|axis| orient_2d(seen(t[0], axis), seen(t[1], axis), seen(t[2], axis)) != 0.0) {
        return Shape::Face;
    }
    let mut order = [0, 1, 2];
    order.sort_by(|i, j| t[*i].to_array().partial_cmp(&t[*j].to_array()).expect("finite"));
    Shape::Segment(order[0], order[2])
}

/// The two coordinates other than `axis`, in right-handed order.
fn seen(p: DVec3, axis: usize) -> DVec2 {
    match axis {
        0 => DVec2::new(p.y, p.z),
        1 => DVec2::new(p.z, p.x),
        _ => DVec2::new(p.x, p.y),
    }
}

/// A segment of `t` through a face, `None` when it is in the face's plane.
fn pierce(
    t: &Triangle,
    [p, q]: [usize; 2],
    face: &Triangle,
    end: impl Fn(&[f64; 3]) -> End,
) -> Option<Option<Crossing>> {
    let sides = super::exact::sides(t, face);
    let (above, below) = (sides[p], sides[q]);
    if above == 0.0 && below == 0.0 {
        return None;
    }
    // The line from p to q passes the three edges on one side, touching included.
    let past = |k: usize| orient_3d(t[p], t[q], face[k], face[(k + 1) % 3]);
    let around = [past(0), past(1), past(2)];
    let inside = around.iter().all(|s| *s >= 0.0) || around.iter().all(|s| *s <= 0.0);
    let meets = !on_one_side(&[above, below]) && inside;
    Some(meets.then(|| {
        let end = end(&sides);
        Crossing { kind: CrossingKind::Through, ends: [end, end] }
    }))
}

/// The points of A and B that span what they have in common: vertices in the other, crossings of edges. The
/// two farthest apart are the ends.
fn in_one_plane(a: &Triangle, b: &Triangle) -> Option<Crossing> {
    let axis = clear_view(a, b);
    let (flat_a, flat_b) = (a.map(|p| seen(p, axis)), b.map(|p| seen(p, axis)));
    let mut found: Vec<End> = Vec::new();
    found.extend((0..3).filter(|k| holds(&flat_b, flat_a[*k])).map(|k| End::vertex_of_a(a, k, b)));
    found.extend((0..3).filter(|k| holds(&flat_a, flat_b[*k])).map(|k| End::vertex_of_b(a, b, k)));
    for i in 0..3 {
        for j in 0..3 {
            if let Some(t) = edge_crossing(&flat_a, i, &flat_b, j) {
                found.push(End::on_edge_of_a(a, i, t, b));
            }
        }
    }
    let mut ends = [*found.first()?; 2];
    let apart = |ends: &[End; 2]| ends[0].point.distance_squared(ends[1].point);
    for (i, p) in found.iter().enumerate() {
        for q in &found[i + 1..] {
            if apart(&[*p, *q]) > apart(&ends) {
                ends = [*p, *q];
            }
        }
    }
    Some(Crossing { kind: CrossingKind::Coplanar, ends })
}

/// An axis along which no two points of their common plane, or line, are seen as one.
fn clear_view(a: &Triangle, b: &Triangle) -> usize {
    let points = [a[0], a[1], a[2], b[0], b[1], b[2]];
    for axis in [2, 0, 1] {
        let flat = points.map(|p| seen(p, axis));
        for i in 0..6 {
            for j in i + 1..6 {
                if (j + 1..6).any(|k| orient_2d(flat[i], flat[j], flat[k]) != 0.0) {
                    return axis;
                }
            }
        }
    }
    // All on one line: x or y tells its points apart, unless it is along z.
    if points.iter().any(|p| p.x != points[0].x || p.y != points[0].y) { 2 } else { 0 }
}

fn holds(t: &[DVec2; 3], p: DVec2) -> bool {
    let around: [f64; 3] = std::array::from_fn(|k| orient_2d(t[k], t[(k + 1) % 3], p));
    if orient_2d(t[0], t[1], t[2]) != 0.0 {
        return around.iter().all(|s| *s >= 0.0) || around.iter().all(|s| *s <= 0.0);
    }
    (0..3).any(|k| {
        let (u, v) = (t[k], t[(k + 1) % 3]);
        around[k] == 0.0 && p.cmpge(u.min(v)).all() && p.cmple(u.max(v)).all()
    })
}

/// Where on edge `i` of A edge `j` of B crosses it, both at inner points.
fn edge_crossing(a: &[DVec2; 3], i: usize, b: &[DVec2; 3], j: usize) -> Option<f64> {
    let (p, q) = (a[i], a[(i + 1) % 3]);
    let (r, s) = (b[j], b[(j + 1) % 3]);
    let (at_p, at_q) = (orient_2d(r, s, p), orient_2d(r, s, q));
    let opposite = |x: f64, y: f64| (x > 0.0 && y < 0.0) || (x < 0.0 && y > 0.0);
    let crosses = opposite(at_p, at_q) && opposite(orient_2d(p, q, r), orient_2d(p, q, s));
    crosses.then(|| at_p / (at_p - at_q))
}
