//! Triangles whose normals decide the side of a point, as found out after a surface was published.

use std::sync::{Arc, OnceLock};

use crate::geometry::TriangleId;

/// Triangles whose normals tell inside from outside for the points nearest to them. The set may be found out while
/// others read: without it their answers are identical and take longer.
#[derive(Clone, Debug, Default)]
pub(super) struct NormalSide(OnceLock<TellingTriangles>);

/// Triangles whose normals tell the side.
#[derive(Clone, Debug)]
enum TellingTriangles {
    All,
    /// Flags by triangle id.
    These(Arc<[bool]>),
}

impl NormalSide {
    /// Returns true if the normal of any triangle tells the side.
    pub(super) fn is_everywhere(&self) -> bool {
        matches!(self.0.get(), Some(TellingTriangles::All))
    }

    /// Returns true if the normals at a triangle's features tell the side.
    pub(super) fn is_at(&self, t: TriangleId) -> bool {
        match self.0.get() {
            None => false,
            Some(TellingTriangles::All) => true,
            Some(TellingTriangles::These(tells)) => tells[t.0 as usize],
        }
    }

    /// Marks all normals as telling. Keeps earlier findings unchanged.
    pub(super) fn set_everywhere(&self) {
        // An error means that the set is already known.
        let _ = self.0.set(TellingTriangles::All);
    }

    /// Marks the triangles whose flag is true, by triangle id.
    pub(super) fn set_at(&self, tells: Arc<[bool]>) {
        let _ = self.0.set(TellingTriangles::These(tells));
    }

    /// Bytes allocated.
    pub(super) fn heap_bytes(&self) -> usize {
        match self.0.get() {
            Some(TellingTriangles::These(tells)) => tells.len(),
            _ => 0,
        }
    }
}
