//! Cells of a volume mesh, and the surface that bounds them.
//!
//! A face of exactly one cell is part of the surface. It faces away from its cell: the sign of the cell's own volume
//! decides, since writers disagree on the order of a cell's corners.

mod kind;

use glam::{DVec3, Vec3};

use super::{
    polygon::Faces,
    read_error::{FilePlace, MeshReadError, unexpected},
    read_room::ReadRoom,
};
pub use kind::CellKind;

/// Cells of a file, each with its kind and its corners.
#[derive(Default)]
pub(super) struct Cells {
    kinds: Vec<CellKind>,
    /// Position of each cell's first corner in `corners`.
    starts: Vec<u32>,
    corners: Vec<u32>,
}

/// Cells of a volume mesh, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CellCounts {
    /// Cells with four corners.
    pub tetrahedra: u32,
    /// Cells with a quadrilateral base and an apex.
    pub pyramids: u32,
    /// Cells with a triangular base and a triangular top.
    pub wedges: u32,
    /// Cells with eight corners, voxels among them.
    pub hexahedra: u32,
    /// Cells of a negative volume: their corners are numbered for the other orientation. Wedges are not counted: VTK
    /// defines them the other way round than Gmsh, and writers of VTK's files do either.
    pub inverted: u32,
    /// Faces that more than two cells share.
    pub overfull_faces: u32,
}

/// Face of a cell: the cell's number times [`FACES_MAX`], plus the number of its face.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FaceId(u32);

/// Most faces of a cell.
const FACES_MAX: usize = 6;
/// Most cells, so that a [`FaceId`] fits.
const CELLS_MAX: u64 = (u32::MAX as usize / FACES_MAX) as u64;
/// Place of a corner that a face does not have.
const NONE: u32 = u32::MAX;

