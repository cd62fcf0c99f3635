//! Result of a field at a point.

use glam::DVec3;

use crate::geometry::{TriangleId, distance::point_triangle::ClosestPoint};

/// Result of the field at a point, link frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Metres, negative inside; within the interval.
    pub value: f64,
    /// Lower bound of the true signed distance.
    pub lower: f64,
    /// Upper bound of the true signed distance. The sign is certain if the interval excludes 0.
    pub upper: f64,
    /// Direction in which the value grows; unit if the result is exact, else as interpolated.
    pub gradient: DVec3,
    /// Nearest triangle and point, if the cell's result is exact.
    pub exact: Option<(TriangleId, ClosestPoint)>,
    /// 0 (the sign is a guess) to 1; below 1 only for surfaces that are open or of several bodies.
    pub certainty: f64,
}

impl Reading {
    /// Reading of an empty surface: farther than any distance.
    pub const BEYOND: Reading = Reading {
        value: f64::INFINITY,
        lower: f64::INFINITY,
        upper: f64::INFINITY,
        gradient: DVec3::ZERO,
        exact: None,
        certainty: 1.0,
    };

    /// Returns true if the bounds are ordered about the value, and the gradient is not NaN.
    pub(super) fn is_well_formed(&self) -> bool {
        // Infinities are in order too: there may be nothing near.
        let is_ordered = self.lower <= self.value && self.value <= self.upper;
        is_ordered && self.gradient.is_finite() && (0.0..=1.0).contains(&self.certainty)
    }
}
