//! A tissue's surface, all of one revision.

use std::{iter, sync::Arc};

use super::proto;
use crate::{geometry::TriangleId, scene::Revision};

/// Triangles or vertices of one chunk of an export: 320 KiB at most, well below a message's limit.
const CHUNK: usize = 16_384;

/// Header, positions, triangles; each chunk is made when it is taken.
pub fn messages(revision: Arc<Revision>) -> impl Iterator<Item = proto::ExportTissueResponse> {
    use proto::export_tissue_response::Message;
    let header = header(&revision);
    let of_triangles = Arc::clone(&revision);
    let positions = (0..).step_by(CHUNK).map_while(move |first| positions(&revision, first));
    let triangles = iter::successors(triangles(&of_triangles, 0), move |chunk| {
        triangles(&of_triangles, chunk.triangle_ids.last()? + 1)
    });
    let chunks = positions.chain(triangles).map(Message::Chunk);
    let messages = iter::once(Message::Header(header)).chain(chunks);
    messages.map(|message| proto::ExportTissueResponse { message: Some(message) })
}

/// What an export begins with.
fn header(revision: &Revision) -> proto::ExportTissueHeader {
    let mesh = revision.surface.mesh();
    proto::ExportTissueHeader {
        geometry_revision: revision.geometry_revision,
        topology_revision: revision.topology_revision,
        vertices: mesh.positions().len() as u32,
        triangles: mesh.n_triangles() as u32,
    }
}

/// The vertices from `first` on, as many as one chunk holds; `None` after the last.
fn positions(revision: &Revision, first: usize) -> Option<proto::ExportTissueChunk> {
    let rest = revision.surface.mesh().positions().get(first..)?;
    let positions_m: Vec<f32> = rest.iter().take(CHUNK).flat_map(|p| p.to_array()).collect();
    let chunk = proto::ExportTissueChunk { positions_m, ..Default::default() };
    (!rest.is_empty()).then_some(chunk)
}

/// The triangles with ids from `first` on, as many as one chunk holds; `None` after the last.
fn triangles(revision: &Revision, first: u32) -> Option<proto::ExportTissueChunk> {
    let mesh = revision.surface.mesh();
    let mut chunk = proto::ExportTissueChunk::default();
    let there = (first..mesh.triangle_id_end()).filter_map(|t| Some((t, mesh.get(TriangleId(t))?)));
    for (t, vertices) in there.take(CHUNK) {
        chunk.triangle_ids.push(t);
        chunk.triangles.extend(vertices);
    }
    (!chunk.triangle_ids.is_empty()).then_some(chunk)
}
