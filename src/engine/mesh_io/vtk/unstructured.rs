//! Cells of VTK files: their connectivity, their types, and the mesh of an unstructured grid.

use glam::Vec3;

use crate::mesh_io::{
    cells::{CellKind, Cells},
    mesh_file::MeshFile,
    polygon::Faces,
    read_error::{FilePlace, MeshReadError},
    read_room::ReadRoom,
};

/// Corners of cells of any type.
pub(in crate::mesh_io) struct Connectivity {
    corners: Vec<u32>,
    /// Cell i occupies `corners[bounds[i] + n_before..bounds[i + 1]]`.
    bounds: Vec<u32>,
    /// Numbers before the corners of each cell: 1 if each begins with its number of corners, else 0.
    n_before: usize,
}

/// VTK's cell types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CellType {
    /// Points, lines and empty cells.
    Ignored,
    Polygon,
    Strip,
    /// Four corners, row by row.
    Pixel,
    Volume(CellKind),
    /// Eight corners, row by row.
    Voxel,
}

impl Connectivity {
    /// Cells by the bounds of each in `corners`: one bound more than cells, the first 0.
    pub(in crate::mesh_io) fn by_bounds(bounds: Vec<u32>, corners: Vec<u32>) -> Connectivity {
        Connectivity { corners, bounds, n_before: 0 }
    }

    /// `n` cells, each as its number of corners and its corners. The error is a description of the damage and the
    /// damaged cell.
    pub(super) fn by_lengths(
        n: usize,
        numbers: Vec<u32>,
        mut bounds: Vec<u32>,
    ) -> Result<Connectivity, (usize, String)> {
        let mut end = 0;
        bounds.push(0);
        for cell in 0..n {
            let Some(n_corners) = numbers.get(end) else {
                return Err((cell, "the end of the section".to_owned()));
            };
            let left = numbers.len() - end - 1;
            if *n_corners as usize > left {
                let got = format!("one of {n_corners} corners, {left} of them there");
                return Err((cell, got));
            }
            end += 1 + *n_corners as usize;
            bounds.push(end as u32);
        }
        match numbers.len() - end {
            0 => Ok(Connectivity { corners: numbers, bounds, n_before: 1 }),
            n_more => Err((n, format!("the end of the cells and {n_more} numbers more"))),
        }
    }

    pub(in crate::mesh_io) fn n_cells(&self) -> usize {
        self.bounds.len().saturating_sub(1)
    }

    /// Sum of k - 2 over all cells of k corners: the triangles of polygons and strips.
    fn n_triangles(&self) -> u64 {
        let n_before = self.n_before as u64;
        let n = |ends: &[u32]| u64::from(ends[1]).saturating_sub(u64::from(ends[0]) + n_before + 2);
        self.bounds.windows(2).map(n).sum()
    }

    /// Corners of a cell. The error describes bounds that are not in the file.
    fn corners(&self, cell: usize) -> Result<&[u32], String> {
        let (start, end) = (self.bounds[cell], self.bounds[cell + 1]);
        let corners = self.corners.get(start as usize + self.n_before..end as usize);
        corners.ok_or_else(|| format!("offsets {start} to {end}"))
    }

    /// Reserves room and adds each cell to `faces`. `push` returns true if the corners make a face. `section` names the
    /// cells in errors.
    pub(in crate::mesh_io) fn add_to(
        &self,
        faces: &mut Faces,
        push: fn(&mut Faces, &[u32]) -> bool,
        section: &str,
        place: FilePlace,
        room: &mut ReadRoom,
    ) -> Result<(), MeshReadError> {
        faces.make_room(self.n_triangles(), room, place)?;
        for cell in 0..self.n_cells() {
            let refused = |got: String| no_cell(section, place, (cell, got));
            let corners = self.corners(cell).map_err(refused)?;
            if !push(faces, corners) {
                return Err(refused(format!("one of {} corners", corners.len())));
            }
        }
        Ok(())
    }
}

/// Error for a cell that is none; `damage`: its number and description.
pub(super) fn no_cell(section: &str, place: FilePlace, damage: (usize, String)) -> MeshReadError {
    let (cell, got) = damage;
    MeshReadError::Unexpected {
        place,
        expected: format!("cell {cell} of {section} to be one"),
        got,
    }
}

