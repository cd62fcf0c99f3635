//! Layout options and root box of a field.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::region::Region;
use crate::geometry::{
    TriangleMesh,
    tolerance::{FIELD_MARGIN_MIN_M, FIELD_TOLERANCE_SHARE},
};

/// Increased with every change to a field's content or construction.
pub const FIELD_VERSION: u32 = 11;

/// Layout options of a field. The defaults suit an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldOptions {
    /// Largest certified error requested, metres; `None`: 1e-3 of the surface's diagonal.
    pub tolerance_m: Option<f64>,
    /// A node with fewer vertices is a leaf.
    pub leaf_vertices: usize,
    /// Maximum depth of the tree.
    pub depth_max: u32,
    /// Samples of a subspace for each of its vertices, before leaves are split for accuracy.
    pub samples_per_vertex: f64,
    /// Minimum samples of a leaf, for any number of vertices: large faces have few of them.
    pub samples_min: f64,
    /// Weights of vertices and of dihedral variance in the complexity; `None`: see `complexity`.
    pub complexity_weights: Option<(f64, f64)>,
    /// Neighbours whose complexities differ by less are merged; `None`: the median difference.
    pub merge_threshold: Option<f64>,
}

impl Default for FieldOptions {
    fn default() -> FieldOptions {
        FieldOptions {
            tolerance_m: None,
            leaf_vertices: 32,
            depth_max: 10,
            samples_per_vertex: 8.0,
            samples_min: 216.0,
            complexity_weights: None,
            merge_threshold: None,
        }
    }
}

/// Maximum depth of any tree: a leaf's position is an integer of this many bits on each axis.
pub(super) const DEPTH_MAX: u32 = 21;

/// Share of the longest edge by which the root is larger than the surface on every side: in the root a bound is within
/// a few hundredths of the distance, outside it only as good as the box of the triangles.
// Half the longest edge, so that tools near a link are still inside its root.
const ROOT_MARGIN: f64 = 0.5;
/// Geometry of a field, known before any distance.
pub(super) struct FieldFrame {
    pub(super) root: Region,
    pub(super) surface: Region,
    pub(super) tolerance: f64,
}

impl FieldFrame {
    pub(super) fn of(mesh: &TriangleMesh, options: &FieldOptions) -> FieldFrame {
        let bounds = mesh.used_box();
        let surface = Region { min: bounds.min.as_dvec3(), max: bounds.max.as_dvec3() };
        let tolerance = options.tolerance_m.unwrap_or(FIELD_TOLERANCE_SHARE * bounds.diagonal());
        let half =
            surface.size().max_element() * (0.5 + ROOT_MARGIN) + tolerance.max(FIELD_MARGIN_MIN_M);
        // A cube, whose octants are cubes too: cells are then nearly as long on every axis.
        let half = DVec3::splat(half);
        let root = Region { min: surface.centre() - half, max: surface.centre() + half };
        debug_assert!(
            root.contains(surface.min) && root.contains(surface.max),
            "{surface:?} in {root:?}"
        );
        FieldFrame { root, surface, tolerance }
    }
}
