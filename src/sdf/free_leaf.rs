//! An exterior leaf without triangles: no grid, but the distances of its corners bound what is inside.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::{reading::Reading, region::Region, trilinear::trilinear};

/// What is kept of a deleted leaf.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FreeLeaf {
    /// Distances of the corners, metres.
    corners: [f32; 8],
    /// Nothing of the surface is nearer than this to any point of the leaf, metres.
    clearance: f32,
}

impl FreeLeaf {
    /// `distance`: of the region's centre.
    pub(super) fn new(region: &Region, distance: f64, corners: [f64; 8]) -> FreeLeaf {
        debug_assert!(corners.iter().all(|d| *d > 0.0), "{corners:?} in a free leaf");
        // Rounded down: a clearance that is too large would make the overshoot too small.
        let clearance = (distance - region.radius()).max(0.0) as f32;
        FreeLeaf { corners: corners.map(|d| d as f32), clearance: clearance.next_down().max(0.0) }
    }

    /// Distance at a point of the leaf: between an interpolation that overshoots by at most
    /// sum(h^2 s (1 - s)) / (2 r), r the clearance, and what the corners allow.
    pub(super) fn read(&self, region: &Region, p: DVec3) -> Reading {
        let (d, s) = (self.corners.map(f64::from), fraction(region, p));
        let (value, slope, lower) = self.interpolate(&d, region, s);
        let to_corner = |k: usize| d[k] + p.distance(region.corner(k));
        // By Lipschitz from each corner, as there is no nearest triangle at hand for a bound that is convex.
        let upper = (0..8).map(to_corner).fold(f64::INFINITY, f64::min) + rounding(&d);
        debug_assert!(upper.is_finite() && upper >= 0.0, "{upper} m from {p}");
        let lower = lower.min(upper);
        debug_assert!(0.0 <= lower, "{lower} m at {p}, outside the surface");
        let gradient = slope / region.size();
        Reading { value: value.min(upper), lower, upper, gradient, exact: None, certainty: 1.0 }
    }

    /// The lower bound alone.
    pub(super) fn lower_bound(&self, region: &Region, p: DVec3) -> f64 {
        self.interpolate(&self.corners.map(f64::from), region, fraction(region, p)).2
    }

    /// The interpolated distance, its slope along the region's sides, and the least distance that there may be.
    #[inline(always)]
    fn interpolate(&self, d: &[f64; 8], region: &Region, s: DVec3) -> (f64, DVec3, f64) {
        debug_assert!(s.cmpge(DVec3::ZERO).all() && s.cmple(DVec3::ONE).all(), "{s}");
        let (value, slope) = trilinear(d, s);
        let size = region.size();
        let square = (size * size * s * (DVec3::ONE - s)).element_sum();
        // Overshoot at this very place, s (1 - s) instead of 1/4. The corners' Lipschitz bound alone is loose by a
        // third of the distance, and each tick would pay for it in exact searches.
        let curved = square / (2.0 * f64::from(self.clearance));
        let lower = value - square.sqrt().min(curved) - rounding(d);
        (value, slope, lower.max(f64::from(self.clearance)))
    }

    pub(super) fn is_well_formed(&self) -> bool {
        self.corners.iter().chain([&self.clearance]).all(|d| *d >= 0.0 && d.is_finite())
    }
}

fn fraction(region: &Region, p: DVec3) -> DVec3 {
    ((p - region.min) / region.size()).clamp(DVec3::ZERO, DVec3::ONE)
}

/// Of storing the corners.
fn rounding(d: &[f64; 8]) -> f64 {
    d.iter().fold(0.0f64, |m, d| m.max(*d)) * f64::from(f32::EPSILON)
}
