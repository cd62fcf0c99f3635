//! AddTissue and AddTool: a header, then chunks, then all or nothing; and AddInstrument.

use std::sync::Arc;

use tonic::Status;
use tracing::info;

use super::binding_upload::BindingPieces;
use super::mesh_upload::{MeshUpload, Requests, collect, push};
use crate::{
    geometry::{LoadedMesh, Pose, TriangleMesh},
    proto::{
        AddInstrumentRequest, AddInstrumentResponse, AddTissueHeader, AddTissueRequest,
        AddTissueResponse, AddToolHeader, AddToolRequest, AddToolResponse, FieldReport, MeshChunk,
        add_tissue_request, add_tool_request,
    },
    scene::{Link, Tissue, Tool, ToolParts, memory::binding_bytes_expected},
    sdf::{Field, FieldOptions},
    service::{
        access::caller::Caller,
        catch_panic::catch_panic_blocking,
        clock::now_ns,
        convert::{
            FieldError, Problem,
            deform::RefusedDeformation,
            query,
            scene::{field_report, report, tool_id},
            upload,
        },
        deadline::CallDeadline,
        host::{
            fair_places::FairPlaces,
            field_build::BuildTerms,
            fields::Fields,
            quota::{Reservation, Share},
            scene_host::SceneHost,
            scene_registry::SceneRegistry,
        },
        pose_message::pose_or_identity,
        refused::Refused,
        request_field::name,
    },
    store::FieldOrigin,
};

/// Adds a tissue. Parsing and indexing run on the blocking pool.
pub async fn tissue(
    registry: &Arc<SceneRegistry>,
    caller: &Caller,
    deadline: CallDeadline,
    mut requests: Requests<AddTissueRequest>,
) -> Result<AddTissueResponse, Status> {
    let header = tissue_header(requests.next().await?)?;
    registry.open(&header.scene_id).await?;
    let host = registry.owned(&header.scene_id, caller).map_err(|e| e.within("header"))?;
    let declared = upload::tissue(&header, registry.limits()).map_err(|e| e.within("header"))?;
    let bound = declared.binding;
    let of_binding = move |vertices| bound.map_or(Share::default(), |b| b.share(vertices));
    let mut asked = declared.mesh.share(Share::of_tissue);
    asked.add(of_binding(declared.mesh.vertices()));
    let room = registry.reserve(caller, asked)?;
    let mut mesh = [MeshUpload::new("header.mesh".to_owned(), declared.mesh)];
    let vertices_max = registry.limits().vertices_per_mesh;
    let mut binding = declared.binding.map(|of| BindingPieces::new(of, vertices_max));
    collect(&mut requests, |request| push_to_tissue(&mut mesh, binding.as_mut(), request)).await?;
    let [mut mesh] = mesh;
    mesh.check_complete()?;
    let binding = binding.map(BindingPieces::complete).transpose();
    let mut binding = binding.map_err(|e| e.within("binding"))?;
    let (owned, caller) = (Arc::clone(registry), caller.clone());
    let place = requests.places.take(&caller).await;
    let add = move || {
        let _place = place;
        if let Some(binding) = &mut binding {
            mesh.complete_by(|| binding.take_boundary())?;
        }
        let loaded = mesh.load(host.scene.limits())?;
        // The actual mesh replaces the declared one: the triangles of a file are known only now. Another upload may
        // take the room in between; this one is then refused.
        drop(room);
        let mut made = share(&loaded.mesh, Share::of_tissue);
        made.add(of_binding(loaded.mesh.positions().len() as u64));
        let _room = owned.reserve(&caller, made)?;
        host.check_served()?;
        let check = || {
            host.check_served()?;
            Ok(deadline.check()?)
        };
        let binding = binding.map(|sent| sent.bind(loaded.mesh.positions(), check)).transpose()?;
        // Indexing takes long, so it is done before others have to wait for their turn.
        let named = (declared.name, declared.kind);
        let mut tissue = Tissue::new(named, loaded, declared.options, now_ns());
        let (binding, cells) = binding.unzip();
        let binding_error_m = binding.map_or(0.0, |binding| tissue.bind(binding));
        Ok((host.change(tissue, deadline)?, binding_error_m, cells.unwrap_or_default()))
    };
    let added = catch_panic_blocking(add).await?;
    let (tissue, binding_error_m, cells) = added.map_err(|refused: Refused| refused)?;
    let triangles = tissue.report().triangles;
    let report = report(tissue.report());
    let warnings = joined(&report.warnings);
    info!(scene = header.scene_id, tissue = tissue.id().0, triangles, warnings, "tissue added");
    Ok(AddTissueResponse {
        tissue_id: tissue.id().0,
        report: Some(report),
        binding_error_m,
        vertices_outside: cells.n_outside,
        outside_max_m: cells.outside_max_m,
        weight_min: cells.weight_min,
    })
}

