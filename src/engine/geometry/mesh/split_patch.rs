//! Triangles of a mesh that new vertices split: a copy of the few that change, beside the mesh that stays as it is.

use std::collections::{HashMap, HashSet};

use glam::DVec3;

use super::{TriangleId, TriangleMesh, hubs::VALENCE_MAX};

/// A mesh with some of its triangles in pieces.
///
/// Seams are kept: a vertex that splits an edge of a seam is two vertices in one place, one for each side, with one
/// representative. Neighbours are told by representatives, pieces have the vertices themselves.
pub struct SplitPatch<'a> {
    mesh: &'a TriangleMesh,
    /// Triangles of the mesh that are in pieces, in the order in which they were split.
    split: Vec<TriangleId>,
    is_split: HashSet<TriangleId>,
    pieces: Vec<SplitPiece>,
    /// Pieces at each representative and of each triangle, those that are gone included.
    at: HashMap<u32, Vec<usize>>,
    of: HashMap<TriangleId, Vec<usize>>,
    added: Vec<AddedVertex>,
}

/// A triangle of the mesh, or a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PatchFace {
    /// A triangle of the mesh.
    Whole(TriangleId),
    /// Number of a piece.
    Piece(usize),
}

struct SplitPiece {
    corners: [u32; 3],
    parent: TriangleId,
    is_there: bool,
}

struct AddedVertex {
    position: DVec3,
    representative: u32,
}

