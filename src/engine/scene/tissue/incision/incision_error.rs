//! Reasons why an incision cannot be made, and its limits.

use crate::geometry::tolerance::INCISION_REACH_M;

/// Maximum number of points of a line.
pub const PATH_POINTS_MAX: usize = 4096;
/// Maximum number of vertices along a line: edges that it crosses, and points.
pub const LINE_VERTICES_MAX: usize = 1 << 16;
/// Maximum number of these with a depth: each wall is tested against the surface about it, which on slivers is all of
/// the surface.
pub const DEEP_VERTICES_MAX: usize = 1 << 12;
/// Maximum width and depth, metres.
pub const INCISION_MAX_M: f64 = 1.0;

/// Reasons why there is no such incision.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum IncisionError {
    /// Too few or too many points.
    #[error("has {got} points, expected 2 to {PATH_POINTS_MAX}")]
    Points {
        /// Number of points.
        got: usize,
    },
    /// A point that is not on the surface.
    #[error("point {at} is {distance_m} m from the surface, expected at most {INCISION_REACH_M}")]
    Far {
        /// Number of the point.
        at: usize,
        /// Its distance, metres; infinite or NaN for a point that is so, or if there is no surface.
        distance_m: f64,
    },
    /// A width or depth out of range.
    #[error("{what} is {got}, expected 0 to {INCISION_MAX_M}")]
    Size {
        /// "width_m" or "depth_m".
        what: &'static str,
        /// Given value, metres.
        got: f64,
    },
    /// No way on the surface from a point to the next.
    #[error(
        "the line leaves the surface between point {at} and the next: expected no gap and no fold there"
    )]
    NoWay {
        /// Number of the first of the two points.
        at: usize,
    },
    /// A line that crosses too many edges.
    #[error("the line has {max} vertices soon after point {at}, expected fewer")]
    Long {
        /// Number of the last point before.
        at: usize,
        /// Maximum number.
        max: usize,
    },
    /// A line that meets itself.
    #[error("the line meets itself between points {at} and {}", at + 1)]
    MeetsItself {
        /// Number of the first of the two points.
        at: usize,
    },
    /// A line of one place.
    #[error("all points are in one place on the surface")]
    NoLength,
    /// Three triangles or more at an edge.
    #[error("the surface branches at vertex {vertex}, on the line")]
    Branches {
        /// The vertex.
        vertex: u32,
    },
    /// A depth in a surface that is not closed.
    #[error("depth_m is above 0, and the surface is not closed: it has no inside")]
    NotClosed,
    /// A depth in a tissue that points carry.
    #[error(
        "depth_m is above 0, and points carry the tissue: they carry no vertex below its surface"
    )]
    CarriedByPoints,
    /// A floor that comes out on the other side.
    #[error(
        "depth_m is {depth_m}: the incision comes out of the surface again, at triangle {triangle}"
    )]
    TooDeep {
        /// Given depth, metres.
        depth_m: f64,
        /// Triangle that a wall crosses.
        triangle: u32,
    },
}
