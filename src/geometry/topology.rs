//! What the edges of a mesh say about it: is it closed, how many bodies, do neighbours agree in winding.
//!
//! Found through the rings of corners in one pass, each edge at its lower vertex, in
//! O(n_triangles log(largest ring)) and without a hash map, because it is run again after each cut.

use serde::Serialize;

use super::{TriangleId, TriangleMesh};

/// How inside is told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignRule {
    /// By the angle-weighted normal of the closest feature: the mesh is closed and one body.
    Pseudonormal,
    /// By the generalised winding number: the mesh is open or has several bodies.
    WindingNumber,
}

/// Counts over the edges of a mesh.
///
/// A triangle that names a vertex twice is a segment or a point: it bounds nothing, so it takes no part
/// in any count here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Edges with one triangle.
    pub open_edges: u32,
    /// Edges with three triangles or more.
    pub non_manifold_edges: u32,
    /// Edges whose two triangles traverse them in the same direction.
    pub inconsistent_edges: u32,
    /// Sets of triangles joined by shared edges; a shared vertex alone joins nothing.
    pub bodies: u32,
}

/// One triangle's side of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeUse {
    /// The triangle.
    pub triangle: TriangleId,
    /// It traverses the edge from the lower vertex to the higher.
    pub ascending: bool,
}

impl Topology {
    /// Counts the edges of the triangles that are there.
    pub fn of(mesh: &TriangleMesh) -> Topology {
        let (mut open_edges, mut non_manifold_edges, mut inconsistent_edges) = (0, 0, 0);
        let mut joined = Partition::new(mesh.triangle_id_end());
        visit_edges(mesh, |_, uses| {
            match uses {
                [_] => open_edges += 1,
                [a, b] => inconsistent_edges += u32::from(a.ascending == b.ascending),
                _ => non_manifold_edges += 1,
            }
            joined.join_all(uses);
        });
        let bodies = joined.firsts(mesh).len() as u32;
        Topology { open_edges, non_manifold_edges, inconsistent_edges, bodies }
    }

    /// Every edge has exactly two triangles that agree in winding, and there is one.
    pub fn closed(&self) -> bool {
        self.bodies > 0
            && self.open_edges == 0
            && self.non_manifold_edges == 0
            && self.inconsistent_edges == 0
    }

    /// The rule that is right for such a mesh: pseudonormal iff closed and one body.
    pub fn sign_rule(&self) -> SignRule {
        if self.closed() && self.bodies == 1 {
            SignRule::Pseudonormal
        } else {
            SignRule::WindingNumber
        }
    }
}

/// The smallest triangle of each body, ascending.
pub fn first_of_each_body(mesh: &TriangleMesh) -> Vec<TriangleId> {
    let mut joined = Partition::new(mesh.triangle_id_end());
    visit_edges(mesh, |_, uses| joined.join_all(uses));
    joined.firsts(mesh)
}

/// The body of each triangle id, named by its smallest triangle.
pub fn body_of_each(mesh: &TriangleMesh) -> Vec<TriangleId> {
    let mut joined = Partition::new(mesh.triangle_id_end());
    visit_edges(mesh, |_, uses| joined.join_all(uses));
    (0..mesh.triangle_id_end()).map(|t| TriangleId(joined.root(t))).collect()
}

/// Shows each edge once, its lower vertex first, with all triangles that use it in ascending order. Edges come by their lower
/// vertex, then by their higher. Triangles that name a vertex twice are left out.
pub fn visit_edges(mesh: &TriangleMesh, mut visit: impl FnMut([u32; 2], &[EdgeUse])) {
    let mut at_vertex: Vec<(u32, EdgeUse)> = Vec::new();
    let mut uses: Vec<EdgeUse> = Vec::new();
    for low in 0..mesh.positions().len() as u32 {
        at_vertex.clear();
        for (triangle, k) in mesh.ring(low) {
            let vertices = mesh.vertices(triangle);
            if !has_three_vertices(vertices) {
                continue;
            }
            for (high, ascending) in [(vertices[(k + 1) % 3], true), (vertices[(k + 2) % 3], false)]
            {
                if high > low {
                    at_vertex.push((high, EdgeUse { triangle, ascending }));
                }
            }
        }
        at_vertex.sort_unstable_by_key(|(high, edge_use)| (*high, edge_use.triangle));
        for edge in at_vertex.chunk_by(|a, b| a.0 == b.0) {
            uses.clear();
            uses.extend(edge.iter().map(|(_, edge_use)| *edge_use));
            visit([low, edge[0].0], &uses);
        }
    }
}

