//! What all parts of a build work from.

use super::{
    exact::Exact, options::FieldOptions, progress::ProgressCounter,
    sign_from_normal::SignFromNormal,
};
use crate::geometry::TriangleMesh;

/// The surface and how its field is wanted.
pub(super) struct FieldSource<'a> {
    pub(super) mesh: &'a TriangleMesh,
    pub(super) exact: &'a Exact<'a>,
    pub(super) sign_from_normal: SignFromNormal,
    pub(super) options: &'a FieldOptions,
    /// Metres.
    pub(super) tolerance: f64,
    pub(super) progress: &'a ProgressCounter<'a>,
}
