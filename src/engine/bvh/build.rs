//! Builds a tree top-down (5.2), identical on every machine.

use glam::{DMat3, DVec3};

use super::{
    tree::{BoxTree, DEPTH_MAX},
    volume::{BoxNode, LEAF},
    wide_node::WideBoxNode,
};
use crate::geometry::{
    Dop16, TriangleId, TriangleMesh,
    lanes::LANES,
    principal_axes::principal_axes,
    triangle_triangle::{Rectangle, Triangle},
};

/// Depth from which triangles are halved by number: 2^32 of them end within [`DEPTH_MAX`].
const HALVED_DEPTH: usize = DEPTH_MAX - 32;

/// A triangle that has no leaf yet.
#[derive(Clone, Copy)]
struct LeafTriangle {
    id: TriangleId,
    corners: Triangle,
    centroid: DVec3,
}

impl BoxTree {
    /// O(n log n); in the worst case O(n) on every level of a tree that is at most 96 levels deep.
    pub fn build(mesh: &TriangleMesh) -> BoxTree {
        let item = |id: TriangleId| {
            let corners = mesh.triangle(id);
            LeafTriangle { id, corners, centroid: (corners[0] + corners[1] + corners[2]) / 3.0 }
        };
        let mut items: Vec<LeafTriangle> = mesh.triangle_ids().map(item).collect();
        let n = items.len();
        let mut tree = BoxTree {
            nodes: Vec::with_capacity((2 * n).saturating_sub(1)),
            wide_nodes: Vec::new(),
            triangles: Vec::with_capacity(n),
            rectangles: Vec::with_capacity(n),
            dops: Vec::with_capacity(n),
            bounds: mesh.used_box(),
        };
        if n > 0 {
            // 5.2: the root is axis-aligned, as it is compared with the scene's boxes.
            tree.nodes.push(BoxNode::around(corners(&items), &DMat3::IDENTITY));
            tree.split(0, &mut items, 0);
            tree.add_wide_node(0);
        }
        tree
    }

    /// Adds a node's children; `items` are its triangles.
    fn split(&mut self, node: usize, items: &mut [LeafTriangle], depth: usize) {
        if let [item] = items {
            self.nodes[node] = self.add_leaf(item);
            return;
        }
        debug_assert!(depth < DEPTH_MAX, "{} triangles {depth} deep", items.len());
        let middle = divide(items, &self.nodes[node], depth);
        debug_assert!(0 < middle && middle < items.len(), "{middle} of {}", items.len());
        let (left, right) = items.split_at_mut(middle);
        let first = self.nodes.len();
        self.nodes[node].below = first as u32;
        self.nodes.extend([oriented_box(left), oriented_box(right)]);
        self.split(first, left, depth + 1);
        self.split(first + 1, right, depth + 1);
    }

    fn add_leaf(&mut self, item: &LeafTriangle) -> BoxNode {
        let rectangle = Rectangle::of(&item.corners);
        let axes = rectangle.map_or_else(|| principal_axes(&item.corners), |r| r.obb().axes);
        let number = self.triangles.len() as u32;
        self.triangles.push(item.id);
        self.rectangles.push(rectangle);
        self.dops.push(Dop16::around(item.corners));
        BoxNode { below: LEAF | number, ..BoxNode::around(item.corners.into_iter(), &axes) }
    }

    /// Adds a wide node over the nodes below `node`, and wide nodes below that; returns its number.
    fn add_wide_node(&mut self, node: u32) -> u32 {
        let number = self.wide_nodes.len() as u32;
        self.wide_nodes.push(WideBoxNode::EMPTY);
        let mut entries = [node; LANES];
        let mut len = 1;
        while len < LANES {
            let inner = |e: &usize| self.nodes[entries[*e] as usize].leaf().is_none();
            let size = |e: &usize| self.nodes[entries[*e] as usize].surface();
            // The largest box is split first: nodes that are likely to be met are separated here, in one pass, and
            // small nodes stay below.
            let Some(e) = (0..len).filter(inner).max_by(|i, j| size(i).total_cmp(&size(j))) else {
                break;
            };
            let below = self.nodes[entries[e] as usize].below;
            (entries[e], entries[len]) = (below, below + 1);
            len += 1;
        }
        debug_assert!(0 < len && len <= LANES, "{len} boxes side by side");
        for (lane, &entry) in entries[..len].iter().enumerate() {
            let node = self.nodes[entry as usize];
            self.wide_nodes[number as usize].set(lane, &node);
            if node.leaf().is_none() {
                let below = self.add_wide_node(entry);
                self.wide_nodes[number as usize].below[lane] = below;
            }
        }
        number
    }
}

fn corners(items: &[LeafTriangle]) -> impl Iterator<Item = DVec3> + Clone + '_ {
    items.iter().flat_map(|i| i.corners)
}

/// A box along the principal axes of the vertices, or along x, y and z if that box is smaller: the principal axes of an
/// even patch are arbitrary.
fn oriented_box(items: &[LeafTriangle]) -> BoxNode {
    let points: Vec<DVec3> = corners(items).collect();
    let principal = BoxNode::around(corners(items), &principal_axes(&points));
    let upright = BoxNode::around(corners(items), &DMat3::IDENTITY);
    // Equal boxes: the axis-aligned one is chosen, whose axes are exact in f32.
    if upright.surface() <= principal.surface() { upright } else { principal }
}

/// Puts the triangles whose centroid is below the mean first and returns their number: along the node's longest axis,
/// else its shortest, else its middle one. If all of these leave a side empty, halves.
fn divide(items: &mut [LeafTriangle], node: &BoxNode, depth: usize) -> usize {
    let mean = items.iter().map(|i| i.centroid).sum::<DVec3>() / items.len() as f64;
    let size = |k: usize| node.max[k] - node.min[k];
    let mut by_size = [0, 1, 2];
    by_size.sort_by(|i, j| size(*j).total_cmp(&size(*i)));
    let [longest, middle, shortest] = by_size;
    // The source tries only the longest axis and may put all on one side; the other axes follow, and from a certain
    // depth on halves by number, so that each level makes progress.
    let useful = if depth < HALVED_DEPTH { &[longest, shortest, middle][..] } else { &[] };
    for k in useful {
        let axis = node.axis(*k);
        let is_below = |i: &LeafTriangle| axis.dot(i.centroid - mean) < 0.0;
        let n_below = items.iter().filter(|i| is_below(i)).count();
        if n_below > 0 && n_below < items.len() {
            // The sort is stable, so that the order within each side depends on nothing else.
            items.sort_by_key(|i| !is_below(i));
            return n_below;
        }
    }
    items.len() / 2
}
