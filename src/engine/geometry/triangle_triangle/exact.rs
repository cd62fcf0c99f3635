//! The exact decision, and the crossing of two proper triangles that meet.
//!
//! Guigue, Devillers, "Fast and robust triangle-triangle overlap test using orientation predicates", JGT 8, 2003: signs
//! of determinants of the given vertices decide ([`super::predicates`]), so nothing is rounded.

use super::{
    coplanar,
    crossing::{Crossing, CrossingEnd, CrossingKind},
    predicates::{Triangle, on_one_side, orient_3d, sides},
};

/// Returns true if two triangles have a point in common, exactly; touching counts. Also correct for triangles without
/// area.
pub fn meet(a: &Triangle, b: &Triangle) -> bool {
    let sides_b = sides(b, a);
    if on_one_side(&sides_b) {
        return false;
    }
    // The second triangle's sides are computed only if the first's do not decide.
    let sides_a = sides(a, b);
    if on_one_side(&sides_a) {
        return false;
    }
    match Lines::of(&sides_a, &sides_b) {
        Some(lines) => lines.meet(a, b),
        None => coplanar::meet(a, b),
    }
}

/// Crossing of two triangles, `None` exactly if they do not meet.
pub fn crossing(a: &Triangle, b: &Triangle) -> Option<Crossing> {
    let (sides_a, sides_b) = (sides(a, b), sides(b, a));
    if on_one_side(&sides_a) || on_one_side(&sides_b) {
        return None;
    }
    match Lines::of(&sides_a, &sides_b) {
        Some(lines) if lines.meet(a, b) => Some(lines.crossing(a, &sides_a, b, &sides_b)),
        Some(_) => None,
        None => coplanar::crossing(a, b),
    }
}

/// Two triangles that cut each other's planes. `order[0]` is the vertex alone on its side of the other's plane, on the
/// positive side after orders are swapped as here; the edges from it to the other two meet the planes' common line.
struct Lines {
    order_a: [usize; 3],
    order_b: [usize; 3],
    /// True if the orders flip one of the normals, not both or none.
    reversed: bool,
}

impl Lines {
    /// Returns `None` if a triangle has no area or they are in one plane: one triangle then has no side at all.
    fn of(sides_a: &[f64; 3], sides_b: &[f64; 3]) -> Option<Lines> {
        let (lone_a, above_b) = lone(sides_a)?;
        let (lone_b, above_a) = lone(sides_b)?;
        let order = |k: usize, keep: bool| {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            if keep { [k, i, j] } else { [k, j, i] }
        };
        // A vertex of A below B flips B, and the other way round.
        let (order_a, order_b) = (order(lone_a, above_a), order(lone_b, above_b));
        Some(Lines { order_a, order_b, reversed: above_a != above_b })
    }

    /// Order of two edges along the common line, in the direction normal A x normal B of the flipped triangles:
    /// positive if A's edge to `order_a[i]` comes before B's edge to `order_b[j]`.
    fn before(&self, a: &Triangle, i: usize, b: &Triangle, j: usize) -> f64 {
        let at = |t: &Triangle, order: &[usize; 3], k: usize| t[order[k]];
        orient_3d(
            at(a, &self.order_a, 0),
            at(a, &self.order_a, i),
            at(b, &self.order_b, 0),
            at(b, &self.order_b, j),
        )
    }

    /// A's stretch of the line leads from its edge 2 to its edge 1, B's from its edge 1 to its edge 2.
    fn meet(&self, a: &Triangle, b: &Triangle) -> bool {
        self.before(a, 2, b, 2) >= 0.0 && self.before(a, 1, b, 1) <= 0.0
    }

    fn crossing(
        &self,
        a: &Triangle,
        sides_a: &[f64; 3],
        b: &Triangle,
        sides_b: &[f64; 3],
    ) -> Crossing {
        let of_a = |i: usize| CrossingEnd::on_a(a, sides_a, [self.order_a[0], self.order_a[i]], b);
        let of_b = |j: usize| CrossingEnd::on_b(a, b, sides_b, [self.order_b[0], self.order_b[j]]);
        // The later of two starts, and the earlier of two ends; of equal ones A's.
        let start = if self.before(a, 2, b, 1) > 0.0 { of_b(1) } else { of_a(2) };
        let end = if self.before(a, 1, b, 2) > 0.0 { of_a(1) } else { of_b(2) };
        let ends = if self.reversed { [end, start] } else { [start, end] };
        Crossing { kind: CrossingKind::Through, ends }
    }
}

/// The vertex to single out (never a vertex on the plane if another choice exists: it would lose half the segment) and
/// true if it is the upper one; `None` if all are on the plane.
fn lone(sides: &[f64; 3]) -> Option<(usize, bool)> {
    let only = |is_it: fn(f64) -> bool| {
        let mut found = (0..3).filter(|k| is_it(sides[*k]));
        found.next().filter(|_| found.next().is_none())
    };
    // Above is tried before below, so that the order of lines does not depend on the order of the triangles.
    if let Some(k) = only(|s| s > 0.0) {
        return Some((k, true));
    }
    if let Some(k) = only(|s| s < 0.0) {
        return Some((k, false));
    }
    // Two on one side and one on the plane, or all on it.
    let on_plane = only(|s| s == 0.0)?;
    Some((on_plane, sides[(on_plane + 1) % 3] < 0.0))
}