/// Adds a link of a tool as a body. Indexing runs on the blocking pool.
pub async fn instrument(
    registry: &Arc<SceneRegistry>,
    caller: &Caller,
    (deadline, places): (CallDeadline, &FairPlaces),
    request: AddInstrumentRequest,
) -> Result<AddInstrumentResponse, Status> {
    registry.open(&request.scene_id).await?;
    let host = registry.owned(&request.scene_id, caller)?;
    let named = name(&request.name, "name")?;
    let pose = pose_or_identity(&request.pose.unwrap_or_default()).map_err(|e| e.within("pose"))?;
    let tool = host.scene.tool(tool_id(request.tool_id)).map_err(Refused::from)?;
    let link = query::link_of(&tool, request.link, "link")?;
    let mesh = tool.links[link].surface.mesh();
    let mut asked = share(mesh, Share::of_tissue);
    let n_weights = mesh.positions().len() as u64;
    asked.add(Share::of_bytes(binding_bytes_expected(1, n_weights)));
    let room = registry.reserve(caller, asked)?;
    let place = places.take(caller).await;
    let add = move || {
        let (_place, _room) = (place, room);
        host.check_served()?;
        let body = Tissue::of_link(named, (&tool, link), &pose, now_ns());
        let refused = |error| RefusedDeformation { error, array: "pose" };
        host.change(body.map_err(refused)?, deadline)
    };
    let added = catch_panic_blocking(add).await?;
    let tissue = added.map_err(|refused: Refused| refused)?;
    info!(scene = request.scene_id, tissue = tissue.id().0, "instrument added");
    Ok(AddInstrumentResponse { tissue_id: tissue.id().0 })
}

/// Adds a tool. Parsing, indexing and the fields run on the blocking pool.
pub async fn tool(
    registry: &Arc<SceneRegistry>,
    fields: &Fields,
    caller: &Caller,
    deadline: CallDeadline,
    mut requests: Requests<AddToolRequest>,
) -> Result<AddToolResponse, Status> {
    let header = tool_header(requests.next().await?)?;
    registry.open(&header.scene_id).await?;
    let host = registry.owned(&header.scene_id, caller).map_err(|e| e.within("header"))?;
    let declared = upload::tool(&header, registry.limits()).map_err(|e| e.within("header"))?;
    let mut asked = Share::default();
    declared.links.iter().for_each(|link| asked.add(link.mesh.share(Share::of_link)));
    let room = registry.reserve(caller, asked)?;
    let (mut meshes, mut links) = (Vec::new(), Vec::new());
    for (at, link) in declared.links.into_iter().enumerate() {
        meshes.push(MeshUpload::new(format!("header.links[{at}].mesh"), link.mesh));
        links.push((link.name, link.rest, link.field_tolerance));
    }
    collect(&mut requests, |request| push(&mut meshes, &tool_chunk(request)?)).await?;
    meshes.iter().try_for_each(MeshUpload::check_complete)?;
    let (fields, owned, caller) = (fields.clone(), Arc::clone(registry), caller.clone());
    let place = requests.places.take(&caller).await;
    let add = move || {
        // Held until the tool is added or refused: if its client is gone, a build ends at its next check.
        let _place = place;
        let mut loaded = Vec::new();
        for (at, (mesh, (name, rest, tolerance))) in meshes.into_iter().zip(links).enumerate() {
            let mesh = mesh.load(host.scene.limits())?;
            let diagonal = mesh.mesh.used_box().diagonal();
            let options = upload::field_options(tolerance, diagonal, at)?;
            loaded.push(LoadedLink { name, mesh, rest, options });
        }
        drop(room);
        let mut made = Share::default();
        loaded.iter().for_each(|link| made.add(share(&link.mesh.mesh, Share::of_link)));
        let _room = owned.reserve(&caller, made)?;
        // Checked before the fields: they take seconds to build, in vain for a tool that would be refused.
        host.scene.check_room_for_tool(&declared.name)?;
        let check = || {
            host.check_served()?;
            Ok(deadline.check()?)
        };
        let reserve = |more| owned.reserve(&caller, more);
        let building = host.field_builds.begin(&declared.name);
        let told = |link: &str, progress| building.note(link, progress);
        let time_max = fields.build_max();
        let terms = BuildTerms { check: &check, reserve: &reserve, time_max, told: &told };
        let BuiltLinks { links, reports, rooms: _rooms } =
            build_links(loaded, &host, &fields, &terms)?;
        let tool = Tool::new(ToolParts { name: declared.name, links, probes: declared.probes });
        let tool = host.change(tool, deadline)?;
        Ok((tool, reports))
    };
    let added = catch_panic_blocking(add).await?;
    let (tool, fields) = added.map_err(|refused: Refused| refused)?;
    let reports: Vec<_> = tool.links.iter().map(|link| report(&link.report)).collect();
    let warnings = joined(reports.iter().flat_map(|report| &report.warnings));
    let links = tool.links.len();
    info!(scene = header.scene_id, tool = tool.id.0, links, warnings, "tool added");
    Ok(AddToolResponse { tool_id: tool.id.0, reports, fields })
}

