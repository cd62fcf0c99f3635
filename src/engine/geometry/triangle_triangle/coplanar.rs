//! Exact tests of triangles in one plane, and of triangles without area.
//!
//! A triangle without area is a segment or a point. Shapes that then lie in one plane are viewed along an axis that
//! keeps their points apart; two convex shapes of the plane meet if a vertex of one is in the other or if two of their
//! edges cross.

use glam::{DVec2, DVec3};

use super::{
    crossing::{Crossing, CrossingEnd, CrossingKind},
    predicates::{Triangle, on_one_side, orient_2d, orient_3d, sides},
};

/// A triangle, or the segment of a triangle without area, by its vertices' numbers.
enum Shape {
    Face,
    /// From the lexicographically least vertex to the greatest, which may coincide.
    Segment([usize; 2]),
}

/// Contact of two shapes that are in one plane, or of which one has no area.
enum DegenerateMeeting {
    /// An edge of A through B's face, or of B through A's.
    Through { edge: [usize; 2], of_a: bool },
    /// In one plane or on one line.
    InPlane,
}

/// Returns true if triangles meet that are in one plane, or of which one has no area.
pub(super) fn meet(a: &Triangle, b: &Triangle) -> bool {
    match degenerate_meeting(a, b) {
        None => false,
        Some(DegenerateMeeting::Through { .. }) => true,
        Some(DegenerateMeeting::InPlane) => common(a, b).next().is_some(),
    }
}

/// Crossing of such triangles.
pub(super) fn crossing(a: &Triangle, b: &Triangle) -> Option<Crossing> {
    match degenerate_meeting(a, b)? {
        DegenerateMeeting::InPlane => widest(a, b),
        DegenerateMeeting::Through { edge, of_a } => {
            let end = if of_a {
                CrossingEnd::on_a(a, &sides(a, b), edge, b)
            } else {
                CrossingEnd::on_b(a, b, &sides(b, a), edge)
            };
            Some(Crossing { kind: CrossingKind::Through, ends: [end, end] })
        }
    }
}

/// Returns `None` if they certainly do not meet.
fn degenerate_meeting(a: &Triangle, b: &Triangle) -> Option<DegenerateMeeting> {
    match (shape(a), shape(b)) {
        (Shape::Face, Shape::Face) => Some(DegenerateMeeting::InPlane),
        (Shape::Segment(edge), Shape::Face) => pierces(a, edge, b, true),
        (Shape::Face, Shape::Segment(edge)) => pierces(b, edge, a, false),
        (Shape::Segment([p, q]), Shape::Segment([r, s])) => {
            (orient_3d(a[p], a[q], b[r], b[s]) == 0.0).then_some(DegenerateMeeting::InPlane)
        }
    }
}

/// Tests a segment of `t` against a face; of A against B's if `of_a`.
fn pierces(
    t: &Triangle,
    edge: [usize; 2],
    face: &Triangle,
    of_a: bool,
) -> Option<DegenerateMeeting> {
    let [p, q] = edge.map(|k| t[k]);
    let ends = [p, q].map(|p| orient_3d(face[0], face[1], face[2], p));
    if ends == [0.0; 2] {
        return Some(DegenerateMeeting::InPlane);
    }
    // The line from p to q passes the three edges on one side, touching included.
    let past = |k: usize| orient_3d(p, q, face[k], face[(k + 1) % 3]);
    let around = [past(0), past(1), past(2)];
    let inside = around.iter().all(|s| *s >= 0.0) || around.iter().all(|s| *s <= 0.0);
    (!on_one_side(&ends) && inside).then_some(DegenerateMeeting::Through { edge, of_a })
}

fn shape(t: &Triangle) -> Shape {
    if (0..3).any(|axis| orient_2d(seen(t[0], axis), seen(t[1], axis), seen(t[2], axis)) != 0.0) {
        return Shape::Face;
    }
    let mut order = [0, 1, 2];
    order.sort_by(|i, j| t[*i].to_array().partial_cmp(&t[*j].to_array()).expect("finite"));
    Shape::Segment([order[0], order[2]])
}

