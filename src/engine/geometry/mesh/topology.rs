//! Edge counts of a mesh: is it closed, how many bodies does it have, do neighbours agree in winding.
//!
//! A single pass through the rings of corners finds each edge at its lower vertex, in O(n_triangles log(largest ring))
//! and without a hash map. After an edit only edges at its own vertices are counted again, and bodies only if the mesh
//! is closed and may be in parts. Edges that lie upon each other along a seam (`seam_search`) are one, and vertices
//! that a seam joins are named by the least of them.

use serde::{Deserialize, Serialize};

use crate::geometry::{TriangleId, TriangleMesh};

/// Rule that tells inside from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignRule {
    /// By the angle-weighted normal of the closest feature: the mesh is closed and one body.
    Pseudonormal,
    /// By the generalised winding number: the mesh is open or has several bodies.
    WindingNumber,
}

/// Counts over edges of a mesh.
///
/// A triangle that names a vertex twice is a segment or a point: it bounds nothing, so these counts ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Edges with one triangle.
    pub open: u32,
    /// Edges with three triangles or more.
    pub non_manifold: u32,
    /// Edges whose two triangles traverse them in the same direction.
    pub inconsistent: u32,
    /// Edges whose triangles name different vertices there, which a seam joins. They may be in the other counts too.
    pub welded: u32,
}

/// Counts of a mesh's edges and bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Counts over all edges.
    pub edges: EdgeCounts,
    /// Sets of triangles joined by shared edges; a shared vertex alone joins nothing. `None` after an edit that leaves
    /// the mesh open and perhaps in parts.
    pub bodies: Option<u32>,
}

/// The surroundings of an edit, before the edit.
#[derive(Clone, Debug)]
pub struct EditSite {
    /// Vertices of all removed and added triangles, ascending.
    vertices: Vec<u32>,
    /// Counts before the edit, over the edges whose lower vertex is one of them.
    before: EdgeCounts,
}

impl EdgeCounts {
    /// Returns true if every edge has two triangles that agree in winding.
    fn are_closed(&self) -> bool {
        (self.open, self.non_manifold, self.inconsistent) == (0, 0, 0)
    }

    fn add(&mut self, mesh: &TriangleMesh, ends: [u32; 2], uses: &[EdgeUse]) {
        self.welded += u32::from(mesh.has_seams() && is_welded(mesh, ends, uses));
        match uses {
            [_] => self.open += 1,
            [a, b] => self.inconsistent += u32::from(a.ascending == b.ascending),
            _ => self.non_manifold += 1,
        }
    }

    /// Counts the edges whose lower vertex is one of these.
    fn at(mesh: &TriangleMesh, vertices: impl Iterator<Item = u32>) -> EdgeCounts {
        let mut counts = EdgeCounts::default();
        visit_edges_at(mesh, vertices, |ends, uses| counts.add(mesh, ends, uses));
        counts
    }
}

impl EditSite {
    /// Site of an edit; call it before the triangles are removed and added.
    pub fn new(mesh: &TriangleMesh, removed: &[TriangleId], added: &[[u32; 3]]) -> EditSite {
        let removed = removed.iter().map(|t| mesh.vertices(*t));
        let mut vertices: Vec<u32> = removed.chain(added.iter().copied()).flatten().collect();
        if mesh.has_seams() {
            vertices.extend_from_within(..);
            let n = vertices.len() / 2;
            vertices[n..].iter_mut().for_each(|v| *v = mesh.joined(*v));
        }
        EditSite::about(mesh, vertices)
    }

    /// Site of a change of seams; call it before the seams part or join. `vertices` are all that are joined with any of
    /// them before or after.
    pub fn of_seams(mesh: &TriangleMesh, vertices: &[u32]) -> EditSite {
        // An edge is counted at its lower vertex, which may change with the seams.
        let around = vertices.iter().flat_map(|v| mesh.ring(*v));
        let around = around.flat_map(|(t, _)| mesh.joined_vertices(t));
        EditSite::about(mesh, vertices.iter().copied().chain(around).collect())
    }

    fn about(mesh: &TriangleMesh, mut vertices: Vec<u32>) -> EditSite {
        vertices.sort_unstable();
        vertices.dedup();
        let n_vertices = mesh.positions().len() as u32;
        // New vertices have no edges yet.
        let known = vertices.iter().copied().take_while(|v| *v < n_vertices);
        let before = EdgeCounts::at(mesh, known);
        EditSite { vertices, before }
    }

