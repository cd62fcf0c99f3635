//! Moves a tissue's vertices, all or nothing.

use glam::Vec3;

use crate::geometry::tolerance::COORDINATE_MAX_M;

/// New positions of vertices: metres, scene frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Deformation {
    /// Positions of some vertices, each named once: `[n]` and `[n]`.
    Sparse {
        /// Vertex ids.
        vertices: Vec<u32>,
        /// New positions.
        positions: Vec<Vec3>,
    },
    /// Positions of all vertices: `[n_vertices]`.
    Dense(Vec<Vec3>),
}

/// Result of a deformation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deformed {
    /// Revision with the deformation.
    pub geometry_revision: u64,
    /// Triangles with a moved vertex.
    pub triangles_touched: usize,
    /// Triangles that were filed elsewhere in the index; some may have moved earlier.
    pub triangles_relocated: usize,
    /// Edges that seams join in that revision.
    pub welded_edges: u32,
}

/// Errors of a refused deformation. Nothing has moved.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum DeformError {
    /// The numbers of ids and positions differ.
    #[error("has {got} positions, expected {expected}: one for each vertex")]
    Count {
        /// Positions sent.
        got: usize,
        /// Positions needed.
        expected: usize,
    },
    /// A vertex that does not exist.
    #[error("is vertex {vertex}, expected less than {n_vertices}")]
    UnknownVertex {
        /// Index in the request.
        at: usize,
        /// Given id.
        vertex: u32,
        /// Vertices of the tissue.
        n_vertices: usize,
    },
    /// A vertex named twice.
    #[error("is vertex {vertex}, which was named before")]
    RepeatedVertex {
        /// Index in the request.
        at: usize,
        /// Given id.
        vertex: u32,
    },
    /// Positions for a tissue whose controls carry its vertices.
    #[error("are positions of vertices, expected controls: the tissue is driven")]
    Driven,
    /// Controls for a tissue that has none.
    #[error("are controls, expected positions: the tissue was added without a binding")]
    NotDriven,
    /// Points for frames, or frames for points.
    #[error("are {got}, the tissue is driven by {expected}")]
    ControlKind {
        /// "points" or "frames".
        got: &'static str,
        /// Kind of the tissue's controls.
        expected: &'static str,
    },
    /// The number of controls is not the tissue's, or not that of the ids.
    #[error("has {got} controls, expected {expected}")]
    ControlCount {
        /// Controls sent.
        got: usize,
        /// Controls needed.
        expected: usize,
    },
    /// A control that does not exist.
    #[error("is control {control}, expected less than {n_controls}")]
    UnknownControl {
        /// Index in the request.
        at: usize,
        /// Given id.
        control: u32,
        /// Controls of the tissue.
        n_controls: usize,
    },
    /// A control named twice.
    #[error("is control {control}, which was named before")]
    RepeatedControl {
        /// Index in the request.
        at: usize,
        /// Given id.
        control: u32,
    },
    /// A control with a coordinate that is NaN, infinite or too large, or with a rotation that is none.
    #[error("begins no state of a control: a coordinate or the rotation is out of range")]
    Control {
        /// Index in the request, in numbers: three for each point, seven for each frame.
        at: usize,
    },
    /// Controls that carry a vertex out of the world.
    #[error("carry vertex {vertex} to {got} m, out of range")]
    CarriedVertex {
        /// The vertex.
        vertex: u32,
        /// Coordinate, metres.
        got: f32,
    },
    /// A coordinate that is NaN, infinite or too large.
    #[error("is {got}, expected a finite coordinate within {limit_m} m")]
    Position {
        /// Index in the request, in coordinates: three for each vertex.
        at: usize,
        /// Given coordinate.
        got: f32,
        /// Greatest allowed coordinate, metres.
        limit_m: f64,
    },
}

impl Deformation {
    /// Checks that a tissue of `n_vertices` vertices can be moved like this.
    pub(super) fn check(&self, n_vertices: usize) -> Result<(), DeformError> {
        let (positions, expected) = match self {
            Deformation::Sparse { vertices, positions } => {
                let unknown = |at, vertex| DeformError::UnknownVertex { at, vertex, n_vertices };
                let repeated = |at, vertex| DeformError::RepeatedVertex { at, vertex };
                check_ids(vertices, n_vertices, unknown, repeated)?;
                (positions, vertices.len())
            }
            Deformation::Dense(positions) => (positions, n_vertices),
        };
        if positions.len() != expected {
            return Err(DeformError::Count { got: positions.len(), expected });
        }
        match outside_world(positions) {
            Some((at, got)) => Err(DeformError::Position { at, got, limit_m: COORDINATE_MAX_M }),
            None => Ok(()),
        }
    }
}

/// Checks that each id exists and is named once. O(ids + n).
pub(super) fn check_ids(
    ids: &[u32],
    n: usize,
    unknown: impl Fn(usize, u32) -> DeformError,
    repeated: impl Fn(usize, u32) -> DeformError,
) -> Result<(), DeformError> {
    // The final state of what is named twice would depend on the order of the request.
    let mut named = vec![false; n];
    for (at, &id) in ids.iter().enumerate() {
        match named.get_mut(id as usize) {
            None => return Err(unknown(at, id)),
            Some(true) => return Err(repeated(at, id)),
            Some(first) => *first = true,
        }
    }
    Ok(())
}

/// Returns the first coordinate that is not finite or too far out, and its index among all coordinates.
pub(in crate::scene) fn outside_world(positions: &[Vec3]) -> Option<(usize, f32)> {
    let at = positions.iter().position(|p| !is_in_world(*p))?;
    let place = positions[at].to_array();
    let k = place.iter().position(|x| !is_in_world(Vec3::splat(*x)))?;
    Some((3 * at + k, place[k]))
}

/// Returns true if finite and within [`COORDINATE_MAX_M`] of the origin on each axis.
fn is_in_world(p: Vec3) -> bool {
    // The largest of three is one comparison for each vertex: a dense deformation checks hundreds of thousands.
    p.is_finite() && p.abs().max_element() <= COORDINATE_MAX_M as f32
}
