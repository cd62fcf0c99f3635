//! An indexed triangle mesh that can be deformed and cut.
//!
//! Ids are stable: a removed triangle leaves a hole in the numbering, and its id is not used again. The triangles at
//! each vertex are in lists of corners threaded through one array, so neighbours are found and edited locally.

pub mod boundary;
pub mod cap;
pub mod holes;
pub mod hub_search;
pub mod hubs;
pub mod load;
mod mesh_warnings;
pub mod orientation;
pub mod outer_sheet;
pub mod pseudonormal;
pub mod report;
pub mod seam_search;
mod seams;
pub mod split_patch;
pub mod topology;
mod weld;

use glam::{DVec3, Vec3};
use serde::{Deserialize, Serialize};

use super::Aabb;
use hubs::Hubs;
use seams::Seams;

/// Id of a triangle of a mesh. A corner is `3 * triangle + k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TriangleId(pub u32);

/// Unchecked vertices and triangles, as read from a file or the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeshData {
    /// In the sender's unit.
    pub positions: Vec<Vec3>,
    /// Vertex numbers from 0; three times `u32::MAX` for a removed triangle.
    pub triangles: Vec<[u32; 3]>,
}

/// Triangles over shared vertices, with an index of the triangles around each vertex.
#[derive(Clone, Debug)]
pub struct TriangleMesh {
    positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    // Lists threaded through one array instead of a list for each vertex: a cut changes three words a corner and
    // allocates nothing.
    first_corner: Vec<u32>,
    next_corner: Vec<u32>,
    n_live: usize,
    hubs: Hubs,
    seams: Seams,
}

const NO_CORNER: u32 = u32::MAX;
// Marked in the triangle itself: a list of holes would have to be searched at each access.
pub(crate) const REMOVED: [u32; 3] = [u32::MAX; 3];

impl TriangleMesh {
    /// Builds a mesh. Ids are indices into `data`, in which a removed triangle leaves a hole.
    ///
    /// # Panics
    /// Panics if a triangle names a vertex that does not exist.
    pub fn new(data: MeshData) -> TriangleMesh {
        let n_triangles = data.triangles.len();
        let n_live = data.triangles.iter().filter(|t| **t != REMOVED).count();
        let mut mesh = TriangleMesh {
            first_corner: vec![NO_CORNER; data.positions.len()],
            next_corner: vec![NO_CORNER; 3 * n_triangles],
            positions: data.positions,
            triangles: data.triangles,
            n_live,
            hubs: Hubs::default(),
            seams: Seams::default(),
        };
        // Filled from the back, so that each vertex lists its corners in ascending order.
        for t in (0..n_triangles as u32).rev() {
            // A fixed order makes sums over a ring identical on every machine.
            if mesh.triangles[t as usize] != REMOVED {
                mesh.link_corners(TriangleId(t));
            }
        }
        mesh
    }

    /// Returns data from which [`TriangleMesh::new`] builds an equal mesh.
    pub fn data(&self) -> MeshData {
        MeshData { positions: self.positions.clone(), triangles: self.triangles.clone() }
    }

    /// Positions of all vertices, those without a triangle included: `[n_vertices]`.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Bytes allocated, spare capacity included.
    pub fn heap_bytes(&self) -> usize {
        let TriangleMesh { positions, triangles, first_corner, next_corner, hubs, seams, .. } =
            self;
        size_of::<Vec3>() * positions.capacity()
            + size_of::<[u32; 3]>() * triangles.capacity()
            + size_of::<u32>() * (first_corner.capacity() + next_corner.capacity())
            + hubs.heap_bytes()
            + seams.heap_bytes()
    }

    /// Number of triangles that exist.
    pub fn n_triangles(&self) -> usize {
        self.n_live
    }

    /// Exclusive end of the triangle ids ever given.
    pub fn triangle_id_end(&self) -> u32 {
        self.triangles.len() as u32
    }

    /// The triangle's vertices, or `None` if the id is unknown or removed.
    pub fn get(&self, t: TriangleId) -> Option<[u32; 3]> {
        self.triangles.get(t.0 as usize).copied().filter(|v| *v != REMOVED)
    }

    /// The vertices of an existing triangle.
    pub fn vertices(&self, t: TriangleId) -> [u32; 3] {
        let v = self.triangles[t.0 as usize];
        debug_assert!(v != REMOVED, "triangle {t:?} was removed");
        v
    }

