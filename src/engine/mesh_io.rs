//! Mesh file formats, from bytes to unchecked arrays.
//!
//! File bytes are untrusted. A reader never allocates memory by a header's word: the least size of a declared count is
//! first compared with the bytes present. A reader rejects files that it cannot read and reports the position;
//! [`crate::geometry::mesh::load`] checks whether the arrays make a mesh, by identical rules for all formats.

mod cells;
mod glb;
mod mesh_file;
mod msh;
mod obj;
mod off;
mod ply;
mod polygon;
mod read_error;
mod read_room;
mod stl;
mod text;
mod vtk;
mod vtk_xml;

use std::path::Path;

pub use cells::CellCounts;
pub use mesh_file::MeshFile;
pub use read_error::{FilePlace, MeshReadError};

use glam::Vec3;

use crate::geometry::MeshData;
use cells::{CellKind, Cells};
use read_room::ReadRoom;

/// The file formats that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshFormat {
    /// Wavefront OBJ: vertices and faces; materials, normals and free-form surfaces are ignored.
    Obj,
    /// STL, ASCII or binary. Bit-equal corners are joined.
    Stl,
    /// PLY, ASCII or binary.
    Ply,
    /// OFF, ASCII.
    Off,
    /// Legacy VTK, ASCII or binary: PolyData, or an UnstructuredGrid's boundary.
    Vtk,
    /// VTK XML: an UnstructuredGrid's boundary.
    Vtu,
    /// VTK XML: PolyData.
    Vtp,
    /// Gmsh's MSH, versions 2.2 and 4.1, ASCII or binary: the boundary of its volume cells, or its faces.
    Msh,
    /// Binary glTF: the triangles of its scene.
    Glb,
}

impl MeshFormat {
    /// Format of a usual file extension, without its dot, in any case.
    ///
    /// # Errors
    /// Returns an error if the extension belongs to none of these formats.
    pub fn from_extension(extension: &str) -> Result<MeshFormat, UnknownFormat> {
        // Chosen by name and not by content: a PLY header may be in an STL comment, and the sender knows the format.
        match extension.to_ascii_lowercase().as_str() {
            "obj" => Ok(MeshFormat::Obj),
            "stl" => Ok(MeshFormat::Stl),
            "ply" => Ok(MeshFormat::Ply),
            "off" => Ok(MeshFormat::Off),
            "vtk" => Ok(MeshFormat::Vtk),
            "vtu" => Ok(MeshFormat::Vtu),
            "vtp" => Ok(MeshFormat::Vtp),
            "msh" => Ok(MeshFormat::Msh),
            "glb" => Ok(MeshFormat::Glb),
            _ => Err(UnknownFormat { got: extension.to_owned() }),
        }
    }

    /// Format of a file name's extension.
    ///
    /// # Errors
    /// Returns an error if the name has no extension, or the extension of another format.
    pub fn from_path(path: &Path) -> Result<MeshFormat, UnknownFormat> {
        // A name that is not UTF-8 is rejected with the part of it that can be shown.
        let extension = path.extension().map(|e| e.to_string_lossy()).unwrap_or_default();
        MeshFormat::from_extension(&extension)
    }

    /// Most memory that reading a file of `n_bytes` takes, bytes: its arrays, without the file itself.
    pub fn read_bytes_max(self, n_bytes: u64) -> u64 {
        match self {
            MeshFormat::Vtu | MeshFormat::Vtp => read_room::of_compressed(n_bytes),
            MeshFormat::Glb => read_room::of_glb(n_bytes),
            _ => read_room::of_any(n_bytes),
        }
    }
}

/// A file extension that names no readable format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown mesh format {got:?}, expected obj, stl, ply, off, vtk, vtu, vtp, msh or glb")]
pub struct UnknownFormat {
    /// The extension.
    pub got: String,
}

/// Reads the surface of a whole file: see [`read_file`].
///
/// # Errors
/// Returns the errors of [`read_file`].
pub fn read(bytes: &[u8], format: MeshFormat) -> Result<MeshData, MeshReadError> {
    read_file(bytes, format).map(|file| file.mesh)
}

/// Reads a whole file. Polygons, convex or not, become triangles between their corners; vertices keep the file's
/// numbers (STL has none: its vertices are numbered as they first appear). The surface of a volume mesh is the faces of
/// exactly one cell, which face outwards. The result takes at most [`MeshFormat::read_bytes_max`].
///
/// # Errors
/// The first damage met, or more triangles than that memory holds. NaN, infinities and vertex numbers beyond the last
/// are mostly not damage here: the validator rejects them.
pub fn read_file(bytes: &[u8], format: MeshFormat) -> Result<MeshFile, MeshReadError> {
    let bytes = without_mark(bytes, format);
    match format {
        MeshFormat::Obj => obj::read(bytes).map(MeshFile::from),
        MeshFormat::Stl => stl::read(bytes).map(MeshFile::from),
        MeshFormat::Ply => ply::read(bytes).map(MeshFile::from),
        MeshFormat::Off => off::read(bytes).map(MeshFile::from),
        MeshFormat::Vtk => vtk::read(bytes),
        MeshFormat::Vtu | MeshFormat::Vtp => vtk_xml::read(bytes),
        MeshFormat::Msh => msh::read(bytes),
        MeshFormat::Glb => glb::read(bytes).map(MeshFile::from),
    }
}

/// Returns the surface of a volume mesh: the faces of exactly one cell, which face outwards. Vertices keep the numbers of
/// the nodes.
///
/// # Errors
/// Returns an error if a cell has a corner that is not in `nodes`.
pub fn boundary(
    nodes: Vec<Vec3>,
    tetrahedra: &[[u32; 4]],
    hexahedra: &[[u32; 8]],
) -> Result<MeshData, MeshReadError> {
    let mut room = ReadRoom::endless();
    let n = tetrahedra.len() as u64 + hexahedra.len() as u64;
    let n_corners = 4 * tetrahedra.len() as u64 + 8 * hexahedra.len() as u64;
    let mut cells = Cells::with_room(n, n_corners, &mut room, FilePlace::Cell(0))?;
    tetrahedra.iter().for_each(|corners| cells.push(CellKind::Tetrahedron, corners));
    hexahedra.iter().for_each(|corners| cells.push(CellKind::Hexahedron, corners));
    let (triangles, _) = cells.boundary(&nodes, &mut room)?;
    Ok(MeshData { positions: nodes, triangles })
}

/// Removes the byte order mark that some editors put before a text: with it the first word would differ, and an OBJ's
/// first vertex would be lost.
fn without_mark(bytes: &[u8], format: MeshFormat) -> &[u8] {
    match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        // A binary STL begins with 80 arbitrary bytes.
        Some(text) if format != MeshFormat::Stl || text.starts_with(b"solid") => text,
        _ => bytes,
    }
}

#[cfg(test)]
mod tests;
