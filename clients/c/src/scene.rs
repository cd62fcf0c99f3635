//! Contents of a scene: tissues that are deformed and cut, and tools.

use std::{ffi::c_char, ptr};

use glam::DVec3;
use palpate::{
    client::{
        LinkUpload, TissueBinding, TissueUpload, local_model::on_the_wire, mesh_source::MeshSource,
    },
    geometry::{TriangleId, tolerance::COORDINATE_MAX_M},
    proto::{SurfaceOrientation, TissueKind, TissueOptions},
    scene::{
        Limits, Probe,
        tissue::{
            deform::Deformation,
            edit::TopologyEdit,
            incision::{Incision, PATH_POINTS_MAX},
        },
    },
};

use crate::{
    backend::{Added, Moved, Theatre},
    border::{array, at_most, buffer, call, out, read, text},
    code::{Failure, palpate_code, warn},
    driven::binding,
    growing,
    mesh::{length, opened, points, raw, threes},
    plain::{
        PALPATE_AS_WOUND, PALPATE_FORBIDDEN_REGION, palpate_cut, palpate_cut_made, palpate_link,
        palpate_mesh, palpate_probe, palpate_session_options, palpate_tissue_options,
    },
    server::close,
    session::{fill, palpate_session},
};

/// A scene. Calls may come from any thread.
pub struct palpate_scene {
    pub(crate) theatre: Box<dyn Theatre>,
}

impl palpate_scene {
    pub(crate) fn opened(theatre: Box<dyn Theatre>) -> *mut palpate_scene {
        Box::into_raw(Box::new(palpate_scene { theatre }))
    }
}

/// Releases a scene, which continues to exist, and sets the pointer to NULL. Its sessions continue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_close_scene(scene: *mut *mut palpate_scene) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { close(scene, "scene") }
    })
}

/// Deletes the scene; its sessions end. `palpate_close_scene` must still be called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_delete_scene(scene: *mut palpate_scene) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { read(scene, "scene") }?.theatre.delete()
    })
}

/// Adds a tissue. `name`: unique among the scene's tissues, 1 to 64 characters. `mesh`: NULL for the boundary of the
/// binding's cells, whose vertices are the nodes. `options`: NULL for the defaults. See `palpate_last_warning` too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_add_tissue(
    scene: *mut palpate_scene,
    name: *const c_char,
    mesh: *const palpate_mesh,
    options: *const palpate_tissue_options,
    tissue_id: *mut u32,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let (scene, tissue_id) = (read(scene, "scene")?, out(tissue_id, "tissue_id")?);
            let name = text(name, "name")?;
            let options = tissue_options(options)?;
            let limits = scene.theatre.limits();
            let binding = binding(options.binding, &limits)?;
            let has_cells = binding.as_ref().is_some_and(TissueBinding::has_cells);
            let mesh = match mesh.is_null() && has_cells {
                true => None,
                false => Some(raw(read(mesh, "mesh")?, "mesh", &limits)?),
            };
            let upload = TissueUpload { binding, ..tissue(name, mesh, &options) };
            *tissue_id = id_of(scene.theatre.add_tissue(&upload)?);
        }
        Ok(())
    })
}

/// As `palpate_add_tissue`, from a mesh file: OBJ, STL, PLY, OFF, VTK, VTU, VTP, MSH or GLB. `scale_to_m`: metres per
/// unit of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_add_tissue_file(
    scene: *mut palpate_scene,
    name: *const c_char,
    file: *const c_char,
    scale_to_m: f64,
    options: *const palpate_tissue_options,
    tissue_id: *mut u32,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let (scene, tissue_id) = (read(scene, "scene")?, out(tissue_id, "tissue_id")?);
            let (name, options) = (text(name, "name")?, tissue_options(options)?);
            let mesh = opened(text(file, "file")?, scale_to_m)?;
            let binding = binding(options.binding, &scene.theatre.limits())?;
            let upload = TissueUpload { binding, ..tissue(name, Some(mesh), &options) };
            *tissue_id = id_of(scene.theatre.add_tissue(&upload)?);
        }
        Ok(())
    })
}

