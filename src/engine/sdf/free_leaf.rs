//! An exterior leaf without triangles: it has no grid, but the distances of its corners bound the distances inside.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::{
    exact::ExactDistance, reading::Reading, region::Region, short_bound::ShortBound,
    trilinear::trilinear,
};
use crate::geometry::{TriangleMesh, distance::point_triangle::closest_point};

/// Data of a deleted leaf in 24 bytes, since links have hundreds of thousands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FreeLeaf {
    /// Least distance of a corner, metres.
    least: f32,
    /// Excess over `least` at each corner, in parts of the leaf's diagonal: no two corners differ by more than the
    /// diagonal.
    more: [u16; 8],
    /// Lower bound of the surface's distance from any point of the leaf, metres.
    clearance: ShortBound,
    /// Upper bound of true minus interpolated distance, metres.
    above: ShortBound,
}

const _: () = assert!(size_of::<FreeLeaf>() == 24);

const PARTS: f64 = u16::MAX as f64;

impl FreeLeaf {
    /// `centre`: exact result at the region's centre; `corners`: distances.
    pub(super) fn new(
        mesh: &TriangleMesh,
        region: &Region,
        centre: &ExactDistance,
        corners: [f64; 8],
    ) -> FreeLeaf {
        debug_assert!(corners.iter().all(|d| *d > 0.0), "{corners:?} in a free leaf");
        let least = corners.into_iter().fold(f64::INFINITY, f64::min) as f32;
        let part = part(region);
        let more =
            corners.map(|d| ((d - f64::from(least)) / part).round().clamp(0.0, PARTS) as u16);
        // The distance to one triangle is convex: interpolated between the corners it is never too small, and the true
        // distance is no more.
        let triangle = mesh.triangle(centre.triangle);
        let excess = (0..8).map(|k| {
            closest_point(region.corner(k), &triangle).distance_squared.sqrt() - corners[k]
        });
        FreeLeaf {
            least,
            more,
            // A clearance that is too large would make the overshoot too small.
            clearance: ShortBound::below((centre.signed_distance - region.radius()).max(0.0)),
            above: ShortBound::above(excess.fold(0.0, f64::max)),
        }
    }

    /// Distance at a point of the leaf: an interpolation that overshoots by at most sum(h^2 s (1 - s)) / (2 r), r the
    /// clearance.
    pub(super) fn read(&self, region: &Region, p: DVec3) -> Reading {
        let (value, slope, lower, upper) = self.interpolate(region, p);
        debug_assert!(0.0 <= lower && upper.is_finite(), "{lower} m to {upper} m at {p}");
        let gradient = slope / region.size();
        Reading { value, lower, upper, gradient, exact: None, certainty: 1.0 }
    }

    /// Lower bound only.
    pub(super) fn lower_bound(&self, region: &Region, p: DVec3) -> f64 {
        self.interpolate(region, p).2
    }

    /// Interpolated distance, its slope along the region's sides, and the lower and upper bound of the distance.
    #[inline(always)]
    fn interpolate(&self, region: &Region, p: DVec3) -> (f64, DVec3, f64, f64) {
        let (size, part, least) = (region.size(), part(region), f64::from(self.least));
        let s = ((p - region.min) / size).clamp(DVec3::ZERO, DVec3::ONE);
        let (value, slope) = trilinear(&self.more.map(|more| f64::from(more) * part), s);
        let value = value + least;
        // Half a part, and the rounding of `least`.
        let rounding = 0.5 * part + least * f64::from(f32::EPSILON);
        let square = (size * size * s * (DVec3::ONE - s)).element_sum();
        // Overshoot at this exact position, s (1 - s) instead of 1/4. The corners' Lipschitz bound alone is loose by a
        // third of the distance, and each tick would pay for that in exact searches.
        let (lipschitz, clearance) = (square.sqrt(), self.clearance.value());
        let lower = value - lipschitz.min(square / (2.0 * clearance)) - rounding;
        let upper = value + lipschitz.min(self.above.value()) + rounding;
        (value, slope, lower.max(clearance).min(value), upper)
    }

    pub(super) fn is_well_formed(&self) -> bool {
        self.least >= 0.0
            && self.least.is_finite()
            && self.clearance.is_well_formed()
            && self.above.is_well_formed()
    }
}

/// Size of a part, metres.
#[inline(always)]
fn part(region: &Region) -> f64 {
    2.0 * region.radius() / PARTS
}
