//! Finds open edges that lie upon each other, and joins their ends.
//!
//! An edge with one triangle is open. If exactly two open edges of different triangles' outlines have equal ends and
//! are traversed in opposite directions, they are joined, and so are their ends; two edges between joined ends are one
//! edge. Two edges that are traversed in one direction, as those of sheets that lie on each other, join nothing; nor do
//! three or more, nor the rims of the two sides of a sheet, whose triangles have all three corners at equal positions.
//!
//! The result depends on the current mesh alone, and on no earlier state: edges that a deformation moves apart part,
//! and edges that come to lie upon each other join, as those of a cut without width do. After a change only edges at
//! vertices that left others at their position, or came to others, are searched.

use std::collections::hash_map::Entry;

use super::{
    seams::{RimVertex, Seams, VertexPlace, place},
    topology::{DisjointSets, has_three_vertices},
};
use crate::geometry::TriangleMesh;

/// Finds the seams of a mesh. O(n log(largest ring)).
pub fn note_seams(mesh: &mut TriangleMesh) {
    let mut seams = Seams::default();
    seams.is_known = true;
    let rim = rim_at(mesh, 0..mesh.positions().len() as u32);
    add_to_rim(&mut seams, mesh, &rim);
    mesh.seams = seams;
    join_again(mesh, &rim);
}

/// Follows moved vertices; `moved` is `None` if all moved. Returns the vertices that [`join_again`] has to process now,
/// ascending, with all vertices at their positions.
pub fn follow_moved(mesh: &mut TriangleMesh, moved: Option<&[u32]>) -> Vec<u32> {
    if mesh.seams.rim.is_empty() {
        return Vec::new();
    }
    let mut seams = std::mem::take(&mut mesh.seams);
    let is_elsewhere = |n: &u32| {
        let known = seams.rim[*n as usize];
        place_of(mesh, known.vertex) != known.place
    };
    let numbers: Vec<u32> = match moved {
        Some(moved) if moved.len() < seams.rim.len() => {
            moved.iter().filter_map(|v| seams.number(*v)).filter(is_elsewhere).collect()
        }
        _ => (0..seams.rim.len() as u32).filter(is_elsewhere).collect(),
    };
    let changed = put_again(&mut seams, mesh, &numbers);
    let about = about(&seams, mesh, &changed);
    mesh.seams = seams;
    about
}

/// As [`follow_moved`], but after triangles were added and removed at `vertices`. `has_open`: false if no edge there is
/// open, whatever seams join.
pub fn follow_edit(mesh: &mut TriangleMesh, vertices: &[u32], has_open: bool) -> Vec<u32> {
    if !mesh.seams.is_known {
        return Vec::new();
    }
    let mut seams = std::mem::take(&mut mesh.seams);
    let edited = if has_open { vertices } else { &[] };
    let mut rim = rim_at(mesh, edited.iter().copied());
    rim.retain(|v| seams.number(*v).is_none());
    add_to_rim(&mut seams, mesh, &rim);
    let changed = rim.iter().chain(vertices).filter_map(|v| seams.number(*v));
    let changed: Vec<u32> = changed.collect();
    let about = about(&seams, mesh, &changed);
    mesh.seams = seams;
    about
}

/// Joins each of these vertices with those that belong to it in the current mesh, and with no others. `vertices` must
/// include all vertices at the position of each.
pub fn join_again(mesh: &mut TriangleMesh, vertices: &[u32]) {
    let mut seams = std::mem::take(&mut mesh.seams);
    let mut at_places: Vec<(VertexPlace, u32)> =
        vertices.iter().map(|v| (place_of(mesh, *v), *v)).collect();
    at_places.sort_unstable();
    let mut search = PlaceSearch::default();
    for here in at_places.chunk_by(|a, b| a.0 == b.0) {
        search.members.clear();
        search.members.extend(here.iter().map(|(_, v)| *v));
        search.join(&mut seams, mesh);
    }
    let mut thirds = search.thirds;
    thirds.retain(|v| seams.number(*v).is_none());
    thirds.sort_unstable();
    thirds.dedup();
    add_to_rim(&mut seams, mesh, &thirds);
    mesh.hubs.note_changed(vertices);
    mesh.seams = seams;
}

