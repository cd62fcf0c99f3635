//! A plane with all of a link on one side: a bound that no motion loosens.
//!
//! A distance that was found once loosens with all motion since. A link is rigid, and anything before a plane of its
//! frame is before the link however far it has come. If the link bulges towards a triangle, as most tools do, the plane
//! across the line between their closest points is as far from the triangle as the link is.

use glam::DVec3;

use crate::{geometry::direction::span_along, scene::Link, time_left::TimeLeft};

/// A plane of a link's frame with all of the link behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct SupportPlane {
    /// The plane's unit normal into the link; zero when no plane is known.
    pub(in crate::scene) along: DVec3,
    /// Start of the link along the normal, metres.
    pub(in crate::scene) begins: f64,
}

impl SupportPlane {
    /// No plane.
    pub(in crate::scene) const UNKNOWN: SupportPlane =
        SupportPlane { along: DVec3::ZERO, begins: f64::NEG_INFINITY };

    /// Returns the plane across a direction, unit or zero; no plane if the time is over first.
    pub(in crate::scene) fn across(along: DVec3, link: &Link, time: &TimeLeft) -> SupportPlane {
        if along == DVec3::ZERO {
            return SupportPlane::UNKNOWN;
        }
        let begins = link.tree.begins_along(link.surface.mesh(), along, time);
        begins.map_or(SupportPlane::UNKNOWN, |begins| SupportPlane { along, begins })
    }

    /// Lower bound of the distance of a triangle in link frame before the plane, metres; negative if it is not before
    /// it.
    pub(in crate::scene) fn before(&self, corners: &[DVec3; 3]) -> f64 {
        let [_, ends] = span_along(corners, self.along);
        self.begins - ends
    }
}
