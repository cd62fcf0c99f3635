//! Builds a tree from triangles, top-down.

use glam::DVec3;

use super::{DeformingTree, DopNode, NONE, NodeContent, ROOT};
use crate::geometry::{Dop16, TriangleId};

/// Inverse of the least share of the triangles on one side of a split: many splits with less than a quarter on a side
/// would turn the tree into a list. The middle of the order along the axis is taken instead, as when all centres
/// coincide.
const LEAST_SHARE: usize = 4;

/// A triangle that has no node yet.
#[derive(Clone, Copy)]
pub(super) struct LeafDop {
    pub triangle: TriangleId,
    pub dop: Dop16,
    centre: DVec3,
}

impl LeafDop {
    pub fn new(triangle: TriangleId, dop: Dop16) -> LeafDop {
        LeafDop { triangle, dop, centre: dop.centre() }
    }
}

impl DeformingTree {
    /// # Panics
    /// Panics if a triangle is given twice, or if a box is empty.
    pub fn build(triangles: impl IntoIterator<Item = (TriangleId, Dop16)>) -> DeformingTree {
        let mut items: Vec<LeafDop> =
            triangles.into_iter().map(|(t, dop)| LeafDop::new(t, dop)).collect();
        let mut tree = DeformingTree {
            boxes: vec![Dop16::EMPTY],
            nodes: vec![DopNode { parent: NONE, rank: 0, content: NodeContent::Empty }],
            leaf_of: Vec::new(),
            n_triangles: items.len(),
            edits: 0,
            generation: 0,
            dirty: Vec::new(),
            is_dirty: vec![false],
        };
        for item in &items {
            assert!(tree.get(item.triangle).is_none(), "{:?} is given twice", item.triangle);
            assert!(!item.dop.is_empty(), "the box of {:?} is empty", item.triangle);
            tree.set_leaf(item.triangle, ROOT);
        }
        tree.place(ROOT, &mut items);
        tree
    }

    /// Rebuilds the tree with the current boxes; fronts start again. Worth it if the surface has changed shape so much
    /// that neighbours in the tree are no longer neighbours.
    pub fn rebuild(&mut self) {
        let mut items = Vec::new();
        self.collect(ROOT, &mut items);
        let generation = self.generation + 1;
        let edits = self.edits;
        *self = DeformingTree::build(items.iter().map(|i| (i.triangle, i.dop)));
        (self.generation, self.edits) = (generation, edits);
    }

    /// Builds a node from triangles, with new nodes below it.
    pub(super) fn place(&mut self, n: u32, items: &mut [LeafDop]) {
        let mut waiting = vec![(n, 0..items.len())];
        while let Some((n, range)) = waiting.pop() {
            let items = &mut items[range.clone()];
            match items {
                [] => {}
                [item] => {
                    self.boxes[n as usize] = item.dop;
                    self.nodes[n as usize].content = NodeContent::Leaf(item.triangle);
                    self.set_leaf(item.triangle, n);
                }
                _ => {
                    self.boxes[n as usize] =
                        items.iter().fold(Dop16::EMPTY, |all, i| all.union(&i.dop));
                    let middle = range.start + split(items);
                    debug_assert!(
                        range.contains(&middle) && middle > range.start,
                        "{middle} of {range:?}"
                    );
                    let children =
                        [(); 2].map(|()| self.push_node(n, Dop16::EMPTY, NodeContent::Empty));
                    self.nodes[n as usize].content = NodeContent::Inner(children);
                    // The left child is built first, so that its nodes follow their parent in memory.
                    waiting.push((children[1], middle..range.end));
                    waiting.push((children[0], range.start..middle));
                }
            }
        }
    }

    /// Collects the triangles below a node.
    pub(super) fn collect(&self, n: u32, items: &mut Vec<LeafDop>) {
        let mut waiting = vec![n];
        while let Some(n) = waiting.pop() {
            match self.node(n).content {
                NodeContent::Leaf(t) => items.push(LeafDop::new(t, *self.dop(n))),
                NodeContent::Inner([left, right]) => waiting.extend([right, left]),
                _ => {}
            }
        }
    }
}

/// Orders items so that those before the returned index, at least one and not all, are on the low side of the mean
/// centre along the axis of the centres' largest spread.
fn split(items: &mut [LeafDop]) -> usize {
    let n = items.len();
    // Split at the mean and not the median of the centres: the mean needs one pass and keeps close triangles together.
    let mean = items.iter().map(|i| i.centre).sum::<DVec3>() / n as f64;
    let spread = items.iter().fold(DVec3::ZERO, |s, i| s + (i.centre - mean).abs());
    let axis = spread.max_position();
    let key = |i: &LeafDop| (i.centre[axis], i.triangle);
    // Partitioned in place: the mean is known, and no order within the sides is needed.
    let mut low = 0;
    for i in 0..n {
        if items[i].centre[axis] < mean[axis] {
            items.swap(low, i);
            low += 1;
        }
    }
    if low.min(n - low) * LEAST_SHARE >= n {
        return low;
    }
    let compare =
        |a: &LeafDop, b: &LeafDop| key(a).0.total_cmp(&key(b).0).then(key(a).1.cmp(&key(b).1));
    items.select_nth_unstable_by(n / 2, compare);
    n / 2
}
