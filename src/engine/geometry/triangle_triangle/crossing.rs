//! Crossing of two triangles: a segment with its position on both.

use glam::DVec3;

use super::predicates::Triangle;
use crate::geometry::distance::point_triangle::closest_point;

/// Kind of a crossing of two triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossingKind {
    /// A segment, which may be a point; it runs along normal A x normal B.
    Through,
    /// The triangles are in one plane, or on one line. The segment joins the two points farthest apart that they have
    /// in common; of equal ones the first: vertices of A, vertices of B, crossings of edges in the order of A's and
    /// then B's.
    Coplanar,
}

/// Segment in which two triangles cross.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Through each other or in one plane.
    pub kind: CrossingKind,
    /// Start and end; equal if the segment is a point.
    pub ends: [CrossingEnd; 2],
}

/// An end of a crossing, on an edge of one triangle and on the other triangle. It is identical to the bit for all
/// triangles that share the edge, so crossings chain into curves. Rounding times edge over height moves it off the
/// plane of the other triangle, and that over the sine of the angle between edge and plane moves it along the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrossingEnd {
    /// Position in the frame of the triangles.
    pub point: DVec3,
    /// Weights of A's vertices; each in [0, 1], sum 1.
    pub barycentric_a: DVec3,
    /// Weights of B's vertices.
    pub barycentric_b: DVec3,
}

impl CrossingEnd {
    /// Point at which A's edge between two of its vertices meets the plane of B; `sides` are the heights of A's
    /// vertices over that plane.
    pub(super) fn on_a(
        a: &Triangle,
        sides: &[f64; 3],
        edge: [usize; 2],
        b: &Triangle,
    ) -> CrossingEnd {
        let (point, barycentric_a) = on_edge(a, sides, edge);
        CrossingEnd { point, barycentric_a, barycentric_b: weights(point, b) }
    }

    /// Point at which B's edge meets the plane of A.
    pub(super) fn on_b(
        a: &Triangle,
        b: &Triangle,
        sides: &[f64; 3],
        edge: [usize; 2],
    ) -> CrossingEnd {
        CrossingEnd::on_a(b, sides, edge, a).swapped()
    }

    /// A vertex of A that is on B.
    pub(super) fn vertex_of_a(a: &Triangle, k: usize, b: &Triangle) -> CrossingEnd {
        CrossingEnd { point: a[k], barycentric_a: DVec3::AXES[k], barycentric_b: weights(a[k], b) }
    }

    /// A vertex of B that is on A.
    pub(super) fn vertex_of_b(a: &Triangle, b: &Triangle, k: usize) -> CrossingEnd {
        CrossingEnd::vertex_of_a(b, k, a).swapped()
    }

    /// A point of A's edge `i` that is on B, 0 at the edge's start and 1 at its end.
    pub(super) fn on_edge_of_a(a: &Triangle, i: usize, t: f64, b: &Triangle) -> CrossingEnd {
        let j = (i + 1) % 3;
        let mut on_a = [0.0; 3];
        (on_a[i], on_a[j]) = (1.0 - t, t);
        let point = a[i] + (a[j] - a[i]) * t;
        CrossingEnd {
            point,
            barycentric_a: DVec3::from_array(on_a),
            barycentric_b: weights(point, b),
        }
    }

    fn swapped(self) -> CrossingEnd {
        let CrossingEnd { point, barycentric_a, barycentric_b } = self;
        CrossingEnd { point, barycentric_a: barycentric_b, barycentric_b: barycentric_a }
    }
}

/// Weights of a point that is on the triangle except for rounding.
fn weights(point: DVec3, t: &Triangle) -> DVec3 {
    closest_point(point, t).barycentric.max(DVec3::ZERO)
}

/// Point on the plane, with its weights, of an edge whose ends are on different sides, or one of them on the plane.
/// Computed from the lexicographically lesser end, for either direction of the triangle.
fn on_edge(t: &Triangle, sides: &[f64; 3], [p, q]: [usize; 2]) -> (DVec3, DVec3) {
    // Both triangles at an edge therefore compute the point identically to the bit, and crossings chain into curves.
    let (p, q) = if t[q].to_array() < t[p].to_array() { (q, p) } else { (p, q) };
    let (above, below) = (sides[p], sides[q]);
    // The ends are on different sides or one is on the plane, so the difference is not 0.
    let s = above / (above - below);
    let point = match s {
        // The far end itself: p + (q - p) is not always q.
        1.0 => t[q],
        s => t[p] + (t[q] - t[p]) * s,
    };
    debug_assert!(
        (0.0..=1.0).contains(&s),
        "{s} along the edge, {above} and {below} off the plane"
    );
    let mut weights = [0.0; 3];
    (weights[p], weights[q]) = (1.0 - s, s);
    (point, DVec3::from_array(weights))
}
