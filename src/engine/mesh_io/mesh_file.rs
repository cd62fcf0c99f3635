//! A mesh as its file gives it: a surface, or the boundary of a volume mesh.

use glam::Vec3;

use super::{
    cells::{CellCounts, Cells},
    polygon::Faces,
    read_error::MeshReadError,
    read_room::ReadRoom,
};
use crate::geometry::MeshData;

/// Content of a mesh file.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshFile {
    /// Surface; of a volume mesh the boundary. Vertices are all points of the file, in its order.
    pub mesh: MeshData,
    /// Cells of the volume mesh; `None` if the file holds a surface.
    pub cells: Option<CellCounts>,
}

impl MeshFile {
    /// File of points and elements. If there are cells, the faces beside them are ignored: they mark parts of the
    /// boundary.
    ///
    /// # Errors
    /// Returns an error if a cell or a polygon is damaged, or if memory is short.
    pub(super) fn new(
        positions: Vec<Vec3>,
        faces: Faces,
        cells: Cells,
        room: &mut ReadRoom,
    ) -> Result<MeshFile, MeshReadError> {
        let (triangles, cells) = if cells.is_empty() {
            (faces.cut(&positions, room)?, None)
        } else {
            let (triangles, counts) = cells.boundary(&positions, room)?;
            (triangles, Some(counts))
        };
        Ok(MeshFile { mesh: MeshData { positions, triangles }, cells })
    }
}

impl From<MeshData> for MeshFile {
    fn from(mesh: MeshData) -> MeshFile {
        MeshFile { mesh, cells: None }
    }
}
