//! Streams a tissue's surface, all of one revision.

use std::{iter, sync::Arc};

use tokio_stream::Stream;
use tonic::Status;

use crate::scene::Revision;
use crate::{
    proto,
    service::convert::scene::{EXPORT_CHUNK, export_header, export_positions, export_triangles},
};

/// Header, positions, triangles. Chunks are made as the client takes them, a few ahead.
pub fn export(
    revision: Arc<Revision>,
) -> impl Stream<Item = Result<proto::ExportTissueResponse, Status>> {
    use proto::export_tissue_response::Message;
    let header = export_header(&revision);
    let of_triangles = Arc::clone(&revision);
    let positions =
        (0..).step_by(EXPORT_CHUNK).map_while(move |first| export_positions(&revision, first));
    let triangles = iter::successors(export_triangles(&of_triangles, 0), move |chunk| {
        export_triangles(&of_triangles, chunk.triangle_ids.last()? + 1)
    });
    let chunks = positions.chain(triangles).map(Message::Chunk);
    let messages = iter::once(Message::Header(header)).chain(chunks);
    tokio_stream::iter(
        messages.map(|message| Ok(proto::ExportTissueResponse { message: Some(message) })),
    )
}