/// Updates the seams after vertices of a mesh with seams were moved.
pub fn follow_seams(mesh: &mut TriangleMesh) {
    let loose = follow_moved(mesh, None);
    join_again(mesh, &loose);
}

/// Representative of each vertex; empty if no seam joins any.
pub fn joined_of_each(mesh: &TriangleMesh) -> Vec<u32> {
    let n = if mesh.has_seams() { mesh.positions().len() } else { 0 };
    (0..n as u32).map(|v| mesh.joined(v)).collect()
}

/// Parts vertices that were not joined in another state of the mesh, given by [`joined_of_each`].
pub fn keep_joined_as(mesh: &mut TriangleMesh, other: &[u32]) {
    let stood = |v: u32| other.get(v as usize).copied().unwrap_or(v);
    let joined = joined_of_each(mesh);
    let mut all: Vec<(u32, u32, u32)> = (0..).zip(joined).map(|(v, j)| (j, stood(v), v)).collect();
    all.sort_unstable();
    for group in all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let vertices: Vec<u32> = group.iter().map(|(.., v)| *v).collect();
        mesh.seams.join(&vertices, mesh.positions().len());
    }
}

/// Asserts that the seams equal those of a search of the whole mesh. O(n).
pub fn assert_seams(mesh: &TriangleMesh) {
    let mut fresh = mesh.clone();
    note_seams(&mut fresh);
    for v in 0..mesh.positions().len() as u32 {
        assert!(mesh.seams.members(v).eq(fresh.seams.members(v)), "joined with {v}");
    }
}

/// An edge with one triangle that starts or ends at a position.
struct EdgeAtPlace {
    /// Position of the other end.
    to: VertexPlace,
    /// True if the triangle traverses the edge away from this position.
    leaves: bool,
    /// The triangle's third corner.
    third: u32,
    /// Index of the edge's vertex in `members`.
    member: u32,
}

/// Search for the joined vertices at one position.
#[derive(Default)]
struct PlaceSearch {
    /// Vertices at the position, ascending.
    members: Vec<u32>,
    edges: Vec<EdgeAtPlace>,
    spokes: Vec<Spoke>,
    /// Each member with the representative of its group.
    groups: Vec<(u32, u32)>,
    joined: Vec<u32>,
    /// Third corners of the triangles at edges that lie upon each other: their positions decide whether the edges are
    /// joined.
    thirds: Vec<u32>,
}

impl PlaceSearch {
    fn join(&mut self, seams: &mut Seams, mesh: &TriangleMesh) {
        let n_vertices = mesh.positions().len();
        let PlaceSearch { members, edges, spokes, groups, joined, thirds } = self;
        if let [alone] = members[..] {
            return seams.join(&[alone], n_vertices);
        }
        edges.clear();
        for (member, v) in (0..).zip(members.iter()) {
            visit_open_edges(mesh, *v, spokes, |[end, third], leaves| {
                edges.push(EdgeAtPlace { to: place_of(mesh, end), leaves, third, member });
            });
        }
        let here = place_of(mesh, members[0]);
        edges.retain(|edge| edge.to != here);
        edges.sort_unstable_by_key(|edge| edge.to);
        let mut sets = DisjointSets::new(members.len() as u32);
        for upon_each_other in edges.chunk_by(|a, b| a.to == b.to) {
            match upon_each_other {
                [a, b] if a.leaves != b.leaves => {
                    let ends = [a.third, b.third];
                    thirds.extend(ends);
                    let [third, other] = ends.map(|v| place_of(mesh, v));
                    if third != other {
                        sets.join(a.member, b.member);
                    }
                }
                _ => {}
            }
        }
        groups.clear();
        groups.extend((0..members.len() as u32).map(|i| (sets.root(i), i)));
        groups.sort_unstable();
        for group in groups.chunk_by(|a, b| a.0 == b.0) {
            joined.clear();
            joined.extend(group.iter().map(|(_, i)| members[*i as usize]));
            seams.join(joined, n_vertices);
        }
    }
}

