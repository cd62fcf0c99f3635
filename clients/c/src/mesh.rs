//! Meshes of C: arrays and files, checked before they are uploaded.

use std::path::Path;

use glam::Vec3;
use palpate::{
    client::mesh_source::{MeshFileProblem, MeshSource},
    geometry::{LoadOptions, LoadedMesh, MeshData, mesh::load, tolerance::COORDINATE_MAX_M},
    mesh_io,
    scene::Limits,
};

use crate::{
    border::{array, at_most},
    code::Failure,
    plain::palpate_mesh,
};

/// From a nanometre to a kilometre, as on a server.
const SCALES: std::ops::RangeInclusive<f64> = 1e-9..=1e3;

/// Reads arrays.
///
/// # Safety
/// The arrays of `mesh` are as long as it says.
pub(crate) unsafe fn raw(
    mesh: &palpate_mesh,
    name: &str,
    limits: &Limits,
) -> Result<MeshSource, Failure> {
    let scale = if mesh.scale_to_m == 0.0 { 1.0 } else { mesh.scale_to_m };
    if !SCALES.contains(&scale) {
        let message = format!("{name}.scale_to_m is {scale}, expected 1e-9 to 1,000");
        return Err(Failure::argument(message));
    }
    at_most(mesh.n_vertices, limits.vertices_per_mesh as usize, "n_vertices")?;
    at_most(mesh.n_triangles, limits.triangles_per_mesh as usize, "n_triangles")?;
    // SAFETY: guaranteed by the caller.
    let (mut positions, triangles) = unsafe {
        (
            points(mesh.positions, mesh.n_vertices, "positions")?,
            threes(mesh.triangles, mesh.n_triangles, "triangles")?,
        )
    };
    if scale != 1.0 {
        positions.iter_mut().for_each(|p| *p = (p.as_dvec3() * scale).as_vec3());
    }
    let source = MeshSource::Raw(MeshData { positions, triangles });
    // Loading here too reports mesh errors before the upload, with equal messages from both backends.
    let within = |e: MeshFileProblem| Failure::argument(format!("{name}: {e}"));
    load(&source, LoadOptions::default()).map_err(within)?;
    Ok(source)
}

/// Opens a file.
pub(crate) fn opened(file: &str, scale_to_m: f64) -> Result<MeshSource, Failure> {
    if !SCALES.contains(&scale_to_m) {
        let message = format!("scale_to_m is {scale_to_m}, expected 1e-9 to 1,000");
        return Err(Failure::argument(message));
    }
    let opened = MeshSource::open(Path::new(file), scale_to_m);
    Ok(opened.map_err(|e| Failure::argument(format!("{file}: {}", e.cause)))?.0)
}

/// Checks a length of the caller, metres.
pub(crate) fn length(metres: f64, name: &str) -> Result<f64, Failure> {
    let wrong = || Failure::argument(format!("{name} is {metres}, expected 0 to 10,000"));
    (0.0..=COORDINATE_MAX_M).contains(&metres).then_some(metres).ok_or_else(wrong)
}

/// Returns the mesh that a scene makes of a source. The scene's owner sets the limits of size.
pub(crate) fn load(
    source: &MeshSource,
    options: LoadOptions,
) -> Result<LoadedMesh, MeshFileProblem> {
    let (data, scale_to_m) = match source {
        MeshSource::Raw(mesh) => (mesh.clone(), 1.0),
        MeshSource::File { bytes, format, scale_to_m } => {
            (mesh_io::read(bytes, *format)?, *scale_to_m)
        }
    };
    let (max_vertices, max_triangles) = (u32::MAX, u32::MAX);
    Ok(load::load(data, &LoadOptions { scale_to_m, max_vertices, max_triangles, ..options })?)
}

/// Reads points.
///
/// # Safety
/// NULL, or three numbers for each of `n`.
pub(crate) unsafe fn points(
    numbers: *const f32,
    n: usize,
    name: &str,
) -> Result<Vec<Vec3>, Failure> {
    // SAFETY: guaranteed by the caller; an array of three has the layout of its numbers.
    let each = unsafe { array(numbers.cast::<[f32; 3]>(), n, name) }?;
    Ok(each.iter().map(|p| Vec3::from_array(*p)).collect())
}

/// Reads triangles.
///
/// # Safety
/// NULL, or three numbers for each of `n`.
pub(crate) unsafe fn threes(
    numbers: *const u32,
    n: usize,
    name: &str,
) -> Result<Vec<[u32; 3]>, Failure> {
    // SAFETY: guaranteed by the caller; an array of three has the layout of its numbers.
    Ok(unsafe { array(numbers.cast::<[u32; 3]>(), n, name) }?.to_vec())
}