/// The two coordinates other than `axis`, in right-handed order.
pub(super) fn seen(p: DVec3, axis: usize) -> DVec2 {
    match axis {
        0 => DVec2::new(p.y, p.z),
        1 => DVec2::new(p.z, p.x),
        _ => DVec2::new(p.x, p.y),
    }
}

/// A point that both triangles contain.
#[derive(Clone, Copy)]
enum Common {
    VertexOfA(usize),
    VertexOfB(usize),
    /// On an edge of A, 0 at its start and 1 at its end, at its crossing with an edge of B.
    OnEdgeOfA(usize, f64),
}

/// Three vertices of each, nine crossings of edges.
const COMMON_MAX: usize = 15;

/// Points that span the intersection of A and B in their plane: vertices in the other, crossings of edges.
fn common(a: &Triangle, b: &Triangle) -> impl Iterator<Item = Common> {
    let axis = clear_view(a, b);
    let (a, b) = (a.map(|p| seen(p, axis)), b.map(|p| seen(p, axis)));
    let of_a = (0..3).filter(move |k| holds(&b, a[*k])).map(Common::VertexOfA);
    let of_b = (0..3).filter(move |k| holds(&a, b[*k])).map(Common::VertexOfB);
    let edges = (0..9).filter_map(move |n| {
        edge_crossing(&a, n / 3, &b, n % 3).map(|t| Common::OnEdgeOfA(n / 3, t))
    });
    of_a.chain(of_b).chain(edges)
}

/// Segment between the two common points that are farthest apart.
fn widest(a: &Triangle, b: &Triangle) -> Option<Crossing> {
    let mut found = [CrossingEnd::default(); COMMON_MAX];
    let mut len = 0;
    for point in common(a, b) {
        found[len] = match point {
            Common::VertexOfA(k) => CrossingEnd::vertex_of_a(a, k, b),
            Common::VertexOfB(k) => CrossingEnd::vertex_of_b(a, b, k),
            Common::OnEdgeOfA(i, t) => CrossingEnd::on_edge_of_a(a, i, t, b),
        };
        len += 1;
    }
    let mut ends = [*found[..len].first()?; 2];
    let apart = |ends: &[CrossingEnd; 2]| ends[0].point.distance_squared(ends[1].point);
    for (i, p) in found[..len].iter().enumerate() {
        for q in &found[i + 1..len] {
            if apart(&[*p, *q]) > apart(&ends) {
                ends = [*p, *q];
            }
        }
    }
    Some(Crossing { kind: CrossingKind::Coplanar, ends })
}

/// An axis along which no two points of their common plane, or line, coincide.
fn clear_view(a: &Triangle, b: &Triangle) -> usize {
    let points = [a[0], a[1], a[2], b[0], b[1], b[2]];
    // The first suitable axis in a fixed order, so that the result does not depend on the order of the triangles.
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
    // All points are on one line: x or y distinguishes them, unless the line is along z.
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

/// Parameter on edge `i` of A at which edge `j` of B crosses it, both at inner points.
fn edge_crossing(a: &[DVec2; 3], i: usize, b: &[DVec2; 3], j: usize) -> Option<f64> {
    let (p, q) = (a[i], a[(i + 1) % 3]);
    let (r, s) = (b[j], b[(j + 1) % 3]);
    let (at_p, at_q) = (orient_2d(r, s, p), orient_2d(r, s, q));
    let opposite = |x: f64, y: f64| (x > 0.0 && y < 0.0) || (x < 0.0 && y > 0.0);
    // Strictly across: an edge that ends on another is found as a vertex in a triangle.
    let crosses = opposite(at_p, at_q) && opposite(orient_2d(p, q, r), orient_2d(p, q, s));
    crosses.then(|| at_p / (at_p - at_q))
}
