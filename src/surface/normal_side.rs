//! Where the nearest normal tells the side, as far as that was found out after a surface was published.

use std::sync::{Arc, OnceLock};

use crate::geometry::TriangleId;

/// The triangles whose normals tell inside from outside to the points that are nearest to them. May be found out while
/// others read: what they answer without is the same, and takes longer.
#[derive(Clone, Debug, Default)]
pub(super) struct NormalSide(OnceLock<TellingTriangles>);

/// Triangles whose normals tell the side.
#[derive(Clone, Debug)]
enum TellingTriangles {
    All,
    /// By id.
    These(Arc<[bool]>),
}

impl NormalSide {
    /// The normal of any triangle tells.
    pub(super) fn is_everywhere(&self) -> bool {
        matches!(self.0.get(), Some(TellingTriangles::All))
    }

    /// The normals at a triangle's features tell.
    pub(super) fn is_at(&self, t: TriangleId) -> bool {
        match self.0.get() {
            None => false,
            Some(TellingTriangles::All) => true,
            Some(TellingTriangles::These(tells)) => tells[t.0 as usize],
        }
    }

    /// All tell. Of what was found out before nothing changes.
    pub(super) fn set_everywhere(&self) {
        // An error: it is known already.
        let _ = self.0.set(TellingTriangles::All);
    }

    /// Those tell that are true, by triangle id.
    pub(super) fn set_at(&self, tells: Arc<[bool]>) {
        let _ = self.0.set(TellingTriangles::These(tells));
    }

    /// What it has allocated.
    pub(super) fn heap_bytes(&self) -> usize {
        match self.0.get() {
            Some(TellingTriangles::These(tells)) => tells.len(),
            _ => 0,
        }
    }
}
