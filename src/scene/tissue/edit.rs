//! Cutting: one transaction that removes triangles and adds vertices and triangles.

use std::collections::HashSet;

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::deform::outside_world;
use crate::geometry::{SignRule, TriangleId, TriangleMesh, tolerance::COORDINATE_MAX_M};
use crate::scene::Limits;

/// A cut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopologyEdit {
    /// Topology revision that it was made for; `None`: any.
    pub base_revision: Option<u64>,
    /// Triangles to remove, each once.
    pub removed: Vec<TriangleId>,
    /// New vertices: metres, scene frame.
    pub added_positions: Vec<Vec3>,
    /// New triangles over old vertices and `n_vertices + i` for the new ones.
    pub added: Vec<[u32; 3]>,
    /// For each added triangle the removed one that it replaces in part, or empty.
    pub parents: Vec<TriangleId>,
}

/// Result of a cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    /// Revision with the cut.
    pub topology_revision: u64,
    /// Id of the first new vertex; the rest follow.
    pub first_vertex: u32,
    /// Id of the first new triangle; the rest follow.
    pub first_triangle: TriangleId,
    /// Rule that tells inside from outside now.
    pub sign_rule: SignRule,
    /// Edges that seams join now.
    pub welded_edges: u32,
}

/// Errors of a refused cut. Nothing has changed.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum EditError {
    /// The cut was made for another revision.
    #[error("base_topology_revision is {got}, the tissue is at {current}")]
    StaleBase {
        /// Given revision.
        got: u64,
        /// Revision of the tissue.
        current: u64,
    },
    /// A triangle that does not exist, or no longer exists.
    #[error(
        "removed_triangles[{at}] = {triangle}: no such triangle, or removed before; expected an id below {end}"
    )]
    UnknownTriangle {
        /// Index in the request.
        at: usize,
        /// Given id.
        triangle: u32,
        /// One more than the greatest id that was given.
        end: u32,
    },
    /// A corner that names no vertex.
    #[error("added_triangles[{at}] is vertex {vertex}, expected less than {n_vertices}")]
    UnknownVertex {
        /// Index in the request, in vertices of triangles: three for each.
        at: usize,
        /// Given id.
        vertex: u32,
        /// Vertices of the tissue, new ones included.
        n_vertices: usize,
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
    /// A number of parents that does not match the added triangles.
    #[error(
        "got {got} added_triangle_parents, expected none or {expected}: one for each added triangle"
    )]
    ParentCount {
        /// Number of given parents.
        got: usize,
        /// Number of added triangles.
        expected: usize,
    },
    /// A parent that the edit does not remove.
    #[error("added_triangle_parents[{at}] = {triangle} is not among the removed triangles")]
    ParentNotRemoved {
        /// Index in the request.
        at: usize,
        /// Given id.
        triangle: u32,
    },
    /// More ids than a mesh may use up.
    #[error("the tissue would have used {got} {what} ids, its limit is {limit}")]
    Full {
        /// "vertex" or "triangle".
        what: &'static str,
        /// Ids used after the edit.
        got: usize,
        /// Limit of ids.
        limit: usize,
    },
}

impl TopologyEdit {
    /// Checks that a mesh of a topology revision can be cut like this.
    pub(super) fn check(
        &self,
        mesh: &TriangleMesh,
        topology_revision: u64,
        limits: &Limits,
    ) -> Result<(), EditError> {
        if let Some(got) = self.base_revision.filter(|b| *b != topology_revision) {
            return Err(EditError::StaleBase { got, current: topology_revision });
        }
        let n_vertices = mesh.positions().len() + self.added_positions.len();
        let n_triangles = mesh.triangle_id_end() as usize + self.added.len();
        check_room("vertex", n_vertices, limits.vertices_per_mesh as usize)?;
        check_room("triangle", n_triangles, limits.triangles_per_mesh as usize)?;
        // Ids are never used again, so that contacts and clients cannot mistake a triangle for another; the limit
        // counts ids, not triangles.
        let mut removed = HashSet::with_capacity(self.removed.len());
        for (at, t) in self.removed.iter().enumerate() {
            if mesh.get(*t).is_none() || !removed.insert(*t) {
                let end = mesh.triangle_id_end();
                return Err(EditError::UnknownTriangle { at, triangle: t.0, end });
            }
        }
        // The cut relies on these checks, and does not repeat them.
        if let Some((at, got)) = outside_world(&self.added_positions) {
            return Err(EditError::Position { at, got, limit_m: COORDINATE_MAX_M });
        }
        for (at, vertices) in self.added.iter().enumerate() {
            if let Some(k) = vertices.iter().position(|v| *v as usize >= n_vertices) {
                let (at, vertex) = (3 * at + k, vertices[k]);
                return Err(EditError::UnknownVertex { at, vertex, n_vertices });
            }
        }
        if !self.parents.is_empty() && self.parents.len() != self.added.len() {
            return Err(EditError::ParentCount {
                got: self.parents.len(),
                expected: self.added.len(),
            });
        }
        match self.parents.iter().position(|t| !removed.contains(t)) {
            Some(at) => Err(EditError::ParentNotRemoved { at, triangle: self.parents[at].0 }),
            None => Ok(()),
        }
    }
}

fn check_room(what: &'static str, got: usize, limit: usize) -> Result<(), EditError> {
    if got > limit { Err(EditError::Full { what, got, limit }) } else { Ok(()) }
}