/// Mesh of an unstructured grid: the surface of its volume cells, or its faces if it has none.
///
/// # Errors
/// Returns an error if a cell is of a type that is not read, or has another number of corners than its type.
pub(in crate::mesh_io) fn mesh(
    positions: Vec<Vec3>,
    connectivity: Connectivity,
    types: &[u32],
    place: FilePlace,
    room: &mut ReadRoom,
) -> Result<MeshFile, MeshReadError> {
    let n = connectivity.n_cells();
    if types.len() != n {
        let (expected, got) = (format!("the types of {n} cells"), types.len().to_string());
        return Err(MeshReadError::Unexpected { place, expected, got });
    }
    let mut cell_types = room.vec(n as u64, "cell types", place)?;
    for (cell, number) in types.iter().enumerate() {
        cell_types.push(CellType::of_number(*number).map_err(|name| {
            let expected = "a polygon, triangle strip, tetrahedron, hexahedron, wedge or pyramid";
            refused(cell, expected, name)
        })?);
    }
    if cell_types.iter().any(|t| t.volume().is_some()) {
        let cells = volume_cells(connectivity, &cell_types, place, room)?;
        return MeshFile::new(positions, Faces::default(), cells, room);
    }
    let faces = faces(&connectivity, &cell_types, place, room)?;
    MeshFile::new(positions, faces, Cells::default(), room)
}

fn volume_cells(
    mut connectivity: Connectivity,
    types: &[CellType],
    place: FilePlace,
    room: &mut ReadRoom,
) -> Result<Cells, MeshReadError> {
    let n = types.iter().filter(|t| t.volume().is_some()).count() as u64;
    let (mut kinds, mut starts) = (room.vec(n, "cells", place)?, room.vec(n, "cells", place)?);
    for (cell, cell_type) in types.iter().enumerate() {
        let Some(kind) = cell_type.volume() else { continue };
        let corners = connectivity.corners(cell).map_err(|got| refused(cell, "a cell", got))?;
        if corners.len() != kind.n_corners() {
            let expected = format!("{} corners of a {kind:?}", kind.n_corners()).to_lowercase();
            return Err(refused(cell, &expected, corners.len().to_string()));
        }
        let start = connectivity.bounds[cell] as usize + connectivity.n_before;
        if *cell_type == CellType::Voxel {
            // The second row of each layer runs backwards in a hexahedron.
            connectivity.corners[start..][..8].swap(2, 3);
            connectivity.corners[start..][..8].swap(6, 7);
        }
        kinds.push(kind);
        starts.push(start as u32);
    }
    Ok(Cells::new(kinds, starts, connectivity.corners))
}

fn faces(
    connectivity: &Connectivity,
    types: &[CellType],
    place: FilePlace,
    room: &mut ReadRoom,
) -> Result<Faces, MeshReadError> {
    let mut faces = Faces::with_room(connectivity.n_triangles(), room, place)?;
    for (cell, cell_type) in types.iter().enumerate() {
        let corners = connectivity.corners(cell).map_err(|got| refused(cell, "a cell", got))?;
        let is_face = match (cell_type, corners) {
            (CellType::Ignored, _) => true,
            (CellType::Strip, _) => faces.push_strip(corners),
            (CellType::Pixel, [a, b, c, d]) => faces.push_polygon(&[*a, *b, *d, *c]),
            (CellType::Pixel, _) => false,
            _ => faces.push_polygon(corners),
        };
        if !is_face {
            return Err(refused(cell, "the corners of a face", corners.len().to_string()));
        }
    }
    Ok(faces)
}

fn refused(cell: usize, expected: &str, got: String) -> MeshReadError {
    let place = FilePlace::Cell(cell);
    MeshReadError::Unexpected { place, expected: expected.to_owned(), got }
}

impl CellType {
    /// Type of VTK's number; the error is the name of a type that is not read.
    fn of_number(number: u32) -> Result<CellType, String> {
        let name = match number {
            0..=4 => return Ok(CellType::Ignored),
            5 | 7 | 9 => return Ok(CellType::Polygon),
            6 => return Ok(CellType::Strip),
            8 => return Ok(CellType::Pixel),
            10 => return Ok(CellType::Volume(CellKind::Tetrahedron)),
            11 => return Ok(CellType::Voxel),
            12 => return Ok(CellType::Volume(CellKind::Hexahedron)),
            13 => return Ok(CellType::Volume(CellKind::Wedge)),
            14 => return Ok(CellType::Volume(CellKind::Pyramid)),
            15 => "a pentagonal prism",
            16 => "a hexagonal prism",
            42 => "a polyhedron",
            21..=37 => "a quadratic cell",
            60..=66 => "a cell of higher order",
            68..=74 => "a Lagrange cell",
            75..=81 => "a Bezier cell",
            _ => "an unknown cell",
        };
        Err(format!("{name} (VTK type {number})"))
    }

    fn volume(self) -> Option<CellKind> {
        match self {
            CellType::Volume(kind) => Some(kind),
            CellType::Voxel => Some(CellKind::Hexahedron),
            _ => None,
        }
    }
}