impl Cells {
    /// Cells whose corners are stored already: cell i begins at `starts[i]`.
    pub(super) fn new(kinds: Vec<CellKind>, starts: Vec<u32>, corners: Vec<u32>) -> Cells {
        debug_assert!(kinds.len() <= starts.len());
        Cells { kinds, starts, corners }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// No cells, with capacity for `n` of `n_corners` corners in all.
    pub(super) fn with_room(
        n: u64,
        n_corners: u64,
        room: &mut ReadRoom,
        place: FilePlace,
    ) -> Result<Cells, MeshReadError> {
        Ok(Cells {
            kinds: room.vec(n, "cells", place)?,
            starts: room.vec(n, "cells", place)?,
            corners: room.vec(n_corners, "corners", place)?,
        })
    }

    /// Adds a cell, which must have its kind's number of corners.
    pub(super) fn push(&mut self, kind: CellKind, corners: &[u32]) {
        debug_assert_eq!(corners.len(), kind.n_corners());
        self.kinds.push(kind);
        self.starts.push(self.corners.len() as u32);
        self.corners.extend(corners);
    }

    /// The triangles around the cells, in the order of the cells, and the number of cells of each kind. A quadrilateral
    /// gives two triangles.
    ///
    /// # Errors
    /// Returns an error if a cell has a corner that is not in `positions`, or if memory is short.
    pub(super) fn boundary(
        self,
        positions: &[Vec3],
        room: &mut ReadRoom,
    ) -> Result<(Vec<[u32; 3]>, CellCounts), MeshReadError> {
        self.check_corners(positions.len())?;
        let (ids, overfull_faces) = self.faces_of_one_cell(positions.len(), room)?;
        let mut counts = CellCounts { overfull_faces, ..CellCounts::default() };
        for (cell, kind) in self.kinds.iter().enumerate() {
            let count = match kind {
                CellKind::Tetrahedron => &mut counts.tetrahedra,
                CellKind::Pyramid => &mut counts.pyramids,
                CellKind::Wedge => &mut counts.wedges,
                CellKind::Hexahedron => &mut counts.hexahedra,
            };
            *count += 1;
            let is_counted = *kind != CellKind::Wedge;
            counts.inverted += u32::from(is_counted && self.is_inverted(cell, positions));
        }
        let n_triangles: usize = ids.iter().map(|id| self.face(*id).corners().len() - 2).sum();
        let mut faces = Faces::with_room(n_triangles as u64, room, FilePlace::Cell(0))?;
        for id in ids {
            let mut face = self.face(id);
            if self.is_inverted(id.cell(), positions) {
                face.corners_mut().reverse();
            }
            let is_face = faces.push_polygon(face.corners());
            debug_assert!(is_face);
        }
        Ok((faces.cut(positions, room)?, counts))
    }

    fn check_corners(&self, n_positions: usize) -> Result<(), MeshReadError> {
        if self.kinds.len() as u64 > CELLS_MAX {
            let got = self.kinds.len().to_string();
            let expected = format!("at most {CELLS_MAX} cells");
            return Err(unexpected(FilePlace::Cell(0), &expected, Some(got.as_bytes())));
        }
        for cell in 0..self.kinds.len() {
            if let Some(corner) = self.corners(cell).iter().find(|c| **c as usize >= n_positions) {
                let expected = format!("a corner among {n_positions} points");
                let got = corner.to_string();
                return Err(unexpected(FilePlace::Cell(cell), &expected, Some(got.as_bytes())));
            }
        }
        Ok(())
    }

    fn corners(&self, cell: usize) -> &[u32] {
        &self.corners[self.starts[cell] as usize..][..self.kinds[cell].n_corners()]
    }

    /// Sixfold signed volume is negative. All faces of a kind are listed with one orientation, so that their sum is the
    /// volume whatever the cell's shape.
    fn is_inverted(&self, cell: usize, positions: &[Vec3]) -> bool {
        let corners = self.corners(cell);
        let origin = positions[corners[0] as usize].as_dvec3();
        // Relative to a corner, so that no digits are lost far from the origin.
        let at = |corner: u8| positions[corners[corner as usize] as usize].as_dvec3() - origin;
        let fan = |face: &&[u8]| -> f64 {
            let (first, rest) = (at(face[0]), &face[1..]);
            let triple = |pair: &[u8]| DVec3::dot(first, at(pair[0]).cross(at(pair[1])));
            rest.windows(2).map(triple).sum()
        };
        self.kinds[cell].faces().iter().map(fan).sum::<f64>() < 0.0
    }

    /// A face's distinct corners; a hexahedron with collapsed edges has faces of three corners, or of fewer.
    fn face(&self, id: FaceId) -> Face {
        let cell = id.cell();
        let corners = self.corners(cell);
        let mut face = Face { corners: [NONE; 4], n: 0 };
        for corner in self.kinds[cell].faces()[id.face()] {
            let corner = corners[*corner as usize];
            if !face.corners().contains(&corner) {
                face.corners[face.n] = corner;
                face.n += 1;
            }
        }
        face
    }

    /// Faces that belong to one cell only, in ascending order, and the number of faces of more than two.
    fn faces_of_one_cell(
        &self,
        n_positions: usize,
        room: &mut ReadRoom,
    ) -> Result<(Vec<FaceId>, u32), MeshReadError> {
        // Equal faces have an equal least corner: faces are sorted into buckets by it, and within each bucket.
        let place = FilePlace::Cell(0);
        let mut ends: Vec<u32> = room.vec(n_positions as u64 + 1, "points", place)?;
        ends.resize(n_positions + 1, 0);
        let all = || {
            let ids = self.kinds.iter().enumerate().flat_map(|(cell, kind)| {
                (0..kind.faces().len()).map(move |face| FaceId((cell * FACES_MAX + face) as u32))
            });
            ids.filter_map(|id| Some((id, self.face(id).key()?)))
        };
        let mut n_faces = 0;
        for (_, key) in all() {
            ends[key[0] as usize + 1] += 1;
            n_faces += 1;
        }
        let mut end = 0;
        for bucket in &mut ends {
            end += *bucket;
            *bucket = end;
        }
        let mut ids: Vec<FaceId> = room.vec(n_faces, "faces", place)?;
        ids.resize(n_faces as usize, FaceId(NONE));
        // Each bucket's start moves to its end while the bucket is filled.
        for (id, key) in all() {
            let next = &mut ends[key[0] as usize];
            ids[*next as usize] = id;
            *next += 1;
        }
        let (mut n_kept, mut n_overfull, mut start) = (0, 0, 0);
        for end in ends[..n_positions].iter().map(|end| *end as usize) {
            ids[start..end].sort_unstable_by_key(|id| (self.face(*id).key(), *id));
            let mut rest = start..end;
            while let Some(first) = rest.next() {
                let key = self.face(ids[first]).key();
                let n_same = rest.clone().take_while(|i| self.face(ids[*i]).key() == key).count();
                rest.start += n_same;
                n_overfull += u32::from(n_same > 1);
                if n_same == 0 {
                    ids[n_kept] = ids[first];
                    n_kept += 1;
                }
            }
            start = end;
        }
        ids.truncate(n_kept);
        ids.sort_unstable();
        Ok((ids, n_overfull))
    }
}

impl FaceId {
    fn cell(self) -> usize {
        self.0 as usize / FACES_MAX
    }

    fn face(self) -> usize {
        self.0 as usize % FACES_MAX
    }
}

/// Three or four distinct corners; fewer if the face has collapsed.
struct Face {
    corners: [u32; 4],
    n: usize,
}

impl Face {
    fn corners(&self) -> &[u32] {
        &self.corners[..self.n]
    }

    fn corners_mut(&mut self) -> &mut [u32] {
        &mut self.corners[..self.n]
    }

    /// Equal for the faces of two neighbours; `None` if the face has no area.
    fn key(&self) -> Option<[u32; 4]> {
        let mut key = self.corners;
        key.sort_unstable();
        (self.n >= 3).then_some(key)
    }
}

#[cfg(test)]
mod tests;