/// Returns warnings as one text for the log; `None` if there is none.
fn joined<'a>(warnings: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let all: Vec<&str> = warnings.into_iter().map(String::as_str).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// A link without its field.
struct LoadedLink {
    name: String,
    mesh: LoadedMesh,
    rest: Pose,
    options: FieldOptions,
}

/// Links with their fields.
struct BuiltLinks {
    links: Vec<Link>,
    reports: Vec<FieldReport>,
    /// Room for the fields, until they count with the scene.
    rooms: Vec<Reservation>,
}

fn build_links(
    loaded: Vec<LoadedLink>,
    host: &SceneHost,
    fields: &Fields,
    terms: &BuildTerms,
) -> Result<BuiltLinks, Refused> {
    let mut built = BuiltLinks { links: Vec::new(), reports: Vec::new(), rooms: Vec::new() };
    let BuiltLinks { links, reports, rooms } = &mut built;
    for LoadedLink { name, mesh, rest, options } in loaded {
        (terms.check)()?;
        let label = name.clone();
        let link = Link::try_new(name, mesh, rest, |surface| {
            let obtained = fields.obtain(&label, surface, &options, terms)?;
            // Counted once for a scene that has it from now on, regardless of other owners.
            if obtained.origin == FieldOrigin::Shared
                && !is_among(&obtained.field, links)
                && !host.scene.tools().iter().any(|t| is_among(&obtained.field, &t.links))
            {
                let bytes = obtained.field.report().bytes as u64;
                rooms.push((terms.reserve)(Share::of_bytes(bytes))?);
            }
            reports.push(field_report(&obtained));
            rooms.extend(obtained.room);
            Ok::<_, Refused>(obtained.field)
        });
        links.push(Link { field_tolerance_m: options.tolerance_m, ..link? });
    }
    Ok(built)
}

fn is_among(field: &Arc<Field>, links: &[Link]) -> bool {
    links.iter().any(|link| Arc::ptr_eq(&link.field, field))
}

fn share(mesh: &TriangleMesh, of_mesh: fn(u64, u64) -> Share) -> Share {
    of_mesh(mesh.positions().len() as u64, mesh.n_triangles() as u64)
}

fn tissue_header(first: Option<AddTissueRequest>) -> Result<AddTissueHeader, FieldError> {
    match first.and_then(|request| request.message) {
        Some(add_tissue_request::Message::Header(header)) => Ok(header),
        _ => Err(Problem::Missing.of("header")),
    }
}

fn push_to_tissue(
    mesh: &mut [MeshUpload; 1],
    binding: Option<&mut BindingPieces>,
    request: AddTissueRequest,
) -> Result<(), FieldError> {
    use add_tissue_request::Message;
    match (request.message, binding) {
        (Some(Message::Chunk(chunk)), _) => push(mesh, &chunk),
        (Some(Message::Binding(chunk)), Some(binding)) => {
            binding.push(&chunk).map_err(|e| e.within("binding"))
        }
        (Some(Message::Binding(_)), None) => {
            Err(Problem::Unexpected("the header declared no binding").of("binding"))
        }
        (Some(Message::Header(_)), _) => Err(second_header()),
        (None, _) => Err(Problem::Missing.of("chunk")),
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
