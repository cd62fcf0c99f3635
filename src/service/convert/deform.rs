//! Conversion of deformations and cuts.

use std::collections::HashMap;

use super::{FieldError, Problem, proto, scene::sign_rule};
use crate::service::request_field::{points, threes};
use crate::{
    geometry::TriangleId,
    scene::{
        Revision, Tissue,
        tissue::{
            binding::{ControlMove, Controls},
            deform::{DeformError, Deformation, Deformed},
            edit::{Edited, TopologyEdit},
            incision::{Incised, Incision},
            vertex_weights::VertexWeights,
        },
    },
    service::host::durable::scene_journal::DurableRevisions,
};

const SPARSE: &str = "sparse.positions_m";
const DENSE: &str = "dense.positions_m";
const CONTROLS: &str = "controls.state";

/// Motion of a tissue that a request asks for.
#[derive(Debug)]
pub enum TissueMove {
    /// Vertices move.
    Vertices(Deformation),
    /// The controls that carry them move.
    Controls(ControlMove),
}

/// A deformation that the engine refused.
#[derive(Debug)]
pub struct RefusedDeformation {
    /// Reason of the refusal.
    pub error: DeformError,
    /// Field of the request with the positions.
    pub array: &'static str,
}

impl TissueMove {
    /// Makes the move. The engine checks ids and positions.
    pub fn make(self, tissue: &Tissue, now_ns: u64) -> Result<Deformed, RefusedDeformation> {
        let (array, done) = match self {
            TissueMove::Vertices(vertices) => {
                let is_dense = matches!(vertices, Deformation::Dense(_));
                (if is_dense { DENSE } else { SPARSE }, tissue.deform(vertices, now_ns))
            }
            TissueMove::Controls(controls) => (CONTROLS, tissue.drive(&controls, now_ns)),
        };
        done.map_err(|error| RefusedDeformation { error, array })
    }
}

/// Parses the motion of a tissue.
pub fn tissue_move(
    request: &proto::DeformRequest,
    tissue: &Tissue,
) -> Result<TissueMove, FieldError> {
    use proto::deform_request::Positions;
    Ok(match request.positions.as_ref().ok_or_else(|| Problem::Missing.of("positions"))? {
        Positions::Sparse(sparse) => TissueMove::Vertices(Deformation::Sparse {
            vertices: sparse.vertices.clone(),
            positions: points(&sparse.positions_m, SPARSE)?,
        }),
        Positions::Dense(dense) => {
            TissueMove::Vertices(Deformation::Dense(points(&dense.positions_m, DENSE)?))
        }
        Positions::Controls(moved) => {
            // The engine refuses any for a tissue that has no controls.
            let current = tissue.current();
            let are_frames = current.driven.as_ref().is_some_and(|d| d.controls.are_frames());
            TissueMove::Controls(ControlMove {
                controls: (!moved.control_ids.is_empty()).then(|| moved.control_ids.clone()),
                to: controls(are_frames, &moved.state, CONTROLS)?,
            })
        }
    })
}

/// Parses the state of controls. The engine checks it.
pub fn controls(are_frames: bool, flat: &[f32], field: &str) -> Result<Controls, FieldError> {
    let each = Controls::numbers_each(are_frames);
    let uneven = || Problem::Entries { got: flat.len(), each }.of(field);
    Controls::of_numbers(are_frames, flat).ok_or_else(uneven)
}

/// Parses the weights of vertices: the number of weights of each, and each weight with its control. The engine checks
/// them.
pub fn vertex_weights(
    counts: &[u32],
    controls: Vec<u32>,
    weights: Vec<f64>,
    field: &str,
) -> Result<VertexWeights, FieldError> {
    let expected = counts.iter().map(|n| u64::from(*n)).sum();
    let problem = Problem::Weights { got: weights.len(), controls: controls.len(), expected };
    VertexWeights::of_counts(counts, controls, weights).ok_or_else(|| problem.of(field))
}

/// Converts a deformation's result to its message; `held`: the tissue's held revisions.
pub fn deformed(
    sequence: u64,
    done: &Deformed,
    held: Vec<u64>,
    update_us: f64,
    durable: Option<DurableRevisions>,
) -> proto::DeformResponse {
    proto::DeformResponse {
        sequence,
        geometry_revision: done.geometry_revision,
        triangles_touched: done.triangles_touched as u32,
        triangles_relocated: done.triangles_relocated as u32,
        update_us,
        held_geometry_revisions: held,
        durable_geometry_revision: durable.map(|d| d.geometry),
        durable_topology_revision: durable.map(|d| d.topology),
        welded_edges: done.welded_edges,
    }
}

