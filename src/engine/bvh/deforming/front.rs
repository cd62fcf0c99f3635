//! Front of the last traversal, kept as the start of the next one.
//!
//! The invariant: every pair of leaves is below exactly one entry. An entry that overlaps is opened (sprouts), and two
//! entries that are apart become their parent pair if that is apart too (pruning). A step therefore returns exactly the
//! pairs of a traversal from the root.

use std::collections::HashSet;

use super::{
    DeformingTree, NONE, NodeContent, ROOT,
    pairs::{NodePair, Trees},
};
use crate::geometry::TriangleId;

/// The front of one tree with itself, or of two trees. Keep one front for each pair of trees, and always pass it the
/// same trees.
#[derive(Clone, Debug, Default)]
pub struct Front {
    entries: Vec<FrontEntry>,
    /// The next entries during a step; otherwise empty.
    next: Vec<FrontEntry>,
    waiting: Vec<NodePair>,
    /// Generation and edits of each tree when the entries were made.
    seen: Option<[(u64, u64); 2]>,
}

#[derive(Clone, Copy, Debug)]
struct FrontEntry {
    pair: NodePair,
    is_apart: bool,
}

impl Front {
    /// Starts at the roots.
    pub fn new() -> Front {
        Front::default()
    }

    /// Pairs of nodes at which the last step stopped.
    pub fn n_entries(&self) -> usize {
        self.entries.len()
    }

    /// Passes every pair of triangles whose boxes overlap to `visit`, as [`Trees::pairs`] does, in another order.
    /// O(entries + new pairs); allocates nothing once the front has reached its size.
    pub fn step(&mut self, trees: Trees, mut visit: impl FnMut(TriangleId, TriangleId)) {
        self.follow_edits(trees);
        let entries = std::mem::take(&mut self.entries);
        for entry in &entries {
            self.waiting.push(entry.pair);
            while let Some(pair) = self.waiting.pop() {
                if trees.is_apart(pair) {
                    // Kept even if it stays apart: the next step begins here.
                    self.push_apart(trees, pair);
                } else if let Some((a, b)) = trees.triangles(pair) {
                    visit(a, b);
                    self.next.push(FrontEntry { pair, is_apart: false });
                } else {
                    self.open(trees, pair);
                }
            }
        }
        // The two lists are swapped, so that neither is reallocated.
        self.entries = std::mem::replace(&mut self.next, entries);
        self.next.clear();
    }

    /// An entry of a leaf with itself stays: a cut may put more triangles below it.
    fn open(&mut self, trees: Trees, pair: NodePair) {
        let opened = trees.opened(pair);
        if opened[0].is_none() {
            self.next.push(FrontEntry { pair, is_apart: false });
        }
        self.waiting.extend(opened.into_iter().rev().flatten());
    }

    /// Adds a pair that is apart, and prunes.
    fn push_apart(&mut self, trees: Trees, mut pair: NodePair) {
        while let Some(last) = self.next.last().filter(|e| e.is_apart) {
            // Siblings are adjacent in the front, because a pair is opened in order: only the last entry has to be
            // checked.
            match parent_of(trees, last.pair, pair) {
                Some(parent) if trees.is_apart(parent) => {
                    self.next.pop();
                    pair = parent;
                }
                _ => break,
            }
        }
        self.next.push(FrontEntry { pair, is_apart: true });
    }

