//! Report of a mesh, made when it is loaded.

use serde::{Deserialize, Serialize};

use super::topology::has_three_vertices;
use crate::geometry::{SignRule, Topology, TriangleId, TriangleMesh};

/// Counts and measures of a mesh as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeshReport {
    /// Vertices, those without a triangle included.
    pub vertices: u32,
    /// Triangles, degenerate and duplicate ones included.
    pub triangles: u32,
    /// Sets of triangles joined by shared edges.
    pub bodies: u32,
    /// Edges with one triangle.
    pub open_edges: u32,
    /// Edges whose triangles name different vertices at equal positions, and which are one edge of one surface. Not
    /// saved: derived from the mesh.
    #[serde(skip)]
    pub welded_edges: u32,
    /// Edges with three triangles or more.
    pub non_manifold_edges: u32,
    /// Triangles of zero area. They are kept, and act as the segment or point that they are.
    pub degenerate_triangles: u32,
    /// Triangles with the three vertices of an earlier one, in any order. They are kept.
    pub duplicate_triangles: u32,
    /// Vertices that no triangle uses.
    pub unreferenced_vertices: u32,
    /// Triangles whose winding was reversed so that neighbours agree and closed bodies face outwards.
    pub reversed_triangles: u32,
    /// Holes that were filled by request.
    pub filled_holes: u32,
    /// Triangles that fill those holes: the last ones, counted in `triangles`.
    pub added_triangles: u32,
    /// Edges whose two triangles still disagree in winding.
    pub inconsistent_edges: u32,
    /// True if every edge has two triangles that agree in winding.
    pub closed: bool,
    /// Signed volume, cubic metres: positive if facing outwards, negative for the wall of a lumen. Meaningful if
    /// closed.
    pub volume_m3: f64,
    /// Total area, square metres.
    pub area_m2: f64,
    /// Least corner of the box of all used vertices, metres.
    pub box_min_m: [f32; 3],
    /// Greatest corner of that box, metres.
    pub box_max_m: [f32; 3],
    /// Mean edge length over all triangles, metres.
    pub mean_edge_m: f64,
    /// Rule that decides the sign of a distance to this mesh.
    pub sign_rule: SignRule,
}

impl MeshReport {
    /// Longest side of the box of all used vertices, metres.
    pub fn longest_side_m(&self) -> f64 {
        // Computed in f64, so that the difference of two stored coordinates is not rounded to f32 again.
        let sides = [0, 1, 2].map(|i| f64::from(self.box_max_m[i]) - f64::from(self.box_min_m[i]));
        sides.into_iter().fold(0.0, f64::max)
    }

    /// Returns true if the mesh is the wall of a lumen: closed, and wound so that inside is all space around it.
    pub fn is_lumen(&self) -> bool {
        self.closed && self.volume_m3 < 0.0
    }

    /// Examines a mesh that has a triangle, `reversed_triangles` of which were turned before, and without filled holes.
    pub fn of(mesh: &TriangleMesh, reversed_triangles: u32) -> MeshReport {
        let topology = Topology::of(mesh);
        let used_box = mesh.used_box();
        let n_vertices = mesh.positions().len() as u32;
        let (volume_m3, area_m2) = volume_and_area(mesh);
        MeshReport {
            vertices: n_vertices,
            triangles: mesh.n_triangles() as u32,
            bodies: topology.bodies.expect("counted in a whole mesh"),
            open_edges: topology.edges.open,
            welded_edges: topology.edges.welded,
            non_manifold_edges: topology.edges.non_manifold,
            degenerate_triangles: mesh.triangle_ids().filter(|t| is_degenerate(mesh, *t)).count()
                as u32,
            duplicate_triangles: count_duplicates(mesh),
            unreferenced_vertices: (0..n_vertices)
                .filter(|v| mesh.ring(*v).next().is_none())
                .count() as u32,
            reversed_triangles,
            filled_holes: 0,
            added_triangles: 0,
            inconsistent_edges: topology.edges.inconsistent,
            closed: topology.closed(),
            volume_m3,
            area_m2,
            box_min_m: used_box.min.to_array(),
            box_max_m: used_box.max.to_array(),
            mean_edge_m: mesh.mean_edge(),
            sign_rule: topology.sign_rule(),
        }
    }
}

/// Returns true for a triangle of zero area. The products of a stored triangle's edge vectors that are equal as real
/// numbers round to equal `f64`, so every exactly collinear triangle is found.
pub fn is_degenerate(mesh: &TriangleMesh, t: TriangleId) -> bool {
    let [a, b, c] = mesh.triangle(t);
    let (u, v) = (b - a, c - a);
    // The three components of the cross product: all are zero exactly if the edges are parallel.
    let equal_products = u.y * v.z == u.z * v.y && u.z * v.x == u.x * v.z && u.x * v.y == u.y * v.x;
    equal_products || !has_three_vertices(mesh.vertices(t))
}

fn count_duplicates(mesh: &TriangleMesh) -> u32 {
    let mut sorted: Vec<[u32; 3]> = mesh
        .triangle_ids()
        .map(|t| {
            let mut vertices = mesh.vertices(t);
            vertices.sort_unstable();
            vertices
        })
        .collect();
    // Sorted twice, within each triangle and over all: equal triangles are then adjacent without a hash map.
    sorted.sort_unstable();
    sorted.windows(2).filter(|pair| pair[0] == pair[1]).count() as u32
}

/// Volume and area in cubic and square metres; the volume about the box centre, so that little cancels.
fn volume_and_area(mesh: &TriangleMesh) -> (f64, f64) {
    let centre = mesh.used_box().centre();
    let (mut volume, mut area) = (0.0, 0.0);
    for t in mesh.triangle_ids() {
        let [a, b, c] = mesh.triangle(t).map(|p| p - centre);
        volume += a.dot(b.cross(c)) / 6.0;
        area += 0.5 * (b - a).cross(c - a).length();
    }
    (volume, area)
}
