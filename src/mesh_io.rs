//! Mesh file formats, from bytes to unchecked arrays.
//!
//! The bytes come from strangers. A reader never takes memory on the word of a header: what a count
//! needs at least is compared with the bytes that are there first. It refuses what cannot be read and
//! says where; whether the arrays make a mesh is for [`crate::geometry::mesh::load`] to judge, the same
//! for all formats.

mod obj;
mod off;
mod ply;
mod stl;
mod text;
mod vtk;

use std::{fmt, path::Path};

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

/// What is damaged, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshReadError {
    /// Something else than the format has there.
    #[error("{place}: expected {expected}, got {got}")]
    Unexpected {
        /// Where it is.
        place: Place,
        /// What the format has there.
        expected: String,
        /// The start of what is there.
        got: String,
    },
    /// A count that the rest of the file has no room for.
    #[error("{place}: {count} {what} need at least {needed} bytes, {left} are left")]
    Truncated {
        /// Where the counted things begin.
        place: Place,
        /// The count declared.
        count: u64,
        /// What is counted.
        what: String,
        /// Bytes that so many take at least.
        needed: u64,
        /// Bytes there are.
        left: u64,
    },
    /// A binary block whose declared size is not the one it has.
    #[error(
        "{place}: {section} declares {declared} bytes, but the next section, {next}, begins after {found}{}",
        escapes_note(*escapes)
    )]
    BlockSize {
        /// Where the block begins.
        place: Place,
        /// The section's first line.
        section: String,
        /// Bytes that the section's line declares.
        declared: u64,
        /// The keyword of the section that follows.
        next: String,
        /// Bytes up to that section.
        found: u64,
        /// Bytes in between that were replaced by text such as `\E3`.
        escapes: u64,
    },
    /// The format's reader refused it.
    #[error("{place}: {message}")]
    Reader {
        /// How far it came.
        place: Place,
        /// In the reader's words.
        message: String,
    },
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Of a text, counted from 1.
    Line(usize),
    /// Counted from 0.
    Byte(usize),
    /// A facet of an STL file, counted from 0.
    Facet(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, "line {n}"),
            Place::Byte(n) => write!(f, "byte {n}"),
            Place::Facet(n) => write!(f, "facet {n}"),
        }
    }
}

/// Reads a whole file. Polygons become fans of triangles about their first corner; vertices keep the
/// file's numbers (STL has none: there they are numbered as they first appear). Memory taken is within
/// a small multiple of the file's size, whatever it claims.
///
/// # Errors
/// The first damage met. NaN, infinities and vertex numbers beyond the last are mostly not damage here:
/// the validator refuses them.
pub fn read(bytes: &[u8], format: MeshFormat) -> Result<MeshData, MeshReadError> {
    match format {
        MeshFormat::Obj => obj::read(bytes),
        MeshFormat::Stl => stl::read(bytes),
        MeshFormat::Ply => ply::read(bytes),
        MeshFormat::Off => off::read(bytes),
        MeshFormat::Vtk => vtk::read(bytes),
    }
}

/// Adds a polygon as a fan; false when it has fewer than three corners.
#[must_use]
fn push_fan(triangles: &mut Vec<[u32; 3]>, corners: &[u32]) -> bool {
    if let [first, rest @ ..] = corners {
        triangles.extend(rest.windows(2).map(|pair| [*first, pair[0], pair[1]]));
    }
    corners.len() >= 3
}

/// The size gate: `count` things of at least `smallest` bytes each must fit in the bytes left.
fn check_fits(
    place: Place,
    count: u64,
    what: &str,
    smallest: u64,
    left: usize,
) -> Result<(), MeshReadError> {
    let (needed, left) = (count.saturating_mul(smallest), left as u64);
    if needed <= left {
        return Ok(());
    }
    Err(MeshReadError::Truncated { place, count, what: what.to_owned(), needed, left })
}

/// The start of some bytes of a file, fit for a message.
fn excerpt(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 40;
    let shown = &bytes[..bytes.len().min(SHOWN_MAX)];
    let dots = if bytes.len() > SHOWN_MAX { "..." } else { "" };
    format!("\"{}{dots}\"", shown.escape_ascii())
}

/// A reader's message, which may quote any length of the file.
fn one_line(message: &str) -> String {
    const SHOWN_MAX: usize = 160;
    let words: Vec<&str> = message.split_whitespace().collect();
    words.join(" ").chars().take(SHOWN_MAX).collect()
}

fn escapes_note(escapes: u64) -> String {
    match escapes {
        0 => String::new(),
        n => {
            format!("; {n} bytes in it were replaced by text such as \\E3, as by a text conversion")
        }
    }
}

#[cfg(test)]
mod tests;