/// Adds a rigid tool of one to eight links. Builds its distance fields, which takes seconds for large links: see
/// `palpate_field_progress`, and `palpate_last_warning`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_add_tool(
    scene: *mut palpate_scene,
    name: *const c_char,
    links: *const palpate_link,
    n_links: usize,
    tool_id: *mut u32,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let (scene, tool_id) = (read(scene, "scene")?, out(tool_id, "tool_id")?);
            let name = text(name, "name")?;
            let limits = scene.theatre.limits();
            at_most(n_links, limits.links_per_tool, "n_links")?;
            let links = growing::read_array(links, n_links, "links")?;
            let probes = links.iter().enumerate().map(|(at, sent)| probes_of(at, sent, &limits));
            let probes = probes.collect::<Result<Vec<_>, Failure>>()?.concat();
            at_most(probes.len(), limits.probes_per_tool, "n_probes of all links")?;
            let links = links.iter().map(|sent| link(sent, &limits));
            let links = links.collect::<Result<Vec<_>, Failure>>()?;
            *tool_id = id_of(scene.theatre.add_tool(name, links, probes)?);
        }
        Ok(())
    })
}

/// As `palpate_add_tool`, with one link from a file as in `palpate_add_tissue_file`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_add_tool_file(
    scene: *mut palpate_scene,
    name: *const c_char,
    file: *const c_char,
    scale_to_m: f64,
    tool_id: *mut u32,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let (scene, tool_id) = (read(scene, "scene")?, out(tool_id, "tool_id")?);
            let (name, mesh) = (text(name, "name")?, opened(text(file, "file")?, scale_to_m)?);
            let link = LinkUpload::new(name, mesh);
            *tool_id = id_of(scene.theatre.add_tool(name, vec![link], Vec::new())?);
        }
        Ok(())
    })
}

/// Returns the progress of the field that is being built for the tool of this name, 0 to 1: for another thread, while
/// `palpate_add_tool` waits. `PALPATE_NOT_FOUND` if none is being built. Each link begins at 0 again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_field_progress(
    scene: *mut palpate_scene,
    name: *const c_char,
    share: *mut f64,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let (scene, share) = (read(scene, "scene")?, out(share, "share")?);
            let name = text(name, "name")?;
            let none = || {
                let message = format!("no field of a tool {name:?} is being built");
                Failure::new(palpate_code::PALPATE_NOT_FOUND, message)
            };
            *share = scene.theatre.field_progress(name)?.ok_or_else(none)?;
        }
        Ok(())
    })
}

/// Removes a tissue from the scene.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_remove_tissue(
    scene: *mut palpate_scene,
    tissue_id: u32,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { read(scene, "scene") }?.theatre.remove_tissue(tissue_id)
    })
}

/// Removes a tool from the scene.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_remove_tool(
    scene: *mut palpate_scene,
    tool_id: u32,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { read(scene, "scene") }?.theatre.remove_tool(tool_id)
    })
}

/// Moves all vertices of a tissue: x, y, z of each, scene frame. Returns once sessions can see it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_deform(
    scene: *mut palpate_scene,
    tissue_id: u32,
    positions: *const f32,
    n_vertices: usize,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let scene = read(scene, "scene")?;
            let expected = scene.theatre.size(tissue_id, &|size| size.vertices == n_vertices)?;
            if n_vertices != expected.vertices {
                let expected = expected.vertices;
                let message = format!("n_vertices is {n_vertices}, expected {expected}");
                return Err(Failure::argument(message));
            }
            let positions = points(positions, n_vertices, "positions")?;
            let moved = Moved::Vertices(Deformation::Dense(positions));
            scene.theatre.deform(tissue_id, moved).map(|_| ())
        }
    })
}

/// Moves some vertices, each named once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_deform_some(
    scene: *mut palpate_scene,
    tissue_id: u32,
    vertices: *const u32,
    positions: *const f32,
    n_vertices: usize,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let scene = read(scene, "scene")?;
            let size = scene.theatre.size(tissue_id, &|size| n_vertices <= size.vertices)?;
            at_most(n_vertices, size.vertices, "n_vertices")?;
            let vertices = array(vertices, n_vertices, "vertices")?.to_vec();
            let positions = points(positions, n_vertices, "positions")?;
            let moved = Moved::Vertices(Deformation::Sparse { vertices, positions });
            scene.theatre.deform(tissue_id, moved).map(|_| ())
        }
    })
}

