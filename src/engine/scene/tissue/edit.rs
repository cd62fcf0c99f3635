//! Cutting: one transaction that removes triangles and adds vertices and triangles.

use std::collections::HashSet;

use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::{
    binding::{AddedWeights, BLENDED_CONTROLS_MAX, BindingError, check_weights},
    deform::outside_world,
    driven::Driven,
};
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
    /// Weights of the new vertices of a driven tissue, which go where their controls carry them. If there are none,
    /// each vertex is carried like the point of the parent at which it is.
    pub weights: Box<AddedWeights>,
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
    /// Positions of the new vertices, metres: those of the cut, or where controls carry them.
    pub added_positions: Vec<Vec3>,
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
    /// Weights for a tissue without controls.
    #[error("the tissue has no controls, expected no added_weights")]
    NotDriven,
    /// Weights that are invalid.
    #[error("added_weights: {0}")]
    Weights(#[from] BindingError),
    /// A new vertex of a driven tissue that nothing carries.
    #[error(
        "added_positions_m[{at}]: the tissue is driven, expected weights or a parent of a triangle of this vertex"
    )]
    NoWeights {
        /// Index in the request, in coordinates: three for each vertex.
        at: usize,
    },
    /// A new vertex that its frames cannot carry to its position.
    #[error(
        "added_positions_m[{at}]: its frames turn against each other and carry no vertex there"
    )]
    NoRestPosition {
        /// Index in the request, in coordinates: three for each vertex.
        at: usize,
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

    /// Completes the weights of the new vertices if the tissue is driven, and puts them where they are carried now. For
    /// a cut that was checked; done twice, as when a cut is kept before it is made, it keeps the first weights.
    pub(super) fn bind(
        &mut self,
        mesh: &TriangleMesh,
        driven: Option<&Driven>,
    ) -> Result<(), EditError> {
        let (given, n_added) = (self.weights.weights.n_vertices(), self.added_positions.len());
        let Some(driven) = driven else {
            return if given == 0 { Ok(()) } else { Err(EditError::NotDriven) };
        };
        if given == 0 {
            for v in 0..n_added {
                let blend = self.blended(v, mesh, driven);
                self.weights.weights.push(blend.ok_or(EditError::NoWeights { at: 3 * v })?);
            }
        } else if given != n_added {
            return Err(BindingError::Vertices { got: given, expected: n_added }.into());
        }
        check_weights(&self.weights.weights, driven.controls.len(), BLENDED_CONTROLS_MAX)?;
        if driven.controls.are_frames() && self.weights.rest_positions.is_empty() {
            let rest = |(v, to): (usize, &Vec3)| {
                let at = driven.rest_position(self.weights.weights.of(v), to.as_dvec3());
                at.ok_or(EditError::NoRestPosition { at: 3 * v })
            };
            self.weights.rest_positions =
                self.added_positions.iter().enumerate().map(rest).collect::<Result<_, _>>()?;
        }
        self.added_positions = driven.added_positions(&self.weights);
        let outside = outside_world(&self.added_positions);
        outside.map_or(Ok(()), |(at, got)| {
            Err(EditError::Position { at, got, limit_m: COORDINATE_MAX_M })
        })
    }

    /// Returns the weights of a new vertex, from the parent of the first triangle that has it.
    fn blended(&self, v: usize, mesh: &TriangleMesh, driven: &Driven) -> Option<Vec<(u32, f64)>> {
        let id = (mesh.positions().len() + v) as u32;
        let triangle = self.added.iter().position(|corners| corners.contains(&id))?;
        let corners = mesh.get(*self.parents.get(triangle)?)?;
        let at = corners.map(|c| mesh.position(c));
        Some(driven.blend(corners, at, self.added_positions[v].as_dvec3()))
    }
}

fn check_room(what: &'static str, got: usize, limit: usize) -> Result<(), EditError> {
    if got > limit { Err(EditError::Full { what, got, limit }) } else { Ok(()) }
}
