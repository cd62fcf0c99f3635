//! Directions that keep two features apart. This test needs no polynomial, holds with a thickness, and decides
//! degenerate features.
//!
//! Along a fixed direction the distance of every two corners changes linearly, and the features are at least
//! as far apart as their nearest corners. A direction that separates them at both ends of an interval therefore
//! separates them during all of it.

use glam::DVec3;

use super::moving_features::{FeatureKinds, MovingFeatures};
use crate::geometry::{
    direction::direction,
    distance::{point_triangle, segment_segment},
    tolerance::{SEPARATION_ROUNDINGS, UNIT_ROUNDOFF, UNITY_ROUNDING},
};

/// The gaps of two moving features and how near they may come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Separation<'a> {
    moving: &'a MovingFeatures,
    gaps: [[DVec3; 4]; 2],
    apart: f64,
}

/// Threshold for corners whose components from one of them are at most `extent`: corners that seem farther apart along
/// a direction than this are farther apart than `thickness`, metres.
pub(super) fn apart(thickness: f64, extent: DVec3) -> f64 {
    debug_assert!(extent.is_finite() && extent.min_element() >= 0.0, "{extent}");
    thickness + SEPARATION_ROUNDINGS * UNIT_ROUNDOFF * (thickness + extent.element_sum())
}

impl<'a> Separation<'a> {
    /// `extent` is [`MovingFeatures::extent`]; `thickness` in metres.
    pub fn new(moving: &'a MovingFeatures, extent: DVec3, thickness: f64) -> Separation<'a> {
        let apart = apart(thickness, extent);
        Separation { moving, gaps: [moving.gaps(0), moving.gaps(1)], apart }
    }

    /// Time up to which the direction of the closest points at `t` keeps the features apart: `t` itself if they are not
    /// apart there, at most 1.
    pub fn until(&self, t: f64) -> f64 {
        // The features touch at t if there is no direction.
        let Some(direction) = self.direction(t) else { return t };
        debug_assert!((direction.length() - 1.0).abs() <= UNITY_ROUNDING, "{direction}");
        let mut until = 1.0_f64;
        for (g0, g1) in self.gaps[0].iter().zip(&self.gaps[1]) {
            let (at0, at1) = (direction.dot(*g0) - self.apart, direction.dot(*g1) - self.apart);
            if at0 + (at1 - at0) * t <= 0.0 {
                return t;
            }
            if at1 <= 0.0 {
                // Rounded down: at0 > 0 >= at1 here, or the corners would have been too near at t.
                until = until.min(at0 / (at0 - at1) * (1.0 - 4.0 * UNIT_ROUNDOFF));
            }
        }
        debug_assert!(until <= 1.0, "{until}");
        until.max(t)
    }

    /// Unit direction from the first feature to the second at `t`.
    fn direction(&self, t: f64) -> Option<DVec3> {
        let (u, v, r) = self.moving.at(t);
        // The direction of the closest points separates best at t, and hardly turns in a short interval.
        let between = match self.moving.kinds {
            FeatureKinds::VertexFace => {
                r - point_triangle::closest_point(r, &[DVec3::ZERO, u, v]).point
            }
            FeatureKinds::EdgeEdge => {
                let (s, w) = segment_segment::closest_parameters(DVec3::ZERO, u, r, r + v);
                r + v * w - u * s
            }
        };
        direction(between)
    }
}