/// The three vertices differ.
pub fn has_three_vertices([a, b, c]: [u32; 3]) -> bool {
    a != b && b != c && c != a
}

/// Disjoint sets of numbers; the least member is the root of its set.
struct Partition {
    parent: Vec<u32>,
}

impl Partition {
    fn new(n: u32) -> Partition {
        Partition { parent: (0..n).collect() }
    }

    fn root(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            let grandparent = self.parent[self.parent[i as usize] as usize];
            self.parent[i as usize] = grandparent;
            i = grandparent;
        }
        i
    }

    fn join_all(&mut self, uses: &[EdgeUse]) {
        for pair in uses.windows(2) {
            self.join(pair[0].triangle.0, pair[1].triangle.0);
        }
    }

    /// The first triangle of each set; those that name a vertex twice are in none.
    fn firsts(&mut self, mesh: &TriangleMesh) -> Vec<TriangleId> {
        let first = |t: &TriangleId| has_three_vertices(mesh.vertices(*t)) && self.root(t.0) == t.0;
        mesh.triangle_ids().filter(first).collect()
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::{geometry::MeshData, oracle::shapes};

    fn of(n_vertices: usize, triangles: &[[u32; 3]]) -> Topology {
        let positions = vec![Vec3::ZERO; n_vertices];
        Topology::of(&TriangleMesh::new(MeshData { positions, triangles: triangles.to_vec() }))
    }

    const TETRAHEDRON: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];

    #[test]
    fn closed_body() {
        let t = of(4, &TETRAHEDRON);
        assert_eq!(
            t,
            Topology { open_edges: 0, non_manifold_edges: 0, inconsistent_edges: 0, bodies: 1 }
        );
        assert!(t.closed());
        assert_eq!(t.sign_rule(), SignRule::Pseudonormal);
    }

    #[test]
    fn a_removed_triangle_opens_three_edges() {
        let mut mesh = TriangleMesh::new(MeshData {
            positions: vec![Vec3::ZERO; 4],
            triangles: TETRAHEDRON.to_vec(),
        });
        mesh.remove_triangle(TriangleId(2));
        let t = Topology::of(&mesh);
        assert_eq!((t.open_edges, t.bodies, t.closed()), (3, 1, false));
        assert_eq!(t.sign_rule(), SignRule::WindingNumber);
    }

    #[test]
    fn bow_tie_vertex_joins_no_bodies() {
        let second = TETRAHEDRON.map(|t| t.map(|v| v + 3));
        let t = of(7, &[TETRAHEDRON, second].concat());
        assert_eq!((t.bodies, t.closed(), t.sign_rule()), (2, true, SignRule::WindingNumber));
    }

    #[test]
    fn three_on_an_edge_and_a_turned_neighbour() {
        let fin = of(5, &[[0, 1, 2], [1, 0, 3], [0, 1, 4]]);
        assert_eq!((fin.non_manifold_edges, fin.open_edges, fin.bodies), (1, 6, 1));
        let turned = of(4, &[[0, 1, 2], [0, 1, 3]]);
        assert_eq!((turned.inconsistent_edges, turned.open_edges, turned.bodies), (1, 4, 1));
    }

    #[test]
    fn a_repeated_vertex_bounds_nothing() {
        let t = of(4, &[TETRAHEDRON.to_vec(), vec![[0, 0, 1], [3, 3, 3]]].concat());
        assert_eq!((t.bodies, t.closed()), (1, true));
        assert_eq!(of(1, &[[0, 0, 0]]).bodies, 0);
        assert!(!of(1, &[[0, 0, 0]]).closed());
    }

    #[test]
    fn shapes_are_what_they_say() {
        for (data, closed, open_edges) in [
            (shapes::sphere(0.1, 6), true, 0),
            (shapes::torus(0.1, 0.03, 12, 7), true, 0),
            (shapes::sheet(5, 4, 0.01), false, 14),
            (shapes::tube(0.01, 0.1, 9, 4), false, 18),
        ] {
            let t = Topology::of(&TriangleMesh::new(data));
            assert_eq!((t.closed(), t.open_edges, t.bodies), (closed, open_edges, 1));
            assert_eq!((t.non_manifold_edges, t.inconsistent_edges), (0, 0));
        }
    }
}