/// Cuts a tissue. `made` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_cut_tissue(
    scene: *mut palpate_scene,
    tissue_id: u32,
    cut: *const palpate_cut,
    made: *mut palpate_cut_made,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let (scene, cut) = (read(scene, "scene")?, growing::read(cut, "cut")?);
            let ids = |ids: &[u32]| ids.iter().map(|id| TriangleId(*id)).collect();
            let (limits, n_removed) = (scene.theatre.limits(), cut.n_removed);
            let size = scene.theatre.size(tissue_id, &|size| n_removed <= size.triangles)?;
            at_most(n_removed, size.triangles, "n_removed")?;
            at_most(cut.n_positions, limits.vertices_per_mesh as usize, "n_positions")?;
            at_most(cut.n_triangles, limits.triangles_per_mesh as usize, "n_triangles")?;
            let n_parents = if cut.parents.is_null() { 0 } else { cut.n_triangles };
            let edit = TopologyEdit {
                base_revision: None,
                removed: ids(array(cut.removed, cut.n_removed, "removed")?),
                added_positions: points(cut.positions, cut.n_positions, "positions")?,
                added: threes(cut.triangles, cut.n_triangles, "triangles")?,
                parents: ids(array(cut.parents, n_parents, "parents")?),
                ..TopologyEdit::default()
            };
            let answer = scene.theatre.cut(tissue_id, edit)?;
            if !made.is_null() {
                *out(made, "made")? = answer;
            }
        }
        Ok(())
    })
}

/// Cuts a tissue along a line on its surface: at least two points, x, y, z of each, at most 10 mm from the surface.
/// `width_m`: greatest width of the gap, to which the surface about it gives way by new vertices; 0: the lips touch, and
/// only the vertices on the line are new. `depth_m`: its depth in a closed surface, which stays closed, or 0.
/// `left` and `right` have space for `capacity` vertices each, those of the two lips, opposite each other; `n` is set to
/// their number, and as many as fit are written. `made` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_cut_along(
    scene: *mut palpate_scene,
    tissue_id: u32,
    points: *const f32,
    n_points: usize,
    width_m: f64,
    depth_m: f64,
    left: *mut u32,
    right: *mut u32,
    capacity: usize,
    n: *mut usize,
    made: *mut palpate_cut_made,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let scene = read(scene, "scene")?;
            at_most(n_points, PATH_POINTS_MAX, "n_points")?;
            // All are checked before the cut is made.
            let path = self::points(points, n_points, "points")?;
            let (left, right) =
                (buffer(left, capacity, "left")?, buffer(right, capacity, "right")?);
            let n = out(n, "n")?;
            let made = if made.is_null() { None } else { Some(out(made, "made")?) };
            let path = path.into_iter().map(|p| p.as_dvec3()).collect();
            let cut = scene.theatre.cut_along(tissue_id, Incision { path, width_m, depth_m })?;
            *n = cut.left.len();
            for (to, from) in [(left, cut.left), (right, cut.right)] {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = from);
            }
            if let Some(made) = made {
                *made = cut.made;
            }
        }
        Ok(())
    })
}

/// Copies a tissue's surface as it is stored: barycentric weights belong to the vertices of its triangles in this order.
/// `n_vertices` and `n_triangles` are set to their numbers; if a buffer is smaller, returns `PALPATE_TOO_SMALL` and as
/// many as fit. With both capacities 0 only the numbers are asked for. `positions` has space for three numbers for each
/// vertex, `triangle_ids` for one and `triangles` for three numbers for each triangle. Ids ascend, and have gaps where
/// triangles were cut away. `geometry_revision` is set to the surface's revision, and may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_export_tissue(
    scene: *mut palpate_scene,
    tissue_id: u32,
    positions: *mut f32,
    vertex_capacity: usize,
    n_vertices: *mut usize,
    triangle_ids: *mut u32,
    triangles: *mut u32,
    triangle_capacity: usize,
    n_triangles: *mut usize,
    geometry_revision: *mut u64,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let n_vertices = out(n_vertices, "n_vertices")?;
            let n_triangles = out(n_triangles, "n_triangles")?;
            (*n_vertices, *n_triangles) = (0, 0);
            let scene = read(scene, "scene")?;
            let positions = buffer(positions.cast::<[f32; 3]>(), vertex_capacity, "positions")?;
            let ids = buffer(triangle_ids, triangle_capacity, "triangle_ids")?;
            let triangles = buffer(triangles.cast::<[u32; 3]>(), triangle_capacity, "triangles")?;
            if positions.is_empty() && triangles.is_empty() {
                let size = scene.theatre.size(tissue_id, &|_| false)?;
                (*n_vertices, *n_triangles) = (size.vertices, size.triangles);
                return Err(Failure::new(palpate_code::PALPATE_TOO_SMALL, "the buffers hold 0"));
            }
            let surface = scene.theatre.export_tissue(tissue_id)?;
            let found = (surface.positions_m.as_chunks().0, surface.triangles.as_chunks().0);
            (*n_vertices, *n_triangles) = (found.0.len(), found.1.len());
            if !geometry_revision.is_null() {
                *out(geometry_revision, "geometry_revision")? = surface.geometry_revision;
            }
            let filled = [
                fill(positions, found.0),
                fill(ids, &surface.triangle_ids),
                fill(triangles, found.1),
            ];
            filled.into_iter().collect()
        }
    })
}

