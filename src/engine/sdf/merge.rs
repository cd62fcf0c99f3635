//! Merges neighbouring leaves of similar complexity into subspaces.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap},
};

use glam::DVec3;

use super::{complexity::Detail, region::Region};
use crate::geometry::tolerance::VOLUME_ROUNDING;

/// Joins face neighbours whose complexities differ by less than `threshold` and whose union is a box, most similar
/// first, ties by the smaller numbers. Returns the subspaces and each leaf's subspace.
pub(super) fn merge(
    leaves: Vec<Detail>,
    complexity: impl Fn(&Detail) -> f64,
    threshold: Option<f64>,
) -> (Vec<Detail>, Vec<u32>) {
    let mut partition = RegionMerge::new(leaves);
    let threshold = threshold.unwrap_or_else(|| partition.median_difference(&complexity));
    let mut heap = BinaryHeap::new();
    for i in 0..partition.details.len() {
        for j in partition.neighbours[i].iter().copied().filter(|j| *j > i) {
            heap.extend(partition.candidate(i, j, &complexity, threshold));
        }
    }
    while let Some(Reverse((_, i, j))) = heap.pop() {
        // Joined since it was put on the heap; the joined region has candidates of its own.
        if !partition.is_there(i) || !partition.is_there(j) {
            continue;
        }
        let joined = partition.join(i, j);
        for n in partition.neighbours[joined].clone() {
            heap.extend(partition.candidate(n, joined, &complexity, threshold));
        }
    }
    partition.finish()
}

/// Regions during merging: a joined region gets a new number, and its parts point to it.
struct RegionMerge {
    details: Vec<Detail>,
    neighbours: Vec<BTreeSet<usize>>,
    joined_into: Vec<Option<usize>>,
    n_leaves: usize,
}

type MergeCandidate = Reverse<(u64, usize, usize)>;

impl RegionMerge {
    fn new(details: Vec<Detail>) -> RegionMerge {
        let n = details.len();
        let mut neighbours = vec![BTreeSet::new(); n];
        for k in 0..3 {
            let other = (k + 1) % 3;
            let begins = |i: &usize| [details[*i].region.min[k], details[*i].region.min[other]];
            // Regions that begin in one plane are adjacent, so that a leaf is compared only with those that begin where
            // it ends.
            let mut by_min: Vec<usize> = (0..n).collect();
            by_min.sort_by(|a, b| begins(a).partial_cmp(&begins(b)).expect("finite boxes"));
            for i in 0..n {
                let Region { max: end, .. } = details[i].region;
                let first = by_min.partition_point(|j| begins(j)[0] < end[k]);
                let in_plane = by_min[first..].iter().map(|j| (*j, begins(j)));
                let about = in_plane.take_while(|(_, b)| b[0] == end[k] && b[1] < end[other]);
                for (j, _) in
                    about.filter(|(j, _)| share_face(&details[i].region, &details[*j].region))
                {
                    neighbours[i].insert(j);
                    neighbours[j].insert(i);
                }
            }
        }
        RegionMerge { details, neighbours, joined_into: vec![None; n], n_leaves: n }
    }

    fn is_there(&self, i: usize) -> bool {
        self.joined_into[i].is_none()
    }

    fn median_difference(&self, complexity: &impl Fn(&Detail) -> f64) -> f64 {
        let of = |i: usize| complexity(&self.details[i]);
        let pairs =
            (0..self.details.len()).flat_map(|i| self.neighbours[i].iter().map(move |j| (i, *j)));
        let mut differences: Vec<f64> = pairs.map(|(i, j)| (of(i) - of(j)).abs()).collect();
        differences.sort_by(f64::total_cmp);
        differences.get(differences.len() / 2).copied().unwrap_or(0.0)
    }

    fn candidate(
        &self,
        i: usize,
        j: usize,
        complexity: &impl Fn(&Detail) -> f64,
        threshold: f64,
    ) -> Option<MergeCandidate> {
        let (a, b) = (&self.details[i], &self.details[j]);
        debug_assert!(complexity(a) >= 0.0 && complexity(b) >= 0.0, "{a:?}, {b:?}");
        let difference = (complexity(a) - complexity(b)).abs();
        let is_box = a.region.union(&b.region).volume()
            <= (a.region.volume() + b.region.volume()) * (1.0 + VOLUME_ROUNDING);
        // Bits of a non-negative float are ordered as the float is. Only boxes are joined, so a subspace stays one
        // grid.
        (difference <= threshold && is_box)
            .then(|| Reverse((difference.to_bits(), i.min(j), i.max(j))))
    }

    fn join(&mut self, i: usize, j: usize) -> usize {
        debug_assert!(self.is_there(i) && self.is_there(j) && i != j, "{i} and {j}");
        let joined = self.details.len();
        self.details.push(self.details[i].join(&self.details[j]));
        let mut around: BTreeSet<usize> = &self.neighbours[i] | &self.neighbours[j];
        around.remove(&i);
        around.remove(&j);
        for &n in &around {
            self.neighbours[n].remove(&i);
            self.neighbours[n].remove(&j);
            self.neighbours[n].insert(joined);
        }
        self.neighbours.push(around);
        self.joined_into.push(None);
        // Parts keep their numbers and point to the joined region, so that leaves find their subspace at the end.
        self.joined_into[i] = Some(joined);
        self.joined_into[j] = Some(joined);
        joined
    }

    fn finish(self) -> (Vec<Detail>, Vec<u32>) {
        let kept: Vec<usize> = (0..self.details.len()).filter(|i| self.is_there(*i)).collect();
        let root = |leaf: usize| {
            let up = |i: &usize| self.joined_into[*i];
            std::iter::successors(Some(leaf), up).last().expect("a leaf is its own first")
        };
        let number = |i: usize| kept.binary_search(&i).expect("a root is kept") as u32;
        let subspaces = (0..self.n_leaves).map(|leaf| number(root(leaf))).collect();
        debug_assert!(
            kept.len() <= self.n_leaves.max(1),
            "{} subspaces of {} leaves",
            kept.len(),
            self.n_leaves
        );
        (kept.iter().map(|i| self.details[*i]).collect(), subspaces)
    }
}

/// Boxes of an octree share coordinates exactly, so faces are compared without a tolerance.
fn share_face(a: &Region, b: &Region) -> bool {
    let touching = |k: usize| a.max[k] == b.min[k] || b.max[k] == a.min[k];
    let overlap = a.max.min(b.max) - a.min.max(b.min);
    (0..3).any(|k| {
        let mut across = overlap;
        across[k] = f64::INFINITY;
        touching(k) && across.cmpgt(DVec3::ZERO).all()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdf::complexity::Spread;

    /// Four equal boxes in a row and one of another complexity: two pairs, then one of four.
    #[test]
    fn joins_what_is_alike_and_stays_a_box() {
        let leaf = |x: f64, vertices: u32| Detail {
            region: Region { min: DVec3::X * x, max: DVec3::new(x + 1.0, 1.0, 1.0) },
            vertices,
            angles: Spread::default(),
        };
        let leaves = vec![leaf(0.0, 5), leaf(1.0, 5), leaf(2.0, 5), leaf(3.0, 5), leaf(4.0, 50)];
        let density = |d: &Detail| f64::from(d.vertices) / d.region.volume();
        let (subspaces, of_leaf) = merge(leaves, density, Some(1.0));
        assert_eq!(of_leaf, [1, 1, 1, 1, 0]);
        assert_eq!((subspaces[1].vertices, subspaces[1].region.max.x), (20, 4.0));
    }
}
