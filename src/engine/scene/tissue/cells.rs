//! Binds the vertices of a surface to the cells of a volume mesh.
//!
//! A vertex in a cell is carried by the cell's corners with its barycentric weights, as linear finite elements carry it.
//! A vertex in no cell has the weights of the nearest one, extended beyond its faces: they are less than 0 and more than
//! 1, so the report says how far they go.

use glam::{DVec3, Vec3};

use super::{binding::BindingError, deform::outside_world, vertex_weights::VertexWeights};
use crate::geometry::{
    Aabb,
    distance::point_triangle::closest_point,
    tolerance::{CELL_VOLUME_MIN, CELL_WEIGHT_ROUNDING, SINGLE_COORDINATE_ROUNDING},
};

/// Tetrahedra in a leaf of the tree.
const IN_LEAF: usize = 4;
/// Vertices between two checks whether the work is still wanted.
const CHECKED: usize = 256;
/// A tetrahedron's faces by corners.
const FACES: [[usize; 3]; 4] = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]];
/// The six tetrahedra of a hexahedron about its diagonal from corner 0 to corner 6.
const OF_HEXAHEDRON: [[usize; 4]; 6] =
    [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]];

/// The tetrahedra of a volume mesh that have a volume, in a tree of boxes.
pub struct CellTree<'a> {
    nodes: &'a [Vec3],
    /// Corners of each, in the order of the leaves.
    cells: Vec<[u32; 4]>,
    boxes: Vec<CellBox>,
}

/// A node of the tree, before the nodes below it.
struct CellBox {
    bounds: Aabb,
    /// Its cells, which are consecutive.
    first: u32,
    end: u32,
    /// Number of its second child; the first one follows it. 0: a leaf.
    second: u32,
}

/// Weights of the vertices of a surface in the cells of a volume mesh.
#[derive(Debug, Default)]
pub struct VolumeBinding {
    /// The weights.
    pub weights: VertexWeights,
    /// Number of vertices that are in no cell.
    pub n_outside: u32,
    /// Farthest distance of a vertex from the cell that carries it, metres.
    pub outside_max_m: f64,
    /// Least weight of a vertex in its cell: how far weights are extended. 0 if none is.
    pub weight_min: f64,
}

/// Returns the tetrahedra of hexahedra, whose corners are in VTK's order: six for each, about a diagonal.
pub fn tetrahedra_of(hexahedra: &[[u32; 8]]) -> impl Iterator<Item = [u32; 4]> + '_ {
    hexahedra.iter().flat_map(|corners| OF_HEXAHEDRON.map(|of| of.map(|c| corners[c])))
}

