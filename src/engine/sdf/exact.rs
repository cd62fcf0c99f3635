//! Exact search that supplies a field's samples, passed in by the field's owner.

use glam::DVec3;

use crate::geometry::{Aabb, TriangleId, winding::ENCLOSED_NEGATIVELY};

/// Exact result at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactDistance {
    /// Metres, negative inside.
    pub signed_distance: f64,
    /// The nearest triangle.
    pub triangle: TriangleId,
    /// Winding number, if it decides the sign.
    pub winding: Option<f64>,
}

/// Exact search that supplies a field's samples.
pub struct Exact<'a> {
    /// Exact result at a point, link frame; a triangle that is likely near may make it faster.
    // A closure and not a trait: links and tests search differently, and this module must not depend on either type.
    pub distance: &'a (dyn Fn(DVec3, Option<TriangleId>) -> ExactDistance + Sync),
    /// Unsigned distance and nearest triangle.
    pub nearest: &'a (dyn Fn(DVec3, Option<TriangleId>) -> (f64, TriangleId) + Sync),
    /// True if the surface is closed: the side changes only at a triangle.
    pub closed: bool,
    /// Adds all triangles whose boxes meet a box; extra triangles do no harm.
    pub near: &'a (dyn Fn(&Aabb, &mut Vec<TriangleId>) + Sync),
}

impl Exact<'_> {
    /// Returns true if only a triangle changes the side found at a point, and the side is no guess.
    pub(super) fn is_certain(&self, found: &ExactDistance) -> bool {
        // Near an open end a side is as certain as the winding number at each point.
        self.closed && found.winding.is_none_or(|number| number > ENCLOSED_NEGATIVELY)
    }
}

/// Sample of the exact search at a corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    pub(super) at: DVec3,
    pub(super) signed_distance: f64,
    pub(super) triangle: TriangleId,
    pub(super) winding: Option<f64>,
}