/// Opens a session: a tool held by a hand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_open_session(
    scene: *mut palpate_scene,
    options: *const palpate_session_options,
    session: *mut *mut palpate_session,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let session = out(session, "session")?;
            *session = ptr::null_mut();
            let scene = read(scene, "scene")?;
            let options = &growing::read(options, "options")?;
            let rate_hz = options.rate_hz;
            if rate_hz != 0.0 && !(1.0..=1e3).contains(&rate_hz) {
                let message = format!("rate_hz is {rate_hz}, expected 1 to 1,000");
                return Err(Failure::argument(message));
            }
            *session = palpate_session::opened(scene.theatre.open_session(options)?, options);
        }
        Ok(())
    })
}

/// # Safety
/// NULL, or options as long as their size.
unsafe fn tissue_options(
    options: *const palpate_tissue_options,
) -> Result<palpate_tissue_options, Failure> {
    if options.is_null() {
        return Ok(palpate_tissue_options::default());
    }
    // SAFETY: guaranteed by the caller.
    let options = unsafe { growing::read(options, "options") }?;
    length(options.weld_m, "options.weld_m")?;
    length(options.fill_holes_m, "options.fill_holes_m")?;
    let flags = options.flags;
    let wrong =
        || format!("options.flags is {flags}, expected a sum of PALPATE_AS_WOUND and others");
    let is_known = flags & !(PALPATE_AS_WOUND | PALPATE_FORBIDDEN_REGION) == 0;
    is_known.then_some(options).ok_or_else(|| Failure::argument(wrong()))
}

fn tissue(name: &str, mesh: Option<MeshSource>, sent: &palpate_tissue_options) -> TissueUpload {
    let is_set = |flag| sent.flags & flag != 0;
    let orientation = match is_set(PALPATE_AS_WOUND) {
        true => SurfaceOrientation::AsWound,
        false => SurfaceOrientation::Auto,
    };
    let kind = match is_set(PALPATE_FORBIDDEN_REGION) {
        true => TissueKind::ForbiddenRegion,
        false => TissueKind::Tissue,
    };
    let (kind, orientation) = (kind.into(), orientation.into());
    let options = TissueOptions { kind, orientation, ..TissueOptions::default() };
    let palpate_tissue_options { fill_holes_m, weld_m, .. } = *sent;
    TissueUpload { name: name.to_owned(), mesh, options, fill_holes_m, weld_m, binding: None }
}

/// Stores the warnings, and returns the id.
fn id_of(added: Added) -> u32 {
    warn(&added.warnings.join("; "));
    added.id
}

/// # Safety
/// The pointers of `sent` are NULL or their arrays as long as it says.
unsafe fn link(sent: &palpate_link, limits: &Limits) -> Result<LinkUpload, Failure> {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let rest_pose = match sent.rest_pose.is_null() {
            true => None,
            false => Some(on_the_wire(&read(sent.rest_pose, "rest_pose")?.pose("rest_pose")?)),
        };
        let name = text(sent.name, "link.name")?.to_owned();
        let weld_m = length(sent.weld_m, "link.weld_m")?;
        let mesh = raw(&sent.mesh, "link.mesh", limits)?;
        let fill_holes_m = length(sent.fill_holes_m, "link.fill_holes_m")?;
        Ok(LinkUpload { name, mesh, rest_pose, fill_holes_m, weld_m })
    }
}

/// Returns the probes of a link.
///
/// # Safety
/// `sent.probes` is NULL or an array of `n_probes`, with names that are NULL or end with a zero.
unsafe fn probes_of(
    link: usize,
    sent: &palpate_link,
    limits: &Limits,
) -> Result<Vec<Probe>, Failure> {
    at_most(sent.n_probes, limits.probes_per_tool, "link.n_probes")?;
    // SAFETY: guaranteed by the caller.
    let probes = unsafe { growing::read_array(sent.probes, sent.n_probes, "link.probes") }?;
    let probe = |sent: &palpate_probe| {
        let position = sent.position_m.glam();
        let wrong = || {
            let message = format!("probe.position_m is {position}, expected -10,000 to 10,000");
            Failure::argument(message)
        };
        let is_near = position.abs().cmple(DVec3::splat(COORDINATE_MAX_M)).all();
        is_near.then_some(()).ok_or_else(wrong)?;
        // SAFETY: guaranteed by the caller.
        let name = unsafe { text(sent.name, "probe.name") }?.to_owned();
        let radius = length(sent.radius_m, "probe.radius_m")?;
        Ok(Probe { name, link, position, radius })
    };
    probes.iter().map(probe).collect()
}
