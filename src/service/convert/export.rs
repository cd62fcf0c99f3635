//! Export of stored surfaces: a tissue's, all of one revision, and those of a tool's links.

use std::{iter, sync::Arc};

use super::proto;
use crate::{
    geometry::{TriangleId, TriangleMesh},
    scene::{Revision, Tool},
};

/// Triangles or vertices of one chunk of an export: at most 320 KiB, well below a message's limit.
const CHUNK: usize = 16_384;

/// Part of a surface.
enum ExportPiece {
    /// Positions of the next vertices.
    Positions(Vec<f32>),
    /// Ids of the next triangles, and three vertices for each.
    Triangles(Vec<u32>, Vec<u32>),
}

/// Begin of the next part in a surface.
#[derive(Clone, Copy)]
enum NextPiece {
    Vertex(usize),
    Triangle(u32),
}

/// Returns the messages of a tissue: header, positions, triangles; each chunk is made when it is taken.
pub fn tissue(revision: Arc<Revision>) -> impl Iterator<Item = proto::ExportTissueResponse> {
    use proto::export_tissue_response::Message;
    let header = tissue_header(&revision);
    let mut next = NextPiece::Vertex(0);
    let pieces = iter::from_fn(move || piece(revision.surface.mesh(), &mut next));
    let chunks = pieces.map(|piece| {
        Message::Chunk(match piece {
            ExportPiece::Positions(positions_m) => {
                proto::ExportTissueChunk { positions_m, ..Default::default() }
            }
            ExportPiece::Triangles(triangle_ids, triangles) => {
                proto::ExportTissueChunk { triangle_ids, triangles, ..Default::default() }
            }
        })
    });
    let messages = iter::once(Message::Header(header)).chain(chunks);
    messages.map(|message| proto::ExportTissueResponse { message: Some(message) })
}

/// Returns the messages of a tool: header, then positions and triangles of each link; each chunk is made when it is
/// taken.
pub fn tool(tool: Arc<Tool>) -> impl Iterator<Item = proto::ExportToolResponse> {
    use proto::export_tool_response::Message;
    let links = tool.links.iter().map(|link| {
        let mesh = link.surface.mesh();
        let (vertices, triangles) = (mesh.positions().len() as u32, mesh.n_triangles() as u32);
        proto::ExportedLink { vertices, triangles }
    });
    let header = proto::ExportToolHeader { links: links.collect() };
    let (mut link, mut next) = (0, NextPiece::Vertex(0));
    let pieces = iter::from_fn(move || {
        loop {
            let mesh = tool.links.get(link)?.surface.mesh();
            match piece(mesh, &mut next) {
                Some(piece) => return Some((link as u32, piece)),
                None => (link, next) = (link + 1, NextPiece::Vertex(0)),
            }
        }
    });
    let chunks = pieces.map(|(link, piece)| {
        let chunk = proto::ExportToolChunk { link, ..Default::default() };
        Message::Chunk(match piece {
            ExportPiece::Positions(positions_m) => proto::ExportToolChunk { positions_m, ..chunk },
            ExportPiece::Triangles(triangle_ids, triangles) => {
                proto::ExportToolChunk { triangle_ids, triangles, ..chunk }
            }
        })
    });
    let messages = iter::once(Message::Header(header)).chain(chunks);
    messages.map(|message| proto::ExportToolResponse { message: Some(message) })
}

fn tissue_header(revision: &Revision) -> proto::ExportTissueHeader {
    let mesh = revision.surface.mesh();
    proto::ExportTissueHeader {
        geometry_revision: revision.geometry_revision,
        topology_revision: revision.topology_revision,
        vertices: mesh.positions().len() as u32,
        triangles: mesh.n_triangles() as u32,
    }
}

/// Returns one chunk from `next` on; `None` after the last triangle.
fn piece(mesh: &TriangleMesh, next: &mut NextPiece) -> Option<ExportPiece> {
    if let NextPiece::Vertex(first) = *next {
        let rest = mesh.positions().get(first..).unwrap_or_default();
        if !rest.is_empty() {
            *next = NextPiece::Vertex(first + CHUNK);
            let positions = rest.iter().take(CHUNK).flat_map(|p| p.to_array());
            return Some(ExportPiece::Positions(positions.collect()));
        }
        *next = NextPiece::Triangle(0);
    }
    let NextPiece::Triangle(first) = *next else { return None };
    let there = (first..mesh.triangle_id_end()).filter_map(|t| Some((t, mesh.get(TriangleId(t))?)));
    let (mut ids, mut triangles) = (Vec::new(), Vec::new());
    for (t, vertices) in there.take(CHUNK) {
        ids.push(t);
        triangles.extend(vertices);
    }
    *next = NextPiece::Triangle(ids.last()? + 1);
    Some(ExportPiece::Triangles(ids, triangles))
}
