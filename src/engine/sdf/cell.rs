//! Result type of a grid's cell, decided once when the grid is built.

use serde::{Deserialize, Serialize};

use super::{
    candidates::Candidates, exact::Corner, region::Region, short_bound::ShortBound,
    source::FieldSource,
};
use crate::geometry::distance::point_triangle::closest_point;

/// Result type of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    /// Interpolated: the unsigned distance is at most `below` less and `above` more than the interpolated one, metres.
    /// The sign is that of every corner.
    Interpolate {
        /// Upper bound of interpolated minus true.
        below: ShortBound,
        /// Upper bound of true minus interpolated.
        above: ShortBound,
    },
    /// Exact, from the grid's list of this number.
    List(u32),
    /// Interpolated with no better bound than Lipschitz, and a sign that may change inside.
    Wide,
}

/// A cell in four bytes, since links have hundreds of thousands. Two bits hold the kind, the others two bounds or a
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PackedCell(u32);

const KIND_SHIFT: u32 = 2 * ShortBound::BITS;
const LIST: u32 = 1;
const WIDE: u32 = 2;

impl PackedCell {
    pub(super) fn of(cell: Cell) -> PackedCell {
        let (kind, rest) = match cell {
            Cell::Interpolate { below, above } => {
                (0, below.to_bits() << ShortBound::BITS | above.to_bits())
            }
            Cell::List(n) => (LIST, n),
            Cell::Wide => (WIDE, 0),
        };
        assert!(rest < 1 << KIND_SHIFT, "more lists than a grid may have");
        PackedCell(kind << KIND_SHIFT | rest)
    }

    #[inline(always)]
    pub(super) fn get(self) -> Cell {
        let rest = self.0 & ((1 << KIND_SHIFT) - 1);
        match self.0 >> KIND_SHIFT {
            0 => Cell::Interpolate {
                below: ShortBound::from_bits(rest >> ShortBound::BITS),
                above: ShortBound::from_bits(rest),
            },
            LIST => Cell::List(rest),
            _ => Cell::Wide,
        }
    }
}

/// A classified cell, whose list has no number yet.
pub(super) enum Classified {
    Cell(Cell),
    List(Candidates),
}

/// Chooses the result type of a cell within the tolerance.
pub(super) fn classify(source: &FieldSource, region: &Region, corners: &[Corner; 8]) -> Classified {
    let FieldSource { mesh, exact, sign_from_normal, tolerance, .. } = source;
    let (centre, radius) = (region.centre(), region.radius());
    debug_assert!(
        radius > 0.0 && corners.iter().all(|c| c.signed_distance.is_finite()),
        "{region:?}"
    );
    let middle = (exact.distance)(centre, Some(corners[0].triangle));
    let distance = middle.signed_distance.abs();
    let one_side =
        corners.iter().all(|c| (c.signed_distance < 0.0) == (middle.signed_distance < 0.0));
    // Lower bound of the surface's distance from any point of the cell, as distance is 1-Lipschitz.
    let clearance = distance - radius;
    let mut interpolate = None;
    if clearance > 0.0 && one_side {
        let nearest = mesh.triangle(middle.triangle);
        // Below: outside a ball of radius r about every surface point the distance has second derivatives of at most
        // 1 / r, across the medial axis too, so interpolation overshoots by at most sum(h^2) / (8 r).
        let overshoot = region.size().length_squared() / (8.0 * clearance);
        // Above: the distance to the triangle nearest to the middle is convex, so interpolated between the corners it
        // is never too small, and the true distance is no more. Both are proved for polygons and need no case for edges
        // and vertices.
        let excess = corners.iter().map(|c| {
            closest_point(c.at, &nearest).distance_squared.sqrt() - c.signed_distance.abs()
        });
        debug_assert!(overshoot > 0.0, "{overshoot} m at {clearance} m from the surface");
        let below = ShortBound::above(overshoot.min(radius));
        let above = ShortBound::above(excess.fold(0.0, f64::max).min(radius));
        let cell = Cell::Interpolate { below, above };
        if below.value().max(above.value()) <= *tolerance {
            return Classified::Cell(cell);
        }
        // Too loose for the tolerance, but better than no bound if a list would be too long.
        interpolate = Some(cell);
    }
    match Candidates::around(mesh, exact, region, distance) {
        Some(list) if clearance > 0.0 && one_side && exact.is_certain(&middle) => {
            Classified::List(list.on_side(middle.signed_distance < 0.0))
        }
        Some(list) => Classified::List(list.with_sign(mesh, sign_from_normal, corners)),
        None => Classified::Cell(interpolate.unwrap_or(Cell::Wide)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_and_back() {
        let bound = ShortBound::above;
        let largest = ShortBound::below(f64::from(f32::MAX) * 0.99);
        let cells = [
            Cell::Interpolate { below: bound(0.0), above: bound(1e-5) },
            Cell::Interpolate { below: largest, above: largest },
            Cell::List(0),
            Cell::List((1 << KIND_SHIFT) - 1),
            Cell::Wide,
        ];
        for cell in cells {
            assert_eq!(PackedCell::of(cell).get(), cell);
        }
    }
}
