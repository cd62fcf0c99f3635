//! The exact search that a field is sampled from, given by the field's owner.

use glam::DVec3;

use crate::geometry::{Aabb, TriangleId, winding::ENCLOSED_NEGATIVELY};

/// An exact answer at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactDistance {
    /// Metres, negative inside.
    pub signed_distance: f64,
    /// The nearest triangle.
    pub triangle: TriangleId,
    /// The winding number, where the sign is taken from it.
    pub winding: Option<f64>,
}

/// The exact search that a field is sampled from.
pub struct Exact<'a> {
    /// At a point, link frame; a triangle that is likely near may make it faster.
    // A closure and not a trait: links and tests search differently, and neither type is to be known here.
    pub distance: &'a (dyn Fn(DVec3, Option<TriangleId>) -> ExactDistance + Sync),
    /// The unsigned distance and the nearest triangle.
    pub nearest: &'a (dyn Fn(DVec3, Option<TriangleId>) -> (f64, TriangleId) + Sync),
    /// The surface is closed: the side changes only at a triangle.
    pub closed: bool,
    /// Adds all triangles whose boxes meet a box; more do no harm.
    pub near: &'a (dyn Fn(&Aabb, &mut Vec<TriangleId>) + Sync),
}

impl Exact<'_> {
    /// Nothing but a triangle changes the side that was found at a point, and it is no guess.
    pub(super) fn is_certain(&self, found: &ExactDistance) -> bool {
        // About an open end a side is as certain as the winding number says at each point.
        self.closed && found.winding.is_none_or(|number| number > ENCLOSED_NEGATIVELY)
    }
}

/// A sample of the exact search at a corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    pub(super) at: DVec3,
    pub(super) signed_distance: f64,
    pub(super) triangle: TriangleId,
    pub(super) winding: Option<f64>,
}
