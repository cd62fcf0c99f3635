//! Building a list, or one band of it, from sorted triangles.

use super::{
    block::{Entry, LANES},
    frame::{Frame, FrameOptions, centroid},
    skip_list::{END, FAN_OUT, HEAD_LEVELS, SkipList},
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh, winding::Moments};

/// Triangles put in a block at first: some room is left so that a moving triangle seldom splits one.
const FILL: usize = LANES - 1;

impl SkipList {
    /// Files every triangle of the mesh. O(n log n). With `moments` the list answers winding numbers.
    pub fn build(mesh: &TriangleMesh, options: &FrameOptions, moments: bool) -> SkipList {
        let frame = Frame::new(mesh, options);
        let mut filed: Vec<(u32, Entry)> = mesh
            .triangle_ids()
            .map(|t| {
                let (band, key) = frame.file(centroid(mesh, t));
                (band as u32, Entry { triangle: t, key, bounds: mesh.triangle_box(t) })
            })
            .collect();
        filed.sort_unstable_by_key(|(band, e)| (*band, e.key, e.triangle));
        let mut list = SkipList::empty(frame, mesh.triangle_id_end());
        let mut entries = Vec::new();
        for run in filed.chunk_by(|a, b| a.0 == b.0) {
            entries.clear();
            entries.extend(run.iter().map(|(_, e)| *e));
            list.relink_band(run[0].0 as usize, &entries);
        }
        list.refit(mesh);
        list.keep_moments(mesh, moments);
        list
    }

    /// Replaces a band's nodes by new ones over these triangles, sorted by key. O(n). Towers are even:
    /// each node in eight is one link taller, each in sixty-four two.
    pub(super) fn relink_band(&mut self, band: usize, entries: &[Entry]) {
        self.clear_band(band);
        let head = self.bands[band].head;
        let mut blocks = entries.chunks(FILL);
        if let Some(first) = blocks.next() {
            self.refill(head, first);
        }
        // The last node so far on each level.
        let mut last = [head; HEAD_LEVELS];
        let mut prev = head;
        for (i, block) in (1u32..).zip(blocks) {
            let height = 1 + (i.trailing_zeros() / FAN_OUT.trailing_zeros()) as usize;
            let n_links = height.min(HEAD_LEVELS - 1);
            let node = self.new_node(band as u32, block[0].key, n_links);
            self.refill(node, block);
            self.nodes[node as usize].prev = prev;
            for (level, left) in last.iter_mut().enumerate().take(n_links) {
                self.link_mut(*left, level).next = node;
                *left = node;
            }
            for level in 0..n_links {
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
        for level in 0..HEAD_LEVELS {
            let link = self.link_mut(head, level);
            (link.bounds, link.next) = (Aabb::EMPTY, END);
        }
        self.refill(head, &[]);
        self.bands[band].top = 0;
        self.bands[band].n_triangles = 0;
    }

    /// The triangles of a band in list order.
    pub(super) fn band_entries(&self, band: usize) -> impl Iterator<Item = Entry> + '_ {
        self.band_nodes(band).flat_map(|n| self.blocks[n as usize].entries())
    }

    /// The nodes of a band in list order.
    pub(super) fn band_nodes(&self, band: usize) -> impl Iterator<Item = u32> + '_ {
        let some = |n: u32| (n != END).then_some(n);
        std::iter::successors(some(self.bands[band].head), move |n| some(self.link(*n, 0).next))
    }

    /// Starts or stops keeping moments beside the links.
    pub(super) fn keep_moments(&mut self, mesh: &TriangleMesh, keep: bool) {
        if keep != self.moments.is_empty() {
            return;
        }
        self.moments = if keep { vec![Moments::NONE; self.links.len()] } else { Vec::new() };
        for n in 0..self.nodes.len() as u32 {
            if self.nodes[n as usize].n_links > 0 {
                self.touched.add(n);
            }
        }
        self.refit(mesh);
    }

    /// Room for ids up to `end`.
    pub(super) fn reserve_ids(&mut self, end: TriangleId) {
        self.handles.resize(end.0 as usize, super::skip_list::Handle::NONE);
    }
}
