//! The cubic that vanishes when four points are in one plane, and the filter on its signs (DNPF: Tang, Manocha, Tong,
//! "Fast continuous collision detection using deforming non-penetration filters", I3D 2010).

use glam::DVec3;

use super::{
    bernstein::largest,
    moving_features::{MovingFeatures, MovingNormal},
};
use crate::geometry::tolerance::{COPLANARITY_ROUNDINGS, RESTRICTION_ROUNDINGS, UNIT_ROUNDOFF};

/// Bernstein coefficients of r . (u x v), each within `error` of the truth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coplanarity {
    pub d: [f64; 4],
    pub error: f64,
}

impl Coplanarity {
    /// `extent` is [`MovingFeatures::extent`].
    pub fn new(moving: &MovingFeatures, n: &MovingNormal, extent: DVec3) -> Coplanarity {
        let [r0, r1] = moving.r;
        // 1.4: D0 = w0.n0, D1 = (w0.m + w1.n0) / 3, D2 = (w0.n1 + w1.m) / 3, D3 = w1.n1.
        let d = [
            r0.dot(n.n0),
            (r0.dot(n.m) + r1.dot(n.n0)) / 3.0,
            (r0.dot(n.n1) + r1.dot(n.m)) / 3.0,
            r1.dot(n.n1),
        ];
        // Products below the least normal number are off by less than that number.
        let error = COPLANARITY_ROUNDINGS * UNIT_ROUNDOFF * (extent.x * extent.y * extent.z)
            + f64::MIN_POSITIVE;
        debug_assert!(error > 0.0 && d.iter().all(|d| d.is_finite()), "{d:?} within {error}");
        Coplanarity { d, error }
    }

    /// Returns true if the four points are never in one plane.
    pub fn culls(&self) -> bool {
        let [a, b, c, d] = self.d;
        // The cubic stays in the hull of its coefficients.
        let least = a.min(b).min(c.min(d));
        let most = a.max(b).max(c.max(d));
        least > self.error || most < -self.error
    }

    /// Error of a restriction of `d` to a part of the step.
    pub fn restricted_error(&self) -> f64 {
        self.error + RESTRICTION_ROUNDINGS * 3.0 * UNIT_ROUNDOFF * largest(&self.d)
    }
}
