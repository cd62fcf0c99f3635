//! Mesh file formats, from bytes to unchecked arrays.
//!
//! The bytes come from strangers. A reader never takes memory on the word of a header: what a count
//! needs at least is compared with the bytes that are there first. It refuses what cannot be read and
//! says where; whether the arrays make a mesh is for [`crate::geometry::mesh::load`] to judge, the same
//! for all formats.

mod obj;
mod off;
mod ply;
mod polygon;
mod read_error;
mod read_room;
mod stl;
mod text;
mod vtk;

use std::path::Path;

pub use read_error::{FilePlace, MeshReadError};
pub use read_room::{READ_BYTES_MIN, READ_BYTES_PER_BYTE};

use crate::geometry::MeshData;

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
    /// Legacy VTK PolyData, ASCII or binary.
    Vtk,
}

impl MeshFormat {
    /// By the usual file extension, without its dot, in any case.
    ///
    /// # Errors
    /// When it is none of these formats'.
    pub fn from_extension(extension: &str) -> Result<MeshFormat, UnknownFormat> {
        // By name and not by content: a PLY header may be in an STL comment, and the sender knows.
        match extension.to_ascii_lowercase().as_str() {
            "obj" => Ok(MeshFormat::Obj),
            "stl" => Ok(MeshFormat::Stl),
            "ply" => Ok(MeshFormat::Ply),
            "off" => Ok(MeshFormat::Off),
            "vtk" => Ok(MeshFormat::Vtk),
            _ => Err(UnknownFormat { got: extension.to_owned() }),
        }
    }

    /// By the extension of a file's name.
    ///
    /// # Errors
    /// When it has none, or one of another format.
    pub fn from_path(path: &Path) -> Result<MeshFormat, UnknownFormat> {
        // A name that is not UTF-8 is refused with what of it can be shown.
        let extension = path.extension().map(|e| e.to_string_lossy()).unwrap_or_default();
        MeshFormat::from_extension(&extension)
    }
}

/// A file extension that names no format that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown mesh format {got:?}, expected obj, stl, ply, off or vtk")]
pub struct UnknownFormat {
    /// The extension.
    pub got: String,
}

/// Reads a whole file. Polygons become triangles between their corners, also where they are not convex; vertices keep the
/// file's numbers (STL has none: there they are numbered as they first appear). What is read takes at most
/// [`READ_BYTES_PER_BYTE`] times the file's size, or [`READ_BYTES_MIN`] bytes.
///
/// # Errors
/// The first damage met, or more triangles than that memory holds. NaN, infinities and vertex numbers beyond the last are mostly not damage here:
/// the validator refuses them.
pub fn read(bytes: &[u8], format: MeshFormat) -> Result<MeshData, MeshReadError> {
    let bytes = without_mark(bytes, format);
    match format {
        MeshFormat::Obj => obj::read(bytes),
        MeshFormat::Stl => stl::read(bytes),
        MeshFormat::Ply => ply::read(bytes),
        MeshFormat::Off => off::read(bytes),
        MeshFormat::Vtk => vtk::read(bytes),
    }
}

/// Some editors put a byte order mark before a text: the first word would be another with it, and an OBJ's first vertex lost.
fn without_mark(bytes: &[u8], format: MeshFormat) -> &[u8] {
    match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        // A binary STL begins with 80 bytes of anything.
        Some(text) if format != MeshFormat::Stl || text.starts_with(b"solid") => text,
        _ => bytes,
    }
}

#[cfg(test)]
mod tests;
