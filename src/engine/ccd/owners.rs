//! Owning triangle of each vertex and edge that several triangles share: representative triangles, so that every pair
//! of features is tested once.

use crate::geometry::{TriangleId, TriangleMesh};

/// The vertices and edges that one triangle owns. Edge k goes from vertex k to (k + 1) % 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned(u8);

impl Owned {
    /// All three vertices and edges.
    pub const ALL: Owned = Owned(0b11_1111);
    /// Only the face.
    pub const NONE: Owned = Owned(0);

    /// Returns true if the triangle owns vertex k.
    pub fn vertex(self, k: usize) -> bool {
        self.0 >> k & 1 == 1
    }

    /// Returns true if the triangle owns edge k.
    pub fn edge(self, k: usize) -> bool {
        self.0 >> (3 + k) & 1 == 1
    }
}

/// Features that each triangle of a mesh owns: each vertex and edge belongs to its triangle with the least id.
///
/// To get every triangle's own time of contact, instead of every pair of features once, use [`Owned::ALL`].
#[derive(Clone, Debug)]
pub struct Owners {
    owned: Vec<Owned>,
}

impl Owners {
    /// Finds the owners of all features. O(n log(largest ring)).
    pub fn new(mesh: &TriangleMesh) -> Owners {
        let mut owners = Owners { owned: vec![Owned::NONE; mesh.triangle_id_end() as usize] };
        let mut edges = Vec::new();
        for v in 0..mesh.positions().len() as u32 {
            owners.give_at(mesh, v, &mut edges);
        }
        owners
    }

    /// Assigns a vertex, and the edges of which it is the lower one, to their owners. `edges`: scratch buffer.
    // Visits each ring once. Visiting the rings of each triangle's vertices takes the square of a ring: 20 s and more
    // for a fan of 100 k triangles.
    fn give_at(&mut self, mesh: &TriangleMesh, v: u32, edges: &mut Vec<(u32, TriangleId, usize)>) {
        // Vertices that a seam joins count as one vertex.
        if mesh.joined(v) != v {
            return;
        }
        if let Some((t, k)) = mesh.around(v).min() {
            self.owned[t.0 as usize].0 |= 1 << k;
        }
        edges.clear();
        for (t, k) in mesh.around(v) {
            let (vertices, last) = (mesh.joined_vertices(t), (k + 2) % 3);
            let both = [(vertices[(k + 1) % 3], t, k), (vertices[last], t, last)];
            edges.extend(both.into_iter().filter(|(other, ..)| *other >= v));
        }
        edges.sort_unstable();
        edges.dedup_by_key(|(other, ..)| *other);
        for (_, t, k) in edges {
            self.owned[t.0 as usize].0 |= 1 << (3 + *k);
        }
    }

    /// Features owned by an existing triangle.
    pub fn get(&self, t: TriangleId) -> Owned {
        debug_assert!((t.0 as usize) < self.owned.len(), "{t:?} of {}", self.owned.len());
        self.owned[t.0 as usize]
    }

    /// Updates owners after a cut: `vertices` are those of the removed and the added triangles.
    pub fn refresh(&mut self, mesh: &TriangleMesh, vertices: impl IntoIterator<Item = u32>) {
        self.owned.resize(mesh.triangle_id_end() as usize, Owned::NONE);
        for v in vertices {
            for (t, _) in mesh.around(v) {
                self.owned[t.0 as usize] = owned(mesh, t);
            }
        }
    }

    /// Asserts that the owners equal newly computed ones.
    pub fn assert_well_formed(&self, mesh: &TriangleMesh) {
        assert_eq!(self.owned.len(), mesh.triangle_id_end() as usize);
        for t in mesh.triangle_ids() {
            assert_eq!(self.get(t), owned(mesh, t), "owned by {t:?}");
        }
    }
}

/// Features owned by one triangle, by the rings of its vertices.
fn owned(mesh: &TriangleMesh, t: TriangleId) -> Owned {
    let vertices = mesh.joined_vertices(t);
    let mut bits = 0;
    for (k, v) in vertices.into_iter().enumerate() {
        let w = vertices[(k + 1) % 3];
        // The ring of a vertex at a cut is short, so owners are recomputed and no list of features is kept.
        bits |= u8::from(mesh.around(v).min() == Some((t, k))) << k;
        bits |= u8::from(edges(mesh, v, w).min() == Some((t, k))) << (3 + k);
    }
    Owned(bits)
}

/// The edges between two vertices as (triangle, edge number in it).
fn edges(mesh: &TriangleMesh, v: u32, w: u32) -> impl Iterator<Item = (TriangleId, usize)> + '_ {
    mesh.around(v).flat_map(move |(t, k)| {
        let vertices = mesh.joined_vertices(t);
        let (next, last) = ((k + 1) % 3, (k + 2) % 3);
        let from = (vertices[next] == w).then_some((t, k));
        let to = (vertices[last] == w).then_some((t, last));
        from.into_iter().chain(to)
    })
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::oracle::shapes;

    fn counts(mesh: &TriangleMesh, owners: &Owners) -> (usize, usize) {
        let count = |of: fn(Owned, usize) -> bool| {
            let own = |t| (0..3).filter(|k| of(owners.get(t), *k)).count();
            mesh.triangle_ids().map(own).sum()
        };
        (count(Owned::vertex), count(Owned::edge))
    }

    #[test]
    fn every_feature_has_one_owner_through_cuts() {
        let mut mesh = TriangleMesh::new(shapes::cuboid(DVec3::ONE));
        let mut owners = Owners::new(&mesh);
        assert_eq!(counts(&mesh, &owners), (8, 18));
        let vertices = mesh.vertices(TriangleId(0));
        mesh.remove_triangle(TriangleId(0));
        owners.refresh(&mesh, vertices);
        owners.assert_well_formed(&mesh);
        assert_eq!(counts(&mesh, &owners), (8, 18), "the hole has the same vertices and edges");
        let middle = mesh.add_vertex(glam::Vec3::ZERO);
        mesh.add_triangle([vertices[0], vertices[1], middle]);
        owners.refresh(&mesh, [vertices[0], vertices[1], middle]);
        owners.assert_well_formed(&mesh);
        assert_eq!(counts(&mesh, &owners), (9, 20));
    }

    /// Fans about one vertex, and soups that name vertices twice and share edges among many: owners match the rings.
    #[test]
    fn one_pass_finds_the_owners_that_rings_have() {
        let mut random = crate::oracle::Random::new(3);
        for n_vertices in [3, 5, 12, 200] {
            let positions = vec![glam::Vec3::ZERO; n_vertices];
            let mut vertex = || random.below(n_vertices) as u32;
            let soup = (0..300).map(|_| [vertex(), vertex(), vertex()]).collect();
            let mut mesh =
                TriangleMesh::new(crate::geometry::MeshData { positions, triangles: soup });
            for t in (0..300).step_by(7).map(TriangleId) {
                mesh.remove_triangle(t);
            }
            Owners::new(&mesh).assert_well_formed(&mesh);
        }
        let fan = TriangleMesh::new(shapes::spindle(500, 0.1, 0.1));
        Owners::new(&fan).assert_well_formed(&fan);
    }

    #[test]
    fn a_triangle_that_names_a_vertex_twice_owns_it_once() {
        let data = crate::geometry::MeshData {
            positions: vec![glam::Vec3::ZERO, glam::Vec3::X],
            triangles: vec![[0, 0, 1]],
        };
        let mesh = TriangleMesh::new(data);
        assert_eq!(counts(&mesh, &Owners::new(&mesh)), (2, 2));
    }
}