/// The other end of an edge and the third corner of a triangle there; true if the triangle traverses the edge away from
/// this vertex.
type Spoke = ([u32; 2], bool);

fn place_of(mesh: &TriangleMesh, v: u32) -> VertexPlace {
    place(mesh.positions()[v as usize])
}

/// Passes each open edge at a vertex to `visit`. Vertices are compared by their numbers. `spokes`: scratch buffer.
fn visit_open_edges(
    mesh: &TriangleMesh,
    v: u32,
    spokes: &mut Vec<Spoke>,
    mut visit: impl FnMut([u32; 2], bool),
) {
    spokes.clear();
    for (t, k) in mesh.ring(v) {
        let vertices = mesh.vertices(t);
        if has_three_vertices(vertices) {
            let (next, last) = (vertices[(k + 1) % 3], vertices[(k + 2) % 3]);
            spokes.extend([([next, last], true), ([last, next], false)]);
        }
    }
    spokes.sort_unstable();
    for edge in spokes.chunk_by(|a, b| a.0[0] == b.0[0]) {
        if let [(ends, leaves)] = edge {
            visit(*ends, *leaves);
        }
    }
}

/// Ends of the open edges at these vertices, ascending.
fn rim_at(mesh: &TriangleMesh, vertices: impl Iterator<Item = u32>) -> Vec<u32> {
    let (mut rim, mut spokes) = (Vec::new(), Vec::new());
    for v in vertices {
        visit_open_edges(mesh, v, &mut spokes, |[end, _], _| rim.extend([v, end]));
    }
    rim.sort_unstable();
    rim.dedup();
    rim
}

/// Adds vertices to the rim that are not in it; `vertices` is ascending.
fn add_to_rim(seams: &mut Seams, mesh: &TriangleMesh, vertices: &[u32]) {
    if vertices.is_empty() {
        return;
    }
    // Each number grows by the count of new vertices before it.
    let grown = |number: u32| {
        let v = seams.rim[number as usize].vertex;
        number + vertices.partition_point(|new| *new < v) as u32
    };
    seams.at_place.values_mut().for_each(|number| *number = grown(*number));
    let old = seams.rim.iter().map(|r| RimVertex { next: grown(r.next), ..*r });
    let new = |v: &u32| RimVertex { vertex: *v, place: VertexPlace::default(), next: 0 };
    let mut rim: Vec<RimVertex> = old.chain(vertices.iter().map(new)).collect();
    rim.sort_unstable_by_key(|r| r.vertex);
    seams.rim = rim;
    for v in vertices {
        let number = seams.number(*v).expect("put there just now");
        seams.put(number, place_of(mesh, *v));
    }
}

/// Moves vertices of the rim to their current positions. Returns those at positions that other vertices left or came
/// to.
fn put_again(seams: &mut Seams, mesh: &TriangleMesh, numbers: &[u32]) -> Vec<u32> {
    // The old positions are removed first, so that a vertex may take the position of another.
    let left = numbers.iter().map(|n| seams.rim[*n as usize].place);
    let left: Vec<u32> = left.filter_map(|place| seams.at_place.remove(&place)).collect();
    let (mut changed, mut members) = (Vec::new(), Vec::new());
    for first in left {
        members.clear();
        members.extend(seams.beside(first));
        let now = |seams: &Seams, n: u32| place_of(mesh, seams.rim[n as usize].vertex);
        let to = now(seams, first);
        if members.iter().all(|n| now(seams, *n) == to)
            && let Entry::Vacant(vacant) = seams.at_place.entry(to)
        {
            // All vertices of the position moved together: their joints stay unchanged.
            vacant.insert(first);
            members.iter().for_each(|n| seams.rim[*n as usize].place = to);
            continue;
        }
        for n in &members {
            let to = now(seams, *n);
            seams.put(*n, to);
        }
        changed.extend_from_slice(&members);
    }
    changed
}

