//! A mesh to upload: its chunks on the wire, and its shape as this side knows it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    geometry::{LoadOptions, LoadedMesh, MeshData, MeshError, mesh::load::load},
    mesh_io::{self, MeshFormat, MeshReadError, UnknownFormat},
    proto::{self, MeshChunk, MeshHeader, mesh_header::Source},
};

/// Payload of one chunk: small enough to leave the connection to others in between.
const CHUNK_BYTES: usize = 256 << 10;
const CHUNK_VERTICES: usize = CHUNK_BYTES / (3 * size_of::<f32>());
/// Vertex numbers are varints of at most five bytes.
const CHUNK_TRIANGLES: usize = CHUNK_BYTES / (3 * 5);

/// Source of an upload.
#[derive(Clone, Debug)]
pub enum MeshSource {
    /// Arrays, in metres.
    Raw(MeshData),
    /// A file, byte for byte.
    File {
        /// Content of the file.
        bytes: Vec<u8>,
        /// Format of the bytes.
        format: MeshFormat,
        /// Factor that converts every coordinate to metres.
        scale_to_m: f64,
    },
}

/// A file cannot be uploaded.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", file.display())]
pub struct MeshFileError {
    /// File as given.
    pub file: PathBuf,
    /// Problem of the file.
    pub cause: MeshFileProblem,
}

/// Problem of a mesh file.
#[derive(Debug, thiserror::Error)]
pub enum MeshFileProblem {
    /// The file cannot be opened or read.
    #[error("{0}")]
    Open(#[from] io::Error),
    /// The extension names no known format.
    #[error("{0}")]
    Format(#[from] UnknownFormat),
    /// The file is damaged.
    #[error("{0}")]
    Read(#[from] MeshReadError),
    /// The file holds no mesh that a scene takes.
    #[error("{0}")]
    Refused(#[from] MeshError),
}

impl MeshSource {
    /// Reads a file, whose extension determines its format, and the mesh that a scene will make of it.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is damaged or would be refused.
    pub fn open(file: &Path, scale_to_m: f64) -> Result<(MeshSource, LoadedMesh), MeshFileError> {
        let read = || -> Result<(MeshSource, LoadedMesh), MeshFileProblem> {
            let format = MeshFormat::from_path(file)?;
            let bytes = fs::read(file)?;
            let source = MeshSource::File { bytes, format, scale_to_m };
            let loaded = source.load(0.0)?;
            Ok((source, loaded))
        };
        read().map_err(|cause| MeshFileError { file: file.to_owned(), cause })
    }

    /// Returns the mesh that a scene makes of the source, vertex by vertex, holes filled up to a diagonal of
    /// `fill_holes_m` metres.
    ///
    /// # Errors
    /// Returns an error if the source is damaged or would be refused.
    pub fn load(&self, fill_holes_m: f64) -> Result<LoadedMesh, MeshFileProblem> {
        let (data, scale_to_m) = match self {
            MeshSource::Raw(mesh) => (mesh.clone(), 1.0),
            MeshSource::File { bytes, format, scale_to_m } => {
                (mesh_io::read(bytes, *format)?, *scale_to_m)
            }
        };
        // This side sets no limits of size; the scene's owner does.
        let options = LoadOptions {
            scale_to_m,
            fill_holes_m,
            max_vertices: u32::MAX,
            max_triangles: u32::MAX,
            ..LoadOptions::default()
        };
        Ok(load(data, &options)?)
    }

    /// Returns the header that declares the mesh before it is sent.
    pub fn header(&self) -> MeshHeader {
        let (scale_to_m, source) = match self {
            MeshSource::Raw(mesh) => (
                1.0,
                Source::Raw(proto::RawMeshSize {
                    vertices: mesh.positions.len() as u32,
                    triangles: mesh.triangles.len() as u32,
                }),
            ),
            MeshSource::File { bytes, format, scale_to_m } => (
                *scale_to_m,
                Source::File(proto::MeshFileSize {
                    format: on_the_wire(*format).into(),
                    bytes: bytes.len() as u64,
                }),
            ),
        };
        let basis = proto::MeshBasis::RightHanded.into();
        MeshHeader { scale_to_m, basis, source: Some(source), ..MeshHeader::default() }
    }

    /// Returns the chunks in order, marked as `link`'s (0 for a tissue).
    pub fn chunks(&self, link: u32) -> Vec<MeshChunk> {
        let empty = MeshChunk { link, ..MeshChunk::default() };
        match self {
            MeshSource::Raw(mesh) => {
                // All positions precede all triangles: the server checks indices at the end in any case.
                let positions = mesh.positions.chunks(CHUNK_VERTICES).map(|part| MeshChunk {
                    positions: part.iter().flat_map(|p| p.to_array()).collect(),
                    ..empty.clone()
                });
                let triangles = mesh
                    .triangles
                    // Each chunk has whole triangles, so that it can be read without its neighbours.
                    .chunks(CHUNK_TRIANGLES)
                    .map(|part| MeshChunk { triangles: part.concat(), ..empty.clone() });
                positions.chain(triangles).collect()
            }
            MeshSource::File { bytes, .. } => bytes
                .chunks(CHUNK_BYTES)
                .map(|part| MeshChunk { file: part.to_vec(), ..empty.clone() })
                .collect(),
        }
    }
}

fn on_the_wire(format: MeshFormat) -> proto::MeshFormat {
    match format {
        MeshFormat::Obj => proto::MeshFormat::Obj,
        MeshFormat::Stl => proto::MeshFormat::Stl,
        MeshFormat::Ply => proto::MeshFormat::Ply,
        MeshFormat::Off => proto::MeshFormat::Off,
        MeshFormat::Vtk => proto::MeshFormat::Vtk,
        MeshFormat::Vtu => proto::MeshFormat::Vtu,
        MeshFormat::Vtp => proto::MeshFormat::Vtp,
        MeshFormat::Msh => proto::MeshFormat::Msh,
        MeshFormat::Glb => proto::MeshFormat::Glb,
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::oracle::shapes;

    #[test]
    fn chunks_are_small_and_join_to_the_whole() {
        let mesh = shapes::organ(70_000, 1);
        let chunks = MeshSource::Raw(mesh.clone()).chunks(2);
        assert!(chunks.len() > 3);
        assert!(chunks.iter().all(|c| c.link == 2 && c.encoded_len() <= CHUNK_BYTES + 64));
        let positions: Vec<f32> = chunks.iter().flat_map(|c| c.positions.clone()).collect();
        let triangles: Vec<u32> = chunks.iter().flat_map(|c| c.triangles.clone()).collect();
        assert_eq!(positions.len(), 3 * mesh.positions.len());
        assert_eq!(triangles, mesh.triangles.concat());

        let bytes: Vec<u8> = (0..600_000).map(|i| (i % 251) as u8).collect();
        let file =
            MeshSource::File { bytes: bytes.clone(), format: MeshFormat::Stl, scale_to_m: 1.0 };
        let sent: Vec<u8> = file.chunks(0).into_iter().flat_map(|c| c.file).collect();
        assert_eq!(sent, bytes);
    }

    #[test]
    fn a_bad_file_is_named() {
        let said = MeshSource::open(Path::new("gone.obj"), 1.0).expect_err("gone").to_string();
        assert!(said.starts_with("gone.obj: "), "{said}");
        let said = MeshSource::open(Path::new("a.txt"), 1.0).expect_err("no mesh").to_string();
        assert!(said.contains("\"txt\""), "{said}");
    }
}