    /// The triangle's exact corners.
    pub fn triangle(&self, t: TriangleId) -> [DVec3; 3] {
        let [a, b, c] = self.vertices(t);
        [self.position(a), self.position(b), self.position(c)]
    }

    /// Exact position of one vertex.
    pub fn position(&self, v: u32) -> DVec3 {
        self.positions[v as usize].as_dvec3()
    }

    /// The triangle's corners in stored precision.
    pub fn corners(&self, t: TriangleId) -> [Vec3; 3] {
        let [a, b, c] = self.vertices(t);
        [self.positions[a as usize], self.positions[b as usize], self.positions[c as usize]]
    }

    /// The triangle's exact box.
    pub fn triangle_box(&self, t: TriangleId) -> Aabb {
        Aabb::of_points(self.vertices(t).map(|v| self.positions[v as usize]))
    }

    /// Ids of the existing triangles, ascending.
    pub fn triangle_ids(&self) -> impl Iterator<Item = TriangleId> + '_ {
        (0..self.triangle_id_end())
            .map(TriangleId)
            .filter(|t| self.triangles[t.0 as usize] != REMOVED)
    }

    /// Corners at a vertex as (triangle, corner number in it). A triangle that names the vertex twice appears twice.
    pub fn ring(&self, v: u32) -> impl Iterator<Item = (TriangleId, usize)> + '_ {
        let some = |c: u32| (c != NO_CORNER).then_some(c);
        std::iter::successors(some(self.first_corner[v as usize]), move |&c| {
            some(self.next_corner[c as usize])
        })
        .map(|c| (TriangleId(c / 3), (c % 3) as usize))
    }

    /// Representative of `v` and all vertices that seams join with it (`seam_search`): the least of them.
    pub fn joined(&self, v: u32) -> u32 {
        self.seams.least(v)
    }

    /// Representatives of the triangle's vertices: triangles share these across a seam.
    pub fn joined_vertices(&self, t: TriangleId) -> [u32; 3] {
        self.vertices(t).map(|v| self.seams.least(v))
    }

    /// As [`TriangleMesh::ring`], but of a vertex and all vertices that seams join with it, in one order for all of
    /// them.
    pub fn around(&self, v: u32) -> impl Iterator<Item = (TriangleId, usize)> + '_ {
        // Not a flattened iterator: every query that ends at an edge or a vertex visits a ring.
        let first = self.seams.least(v);
        let (mut member, mut corner) = (first, self.first_corner[first as usize]);
        std::iter::from_fn(move || {
            while corner == NO_CORNER {
                member = self.seams.after(member).filter(|next| *next != first)?;
                corner = self.first_corner[member as usize];
            }
            let here = corner;
            corner = self.next_corner[here as usize];
            Some((TriangleId(here / 3), (here % 3) as usize))
        })
    }

    /// Returns true if seams join the vertices exactly as in another state of the mesh. O(n) if they join any.
    pub fn has_seams_of(&self, other: &TriangleMesh) -> bool {
        self.seams.are_those_of(&other.seams)
    }

    /// Returns true if seams join any vertices.
    pub fn has_seams(&self) -> bool {
        !self.seams.is_empty()
    }

    /// Triangles at an edge on both sides of a seam, in the order of [`TriangleMesh::around`] the first vertex; a
    /// triangle that names that vertex twice appears twice.
    pub fn at_edge(&self, v: u32, w: u32) -> impl Iterator<Item = TriangleId> + '_ {
        let [v, w] = [v, w].map(|v| self.joined(v));
        let noted = self.hubs.at_edge(v, w);
        let is_at = move |t: &TriangleId| self.joined_vertices(*t).contains(&w);
        let walked = noted.is_none().then(|| self.around(v).map(|(t, _)| t).filter(is_at));
        noted.into_iter().flatten().map(|(_, t)| TriangleId(*t)).chain(walked.into_iter().flatten())
    }

    /// Returns true if a vertex has more than [`VALENCE_MAX`](hubs::VALENCE_MAX) triangles around it.
    pub fn is_hub(&self, v: u32) -> bool {
        self.around(v).nth(hubs::VALENCE_MAX).is_some()
    }

    /// Box of all vertices that a triangle uses.
    pub fn used_box(&self) -> Aabb {
        self.triangle_ids().fold(Aabb::EMPTY, |b, t| b.union(&self.triangle_box(t)))
    }

    /// Mean edge length over all triangles, 0 for an empty mesh.
    pub fn mean_edge(&self) -> f64 {
        let sum: f64 = self
            .triangle_ids()
            .map(|t| {
                let [a, b, c] = self.triangle(t);
                a.distance(b) + b.distance(c) + c.distance(a)
            })
            .sum();
        if self.n_live == 0 { 0.0 } else { sum / (3 * self.n_live) as f64 }
    }

    /// Moves a vertex to a new position.
    pub fn move_vertex(&mut self, v: u32, to: Vec3) {
        debug_assert!(to.is_finite(), "vertex {v} to {to}");
        self.positions[v as usize] = to;
        self.hubs.is_moved = true;
    }

    /// Moves all vertices: `to` is `[n_vertices]`.
    ///
    /// # Panics
    /// Panics if these are positions of another number of vertices.
    pub fn move_all(&mut self, to: Vec<Vec3>) {
        debug_assert!(to.iter().all(|p| p.is_finite()), "a place that is not finite");
        assert_eq!(to.len(), self.positions.len(), "a place for each vertex");
        self.positions = to;
        self.hubs.is_moved = true;
    }

    /// Adds a vertex without triangles and returns its number.
    pub fn add_vertex(&mut self, at: Vec3) -> u32 {
        self.positions.push(at);
        self.first_corner.push(NO_CORNER);
        (self.positions.len() - 1) as u32
    }

    /// Adds a triangle and returns its id.
    ///
    /// # Panics
    /// Panics if it names a vertex that does not exist.
    pub fn add_triangle(&mut self, vertices: [u32; 3]) -> TriangleId {
        let t = TriangleId(self.triangle_id_end());
        self.triangles.push(vertices);
        self.next_corner.extend([NO_CORNER; 3]);
        self.link_corners(t);
        self.hubs.note_changed(&vertices);
        self.n_live += 1;
        t
    }

    /// Removes a triangle; its id stays unused.
    pub fn remove_triangle(&mut self, t: TriangleId) {
        let vertices = self.vertices(t);
        self.hubs.note_changed(&vertices);
        for (k, v) in vertices.into_iter().enumerate() {
            self.unlink_corner(3 * t.0 + k as u32, v);
        }
        // The id is not used again: clients, indices and fronts may still name it.
        self.triangles[t.0 as usize] = REMOVED;
        self.n_live -= 1;
    }

    /// Asserts that every corner is listed once at its vertex and nowhere else.
    pub fn assert_well_formed(&self) {
        let mut n_listed = 0;
        for v in 0..self.positions.len() as u32 {
            for (t, k) in self.ring(v) {
                assert_eq!(self.vertices(t)[k], v, "corner {k} of {t:?} is listed at vertex {v}");
                n_listed += 1;
                assert!(n_listed <= 3 * self.n_live, "a corner list has a loop");
            }
        }
        assert_eq!(n_listed, 3 * self.n_live);
        assert_eq!(self.triangle_ids().count(), self.n_live);
    }

    fn link_corners(&mut self, t: TriangleId) {
        let vertices = self.triangles[t.0 as usize];
        for k in (0..3).rev() {
            let first = &mut self.first_corner[vertices[k] as usize];
            let corner = 3 * t.0 + k as u32;
            self.next_corner[corner as usize] = *first;
            *first = corner;
        }
    }

    fn unlink_corner(&mut self, corner: u32, v: u32) {
        let next = self.next_corner[corner as usize];
        let mut at = self.first_corner[v as usize];
        // The singly linked list is followed from its head: rings are short.
        if at == corner {
            self.first_corner[v as usize] = next;
            return;
        }
        while self.next_corner[at as usize] != corner {
            at = self.next_corner[at as usize];
        }
        self.next_corner[at as usize] = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_follow_edits() {
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::ONE];
        let mut mesh =
            TriangleMesh::new(MeshData { positions, triangles: vec![[0, 1, 2], [2, 1, 3]] });
        mesh.assert_well_formed();
        assert_eq!(mesh.ring(1).map(|(t, _)| t.0).collect::<Vec<_>>(), [0, 1]);
        mesh.remove_triangle(TriangleId(0));
        let v = mesh.add_vertex(Vec3::Z);
        let t = mesh.add_triangle([3, 1, v]);
        mesh.assert_well_formed();
        assert_eq!((t, mesh.n_triangles(), mesh.get(TriangleId(0))), (TriangleId(2), 2, None));
        assert_eq!(mesh.ring(0).count(), 0);
    }
}