impl<'a> CellTree<'a> {
    /// Builds the tree. O(n log n).
    ///
    /// # Errors
    /// Returns an error if a node is out of range, if a cell has a corner that is not in `nodes`, or if no cell has a
    /// volume.
    pub fn build(
        nodes: &'a [Vec3],
        mut cells: Vec<[u32; 4]>,
    ) -> Result<CellTree<'a>, BindingError> {
        if let Some((at, _)) = outside_world(nodes) {
            return Err(BindingError::Control { control: at / 3 });
        }
        let n_nodes = nodes.len();
        for (cell, corners) in cells.iter().enumerate() {
            if let Some(&node) = corners.iter().find(|c| **c as usize >= n_nodes) {
                return Err(BindingError::UnknownNode { cell, node, n_nodes });
            }
        }
        let has_volume = |corners: &[u32; 4]| {
            let [a, b, c, d] = places(nodes, corners);
            let edges = [b - a, c - a, d - a];
            let size = edges.iter().map(|e| e.abs().max_element()).fold(0.0, f64::max);
            edges[0].dot(edges[1].cross(edges[2])).abs() > CELL_VOLUME_MIN * size.powi(3)
        };
        cells.retain(has_volume);
        if cells.is_empty() {
            return Err(BindingError::NoVolume);
        }
        let mut tree = CellTree { nodes, boxes: Vec::with_capacity(cells.len()), cells };
        tree.split(0, tree.cells.len());
        Ok(tree)
    }

    /// Adds the node of some cells, and the nodes below it. Returns its number.
    fn split(&mut self, first: usize, end: usize) -> u32 {
        let (number, nodes) = (self.boxes.len() as u32, self.nodes);
        let cells = &mut self.cells[first..end];
        let corners = cells.iter().flatten().map(|c| nodes[*c as usize]);
        let bounds = Aabb::of_points(corners);
        self.boxes.push(CellBox { bounds, first: first as u32, end: end as u32, second: 0 });
        if cells.len() > IN_LEAF {
            let size = bounds.size();
            let axis =
                (0..3).fold(0, |longest, k| if size[k] > size[longest] { k } else { longest });
            // Halved by number: the tree is as deep as a logarithm, whatever the cells are like.
            let centre =
                |cell: &[u32; 4]| cell.iter().map(|c| nodes[*c as usize][axis]).sum::<f32>();
            let middle = cells.len() / 2;
            cells.select_nth_unstable_by(middle, |a, b| centre(a).total_cmp(&centre(b)));
            self.split(first, first + middle);
            self.boxes[number as usize].second = self.split(first + middle, end);
        }
        number
    }

    /// Returns the cell that contains a point, or else the nearest one, and its distance, metres.
    fn nearest(&self, point: DVec3) -> ([u32; 4], f64) {
        let (mut best, mut nearest_squared) = (self.cells[0], f64::INFINITY);
        let mut open = vec![(0_u32, 0.0)];
        while let Some((number, bound_squared)) = open.pop() {
            if bound_squared >= nearest_squared {
                continue;
            }
            let node = &self.boxes[number as usize];
            if node.second == 0 {
                for cell in &self.cells[node.first as usize..node.end as usize] {
                    let distance_squared = self.distance_squared(cell, point);
                    if distance_squared < nearest_squared {
                        (best, nearest_squared) = (*cell, distance_squared);
                    }
                }
                continue;
            }
            let below = [number + 1, node.second];
            let [a, b] = below.map(|n| (n, self.boxes[n as usize].bounds.distance_squared(point)));
            // The nearer one is looked at first.
            open.extend(if a.1 <= b.1 { [b, a] } else { [a, b] });
        }
        (best, nearest_squared.sqrt())
    }

    /// Squared distance of a point from a cell; 0 inside.
    fn distance_squared(&self, cell: &[u32; 4], point: DVec3) -> f64 {
        if self.weights(cell, point).into_iter().all(|w| w >= -CELL_WEIGHT_ROUNDING) {
            return 0.0;
        }
        let at = places(self.nodes, cell);
        let faces = FACES.map(|face| closest_point(point, &face.map(|c| at[c])).distance_squared);
        faces.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Barycentric weights of a point in a cell.
    fn weights(&self, cell: &[u32; 4], point: DVec3) -> [f64; 4] {
        let [a, b, c, d] = places(self.nodes, cell);
        let (ab, ac, ad, ap) = (b - a, c - a, d - a, point - a);
        let volume = ab.dot(ac.cross(ad));
        let [wb, wc, wd] = [ap.dot(ac.cross(ad)), ab.dot(ap.cross(ad)), ab.dot(ac.cross(ap))]
            .map(|part| part / volume);
        [1.0 - (wb + wc + wd), wb, wc, wd]
    }
}

fn places(nodes: &[Vec3], corners: &[u32; 4]) -> [DVec3; 4] {
    corners.map(|c| nodes[c as usize].as_dvec3())
}

impl VolumeBinding {
    /// Binds vertices to the cells. `check` is asked now and then whether the work is still wanted.
    ///
    /// # Errors
    /// Returns the error of `check`.
    pub fn of<E>(
        positions: &[Vec3],
        tree: &CellTree,
        check: impl Fn() -> Result<(), E>,
    ) -> Result<VolumeBinding, E> {
        let mut made = VolumeBinding::default();
        for (v, position) in positions.iter().enumerate() {
            if v % CHECKED == 0 {
                check()?;
            }
            let point = position.as_dvec3();
            let (cell, distance_m) = tree.nearest(point);
            let mut weights = tree.weights(&cell, point);
            let rounding_m = SINGLE_COORDINATE_ROUNDING * point.abs().max_element();
            if distance_m > rounding_m {
                made.n_outside += 1;
                made.weight_min = weights.into_iter().fold(made.weight_min, f64::min);
                made.outside_max_m = made.outside_max_m.max(distance_m);
            }
            // A vertex in a face is not carried by the opposite corner.
            weights.iter_mut().filter(|w| w.abs() < CELL_WEIGHT_ROUNDING).for_each(|w| *w = 0.0);
            let sum: f64 = weights.iter().sum();
            let used = cell.into_iter().zip(weights).filter(|(_, w)| *w != 0.0);
            made.weights.push(used.map(|(c, w)| (c, w / sum)));
        }
        Ok(made)
    }
}
