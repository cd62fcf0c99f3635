//! Building a list, or one band of it, from sorted triangles.

use super::{
    lat_lon::{LatLonGrid, LatLonOptions, centroid},
    leaf::{FilingKey, ListEntry},
    skip_list::{END, HEAD_LEVELS, SkipList},
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh, lanes::LANES};

/// Fewest that a leaf, or a link's run, is given at first, the last one excepted. Between this and [`LANES`]
/// the greatest step of the keys decides where one ends, so that its box is that of whole cells.
const FEWEST: usize = 5;

impl SkipList {
    /// Files every triangle of the mesh. O(n log n).
    pub fn build(mesh: &TriangleMesh, options: &LatLonOptions) -> SkipList {
        // The grid stays as it is until the list is built anew, so a key depends on a centroid alone and an update
        // needs no other triangle's key.
        let grid = LatLonGrid::new(mesh, options);
        let mut filed: Vec<(u32, ListEntry)> = mesh
            .triangle_ids()
            .map(|t| {
                let corners = mesh.corners(t);
                let (band, key) = grid.locate(centroid(&corners));
                (band as u32, ListEntry { triangle: t, key, corners })
            })
            .collect();
        // Ids break ties, so that equal surfaces give equal lists on every machine.
        filed.sort_unstable_by_key(|(band, e)| (*band, e.key, e.triangle));
        let mut list = SkipList::empty(grid, mesh.triangle_id_end());
        let mut entries = Vec::new();
        for run in filed.chunk_by(|a, b| a.0 == b.0) {
            entries.clear();
            entries.extend(run.iter().map(|(_, e)| *e));
            list.relink_band(run[0].0 as usize, &entries);
        }
        list.refit();
        list
    }

    /// Replaces a band's nodes by new ones over these triangles, sorted by key. O(n). Towers are even: a node
    /// in five to eight is one link taller, one of those in five to eight two.
    pub(super) fn relink_band(&mut self, band: usize, entries: &[ListEntry]) {
        self.clear_band(band);
        debug_assert!(entries.is_sorted_by_key(|e| (e.key, e.triangle)), "entries of band {band}");
        let head = self.bands[band].head;
        let starts = run_starts(entries.len(), |i| entries[i].key);
        // Towers of a bulk-built band are even: the boxes of a level then hold as many triangles each. Only towers
        // of later insertions are random, because an even one would have to move its neighbours.
        let heights = heights(&starts, entries);
        // The last node so far on each level.
        let mut last = [head; HEAD_LEVELS];
        let mut prev = head;
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).map_or(entries.len(), |next| *next);
            let leaf = &entries[start..end];
            if i == 0 {
                self.refill(head, leaf);
                continue;
            }
            let n_links = heights[i];
            let node = self.new_node(band as u32, leaf[0].key, n_links);
            self.refill(node, leaf);
            self.nodes[node as usize].prev = prev;
            for (level, left) in last.iter_mut().enumerate().take(n_links) {
                self.link_mut(*left, level).next = node;
                *left = node;
            }
            for level in 0..n_links {
                // Links of this node are spanned, one level up, by the last node that is taller.
                self.link_mut(node, level).owner = last[level + 1];
            }
            prev = node;
            self.bands[band].top = self.bands[band].top.max(n_links - 1);
        }
        self.bands[band].n_triangles = entries.len();
    }

    /// Frees every node of a band but its head, which is left empty.
    fn clear_band(&mut self, band: usize) {
        let head = self.bands[band].head;
        let mut n = self.link(head, 0).next;
        while n != END {
            let next = self.link(n, 0).next;
            self.free_node(n);
            n = next;
        }
        // The head is as tall as can be and is never removed, so only its links are emptied.
        for level in 0..HEAD_LEVELS {
            let link = self.link_mut(head, level);
            (link.bounds, link.next) = (Aabb::EMPTY, END);
        }
        self.refill(head, &[]);
        self.bands[band].top = 0;
        self.bands[band].n_triangles = 0;
    }

    /// The triangles of a band in list order.
    pub(super) fn band_entries(&self, band: usize) -> impl Iterator<Item = ListEntry> + '_ {
        self.band_nodes(band).flat_map(|n| self.leaves[n as usize].entries())
    }

    /// The nodes of a band in list order.
    pub(super) fn band_nodes(&self, band: usize) -> impl Iterator<Item = u32> + '_ {
        let some = |n: u32| (n != END).then_some(n);
        std::iter::successors(some(self.bands[band].head), move |n| some(self.link(*n, 0).next))
    }

    /// Room for ids up to `end`.
    pub(super) fn reserve_ids(&mut self, end: TriangleId) {
        self.handles.resize(end.0 as usize, super::skip_list::Handle::NONE);
    }
}

/// Where runs of [`FEWEST`] to [`LANES`] out of `n` sorted keys begin.
fn run_starts(n: usize, key: impl Fn(usize) -> FilingKey) -> Vec<usize> {
    let mut starts = Vec::with_capacity(n.div_ceil(FEWEST));
    let mut start = 0;
    while start < n {
        starts.push(start);
        debug_assert!(
            starts.len() * FEWEST <= start + LANES,
            "{} runs up to {start}",
            starts.len()
        );
        // Keys are cells in Morton's order, so the highest bit in which two neighbours differ says how far apart in
        // space they are: a leaf that ends at the greatest step has the box of whole cells. With these keys and cuts
        // a cold query on 70 k triangles went from 15.0 k to 12.0 k instructions.
        let step = |end: &usize| (key(end - 1) ^ key(*end)).checked_ilog2();
        let ends = start + FEWEST..=start + LANES;
        let longest = ends.filter(|end| *end < n).max_by_key(|end| (step(end), *end));
        start = longest.filter(|_| n - start > LANES).unwrap_or(n);
    }
    starts
}

/// Links of each leaf's node: those that begin a run of the level below are one taller.
fn heights(starts: &[usize], entries: &[ListEntry]) -> Vec<usize> {
    let mut heights = vec![1; starts.len()];
    let mut level: Vec<usize> = (0..starts.len()).collect();
    for _ in 2..HEAD_LEVELS {
        // One wide node holds what is left: another level would save no box test.
        if level.len() <= LANES {
            break;
        }
        let runs = run_starts(level.len(), |i| entries[starts[level[i]]].key);
        level = runs.iter().map(|i| level[*i]).collect();
        level.iter().for_each(|i| heights[*i] += 1);
    }
    heights
}
