//! Building a tree from the top (5.2), the same on every machine.

use glam::{DMat3, DVec3};

use super::{
    tree::{DEPTH_MAX, Tree},
    volume::{LEAF, Node},
    wide_node::Strip,
};
use crate::geometry::{
    Dop16, TriangleId, TriangleMesh,
    lanes::LANES,
    principal_axes::principal_axes,
    triangle_triangle::{Rectangle, Triangle},
};

/// From this depth on, triangles are halved by number: 2^32 of them end within [`DEPTH_MAX`].
const HALVED_DEPTH: usize = DEPTH_MAX - 32;

/// A triangle under way to its leaf.
#[derive(Clone, Copy)]
struct Item {
    id: TriangleId,
    corners: Triangle,
    centroid: DVec3,
}

impl Tree {
    /// O(n log n), and O(n) on every level of a tree at most 96 levels deep at worst.
    pub fn build(mesh: &TriangleMesh) -> Tree {
        let item = |id: TriangleId| {
            let corners = mesh.triangle(id);
            Item { id, corners, centroid: (corners[0] + corners[1] + corners[2]) / 3.0 }
        };
        let mut items: Vec<Item> = mesh.triangle_ids().map(item).collect();
        let n = items.len();
        let mut tree = Tree {
            nodes: Vec::with_capacity((2 * n).saturating_sub(1)),
            strips: Vec::new(),
            triangles: Vec::with_capacity(n),
            rectangles: Vec::with_capacity(n),
            dops: Vec::with_capacity(n),
            bounds: mesh.used_box(),
        };
        if n > 0 {
            tree.nodes.push(Node::around(corners(&items), &DMat3::IDENTITY));
            tree.split(0, &mut items, 0);
            tree.add_strip(0);
        }
        tree
    }

    /// Gives a node its children; `items` are its triangles.
    fn split(&mut self, node: usize, items: &mut [Item], depth: usize) {
        if let [item] = items {
            self.nodes[node] = self.add_leaf(item);
            return;
        }
        let middle = divide(items, &self.nodes[node], depth);
        let (left, right) = items.split_at_mut(middle);
        let first = self.nodes.len();
        self.nodes[node].below = first as u32;
        self.nodes.extend([oriented_box(left), oriented_box(right)]);
        self.split(first, left, depth + 1);
        self.split(first + 1, right, depth + 1);
    }

    fn add_leaf(&mut self, item: &Item) -> Node {
        let rectangle = Rectangle::of(&item.corners);
        let axes = rectangle.map_or_else(|| principal_axes(&item.corners), |r| r.obb().axes);
        let number = self.triangles.len() as u32;
        self.triangles.push(item.id);
        self.rectangles.push(rectangle);
        self.dops.push(Dop16::around(item.corners));
        Node { below: LEAF | number, ..Node::around(item.corners.into_iter(), &axes) }
    }

    /// Adds the strip of what is below a node, and all below that; says which it is.
    fn add_strip(&mut self, node: u32) -> u32 {
        let number = self.strips.len() as u32;
        self.strips.push(Strip::EMPTY);
        let mut entries = [node; LANES];
        let mut len = 1;
        while len < LANES {
            let inner = |e: &usize| self.nodes[entries[*e] as usize].leaf().is_none();
            let size = |e: &usize| self.nodes[entries[*e] as usize].surface();
            let Some(e) = (0..len).filter(inner).max_by(|i, j| size(i).total_cmp(&size(j))) else {
                break;
            };
            let below = self.nodes[entries[e] as usize].below;
            (entries[e], entries[len]) = (below, below + 1);
            len += 1;
        }
        for (lane, &entry) in entries[..len].iter().enumerate() {
            let node = self.nodes[entry as usize];
            self.strips[number as usize].set(lane, &node);
            if node.leaf().is_none() {
                let below = self.add_strip(entry);
                self.strips[number as usize].below[lane] = below;
            }
        }
        number
    }
}

fn corners(items: &[Item]) -> impl Iterator<Item = DVec3> + Clone + '_ {
    items.iter().flat_map(|i| i.corners)
}

/// Along the principal axes of the vertices, or along x, y and z where that is smaller: the principal axes of
/// an even patch are anywhere.
fn oriented_box(items: &[Item]) -> Node {
    let points: Vec<DVec3> = corners(items).collect();
    let principal = Node::around(corners(items), &principal_axes(&points));
    let upright = Node::around(corners(items), &DMat3::IDENTITY);
    if upright.surface() <= principal.surface() { upright } else { principal }
}

/// Puts the triangles whose centroid is below the mean first and says how many they are: along the node's
/// longest axis, else its shortest, else its middle one. When all of these leave a side empty, halves.
fn divide(items: &mut [Item], node: &Node, depth: usize) -> usize {
    let mean = items.iter().map(|i| i.centroid).sum::<DVec3>() / items.len() as f64;
    let size = |k: usize| node.max[k] - node.min[k];
    let mut by_size = [0, 1, 2];
    by_size.sort_by(|i, j| size(*j).total_cmp(&size(*i)));
    let [longest, middle, shortest] = by_size;
    let useful = if depth < HALVED_DEPTH { &[longest, shortest, middle][..] } else { &[] };
    for k in useful {
        let axis = node.axis(*k);
        let is_below = |i: &Item| axis.dot(i.centroid - mean) < 0.0;
        let n_below = items.iter().filter(|i| is_below(i)).count();
        if n_below > 0 && n_below < items.len() {
            // Stable, so that the order of what is left does not depend on anything else.
            items.sort_by_key(|i| !is_below(i));
            return n_below;
        }
    }
    items.len() / 2
}