    /// Updates the entries after insertions, removals and rebuilt sub-trees.
    fn follow_edits(&mut self, trees: Trees) {
        let now = [trees.first(), trees.second()].map(|t| (t.generation, t.edits));
        let Some(seen) =
            self.seen.replace(now).filter(|s| s[0].0 == now[0].0 && s[1].0 == now[1].0)
        else {
            self.entries.clear();
            self.entries.push(FrontEntry { pair: [ROOT, ROOT], is_apart: false });
            return;
        };
        if seen == now {
            return;
        }
        // All entries of a rebuilt sub-tree become its root: one of them stays.
        let mut reset = HashSet::new();
        self.entries.retain_mut(|entry| {
            let [a, b] = entry.pair;
            let (now_a, now_b) = (in_use(trees.first(), a), in_use(trees.second(), b));
            // A node whose triangle was removed has no more pairs.
            let (Some(now_a), Some(now_b)) = (now_a, now_b) else { return false };
            entry.pair = [now_a, now_b];
            let is_first = [now_a, now_b] == [a, b] || reset.insert([now_a, now_b]);
            entry.is_apart = false;
            is_first
        });
        self.entries
            .retain(|e| !reset.contains(&e.pair) || !is_below_another(trees, e.pair, &reset));
    }

    /// Asserts the invariant. O(n^2).
    pub fn assert_well_formed(&self, trees: Trees) {
        let mut below = HashSet::new();
        for pair in self.entries.iter().map(|e| e.pair) {
            let (first, second) = (leaves(trees.first(), pair[0]), leaves(trees.second(), pair[1]));
            for (i, a) in first.iter().enumerate() {
                let from = if trees.is_self_pair(pair) { i + 1 } else { 0 };
                for b in &second[from..] {
                    let itself = matches!(trees, Trees::Itself(_));
                    let leaves = if itself { (a.min(b), a.max(b)) } else { (a, b) };
                    assert!(
                        below.insert((*leaves.0, *leaves.1)),
                        "{leaves:?} is below two entries"
                    );
                }
            }
        }
        let (n, m) = (trees.first().n_triangles, trees.second().n_triangles);
        let all = if let Trees::Itself(_) = trees { n * n.saturating_sub(1) / 2 } else { n * m };
        assert_eq!(below.len(), all, "pairs of leaves below entries");
    }
}

fn leaves(tree: &DeformingTree, n: u32) -> Vec<TriangleId> {
    let mut items = Vec::new();
    tree.collect(n, &mut items);
    items.iter().map(|i| i.triangle).collect()
}

/// Parent pair that opens into these two, in this order.
fn parent_of(trees: Trees, [a0, b0]: NodePair, [a1, b1]: NodePair) -> Option<NodePair> {
    let siblings = |tree: &DeformingTree, m: u32, n: u32| {
        let parent = tree.node(n).parent;
        (m != n && parent != NONE && tree.node(m).parent == parent).then_some(parent)
    };
    if b0 == b1 {
        siblings(trees.first(), a0, a1).map(|parent| [parent, b0])
    } else if a0 == a1 {
        siblings(trees.second(), b0, b1).map(|parent| [a0, parent])
    } else {
        None
    }
}

/// Node that holds a node's triangles now.
fn in_use(tree: &DeformingTree, mut n: u32) -> Option<u32> {
    loop {
        match tree.node(n).content {
            NodeContent::Moved(to) => n = to,
            NodeContent::Removed => return None,
            _ => return Some(n),
        }
    }
}

fn ancestors(tree: &DeformingTree, n: u32) -> impl Iterator<Item = u32> + Clone + '_ {
    std::iter::successors(Some(n), |n| Some(tree.node(*n).parent).filter(|p| *p != NONE))
}

/// A reset entry covers everything below a rebuilt node; another reset entry may cover more.
fn is_below_another(trees: Trees, pair: NodePair, reset: &HashSet<NodePair>) -> bool {
    entries_above(trees, pair, reset) > 1
}

/// Number of entries that a pair of nodes is below (or equal to). Within one tree an entry stands for both orders.
fn entries_above(trees: Trees, [a, b]: NodePair, entries: &HashSet<NodePair>) -> usize {
    let mut n = 0;
    for above_a in ancestors(trees.first(), a) {
        for above_b in ancestors(trees.second(), b) {
            n += usize::from(entries.contains(&[above_a, above_b]));
            let other_way = matches!(trees, Trees::Itself(_)) && above_a != above_b;
            n += usize::from(other_way && entries.contains(&[above_b, above_a]));
        }
    }
    n
}
