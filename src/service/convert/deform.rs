//! Conversion of deformations and cuts.

use std::collections::HashMap;

use super::{FieldError, Problem, proto, scene::sign_rule};
use crate::service::request_field::{points, threes};
use crate::{
    geometry::TriangleId,
    scene::{
        Revision,
        tissue::{
            deform::{DeformError, Deformation, Deformed},
            edit::{Edited, TopologyEdit},
        },
    },
    service::host::durable::scene_journal::DurableRevisions,
};

const SPARSE: &str = "sparse.positions_m";
const DENSE: &str = "dense.positions_m";

/// A deformation that the engine refused.
#[derive(Debug)]
pub struct RefusedDeformation {
    /// Reason of the refusal.
    pub error: DeformError,
    /// Field of the request with the positions.
    pub array: &'static str,
}

/// Returns the field of a request that held a deformation's positions.
pub fn positions_array(deformation: &Deformation) -> &'static str {
    match deformation {
        Deformation::Sparse { .. } => SPARSE,
        Deformation::Dense(_) => DENSE,
    }
}

/// Parses a deformation. The engine checks ids and positions.
pub fn deformation(request: &proto::DeformRequest) -> Result<Deformation, FieldError> {
    use proto::deform_request::Positions;
    match request.positions.as_ref().ok_or_else(|| Problem::Missing.of("positions"))? {
        Positions::Sparse(sparse) => Ok(Deformation::Sparse {
            vertices: sparse.vertices.clone(),
            positions: points(&sparse.positions_m, SPARSE)?,
        }),
        Positions::Dense(dense) => Ok(Deformation::Dense(points(&dense.positions_m, DENSE)?)),
    }
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
    })
}

/// Converts a cut's result to its message.
pub fn edited(
    edit: &TopologyEdit,
    done: &Edited,
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
