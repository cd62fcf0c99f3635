//! Moving a tissue's vertices, all or nothing.

use glam::Vec3;

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
    /// Those that had to be filed elsewhere in the index.
    pub triangles_relocated: usize,
}

/// Why a deformation was refused. Nothing has moved.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum DeformError {
    /// Ids and places differ in number.
    #[error("got {got} positions, expected {expected}: one for each vertex")]
    Count {
        /// Positions sent.
        got: usize,
        /// Positions needed.
        expected: usize,
    },
    /// A vertex that is not there.
    #[error("vertices[{at}] = {vertex}, expected less than {n_vertices}")]
    UnknownVertex {
        /// Place in the request.
        at: usize,
        /// The id sent.
        vertex: u32,
        /// Vertices of the tissue.
        n_vertices: usize,
    },
    /// A vertex named twice.
    #[error("vertices[{at}] = {vertex} was named before")]
    RepeatedVertex {
        /// Place in the request.
        at: usize,
        /// The id sent.
        vertex: u32,
    },
    /// NaN, infinite or beyond the world.
    #[error("positions[{at}] = {position:?}, expected finite coordinates within {limit_m} m")]
    Position {
        /// Place in the request, in vertices.
        at: usize,
        /// The place sent.
        position: Vec3,
        /// The farthest allowed.
        limit_m: f64,
    },
}
