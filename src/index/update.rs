//! Keeping the list true after triangles moved, came or went: a batch at a time, only where it changed.

use std::ops::RangeInclusive;

use glam::Vec3;

use super::{
    lat_lon::centroid,
    leaf::{FilingKey, ListEntry},
    skip_list::{Band, END, SkipList},
    wide_node::WideListNode,
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh, lanes::LANES};

/// What a batch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Triangles with a vertex that moved.
    pub touched: usize,
    /// Triangles that were filed elsewhere; some may have moved earlier.
    pub relocated: usize,
}

/// When more than one in this many of a band's triangles leave or enter it at once, the band is sorted and
/// linked anew: a re-insertion costs about as much as sorting and linking four triangles in bulk.
const BULK_SHARE: usize = 4;

/// A triangle that is to be filed, and where.
struct Refiling {
    band: u32,
    entry: ListEntry,
}

impl SkipList {
    /// Brings the list up to date with vertices that moved. A triangle keeps its place as long as its leaf
    /// stays together; the others are filed anew, in bulk where a band is much changed.
    pub fn update(&mut self, mesh: &TriangleMesh, vertices: &[u32]) -> Updated {
        for v in vertices {
            let at = mesh.positions()[*v as usize];
            // The moved corner is written into the leaves of its ring, without a list of triangles in between.
            for (t, corner) in mesh.ring(*v) {
                let (n, lane) = self.handle(t).expect("a triangle of the mesh is filed");
                self.leaves[n as usize].corners.set_corner(lane, corner, at);
                self.touched.add_lanes(n, 1 << lane);
            }
        }
        let touched = self.touched.n_lanes();
        let grown = self.refit();
        debug_assert!(touched <= self.len(), "{touched} touched of {}", self.len());
        Updated { touched, relocated: self.settle(grown) }
    }

    /// The same when all vertices may have moved: level by level, in the order in which triangles are filed, so
    /// that neighbours share what they read.
    pub fn update_all(&mut self, mesh: &TriangleMesh) -> Updated {
        // A dense deformation goes in the list's own order and not in that of the ids: neighbours share what they
        // read (a 70 k liver moved by 0.1 mm: 10.3 ms to 4.9 ms). On one thread: a second one for corners and boxes
        // took 0.89 ms instead of 0.84 on 70 k, gained only at 1 M, and takes the other core from the ticks.
        let mut grown = Vec::new();
        for band in 0..self.bands.len() {
            let Band { head, top, .. } = self.bands[band];
            let (mut n, mut before) = (head, END);
            while n != END {
                let leaf = &mut self.leaves[n as usize];
                for lane in 0..leaf.len() {
                    leaf.corners.set(lane, &mesh.corners(leaf.triangles[lane]));
                }
                // Each box is taken right after its leaf, without a list of what was touched: 0.81 to 0.58 ms on 70
                // k triangles. It is one leaf behind, because what was just written lane by lane is slow to be read
                // as a whole.
                if before != END {
                    self.refit_leaf(before, &mut grown);
                }
                (before, n) = (n, self.link(n, 0).next);
            }
            self.refit_leaf(before, &mut grown);
            // Bottom-up, so that each link unites boxes that are right already.
            for level in 1..=top {
                let mut n = head;
                while n != END {
                    self.refit_link(n, level);
                    n = self.link(n, level).next;
                }
            }
            self.refit_band(band);
        }
        Updated { touched: self.len(), relocated: self.settle(grown) }
    }

    /// Takes triangles out and files new ones. `removed` are not needed in the mesh any more.
    pub fn edit(&mut self, mesh: &TriangleMesh, removed: &[TriangleId], added: &[TriangleId]) {
        for t in removed {
            self.remove(*t);
        }
        // Ids only grow, so room for the new ones keeps all old handles.
        self.reserve_ids(TriangleId(mesh.triangle_id_end()));
        let refiling = |t: &TriangleId| self.locate(*t, mesh.corners(*t));
        let moves = added.iter().map(refiling).collect();
        self.relocate(moves);
        let grown = self.refit();
        self.settle(grown);
    }

    /// The band and key of a triangle.
    fn locate(&self, triangle: TriangleId, corners: [Vec3; 3]) -> Refiling {
        let (band, key) = self.grid.locate(centroid(&corners));
        Refiling { band: band as u32, entry: ListEntry { triangle, key, corners } }
    }