    /// Vertices of all removed and added triangles, and all vertices joined with them, ascending.
    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }

    /// Adds the vertices of another site.
    pub fn and(mut self, other: EditSite) -> EditSite {
        self.vertices.extend(other.vertices);
        self.vertices.sort_unstable();
        self.vertices.dedup();
        self
    }

    /// Returns true if edges about the site join all triangles about it with each other and with one from before the
    /// edit. `first_added`: the first triangle that the edit added.
    fn is_joined(&self, mesh: &TriangleMesh, first_added: TriangleId) -> bool {
        let about = self.vertices.iter().flat_map(|v| mesh.around(*v)).map(|(t, _)| t);
        let has_edges = |t: &TriangleId| has_three_vertices(mesh.joined_vertices(*t));
        let mut about: Vec<_> = about.filter(has_edges).collect();
        about.sort_unstable();
        about.dedup();
        let mut vertices: Vec<u32> = about.iter().flat_map(|t| mesh.joined_vertices(*t)).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut joined = DisjointSets::new(about.len() as u32);
        visit_edges_at(mesh, vertices.into_iter(), |_, uses| {
            let place = |u: &EdgeUse| about.binary_search(&u.triangle).ok();
            let here: Vec<usize> = uses.iter().filter_map(place).collect();
            here.windows(2).for_each(|pair| joined.join(pair[0] as u32, pair[1] as u32));
        });
        let is_one = (0..about.len() as u32).all(|i| joined.root(i) == 0);
        is_one && about.first().is_some_and(|t| *t < first_added)
    }
}

/// Use of an edge by one triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeUse {
    /// The triangle.
    pub triangle: TriangleId,
    /// True if the triangle traverses the edge from the lower vertex to the higher.
    pub ascending: bool,
}

impl Topology {
    /// Counts the edges and bodies of the existing triangles.
    pub fn of(mesh: &TriangleMesh) -> Topology {
        let mut edges = EdgeCounts::default();
        let mut joined = DisjointSets::new(mesh.triangle_id_end());
        visit_edges(mesh, |ends, uses| {
            edges.add(mesh, ends, uses);
            joined.join_all(uses);
        });
        let bodies = Some(joined.firsts(mesh).len() as u32);
        Topology { edges, bodies }
    }

    /// Recounts edges after a change about a site. Returns false if none there is open, whatever seams join. O(triangles
    /// about it).
    pub fn recount_edges(&mut self, mesh: &TriangleMesh, site: &EditSite) -> bool {
        let after = EdgeCounts::at(mesh, site.vertices.iter().copied());
        // Never below 0: the edges before the edit are among all edges.
        let changed = |all: u32, before: u32, after: u32| all - before + after;
        let (all, before) = (self.edges, site.before);
        // Recounted only at the edit: over all edges one triangle of 70 k took 3.6 ms and of a million 80, twice,
        // because the spare copy is cut too; now it takes 16 and 12 us.
        self.edges = EdgeCounts {
            open: changed(all.open, before.open, after.open),
            non_manifold: changed(all.non_manifold, before.non_manifold, after.non_manifold),
            inconsistent: changed(all.inconsistent, before.inconsistent, after.inconsistent),
            welded: changed(all.welded, before.welded, after.welded),
        };
        after.open > 0 || mesh.has_seams()
    }

    /// Recounts bodies after the edges are counted. O(triangles about the site), but O(n) if the mesh is closed and
    /// perhaps in parts. `first_added`: the first added triangle.
    pub fn recount_bodies(
        &mut self,
        mesh: &TriangleMesh,
        site: &EditSite,
        first_added: TriangleId,
    ) {
        // Each part of a former body has triangles about the site. If edges join all triangles about the cut, they are
        // still one body. Otherwise the whole mesh is traversed, and only if it is closed: the number of bodies of an
        // open mesh decides nothing.
        self.bodies = if self.bodies == Some(1) && site.is_joined(mesh, first_added) {
            Some(1)
        } else if self.edges.are_closed() {
            Some(first_of_each_body(mesh).len() as u32)
        } else {
            None
        };
    }

    /// Returns true if there is an edge and every edge has exactly two triangles that agree in winding.
    pub fn closed(&self) -> bool {
        self.bodies.is_some_and(|n| n > 0) && self.edges.are_closed()
    }

    /// Correct rule for such a mesh: pseudonormal iff closed and one body.
    pub fn sign_rule(&self) -> SignRule {
        if self.closed() && self.bodies == Some(1) {
            SignRule::Pseudonormal
        } else {
            SignRule::WindingNumber
        }
    }
}

/// Smallest triangle of each body, ascending.
pub fn first_of_each_body(mesh: &TriangleMesh) -> Vec<TriangleId> {
    let mut joined = DisjointSets::new(mesh.triangle_id_end());
    visit_edges(mesh, |_, uses| joined.join_all(uses));
    joined.firsts(mesh)
}

