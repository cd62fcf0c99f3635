//! What a field says of a point.

use glam::DVec3;

use crate::geometry::{TriangleId, distance::point_triangle::ClosestPoint};

/// The field at a point, link frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Metres, negative inside; within the interval.
    pub value: f64,
    /// The true signed distance is at least this.
    pub lower: f64,
    /// And at most this. The sign is certain when the interval excludes 0.
    pub upper: f64,
    /// Direction in which the value grows; unit where the answer is exact, else as interpolated.
    pub gradient: DVec3,
    /// The nearest triangle and point, where the cell answers exactly.
    pub exact: Option<(TriangleId, ClosestPoint)>,
    /// 0 (the sign is a guess) to 1; below 1 only for surfaces that are open or of several bodies.
    pub certainty: f64,
}

impl Reading {
    /// The reading where there is no surface: farther than anything.
    pub const BEYOND: Reading = Reading {
        value: f64::INFINITY,
        lower: f64::INFINITY,
        upper: f64::INFINITY,
        gradient: DVec3::ZERO,
        exact: None,
        certainty: 1.0,
    };

    /// Its bounds are in order about its value, and its gradient is a number.
    pub(super) fn is_well_formed(&self) -> bool {
        // Infinities are in order too: nothing may be near.
        let is_ordered = self.lower <= self.value && self.value <= self.upper;
        is_ordered && self.gradient.is_finite() && (0.0..=1.0).contains(&self.certainty)
    }
}
