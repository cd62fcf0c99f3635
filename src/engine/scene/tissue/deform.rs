//! Moves a tissue's vertices, all or nothing.

use glam::Vec3;

use super::id_set::IdSet;
use crate::geometry::{TriangleMesh, tolerance::COORDINATE_MAX_M};

/// More than one vertex in this many are very many.
const MANY: usize = 5;

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
    /// Returns a deformation of very many vertices as one of all, with the number of triangles that it touches: one of
    /// all costs a seventh for each vertex, since the other copy of the tissue need not follow it.
    pub(super) fn of_all_if_many(self, mesh: &TriangleMesh) -> (Deformation, Option<usize>) {
        let now = mesh.positions();
        match self {
            Deformation::Sparse { vertices, positions } if are_many(vertices.len(), now.len()) => {
                let (mut all, mut moved) = (now.to_vec(), IdSet::below(now.len()));
                moved.extend(vertices.iter().copied());
                for (v, to) in vertices.iter().zip(positions) {
                    all[*v as usize] = to;
                }
                (Deformation::Dense(all), Some(n_touched(mesh, &moved)))
            }
            few_or_all => (few_or_all, None),
        }
    }

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

/// Returns true for so many vertices that all are moved rather than these.
pub(super) fn are_many(n_moved: usize, n_vertices: usize) -> bool {
    n_moved > n_vertices / MANY
}

/// Number of triangles with a vertex of a set.
pub(super) fn n_touched(mesh: &TriangleMesh, moved: &IdSet) -> usize {
    // Without a branch, which would be mispredicted.
    let is_touched = |t| mesh.vertices(t).iter().fold(0, |is, v| is | moved.has(*v));
    mesh.triangle_ids().map(is_touched).sum()
}

/// Checks that each id exists and is named once. O(ids + n).
pub(super) fn check_ids(
    ids: &[u32],
    n: usize,
    unknown: impl Fn(usize, u32) -> DeformError,
    repeated: impl Fn(usize, u32) -> DeformError,
) -> Result<(), DeformError> {
    // The final state of what is named twice would depend on the order of the request.
    let mut named = IdSet::below(n);
    for (at, &id) in ids.iter().enumerate() {
        if id as usize >= n {
            return Err(unknown(at, id));
        }
        if !named.insert(id) {
            return Err(repeated(at, id));
        }
    }
    Ok(())
}

/// Returns the first coordinate that is not finite or too far out, and its index among all coordinates.
pub(in crate::scene) fn outside_world(positions: &[Vec3]) -> Option<(usize, f32)> {
    // Magnitudes have the same order as integers, of which infinity and NaN are the greatest, and lanes compare them.
    let magnitude = |p: &Vec3| p.to_array().map(|x| x.abs().to_bits()).into_iter().max();
    let greatest = positions.iter().filter_map(magnitude).fold(0, u32::max);
    if f32::from_bits(greatest) <= COORDINATE_MAX_M as f32 {
        return None;
    }
    let at = positions.iter().position(|p| !is_in_world(*p))?;
    let place = positions[at].to_array();
    let k = place.iter().position(|x| !is_in_world(Vec3::splat(*x)))?;
    Some((3 * at + k, place[k]))
}

/// Returns true if finite and within [`COORDINATE_MAX_M`] of the origin on each axis.
fn is_in_world(p: Vec3) -> bool {
    p.is_finite() && p.abs().max_element() <= COORDINATE_MAX_M as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::{LoadOptions, mesh::load::load},
        index::LatLonOptions,
        oracle::{Random, shapes},
        scene::{Tissue, TissueKind},
    };

    /// Sparse deformations of few vertices, of very many and of all are answered as moves of a surface's vertices are.
    #[test]
    fn very_many_vertices_move_as_few_do() {
        let mut random = Random::new(20);
        let mesh = load(shapes::organ(4_000, 5), &LoadOptions::default()).expect("a mesh");
        let options = LatLonOptions::default();
        let tissue = Tissue::new(("t".to_owned(), TissueKind::Tissue), mesh, options, 0);
        let positions = |tissue: &Tissue| tissue.current().surface.mesh().positions().to_vec();
        let mut surface = tissue.current().surface.clone();
        let n = surface.mesh().positions().len();
        for share in [0.1, 0.19, 0.21, 0.6, 0.05, 1.0, 0.3] {
            let vertices: Vec<u32> =
                (0..n as u32).filter(|_| random.range(0.0, 1.0) < share).collect();
            let now = positions(&tissue);
            let to = |v: &u32| now[*v as usize] + (random.unit_vector() * 2e-4).as_vec3();
            let places: Vec<Vec3> = vertices.iter().map(to).collect();
            let expected = surface.move_vertices(&vertices, &places);
            let deformation = Deformation::Sparse { vertices, positions: places };
            let done = tissue.deform(deformation, 0).expect("good");
            assert_eq!(done.triangles_touched, expected.touched, "{share}");
            assert_eq!(positions(&tissue), surface.mesh().positions());
            let current = tissue.current();
            current.surface.assert_well_formed();
            let moved = current.moved_since(done.geometry_revision - 1, 0).expect("the last move");
            assert_eq!(moved, (positions(&tissue)[0].as_dvec3() - now[0].as_dvec3()));
        }
    }
}
