//! Moving a tissue's vertices, all or nothing.

use glam::Vec3;

use crate::geometry::tolerance::COORDINATE_MAX_M;

/// New places of vertices: metres, scene frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Deformation {
    /// Of some vertices, each named once: `[n]` and `[n]`.
    Sparse {
        /// Vertex ids.
        vertices: Vec<u32>,
        /// Their new places.
        positions: Vec<Vec3>,
    },
    /// Of all vertices: `[n_vertices]`.
    Dense(Vec<Vec3>),
}

/// What a deformation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deformed {
    /// The revision that has it.
    pub geometry_revision: u64,
    /// Triangles with a moved vertex.
    pub triangles_touched: usize,
    /// Triangles that were filed elsewhere in the index; some may have moved earlier.
    pub triangles_relocated: usize,
    /// Edges that seams join in that revision.
    pub welded_edges: u32,
}

/// Why a deformation was refused. Nothing has moved.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum DeformError {
    /// Ids and places differ in number.
    #[error("has {got} positions, expected {expected}: one for each vertex")]
    Count {
        /// Positions sent.
        got: usize,
        /// Positions needed.
        expected: usize,
    },
    /// A vertex that is not there.
    #[error("is vertex {vertex}, expected less than {n_vertices}")]
    UnknownVertex {
        /// Place in the request.
        at: usize,
        /// The id sent.
        vertex: u32,
        /// Vertices of the tissue.
        n_vertices: usize,
    },
    /// A vertex named twice.
    #[error("is vertex {vertex}, which was named before")]
    RepeatedVertex {
        /// Place in the request.
        at: usize,
        /// The id sent.
        vertex: u32,
    },
    /// NaN, infinite or beyond the world.
    #[error("is {got}, expected a finite coordinate within {limit_m} m")]
    Position {
        /// Place in the request, in coordinates: three for each vertex.
        at: usize,
        /// The coordinate sent.
        got: f32,
        /// The farthest allowed.
        limit_m: f64,
    },
}

impl Deformation {
    /// Whether a tissue of so many vertices can be moved like this.
    pub(super) fn check(&self, n_vertices: usize) -> Result<(), DeformError> {
        let (positions, expected) = match self {
            Deformation::Sparse { vertices, positions } => {
                check_vertices(vertices, n_vertices)?;
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

fn check_vertices(vertices: &[u32], n_vertices: usize) -> Result<(), DeformError> {
    // A vertex that is named twice would end up where the order of the request puts it.
    let mut named = vec![false; n_vertices];
    for (at, &vertex) in vertices.iter().enumerate() {
        match named.get_mut(vertex as usize) {
            None => return Err(DeformError::UnknownVertex { at, vertex, n_vertices }),
            Some(true) => return Err(DeformError::RepeatedVertex { at, vertex }),
            Some(first) => *first = true,
        }
    }
    Ok(())
}

/// The first coordinate that is not finite or too far out, and its place among all coordinates.
pub(in crate::scene) fn outside_world(positions: &[Vec3]) -> Option<(usize, f32)> {
    let at = positions.iter().position(|p| !is_in_world(*p))?;
    let place = positions[at].to_array();
    let k = place.iter().position(|x| !is_in_world(Vec3::splat(*x)))?;
    Some((3 * at + k, place[k]))
}

/// Finite and within [`COORDINATE_MAX_M`] of the origin on each axis.
fn is_in_world(p: Vec3) -> bool {
    // The largest of three is one comparison a vertex: a dense deformation checks hundreds of thousands.
    p.is_finite() && p.abs().max_element() <= COORDINATE_MAX_M as f32
}
