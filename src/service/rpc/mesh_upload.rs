//! Assembles uploaded meshes from their pieces.
//!
//! Memory grows with the data that has arrived, never with the declared size, and a piece that exceeds the declared
//! size is refused at once.

use std::time::Duration;

use glam::Vec3;
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tonic::{Status, Streaming};

use crate::{
    geometry::{
        MeshData,
        mesh::load::{self, LoadedMesh},
    },
    mesh_io, proto,
    scene::Limits,
    service::{
        convert::{
            FieldError, Problem,
            upload::{DeclaredSize, MeshDeclared},
        },
        host::fair_places::FairPlaces,
        loops::until_ended::UntilEnded,
        request_field::{points, threes, within_limit},
    },
};

/// A mesh that is being uploaded.
pub struct MeshUpload {
    field: String,
    declared: MeshDeclared,
    data: MeshData,
    file: Vec<u8>,
}

impl MeshUpload {
    /// Starts an upload. `field` names where the mesh was declared.
    pub fn new(field: String, declared: MeshDeclared) -> MeshUpload {
        MeshUpload { field, declared, data: MeshData::default(), file: Vec::new() }
    }

    /// Adds the next piece. After an error the upload is unusable.
    pub fn push(&mut self, chunk: &proto::MeshChunk) -> Result<(), FieldError> {
        match self.declared.size {
            DeclaredSize::Raw { vertices, triangles } => {
                self.push_raw(chunk, vertices as usize, triangles as usize)
            }
            DeclaredSize::File { bytes, .. } => self.push_file(chunk, bytes),
            DeclaredSize::Boundary { .. } => {
                Err(Problem::Unexpected("the header declared no mesh").of("positions"))
            }
        }
    }

    fn push_raw(
        &mut self,
        chunk: &proto::MeshChunk,
        vertices: usize,
        triangles: usize,
    ) -> Result<(), FieldError> {
        if !chunk.file.is_empty() {
            return Err(Problem::Unexpected("the header declared arrays").of("file"));
        }
        let data = &mut self.data;
        let positions: Vec<Vec3> = points(&chunk.positions, "positions")?;
        let corners = threes(&chunk.triangles, "triangles")?;
        // Compared with the declaration before the copy: the limits were checked at the declaration.
        within_declared("vertices", data.positions.len() + positions.len(), vertices, "positions")?;
        within_declared("triangles", data.triangles.len() + corners.len(), triangles, "triangles")?;
        data.positions.extend(positions);
        data.triangles.extend(corners);
        Ok(())
    }

    fn push_file(&mut self, chunk: &proto::MeshChunk, bytes: u64) -> Result<(), FieldError> {
        if !chunk.positions.is_empty() || !chunk.triangles.is_empty() {
            return Err(Problem::Unexpected("the header declared a file").of("positions"));
        }
        within_declared("bytes", self.file.len() + chunk.file.len(), bytes as usize, "file")?;
        self.file.extend_from_slice(&chunk.file);
        Ok(())
    }

    /// Checks that the whole declared mesh has arrived.
    pub fn check_complete(&self) -> Result<(), FieldError> {
        let complete = |what, got: usize, declared: u64, field: &str| {
            let got = got as u64;
            let short = Problem::NotAsDeclared { what, got, declared }.of(field);
            if got == declared { Ok(()) } else { Err(short.within(&self.field)) }
        };
        match self.declared.size {
            DeclaredSize::Raw { vertices, triangles } => {
                complete("vertices", self.data.positions.len(), vertices.into(), "raw.vertices")?;
                complete("triangles", self.data.triangles.len(), triangles.into(), "raw.triangles")
            }
            DeclaredSize::File { bytes, .. } => {
                complete("bytes", self.file.len(), bytes, "file.bytes")
            }
            DeclaredSize::Boundary { .. } => Ok(()),
        }
    }

    /// Takes the boundary of cells for the mesh, if the header declared none.
    pub fn complete_by<E>(
        &mut self,
        boundary: impl FnOnce() -> Result<MeshData, E>,
    ) -> Result<(), E> {
        if let DeclaredSize::Boundary { .. } = self.declared.size {
            self.data = boundary()?;
        }
        Ok(())
    }

    /// Reads and checks the mesh: work for the blocking pool.
    pub fn load(self, limits: &Limits) -> Result<LoadedMesh, FieldError> {
        let data = match self.declared.size {
            DeclaredSize::Raw { .. } | DeclaredSize::Boundary { .. } => self.data,
            DeclaredSize::File { format, .. } => {
                let read = mesh_io::read(&self.file, format);
                read.map_err(|e| Problem::File(e).of(format!("{}.file", self.field)))?
            }
        };
        // Checked again: a file declares its bytes, not its content.
        let (v, t) = (data.positions.len(), data.triangles.len());
        within_limit(v, limits.vertices_per_mesh as usize, "vertices_per_mesh", &self.field)?;
        within_limit(t, limits.triangles_per_mesh as usize, "triangles_per_mesh", &self.field)?;
        let loaded = load::load(data, &self.declared.options);
        loaded.map_err(|e| Problem::Mesh(e).of(self.field))
    }
}

/// Requests of an upload; it is abandoned if its client pauses for too long, or the server ends.
pub struct Requests<R> {
    /// Requests as they come, until the server ends.
    pub stream: UntilEnded<Streaming<R>>,
    /// Longest pause between two requests.
    pub pause_max: Duration,
    /// Permits for the work on the complete upload.
    pub places: FairPlaces,
}

/// The client has stopped sending.
#[derive(Debug, thiserror::Error)]
#[error("nothing was sent for {0:?}, expected the next message of the upload")]
pub struct UploadPaused(Duration);

impl<R> Requests<R> {
    /// Returns the next request; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<R>, Status> {
        let message = timeout(self.pause_max, self.stream.next()).await;
        message.map_err(|_| UploadPaused(self.pause_max))?.transpose()
    }
}

/// Hands over pieces until the client has sent its last.
pub async fn collect<R>(
    requests: &mut Requests<R>,
    mut take: impl FnMut(R) -> Result<(), FieldError>,
) -> Result<(), Status> {
    while let Some(request) = requests.next().await? {
        take(request)?;
    }
    Ok(())
}

/// Adds a piece to the mesh of its link.
pub fn push(meshes: &mut [MeshUpload], chunk: &proto::MeshChunk) -> Result<(), FieldError> {
    let (got, end) = (chunk.link as usize, meshes.len());
    let mesh = meshes.get_mut(got);
    let mesh = mesh.ok_or_else(|| Problem::Index { got, end }.of("chunk.link"))?;
    mesh.push(chunk).map_err(|e| e.within("chunk"))
}

/// Checks that no more has arrived than was declared.
pub fn within_declared(
    what: &'static str,
    got: usize,
    declared: usize,
    field: &str,
) -> Result<(), FieldError> {
    let over = Problem::NotAsDeclared { what, got: got as u64, declared: declared as u64 };
    if got <= declared { Ok(()) } else { Err(over.of(field)) }
}
