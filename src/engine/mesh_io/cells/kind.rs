//! Kinds of cells: the corners and faces of each.

/// A kind of cell with straight edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Four corners.
    Tetrahedron,
    /// A quadrilateral base and an apex.
    Pyramid,
    /// A triangle and, in the same order, the triangle opposite.
    Wedge,
    /// A quadrilateral and, in the same order, the quadrilateral opposite.
    Hexahedron,
}

impl CellKind {
    /// Number of corners.
    pub(in crate::mesh_io) fn n_corners(self) -> usize {
        match self {
            CellKind::Tetrahedron => 4,
            CellKind::Pyramid => 5,
            CellKind::Wedge => 6,
            CellKind::Hexahedron => 8,
        }
    }

    /// Faces by corners, with outward normals if the cell's volume is positive. VTK, Gmsh and Abaqus order the corners
    /// alike but for orientation.
    pub(super) fn faces(self) -> &'static [&'static [u8]] {
        match self {
            CellKind::Tetrahedron => &[&[0, 2, 1], &[0, 1, 3], &[1, 2, 3], &[0, 3, 2]],
            CellKind::Pyramid => &[&[0, 3, 2, 1], &[0, 1, 4], &[1, 2, 4], &[2, 3, 4], &[3, 0, 4]],
            CellKind::Wedge => {
                &[&[0, 2, 1], &[3, 4, 5], &[0, 1, 4, 3], &[1, 2, 5, 4], &[2, 0, 3, 5]]
            }
            CellKind::Hexahedron => &[
                &[0, 3, 2, 1],
                &[4, 5, 6, 7],
                &[0, 1, 5, 4],
                &[1, 2, 6, 5],
                &[2, 3, 7, 6],
                &[3, 0, 4, 7],
            ],
        }
    }
}
