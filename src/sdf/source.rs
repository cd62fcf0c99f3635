//! What all parts of a build work from.

use super::{exact::Exact, options::FieldOptions, sides::Sides};
use crate::geometry::TriangleMesh;

/// The surface and how its field is wanted.
pub(super) struct Source<'a> {
    pub(super) mesh: &'a TriangleMesh,
    pub(super) exact: &'a Exact<'a>,
    pub(super) sides: Sides,
    pub(super) options: &'a FieldOptions,
    /// Metres.
    pub(super) tolerance: f64,
}