/// All vertices whose joints depend on these of the rim and may have changed, with all vertices at their positions,
/// ascending.
fn about(seams: &Seams, mesh: &TriangleMesh, numbers: &[u32]) -> Vec<u32> {
    if numbers.is_empty() || seams.are_apart() {
        return Vec::new();
    }
    let vertex = |n: u32| seams.rim[n as usize].vertex;
    let with_all_beside = |mut numbers: Vec<u32>| {
        let at = |n: &u32| seams.rim[*n as usize].place;
        numbers.sort_unstable_by_key(at);
        numbers.dedup_by_key(|n| at(n));
        let mut all: Vec<u32> = numbers.iter().flat_map(|n| seams.beside(*n)).map(vertex).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let here = with_all_beside(numbers.to_vec());
    let around = here.iter().flat_map(|v| mesh.ring(*v)).flat_map(|(t, _)| mesh.vertices(t));
    let numbers = around.chain(here.iter().copied()).filter_map(|v| seams.number(v)).collect();
    let mut all = with_all_beside(numbers);
    all.retain(|v| !seams.is_apart(*v));
    all
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::{
        geometry::{
            MeshData, Topology, TriangleId,
            distance::point_triangle::Feature,
            mesh::{hub_search::note_hubs, pseudonormal::pseudonormal, topology::EdgeCounts},
        },
        oracle::{Random, shapes},
    };

    fn noted(data: MeshData) -> TriangleMesh {
        let mut mesh = TriangleMesh::new(data);
        note_seams(&mut mesh);
        note_hubs(&mut mesh);
        mesh
    }

    fn of(positions: &[Vec3], triangles: &[[u32; 3]]) -> Topology {
        let data = MeshData { positions: positions.to_vec(), triangles: triangles.to_vec() };
        Topology::of(&noted(data))
    }

    /// Even if each corner has vertices of its own, a shape keeps its edges, bodies, and the normal at every feature.
    #[test]
    fn a_split_shape_is_the_whole_one() {
        let seed = 18;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        for data in [
            shapes::cuboid(glam::DVec3::ONE),
            shapes::sphere(0.1, 4),
            shapes::torus(0.1, 0.03, 12, 7),
            shapes::tube(0.01, 0.1, 9, 4),
            shapes::sheet(5, 4, 0.01),
            shapes::spindle(100, 0.1, 0.05),
        ] {
            let whole = noted(data.clone());
            let truth = Topology::of(&whole);
            for share in [0.02, 0.5, 1.0] {
                let split = noted(shapes::split(data.clone(), share, &mut random));
                let t = Topology::of(&split);
                assert!(t.edges.welded > 0 || share < 0.1, "{share}");
                let unwelded = EdgeCounts { welded: 0, ..t.edges };
                assert_eq!((unwelded, t.bodies), (truth.edges, truth.bodies), "{share}");
                for t in whole.triangle_ids() {
                    for feature in (0..3).flat_map(|k| [Feature::Vertex(k), Feature::Edge(k)]) {
                        let [a, b] = [&whole, &split].map(|m| pseudonormal(m, t, feature));
                        assert_eq!(a.complete, b.complete);
                        assert!(a.direction.distance(b.direction) < 1e-12, "{feature:?} of {t:?}");
                    }
                }
            }
        }
    }

    /// Sheets on each other, both sides of a sheet, three edges at a position, edges in one direction, and edges
    /// without length join nothing.
    #[test]
    fn what_lies_on_each_other_without_a_seam_stays_what_it_is() {
        let sheet = shapes::sheet(3, 3, 0.01);
        let n = sheet.positions.len() as u32;
        let positions = [sheet.positions.clone(), sheet.positions.clone()].concat();
        let second = sheet.triangles.iter().map(|t| t.map(|v| v + n));
        let same = [sheet.triangles.clone(), second.clone().collect()].concat();
        let back: Vec<[u32; 3]> = second.map(|[a, b, c]| [c, b, a]).collect();
        let sides = [sheet.triangles.clone(), back].concat();
        let open = 2 * Topology::of(&noted(sheet)).edges.open;
        for triangles in [same, sides] {
            let t = of(&positions, &triangles);
            assert_eq!((t.edges.open, t.edges.welded, t.bodies), (open, 0, Some(2)));
        }
        let corners = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::ZERO, Vec3::X, Vec3::NEG_Y];
        let fin = [&corners[..], &[Vec3::X, Vec3::ZERO, Vec3::Z]].concat();
        assert_eq!(of(&corners, &[[0, 1, 2], [4, 3, 5]]).edges.welded, 1);
        assert_eq!(of(&corners, &[[0, 1, 2], [3, 4, 5]]).edges.welded, 0);
        assert_eq!(of(&fin, &[[0, 1, 2], [4, 3, 5], [6, 7, 8]]).edges.welded, 0);
        assert_eq!(of(&[Vec3::ZERO; 6], &[[0, 1, 2], [4, 3, 5]]).edges.welded, 0);
    }

    /// Bodies that touch along an edge are two, although four open edges lie there.
    #[test]
    fn split_bodies_that_touch_along_an_edge_stay_two() {
        let one = shapes::cuboid(glam::DVec3::ONE);
        let n = one.positions.len() as u32;
        let beside = one.positions.iter().map(|p| *p + Vec3::new(1.0, 1.0, 0.0));
        let positions = one.positions.iter().copied().chain(beside).collect();
        let other = one.triangles.iter().map(|t| t.map(|v| v + n));
        let triangles = one.triangles.iter().copied().chain(other).collect();
        let data = shapes::split(MeshData { positions, triangles }, 1.0, &mut Random::new(1));
        let t = Topology::of(&noted(data));
        assert_eq!((t.bodies, t.closed(), t.edges.welded), (Some(2), true, 36));
    }

    /// A mesh with seams is moved, squeezed, cut and mended at random. The followed seams equal those of a new search.
    #[test]
    fn what_is_followed_is_what_a_new_search_finds() {
        let seed = 19;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let data = shapes::split(shapes::sphere(0.1, 3), 0.4, &mut random);
        let rest = data.positions.clone();
        let mut mesh = noted(data);
        let (mut n_parted, mut n_joined) = (0, 0);
        for _ in 0..400 {
            let before = Topology::of(&mesh).edges.welded;
            let n = mesh.positions().len();
            let moved: Vec<u32> =
                (0..1 + random.below(6)).map(|_| random.below(n) as u32).collect();
            let loose = match random.below(5) {
                0 => {
                    // Vertices return to their start, vertices of cuts to the positions of others.
                    let home = |v: usize| rest.get(v).copied().unwrap_or(rest[v % rest.len()]);
                    let to: Vec<Vec3> = (0..mesh.positions().len()).map(home).collect();
                    mesh.move_all(to.clone());
                    follow_moved(&mut mesh, None)
                }
                1 => {
                    let by = random.unit_vector().as_vec3();
                    let to: Vec<Vec3> = mesh.positions().iter().map(|p| *p + by).collect();
                    mesh.move_all(to.clone());
                    let loose = follow_moved(&mut mesh, None);
                    let to: Vec<Vec3> = to.iter().map(|p| *p * Vec3::new(1.0, 1.0, 0.0)).collect();
                    join_again(&mut mesh, &loose);
                    mesh.move_all(to.clone());
                    follow_moved(&mut mesh, None)
                }
                2 => {
                    let there: Vec<TriangleId> = mesh.triangle_ids().collect();
                    let t = there[random.below(there.len())];
                    let mut vertices = mesh.vertices(t).to_vec();
                    mesh.remove_triangle(t);
                    vertices.push(mesh.add_vertex(mesh.positions()[vertices[0] as usize]));
                    mesh.add_triangle([vertices[3], vertices[1], vertices[2]]);
                    follow_edit(&mut mesh, &vertices, true)
                }
                _ => {
                    for v in &moved {
                        let to = mesh.positions()[random.below(n)];
                        mesh.move_vertex(*v, to);
                    }
                    follow_moved(&mut mesh, Some(&moved))
                }
            };
            join_again(&mut mesh, &loose);
            assert_seams(&mesh);
            let after = Topology::of(&mesh).edges.welded;
            n_parted += u32::from(after < before);
            n_joined += u32::from(after > before);
        }
        assert!(n_parted > 50 && n_joined > 50, "parted {n_parted} times, joined {n_joined}");
    }
}
