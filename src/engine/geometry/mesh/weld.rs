//! Joins open edges that nearly lie upon each other, as rounding in a file leaves them.

use std::collections::HashMap;

use glam::{DVec3, Vec3};

use super::topology::{DisjointSets, visit_edges};
use crate::geometry::{TriangleId, TriangleMesh};

/// An edge with one triangle, in the triangle's direction.
struct OpenEdge {
    triangle: TriangleId,
    vertices: [u32; 2],
    ends: [DVec3; 2],
}

/// Maximum number of pairs tested for each open edge on average. Along a seam there are some ten.
const TESTS_PER_EDGE: usize = 256;

/// Positions of the vertices after each open edge is put upon the edge that has its ends, reversed, within `weld_m`
/// metres, if there is exactly one and both are longer than `weld_m`. The least vertex stays. `None` if too many edges
/// are that near each other.
pub(super) fn welded(mesh: &TriangleMesh, weld_m: f64) -> Option<Vec<Vec3>> {
    let edges = open_edges(mesh, weld_m);
    let opposite = opposite_of_each(&edges, weld_m)?;
    let mut sets = DisjointSets::new(mesh.positions().len() as u32);
    for (i, j) in opposite.iter().enumerate() {
        if let Some(j) = j.filter(|j| opposite[*j] == Some(i)) {
            let ([a, b], [c, d]) = (edges[i].vertices, edges[j].vertices);
            sets.join(a, d);
            sets.join(b, c);
        }
    }
    let all = 0..mesh.positions().len() as u32;
    Some(all.map(|v| mesh.positions()[sets.root(mesh.joined(v)) as usize]).collect())
}

fn open_edges(mesh: &TriangleMesh, longer_than_m: f64) -> Vec<OpenEdge> {
    let mut edges = Vec::new();
    visit_edges(mesh, |[low, high], uses| {
        if let [one] = uses {
            let vertices = if one.ascending { [low, high] } else { [high, low] };
            let ends = vertices.map(|v| mesh.position(v));
            edges.push(OpenEdge { triangle: one.triangle, vertices, ends });
        }
    });
    edges.retain(|e| e.ends[0].distance(e.ends[1]) > longer_than_m);
    edges
}

/// For each edge the only edge that it may be put upon. `None` if the search would take too long.
fn opposite_of_each(edges: &[OpenEdge], weld_m: f64) -> Option<Vec<Option<usize>>> {
    // If the ends are within a distance, the middles are too.
    let cell = |e: &OpenEdge| (0.5 * (e.ends[0] + e.ends[1]) / weld_m).floor().to_array();
    let key = |cell: [f64; 3]| cell.map(|x| (x + 0.0).to_bits());
    let mut in_cell: HashMap<[u64; 3], Vec<usize>> = HashMap::new();
    for (i, edge) in edges.iter().enumerate() {
        in_cell.entry(key(cell(edge))).or_default().push(i);
    }
    let lies_upon = |a: &OpenEdge, b: &OpenEdge| {
        let is_near = |i: usize| a.ends[i].distance(b.ends[1 - i]) <= weld_m;
        a.triangle != b.triangle && is_near(0) && is_near(1)
    };
    let mut tests_left = TESTS_PER_EDGE * edges.len();
    let mut opposite = Vec::with_capacity(edges.len());
    for edge in edges {
        let [x, y, z] = cell(edge);
        let (mut found, mut n_found) = (None, 0);
        for n in 0..27 {
            let step = [n % 3, n / 3 % 3, n / 9].map(|s| f64::from(s) - 1.0);
            let beside = key([x + step[0], y + step[1], z + step[2]]);
            for j in in_cell.get(&beside).into_iter().flatten() {
                tests_left = tests_left.checked_sub(1)?;
                if lies_upon(edge, &edges[*j]) {
                    (found, n_found) = (Some(*j), n_found + 1);
                }
            }
        }
        opposite.push(found.filter(|_| n_found == 1));
    }
    Some(opposite)
}
