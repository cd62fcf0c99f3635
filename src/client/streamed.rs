//! Answers that come in several messages, put together.

use tonic::{Response, Status};

use super::server_connection::ServerConnection;
use crate::proto::{
    DetectSelfCollisionsRequest, ExportTissueRequest, FeatureContacts, SelfCollisionTotals,
    detect_self_collisions_response, export_tissue_response,
};

/// A tissue's surface at one revision, as the server stores it: triangles may be turned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportedTissue {
    /// Geometry revision of the surface.
    pub geometry_revision: u64,
    /// Topology revision of the surface.
    pub topology_revision: u64,
    /// x, y, z of each vertex, metres, scene frame.
    pub positions_m: Vec<f32>,
    /// Ids of the triangles, ascending.
    pub triangle_ids: Vec<u32>,
    /// Three vertices of each triangle.
    pub triangles: Vec<u32>,
}

/// Contacts of tissues with themselves and each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundCollisions {
    /// The earliest contacts, in order, as they came.
    pub contacts: Vec<FeatureContacts>,
    /// Numbers of all contacts, and the revisions compared.
    pub totals: SelfCollisionTotals,
}

/// Downloads a surface. An error of the stream is one of the call.
pub(super) async fn exported(
    at: &mut ServerConnection,
    request: ExportTissueRequest,
) -> Result<Response<ExportedTissue>, Status> {
    use export_tissue_response::Message;
    let (metadata, mut messages, extensions) = at.scenes.export_tissue(request).await?.into_parts();
    let mut surface = ExportedTissue::default();
    while let Some(sent) = messages.message().await? {
        match sent.message {
            Some(Message::Header(header)) => {
                surface.geometry_revision = header.geometry_revision;
                surface.topology_revision = header.topology_revision;
            }
            Some(Message::Chunk(chunk)) => {
                surface.positions_m.extend(chunk.positions_m);
                surface.triangle_ids.extend(chunk.triangle_ids);
                surface.triangles.extend(chunk.triangles);
            }
            None => {}
        }
    }
    Ok(Response::from_parts(metadata, surface, extensions))
}

pub(super) async fn collisions(
    at: &mut ServerConnection,
    request: DetectSelfCollisionsRequest,
) -> Result<Response<FoundCollisions>, Status> {
    use detect_self_collisions_response::Message;
    let answer = at.haptics.detect_self_collisions(request).await?;
    let (metadata, mut messages, extensions) = answer.into_parts();
    let mut found = FoundCollisions::default();
    while let Some(sent) = messages.message().await? {
        match sent.message {
            Some(Message::Contacts(contacts)) => found.contacts.push(contacts),
            Some(Message::Totals(totals)) => found.totals = totals,
            None => {}
        }
    }
    Ok(Response::from_parts(metadata, found, extensions))
}
