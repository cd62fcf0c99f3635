//! Input shared by all parts of a build.

use super::{
    exact::Exact, options::FieldOptions, progress::ProgressCounter,
    sign_from_normal::SignFromNormal,
};
use crate::geometry::TriangleMesh;

/// The surface and the options of its field.
pub(super) struct FieldSource<'a> {
    pub(super) mesh: &'a TriangleMesh,
    pub(super) exact: &'a Exact<'a>,
    pub(super) sign_from_normal: SignFromNormal,
    pub(super) options: &'a FieldOptions,
    /// Tolerance in metres.
    pub(super) tolerance: f64,
    pub(super) progress: &'a ProgressCounter<'a>,
}
