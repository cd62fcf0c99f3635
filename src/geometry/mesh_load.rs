//! Stub: the real one is being written elsewhere and replaces this file.
#![allow(missing_docs)]
use super::{MeshData, TriangleMesh, mesh_report::MeshReport};
pub enum Basis {
    RightHanded,
    LeftHanded,
}
pub struct LoadOptions {
    pub scale_to_m: f64,
    pub basis: Basis,
    pub max_vertices: usize,
    pub max_triangles: usize,
}
pub struct LoadedMesh {
    pub mesh: TriangleMesh,
    pub report: MeshReport,
}
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    #[error("the mesh has no triangles")]
    NoTriangles,
}
pub fn load(data: MeshData, _options: &LoadOptions) -> Result<LoadedMesh, MeshError> {
    if data.triangles.is_empty() {
        return Err(MeshError::NoTriangles);
    }
    Ok(LoadedMesh { mesh: TriangleMesh::new(data), report: MeshReport::default() })
}
