//! All overlapping pairs, by a traversal from the root.

use std::convert::Infallible;

use super::{DeformingTree, NodeContent, ROOT};
use crate::geometry::{Dop16, TriangleId};

/// Trees that are tested against each other.
#[derive(Clone, Copy, Debug)]
pub enum Trees<'a> {
    /// A tree against itself: every unordered pair of different triangles, the lesser id first.
    Itself(&'a DeformingTree),
    /// Triangles of the first against triangles of the second.
    Two(&'a DeformingTree, &'a DeformingTree),
}

/// Two nodes, the first in the first tree.
pub(super) type NodePair = [u32; 2];

impl<'a> Trees<'a> {
    /// Passes every pair of triangles whose boxes overlap to `visit`, neighbours in a mesh included.
    pub fn pairs(self, mut visit: impl FnMut(TriangleId, TriangleId)) {
        let all: Result<(), Infallible> = self.try_pairs(|a, b| {
            visit(a, b);
            Ok(())
        });
        let Ok(()) = all;
    }

    /// As [`Trees::pairs`], but ends with the first error of `visit`.
    ///
    /// # Errors
    /// Returns the first error of `visit`.
    pub fn try_pairs<E>(
        self,
        mut visit: impl FnMut(TriangleId, TriangleId) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut waiting = vec![[ROOT, ROOT]];
        while let Some(pair) = waiting.pop() {
            if self.is_apart(pair) {
                continue;
            }
            match self.triangles(pair) {
                Some((a, b)) => visit(a, b)?,
                None => waiting.extend(self.opened(pair).into_iter().flatten()),
            }
        }
        Ok(())
    }

    pub(super) fn first(self) -> &'a DeformingTree {
        match self {
            Trees::Itself(a) | Trees::Two(a, _) => a,
        }
    }

    pub(super) fn second(self) -> &'a DeformingTree {
        match self {
            Trees::Itself(b) | Trees::Two(_, b) => b,
        }
    }

    /// Returns true if the pair is a node with itself: all pairs below it.
    pub(super) fn is_self_pair(self, [a, b]: NodePair) -> bool {
        matches!(self, Trees::Itself(_)) && a == b
    }

    /// Returns true if the boxes do not overlap.
    pub(super) fn is_apart(self, [a, b]: NodePair) -> bool {
        !self.is_self_pair([a, b]) && !self.first().dop(a).overlaps(self.second().dop(b))
    }

    /// Triangles of a pair of two leaves.
    pub(super) fn triangles(self, [a, b]: NodePair) -> Option<(TriangleId, TriangleId)> {
        let contents = (self.first().node(a).content, self.second().node(b).content);
        match (self, contents) {
            _ if self.is_self_pair([a, b]) => None,
            (Trees::Itself(_), (NodeContent::Leaf(s), NodeContent::Leaf(t))) => {
                Some((s.min(t), s.max(t)))
            }
            (Trees::Two(..), (NodeContent::Leaf(s), NodeContent::Leaf(t))) => Some((s, t)),
            _ => None,
        }
    }

    /// Pairs that a pair opens into; none for two leaves. If the nodes differ the higher one is opened, the first if
    /// they are level.
    pub(super) fn opened(self, [a, b]: NodePair) -> [Option<NodePair>; 3] {
        let (first, second) = (self.first(), self.second());
        match (first.children(a), second.children(b)) {
            (Some([l, r]), _) if self.is_self_pair([a, b]) => {
                [Some([l, l]), Some([l, r]), Some([r, r])]
            }
            (Some([l, r]), below)
                // The shallower one is opened. A front therefore knows the parent pair of an entry and need not store
                // it.
                if below.is_none() || first.node(a).rank <= second.node(b).rank =>
            {
                [Some([l, b]), Some([r, b]), None]
            }
            (_, Some([l, r])) => [Some([a, l]), Some([a, r]), None],
            _ => [None; 3],
        }
    }
}

impl DeformingTree {
    /// Passes every triangle whose box overlaps to `visit`.
    pub fn overlap(&self, dop: &Dop16, mut visit: impl FnMut(TriangleId)) {
        let mut waiting = vec![ROOT];
        while let Some(n) = waiting.pop() {
            if !self.dop(n).overlaps(dop) {
                continue;
            }
            match self.node(n).content {
                NodeContent::Leaf(t) => visit(t),
                NodeContent::Inner([left, right]) => waiting.extend([right, left]),
                _ => {}
            }
        }
    }
}