/// Body of each triangle id, named by its smallest triangle.
pub fn body_of_each(mesh: &TriangleMesh) -> Vec<TriangleId> {
    let mut joined = DisjointSets::new(mesh.triangle_id_end());
    visit_edges(mesh, |_, uses| joined.join_all(uses));
    (0..mesh.triangle_id_end()).map(|t| TriangleId(joined.root(t))).collect()
}

/// Passes each edge once, its lower vertex first, with all triangles that use it in ascending order. Edges are in order
/// of their lower vertex, then of their higher. Triangles that name a vertex twice are left out.
pub fn visit_edges(mesh: &TriangleMesh, visit: impl FnMut([u32; 2], &[EdgeUse])) {
    visit_edges_at(mesh, 0..mesh.positions().len() as u32, visit);
}

/// As [`visit_edges`], but only for edges whose lower vertex is one of these.
pub fn visit_edges_at(
    mesh: &TriangleMesh,
    vertices: impl Iterator<Item = u32>,
    mut visit: impl FnMut([u32; 2], &[EdgeUse]),
) {
    let mut at_vertex: Vec<(u32, EdgeUse)> = Vec::new();
    let mut uses: Vec<EdgeUse> = Vec::new();
    for low in vertices {
        // Vertices that a seam joins share one list of edges.
        if mesh.joined(low) != low {
            continue;
        }
        at_vertex.clear();
        for (triangle, k) in mesh.around(low) {
            let vertices = mesh.joined_vertices(triangle);
            if !has_three_vertices(vertices) {
                continue;
            }
            for (high, ascending) in [(vertices[(k + 1) % 3], true), (vertices[(k + 2) % 3], false)]
            {
                // Each edge is visited only at its lower vertex, or it would be counted twice.
                if high > low {
                    at_vertex.push((high, EdgeUse { triangle, ascending }));
                }
            }
        }
        // An unstable sort is enough: a triangle of three different vertices uses an edge once, so no two keys are
        // equal.
        at_vertex.sort_unstable_by_key(|(high, edge_use)| (*high, edge_use.triangle));
        for edge in at_vertex.chunk_by(|a, b| a.0 == b.0) {
            uses.clear();
            uses.extend(edge.iter().map(|(_, edge_use)| *edge_use));
            visit([low, edge[0].0], &uses);
        }
    }
}

/// Returns true if triangles name the ends of their edge differently.
fn is_welded(mesh: &TriangleMesh, ends: [u32; 2], uses: &[EdgeUse]) -> bool {
    let named = |u: &EdgeUse| {
        let vertices = mesh.vertices(u.triangle);
        ends.map(|end| vertices.into_iter().find(|v| mesh.joined(*v) == end))
    };
    uses.windows(2).any(|pair| named(&pair[0]) != named(&pair[1]))
}

/// Returns true if the three vertices differ.
pub fn has_three_vertices([a, b, c]: [u32; 3]) -> bool {
    a != b && b != c && c != a
}

/// Disjoint sets of numbers; the least member is the root of its set.
pub(super) struct DisjointSets {
    parent: Vec<u32>,
}

impl DisjointSets {
    pub(super) fn new(n: u32) -> DisjointSets {
        DisjointSets { parent: (0..n).collect() }
    }