impl<'a> SplitPatch<'a> {
    /// Creates a patch in which nothing is split.
    pub fn of(mesh: &'a TriangleMesh) -> SplitPatch<'a> {
        let (split, is_split, pieces, at, of, added) = Default::default();
        SplitPatch { mesh, split, is_split, pieces, at, of, added }
    }

    /// Number of vertices, added ones included.
    pub fn n_vertices(&self) -> usize {
        self.mesh.positions().len() + self.added.len()
    }

    /// Returns true for a vertex that the mesh does not have.
    pub fn is_added(&self, v: u32) -> bool {
        v as usize >= self.mesh.positions().len()
    }

    fn added_at(&self, v: u32) -> Option<&AddedVertex> {
        (v as usize).checked_sub(self.mesh.positions().len()).map(|at| &self.added[at])
    }

    /// Position of a vertex, metres.
    pub fn position(&self, v: u32) -> DVec3 {
        self.added_at(v).map_or_else(|| self.mesh.position(v), |added| added.position)
    }

    /// Representative of a vertex and of those that seams join with it.
    pub fn joined(&self, v: u32) -> u32 {
        self.added_at(v).map_or_else(|| self.mesh.joined(v), |added| added.representative)
    }

    /// Vertices of a face.
    pub fn corners(&self, face: PatchFace) -> [u32; 3] {
        match face {
            PatchFace::Whole(t) => self.mesh.vertices(t),
            PatchFace::Piece(at) => self.pieces[at].corners,
        }
    }

    /// Representatives of the vertices of a face.
    pub fn joined_corners(&self, face: PatchFace) -> [u32; 3] {
        self.corners(face).map(|v| self.joined(v))
    }

    /// Returns which corner of a face is a representative.
    ///
    /// # Panics
    /// Panics if none is.
    pub fn corner_at(&self, face: PatchFace, v: u32) -> usize {
        self.joined_corners(face).iter().position(|c| *c == v).expect("the face is at the vertex")
    }

    /// Positions of the vertices of a face.
    pub fn triangle(&self, face: PatchFace) -> [DVec3; 3] {
        self.corners(face).map(|v| self.position(v))
    }

    /// Triangle of the mesh that a face is a part of.
    pub fn parent(&self, face: PatchFace) -> TriangleId {
        match face {
            PatchFace::Whole(t) => t,
            PatchFace::Piece(at) => self.pieces[at].parent,
        }
    }

    /// Faces that have a vertex or one that is joined with it.
    pub fn faces_at(&self, v: u32) -> Vec<PatchFace> {
        let v = self.joined(v);
        let mut faces = Vec::new();
        if !self.is_added(v) {
            let whole = self.mesh.around(v).map(|(t, _)| t).filter(|t| !self.is_split.contains(t));
            faces.extend(whole.map(PatchFace::Whole));
        }
        faces.extend(self.those_there(self.at.get(&v)));
        faces
    }

    /// Upper bound of the faces at a representative, of those of the mesh only up to a hub's.
    fn n_known_at(&self, v: u32) -> usize {
        let whole =
            if self.is_added(v) { 0 } else { self.mesh.around(v).take(VALENCE_MAX).count() };
        whole + self.at.get(&v).map_or(0, Vec::len)
    }

    /// Parts of a triangle of the mesh: itself, or its pieces.
    pub fn parts_of(&self, t: TriangleId) -> Vec<PatchFace> {
        match self.is_split.contains(&t) {
            true => self.those_there(self.of.get(&t)).collect(),
            false => vec![PatchFace::Whole(t)],
        }
    }

    fn those_there<'b>(
        &'b self,
        pieces: Option<&'b Vec<usize>>,
    ) -> impl Iterator<Item = PatchFace> + 'b {
        let there = pieces.into_iter().flatten().filter(|at| self.pieces[**at].is_there);
        there.map(|at| PatchFace::Piece(*at))
    }

    /// Returns true for a triangle that is in pieces.
    pub fn is_split(&self, t: TriangleId) -> bool {
        self.is_split.contains(&t)
    }

    /// Triangles that are in pieces.
    pub fn split(&self) -> &[TriangleId] {
        &self.split
    }

    /// The pieces: vertices and parent of each.
    pub fn pieces(&self) -> impl Iterator<Item = ([u32; 3], TriangleId)> + '_ {
        self.pieces.iter().filter(|piece| piece.is_there).map(|piece| (piece.corners, piece.parent))
    }

    /// Positions of the added vertices, metres.
    pub fn added_positions(&self) -> impl Iterator<Item = DVec3> + '_ {
        self.added.iter().map(|added| added.position)
    }

    /// Adds a vertex that is joined with no other, or with the vertices of a representative.
    pub fn add_vertex(&mut self, position: DVec3, joined_with: Option<u32>) -> u32 {
        let v = self.n_vertices() as u32;
        let representative = joined_with.unwrap_or(v);
        self.added.push(AddedVertex { position, representative });
        v
    }

    /// Moves an added vertex.
    pub fn move_added(&mut self, v: u32, to: DVec3) {
        let at = v as usize - self.mesh.positions().len();
        self.added[at].position = to;
    }

    /// Replaces a face by pieces with these vertices.
    pub fn replace(&mut self, face: PatchFace, by: &[[u32; 3]]) {
        let parent = self.parent(face);
        match face {
            PatchFace::Whole(t) => {
                self.split.push(t);
                self.is_split.insert(t);
            }
            PatchFace::Piece(at) => self.pieces[at].is_there = false,
        }
        for corners in by {
            let at = self.pieces.len();
            for v in corners.map(|v| self.joined(v)) {
                self.at.entry(v).or_default().push(at);
            }
            self.of.entry(parent).or_default().push(at);
            self.pieces.push(SplitPiece { corners: *corners, parent, is_there: true });
        }
    }

    /// Splits a face in three about a new vertex in it, and returns the vertex.
    pub fn split_face(&mut self, face: PatchFace, at: DVec3) -> u32 {
        let [a, b, c] = self.corners(face);
        let v = self.add_vertex(at, None);
        self.replace(face, &[[a, b, v], [b, c, v], [c, a, v]]);
        v
    }

    /// Splits each face at the edge of two vertices in two, by a new vertex on it, and returns its representative.
    pub fn split_edge(&mut self, v: u32, w: u32, at: DVec3) -> u32 {
        let [mut v, mut w] = [v, w].map(|v| self.joined(v));
        // Around a vertex may be all triangles of a mesh.
        if self.n_known_at(v) > self.n_known_at(w) {
            std::mem::swap(&mut v, &mut w);
        }
        let mut made: Vec<([u32; 2], u32)> = Vec::new();
        for face in self.faces_at(v) {
            let joined = self.joined_corners(face);
            let [Some(i), Some(j)] = [v, w].map(|v| joined.iter().position(|c| *c == v)) else {
                continue;
            };
            let corners = self.corners(face);
            let ends = [corners[i], corners[j]];
            let first = made.first().map(|(_, vertex)| *vertex);
            let known = made.iter().find(|(of, _)| *of == ends).map(|(_, vertex)| *vertex);
            let vertex = known.unwrap_or_else(|| {
                let vertex = self.add_vertex(at, first);
                made.push((ends, vertex));
                vertex
            });
            let with = |k: usize| {
                let mut piece = corners;
                piece[k] = vertex;
                piece
            };
            self.replace(face, &[with(j), with(i)]);
        }
        made[0].1
    }
}
