//! AddTissue and AddTool: a header, then chunks, then all or nothing.

use tonic::{Status, Streaming};
use tracing::info;

use super::{
    clock::now_ns,
    contain::contain_blocking,
    convert::{FieldError, Problem, scene::report, upload},
    proto::{
        AddTissueHeader, AddTissueRequest, AddTissueResponse, AddToolHeader, AddToolRequest,
        AddToolResponse, MeshChunk, add_tissue_request, add_tool_request,
    },
    status::Refused,
    table::SceneTable,
    upload::{MeshUpload, collect},
};
use crate::scene::ToolParts;

/// Takes in a tissue. Parsing and indexing run on the blocking pool.
pub async fn tissue(
    table: &SceneTable,
    mut requests: Streaming<AddTissueRequest>,
) -> Result<AddTissueResponse, Status> {
    let header = tissue_header(requests.message().await?)?;
    let host = table.get(&header.scene_id).map_err(|e| e.within("header"))?;
    let declared = upload::tissue(&header, table.limits()).map_err(|e| e.within("header"))?;
    let mut mesh = [MeshUpload::new("header.mesh".to_owned(), declared.mesh)];
    collect(&mut requests, &mut mesh, tissue_chunk).await?;
    let [mesh] = mesh;
    let add = move || {
        let loaded = mesh.load(host.scene.limits())?;
        host.check_served()?;
        Ok(host.scene.add_tissue(&declared.name, loaded, declared.options, now_ns())?)
    };
    let tissue = contain_blocking(add).await?.map_err(|refused: Refused| refused)?;
    let triangles = tissue.report().triangles;
    info!(scene = header.scene_id, tissue = tissue.id().0, triangles, "tissue added");
    Ok(AddTissueResponse { tissue_id: tissue.id().0, report: Some(report(tissue.report())) })
}

/// Takes in a tool. Parsing and indexing run on the blocking pool.
pub async fn tool(
    table: &SceneTable,
    mut requests: Streaming<AddToolRequest>,
) -> Result<AddToolResponse, Status> {
    let header = tool_header(requests.message().await?)?;
    let host = table.get(&header.scene_id).map_err(|e| e.within("header"))?;
    let declared = upload::tool(&header, table.limits()).map_err(|e| e.within("header"))?;
    let (mut meshes, mut frames) = (Vec::new(), Vec::new());
    for (at, link) in declared.links.into_iter().enumerate() {
        meshes.push(MeshUpload::new(format!("header.links[{at}].mesh"), link.mesh));
        frames.push((link.name, link.rest));
    }
    collect(&mut requests, &mut meshes, tool_chunk).await?;
    let add = move || {
        let mut links = Vec::new();
        for (mesh, (name, rest)) in meshes.into_iter().zip(frames) {
            links.push((name, mesh.load(host.scene.limits())?, rest));
        }
        host.check_served()?;
        let parts = ToolParts { name: declared.name, links, probes: declared.probes };
        Ok(host.scene.add_tool(parts)?)
    };
    let tool = contain_blocking(add).await?.map_err(|refused: Refused| refused)?;
    let reports = tool.links.iter().map(|link| report(&link.report)).collect();
    info!(scene = header.scene_id, tool = tool.id.0, links = tool.links.len(), "tool added");
    Ok(AddToolResponse { tool_id: tool.id.0, reports })
}

fn tissue_header(first: Option<AddTissueRequest>) -> Result<AddTissueHeader, FieldError> {
    match first.and_then(|request| request.message) {
        Some(add_tissue_request::Message::Header(header)) => Ok(header),
        _ => Err(Problem::Missing.of("header")),
    }
}

fn tissue_chunk(request: AddTissueRequest) -> Result<MeshChunk, FieldError> {
    match request.message {
        Some(add_tissue_request::Message::Chunk(chunk)) => Ok(chunk),
        Some(add_tissue_request::Message::Header(_)) => Err(second_header()),
        None => Err(Problem::Missing.of("chunk")),
    }
}

fn tool_header(first: Option<AddToolRequest>) -> Result<AddToolHeader, FieldError> {
    match first.and_then(|request| request.message) {
        Some(add_tool_request::Message::Header(header)) => Ok(header),
        _ => Err(Problem::Missing.of("header")),
    }
}

fn tool_chunk(request: AddToolRequest) -> Result<MeshChunk, FieldError> {
    match request.message {
        Some(add_tool_request::Message::Chunk(chunk)) => Ok(chunk),
        Some(add_tool_request::Message::Header(_)) => Err(second_header()),
        None => Err(Problem::Missing.of("chunk")),
    }
}

fn second_header() -> FieldError {
    Problem::Repeated.of("header")
}