/// Converts the held revisions of a tissue to their message; the last is that of `current`.
pub fn held(current: &Revision, held: Vec<u64>) -> proto::HoldTissueResponse {
    proto::HoldTissueResponse {
        geometry_revision: current.geometry_revision,
        topology_revision: current.topology_revision,
        held_geometry_revisions: held,
    }
}

/// Parses a cut. The engine checks ids and positions.
pub fn edit(request: &proto::EditTopologyRequest) -> Result<TopologyEdit, FieldError> {
    let ids = |raw: &[u32]| raw.iter().map(|t| TriangleId(*t)).collect();
    Ok(TopologyEdit {
        base_revision: request.base_topology_revision,
        removed: ids(&request.removed_triangles),
        added_positions: points(&request.added_positions_m, "added_positions_m")?,
        added: threes(&request.added_triangles, "added_triangles")?.to_vec(),
        parents: ids(&request.added_triangle_parents),
        weights: vertex_weights(
            &request.added_weights_per_vertex,
            request.added_controls.clone(),
            request.added_weights.clone(),
            "added_weights",
        )?
        .into(),
    })
}

/// Parses an incision, if the cut is one. The engine checks its line.
pub fn incision(request: &proto::EditTopologyRequest) -> Result<Option<Incision>, FieldError> {
    let Some(sent) = &request.incision else { return Ok(None) };
    let own = proto::EditTopologyRequest { incision: None, ..request.clone() };
    let alone = proto::EditTopologyRequest {
        scene_id: request.scene_id.clone(),
        tissue_id: request.tissue_id,
        base_topology_revision: request.base_topology_revision,
        ..Default::default()
    };
    if own != alone {
        let other = "the cut has triangles or vertices of its own";
        return Err(Problem::Unexpected(other).of("incision"));
    }
    let path = points(&sent.path_m, "incision.path_m")?;
    let path = path.into_iter().map(|p| p.as_dvec3()).collect();
    Ok(Some(Incision { path, width_m: sent.width_m, depth_m: sent.depth_m }))
}

/// Adds an incision's vertices and triangles to the message of its cut.
pub fn tell_incision(answer: &mut proto::EditTopologyResponse, made: &Incised, done: &Edited) {
    answer.added_positions_m = done.added_positions.iter().flat_map(|p| p.to_array()).collect();
    answer.added_triangle_vertices = made.edit.added.as_flattened().to_vec();
    answer.incision = Some(proto::IncisionMade {
        left_vertices: made.left.clone(),
        right_vertices: made.right.clone(),
        floor_vertices: made.floor.clone(),
        width_m: made.width_m,
        replaced_vertices: made.moved.iter().map(|[old, _]| *old).collect(),
        replacing_vertices: made.moved.iter().map(|[_, new]| *new).collect(),
    });
}

/// Converts a cut's result to its message.
pub fn edited(
    edit: &TopologyEdit,
    done: &Edited,
    is_driven: bool,
    update_us: f64,
    durable: Option<DurableRevisions>,
) -> proto::EditTopologyResponse {
    proto::EditTopologyResponse {
        topology_revision: done.topology_revision,
        first_vertex: done.first_vertex,
        added_vertices: edit.added_positions.len() as u32,
        first_triangle: done.first_triangle.0,
        added_triangles: edit.added.len() as u32,
        remap: remap(edit, done.first_triangle),
        sign_rule: sign_rule(done.sign_rule) as i32,
        update_us,
        durable_geometry_revision: durable.map(|d| d.geometry),
        durable_topology_revision: durable.map(|d| d.topology),
        welded_edges: done.welded_edges,
        added_positions_m: match is_driven {
            true => done.added_positions.iter().flat_map(|p| p.to_array()).collect(),
            false => Vec::new(),
        },
        ..Default::default()
    }
}

fn remap(edit: &TopologyEdit, first: TriangleId) -> Vec<proto::TriangleRemap> {
    // In the order of the request, because clients index their own arrays.
    let mut parts: HashMap<TriangleId, Vec<u32>> = HashMap::new();
    for (new, parent) in (first.0..).zip(&edit.parents) {
        parts.entry(*parent).or_default().push(new);
    }
    let remap = |old: &TriangleId| proto::TriangleRemap {
        old_triangle: old.0,
        new_triangles: parts.remove(old).unwrap_or_default(),
    };
    edit.removed.iter().map(remap).collect()
}