    pub(super) fn root(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            // Path halving: each look-up shortens the path of the next one.
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

    /// First triangle of each set; triangles that name a vertex twice are in none.
    fn firsts(&mut self, mesh: &TriangleMesh) -> Vec<TriangleId> {
        let has_edges = |t: &TriangleId| has_three_vertices(mesh.joined_vertices(*t));
        mesh.triangle_ids().filter(|t| has_edges(t) && self.root(t.0) == t.0).collect()
    }

    pub(super) fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        // The least member is the root, so that a body's name does not depend on the order of joins.
        self.parent[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::{
        geometry::MeshData,
        oracle::{Random, shapes},
    };

    fn of(n_vertices: usize, triangles: &[[u32; 3]]) -> Topology {
        let positions = vec![Vec3::ZERO; n_vertices];
        Topology::of(&TriangleMesh::new(MeshData { positions, triangles: triangles.to_vec() }))
    }

    const TETRAHEDRON: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];

    #[test]
    fn closed_body() {
        let t = of(4, &TETRAHEDRON);
        assert_eq!(t, Topology { edges: EdgeCounts::default(), bodies: Some(1) });
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
        assert_eq!((t.edges.open, t.bodies, t.closed()), (3, Some(1), false));
        assert_eq!(t.sign_rule(), SignRule::WindingNumber);
    }

    fn edit(mesh: &mut TriangleMesh, t: &mut Topology, removed: &[TriangleId], added: &[[u32; 3]]) {
        let site = EditSite::new(mesh, removed, added);
        let first = TriangleId(mesh.triangle_id_end());
        removed.iter().for_each(|t| mesh.remove_triangle(*t));
        for vertices in added {
            mesh.add_triangle(*vertices);
        }
        t.recount_edges(mesh, &site);
        t.recount_bodies(mesh, &site, first);
        let truth = Topology::of(mesh);
        assert_eq!((t.edges, t.closed()), (truth.edges, truth.closed()), "{removed:?}, {added:?}");
        let is_uncounted = t.bodies.is_none() && !t.closed();
        assert!(is_uncounted || t.bodies == truth.bodies, "{t:?}, {truth:?}");
    }

    #[test]
    fn counts_follow_edits() {
        let seed = 12;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut mesh = TriangleMesh::new(shapes::sphere(0.1, 2));
        let mut t = Topology::of(&mesh);
        for _ in 0..1_000 {
            let there: Vec<TriangleId> = mesh.triangle_ids().collect();
            let [a, b] = [(); 2].map(|()| there[random.below(there.len())]);
            // One triangle in three is split about a new vertex, and a hole is mended; then a stray triangle is added
            // and removed.
            let v = mesh.add_vertex(Vec3::ZERO);
            let [p, q, r] = mesh.vertices(a);
            edit(&mut mesh, &mut t, &[a], &[[p, q, v], [q, r, v], [r, p, v]]);
            let split = TriangleId(mesh.triangle_id_end() - 1);
            assert_eq!(t.bodies, Some(1));
            let hole = if b == a { split } else { b };
            let mended = mesh.vertices(hole);
            edit(&mut mesh, &mut t, &[hole], &[]);
            edit(&mut mesh, &mut t, &[], &[mended]);
            let stray = [(); 3].map(|()| random.below(v as usize + 1) as u32);
            edit(&mut mesh, &mut t, &[], &[stray]);
            let stray = TriangleId(mesh.triangle_id_end() - 1);
            edit(&mut mesh, &mut t, &[stray], &[]);
        }
    }

    /// The tip of an octahedron is cut off, both sides get a lid, and one part is removed.
    #[test]
    fn parts_are_counted() {
        let tip = |v: [u32; 5]| {
            [[v[0], v[1], v[4]], [v[1], v[2], v[4]], [v[2], v[3], v[4]], [v[3], v[0], v[4]]]
        };
        let lid = |v: [u32; 4]| [[v[0], v[2], v[1]], [v[0], v[3], v[2]]];
        let octahedron = [tip([0, 1, 2, 3, 4]), tip([3, 2, 1, 0, 5])].concat();
        let positions = vec![Vec3::ZERO; 10];
        let mut mesh = TriangleMesh::new(MeshData { positions, triangles: octahedron });
        let mut t = Topology::of(&mesh);
        assert_eq!((t.closed(), t.bodies), (true, Some(1)));
        let cut_off = [&tip([6, 7, 8, 9, 4])[..], &lid([6, 7, 8, 9]), &lid([3, 2, 1, 0])].concat();
        let first: Vec<TriangleId> = (0..4).map(TriangleId).collect();
        edit(&mut mesh, &mut t, &first, &cut_off);
        assert_eq!((t.closed(), t.bodies), (true, Some(2)));
        let tip: Vec<TriangleId> = (8..14).map(TriangleId).collect();
        edit(&mut mesh, &mut t, &tip, &[]);
        assert_eq!((t.closed(), t.bodies), (true, Some(1)));
    }

    #[test]
    fn bow_tie_vertex_joins_no_bodies() {
        let second = TETRAHEDRON.map(|t| t.map(|v| v + 3));
        let t = of(7, &[TETRAHEDRON, second].concat());
        assert_eq!((t.bodies, t.closed(), t.sign_rule()), (Some(2), true, SignRule::WindingNumber));
    }

    #[test]
    fn three_on_an_edge_and_a_turned_neighbour() {
        let fin = of(5, &[[0, 1, 2], [1, 0, 3], [0, 1, 4]]);
        assert_eq!((fin.edges.non_manifold, fin.edges.open, fin.bodies), (1, 6, Some(1)));
        let turned = of(4, &[[0, 1, 2], [0, 1, 3]]);
        assert_eq!((turned.edges.inconsistent, turned.edges.open, turned.bodies), (1, 4, Some(1)));
    }

    #[test]
    fn a_repeated_vertex_bounds_nothing() {
        let t = of(4, &[TETRAHEDRON.to_vec(), vec![[0, 0, 1], [3, 3, 3]]].concat());
        assert_eq!((t.bodies, t.closed()), (Some(1), true));
        assert_eq!(of(1, &[[0, 0, 0]]).bodies, Some(0));
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
            assert_eq!((t.closed(), t.edges.open, t.bodies), (closed, open_edges, Some(1)));
            assert_eq!((t.edges.non_manifold, t.edges.inconsistent), (0, 0));
        }
    }
}