    /// Files triangles of leaves that have grown elsewhere where they came apart, and says how many.
    fn settle(&mut self, grown: Vec<u32>) -> usize {
        if grown.is_empty() {
            return 0;
        }
        let mut moves = Vec::new();
        for n in grown {
            // A triangle whose key is now a neighbour's stays: filing it there would gain nothing that a query can
            // see.
            let keys = self.keys_near(n);
            moves
                .extend(self.leaves[n as usize].entries().filter_map(|e| self.stray(n, &keys, &e)));
        }
        let relocated = moves.len();
        for m in &moves {
            self.remove(m.entry.triangle);
        }
        self.relocate(moves);
        self.refit();
        relocated
    }

    /// Where a triangle has to go when it cannot stay in its node: `keys` are those that belong in there or
    /// one of the two beside it.
    fn stray(&self, n: u32, keys: &RangeInclusive<FilingKey>, e: &ListEntry) -> Option<Refiling> {
        debug_assert!(self.nodes[n as usize].n_links > 0, "node {n} is free");
        let band = self.nodes[n as usize].band as usize;
        let key = self.grid.key_in_band(centroid(&e.corners), band);
        let stays = key.is_some_and(|key| keys.contains(&key));
        (!stays).then(|| self.locate(e.triangle, e.corners))
    }

    /// The keys that belong in this node or one of its two neighbours.
    fn keys_near(&self, n: u32) -> RangeInclusive<FilingKey> {
        let node = &self.nodes[n as usize];
        let low = if node.prev == END { 0 } else { self.nodes[node.prev as usize].low_key };
        let next = self.link(n, 0).next;
        let after = if next == END { END } else { self.link(next, 0).next };
        let high = if after == END { FilingKey::MAX } else { self.nodes[after as usize].low_key };
        low..=high
    }

    /// Files triangles that are not in the list, band by band: one by one where few enter, else in bulk.
    fn relocate(&mut self, mut moves: Vec<Refiling>) {
        debug_assert!(moves.iter().all(|m| self.handle(m.entry.triangle).is_none()), "filed twice");
        moves.sort_unstable_by_key(|m| (m.band, m.entry.key, m.entry.triangle));
        for run in moves.chunk_by(|a, b| a.band == b.band) {
            let band = run[0].band as usize;
            // Bulk also makes towers even again, and costs no more.
            if run.len() * BULK_SHARE > self.bands[band].n_triangles {
                let mut entries: Vec<ListEntry> = self.band_entries(band).collect();
                entries.extend(run.iter().map(|m| m.entry));
                entries.sort_unstable_by_key(|e| (e.key, e.triangle));
                self.relink_band(band, &entries);
            } else {
                for m in run {
                    self.insert(band, m.entry);
                }
            }
        }
    }

    /// Drops emptied nodes and recomputes the boxes of all links above touched ones, once, bottom-up. Names
    /// the nodes whose leaves have grown.
    pub(super) fn refit(&mut self) -> Vec<u32> {
        self.drop_empty();
        let nodes = self.touched.take();
        let mut owners: Vec<u32> = Vec::with_capacity(nodes.len());
        let (mut bands, mut grown) = (Vec::new(), Vec::new());
        for &n in &nodes {
            // Freed since it was touched.
            if self.nodes[n as usize].n_links == 0 {
                continue;
            }
            self.refit_leaf(n, &mut grown);
            self.report_up(n, 0, &mut owners, &mut bands);
        }
        self.touched.reuse(nodes);
        let mut level = 1;
        while !owners.is_empty() {
            let run_starts = std::mem::take(&mut owners);
            for n in run_starts {
                self.refit_link(n, level);
                self.report_up(n, level, &mut owners, &mut bands);
            }
            // All links of a level are done before any above: each owner is recomputed once, however many are below
            // it.
            level += 1;
        }
        bands.sort_unstable();
        bands.dedup();
        for band in bands {
            self.refit_band(band as usize);
        }
        grown
    }

    /// Notes who has to be recomputed after the link of `n` at `level`, once each.
    fn report_up(&mut self, n: u32, level: usize, owners: &mut Vec<u32>, bands: &mut Vec<u32>) {
        let band = self.nodes[n as usize].band;
        if level >= self.bands[band as usize].top {
            bands.push(band);
            return;
        }
        let owner = self.link(n, level).owner;
        // A link that waits to be recomputed is marked by a box that nothing else has.
        let waiting = &mut self.link_mut(owner, level + 1).bounds;
        if !is_waiting(waiting) {
            *waiting = WAITING;
            owners.push(owner);
        }
    }

    /// Recomputes the box of a leaf; adds the node where that has grown.
    fn refit_leaf(&mut self, n: u32, grown: &mut Vec<u32>) {
        let leaf = &mut self.leaves[n as usize];
        let bounds = leaf.corners.bounds();
        if leaf.has_grown(&bounds) {
            grown.push(n);
        }
        self.link_mut(n, 0).bounds = bounds;
    }

    fn refit_link(&mut self, n: u32, level: usize) {
        let end = self.link(n, level).next;
        let wide_node = self.link(n, level).wide_node;
        let wide_node = self.refit_wide_node(wide_node, n, end, level - 1);
        let bounds = self.union_of_run(n, end, level - 1);
        let link = self.link_mut(n, level);
        (link.bounds, link.wide_node) = (bounds, wide_node);
    }

    fn refit_band(&mut self, band: usize) {
        let Band { head, top, wide_node, .. } = self.bands[band];
        let wide_node = self.refit_wide_node(wide_node, head, END, top);
        let bounds = self.union_of_run(head, END, top);
        let here = &mut self.bands[band];
        (here.bounds, here.wide_node) = (bounds, wide_node);
        self.refit_table(band, wide_node, bounds);
    }

    /// Puts a band into the table, and its box into all that is above it.
    fn refit_table(&mut self, band: usize, wide_node: u32, bounds: Aabb) {
        let (mut at, mut below, mut bounds) = (band, wide_node, bounds);
        for level in &self.table {
            let number = level[at / LANES];
            let wide_node = &mut self.wide_nodes[number as usize];
            wide_node.boxes.set(at % LANES, &bounds);
            wide_node.below[at % LANES] = below;
            (below, bounds) = (number, wide_node.boxes.union());
            at /= LANES;
        }
        self.bounds = bounds;
    }

    /// Copies the boxes of a run into its wide node, a new one when it has none yet.
    fn refit_wide_node(&mut self, wide_node: u32, start: u32, end: u32, level: usize) -> u32 {
        let mut filled = WideListNode { level: level as u32, ..WideListNode::EMPTY };
        let mut n = start;
        while n != end && (filled.len as usize) < LANES {
            let (lane, link) = (filled.len as usize, self.link(n, level));
            filled.boxes.set(lane, &link.bounds);
            filled.below[lane] = if level == 0 { n } else { link.wide_node };
            filled.len += 1;
            n = link.next;
        }
        if n != end {
            (filled.rest, filled.end) = (n, end);
        }
        debug_assert!(
            filled.len as usize <= LANES && (filled.rest == END || filled.len as usize == LANES)
        );
        // A wide node keeps its number, so what is above it need not be told.
        let at = match wide_node {
            END => self.free_wide_nodes.pop().unwrap_or_else(|| {
                self.wide_nodes.push(WideListNode::EMPTY);
                (self.wide_nodes.len() - 1) as u32
            }),
            at => at,
        };
        self.wide_nodes[at as usize] = filled;
        at
    }

    /// Of the links at `level` from `start` up to `end`.
    pub(super) fn union_of_run(&self, start: u32, end: u32, level: usize) -> Aabb {
        let mut bounds = Aabb::EMPTY;
        let mut n = start;
        while n != end {
            let link = self.link(n, level);
            bounds = bounds.union(&link.bounds);
            n = link.next;
        }
        bounds
    }

    /// Unlinks every touched node whose leaf is empty, heads excepted.
    fn drop_empty(&mut self) {
        // By index, because unlinking touches further nodes, which are then looked at too.
        let mut i = 0;
        while let Some(&n) = self.touched.nodes.get(i) {
            let node = &self.nodes[n as usize];
            let is_head = self.bands[node.band as usize].head == n;
            if node.n_links > 0 && !is_head && self.leaves[n as usize].len() == 0 {
                self.unlink_empty(n);
            }
            i += 1;
        }
    }
}

/// Marks a link whose box is to be recomputed.
const WAITING: Aabb = Aabb { min: glam::Vec3::NAN, max: glam::Vec3::NAN };

fn is_waiting(b: &Aabb) -> bool {
    b.min.x.is_nan()
}
