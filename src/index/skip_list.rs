//! The list itself: nodes and towers in arenas, search, insertion and removal of single triangles.

use super::{
    lat_lon::LatLonGrid,
    leaf::{FilingKey, ListEntry, ListLeaf},
    wide_node::WideListNode,
};
use crate::geometry::{Aabb, TriangleId, lanes::LANES};

/// No node: the end of a list.
pub(super) const END: u32 = u32::MAX;
/// One node in this many is promoted to the next level.
pub(super) const FAN_OUT: u32 = 8;
/// Links of a band's first node: enough for 8^6 leaves, two million triangles in one band.
pub(super) const HEAD_LEVELS: usize = 7;

/// The bounded skip list of one surface.
///
/// Names triangles and holds their corners, not their vertices' numbers: every call that needs those is given the
/// mesh that the list was built of, in its present state.
#[derive(Clone, Debug)]
pub struct SkipList {
    pub(super) grid: LatLonGrid,
    pub(super) bands: Vec<Band>,
    /// Holds every triangle.
    pub(super) bounds: Aabb,
    pub(super) nodes: Vec<ListNode>,
    pub(super) leaves: Vec<ListLeaf>,
    pub(super) links: Vec<SkipLink>,
    /// One for each link above the bottom and each band: the boxes of what it spans. Then the table.
    // Boxes of a run are copied side by side, so that one wide pass tests a run: 8.4 us to 6.1 us for the nearest on
    // 70 k triangles. The table of the bands is made of the same, so that a search is one loop from one root.
    pub(super) wide_nodes: Vec<WideListNode>,
    /// Wide nodes over the bands, wide nodes over those, and so on up to one.
    pub(super) table: Vec<Vec<u32>>,
    pub(super) handles: Vec<Handle>,
    pub(super) free_nodes: Vec<u32>,
    pub(super) free_wide_nodes: Vec<u32>,
    pub(super) free_towers: [Vec<u32>; HEAD_LEVELS],
    pub(super) touched: Touched,
    random: u64,
}

/// One latitude band.
#[derive(Clone, Debug)]
pub(super) struct Band {
    /// The first node; as tall as can be, never removed.
    pub(super) head: u32,
    /// The highest level on which the head has a successor, or 0.
    pub(super) top: usize,
    pub(super) bounds: Aabb,
    pub(super) n_triangles: usize,
    /// The wide node of the links on level `top`.
    pub(super) wide_node: u32,
}

/// A leaf's place in the list. `low_key` <= keys in the leaf <= `low_key` of the next node.
#[derive(Clone, Debug)]
pub(super) struct ListNode {
    pub(super) low_key: FilingKey,
    pub(super) band: u32,
    pub(super) prev: u32,
    /// First of the node's links; the rest follow, a level each.
    pub(super) tower: u32,
    /// 0 when the node is free.
    pub(super) n_links: u32,
}

/// A forward link: spans its own node up to `next`, not included.
#[derive(Clone, Debug)]
pub(super) struct SkipLink {
    /// Holds every triangle box in the span.
    pub(super) bounds: Aabb,
    pub(super) next: u32,
    /// The node whose link one level up spans this link.
    pub(super) owner: u32,
    /// Above the bottom: the wide node of the links that it spans; [`END`] before the first refit.
    pub(super) wide_node: u32,
}

impl SkipLink {
    pub(super) const EMPTY: SkipLink =
        SkipLink { bounds: Aabb::EMPTY, next: END, owner: END, wide_node: END };
}

/// Where a triangle is filed: leaf times [`LANES`] plus lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(u32);

impl Handle {
    pub(super) const NONE: Handle = Handle(u32::MAX);

    pub(super) fn new(node: u32, lane: usize) -> Handle {
        debug_assert!(lane < LANES && node < u32::MAX / LANES as u32, "leaf {node}, lane {lane}");
        Handle(node * LANES as u32 + lane as u32)
    }

    /// (node, lane)
    pub(super) fn get(self) -> Option<(u32, usize)> {
        let lanes = LANES as u32;
        (self != Handle::NONE).then_some((self.0 / lanes, (self.0 % lanes) as usize))
    }
}

/// Nodes whose links are out of date, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    pub(super) nodes: Vec<u32>,
    /// Lanes of each node that changed, a bit each; 0 when the node is not in the list.
    pub(super) lanes: Vec<u8>,
}

impl Touched {
    /// Adds a node as a whole.
    pub(super) fn add(&mut self, node: u32) {
        self.add_lanes(node, u8::MAX);
    }

    /// Adds some lanes of a node.
    pub(super) fn add_lanes(&mut self, node: u32, lanes: u8) {
        if self.lanes.len() <= node as usize {
            self.lanes.resize(node as usize + 1, 0);
        }
        let there = &mut self.lanes[node as usize];
        if *there == 0 {
            self.nodes.push(node);
        }
        *there |= lanes;
    }

    pub(super) fn n_lanes(&self) -> usize {
        self.nodes.iter().map(|n| self.lanes[*n as usize].count_ones() as usize).sum()
    }

    pub(super) fn take(&mut self) -> Vec<u32> {
        for n in &self.nodes {
            self.lanes[*n as usize] = 0;
        }
        std::mem::take(&mut self.nodes)
    }

    /// Gives the room of a taken list back.
    pub(super) fn reuse(&mut self, mut nodes: Vec<u32>) {
        nodes.clear();
        self.nodes = nodes;
    }
}

impl SkipList {
    /// No triangles yet, one head a band.
    pub(super) fn empty(grid: LatLonGrid, n_triangle_ids: u32) -> SkipList {
        let n_bands = grid.n_bands();
        let mut list = SkipList {
            grid,
            bands: Vec::with_capacity(n_bands),
            bounds: Aabb::EMPTY,
            nodes: Vec::new(),
            leaves: Vec::new(),
            links: Vec::new(),
            wide_nodes: Vec::new(),
            table: Vec::new(),
            handles: vec![Handle::NONE; n_triangle_ids as usize],
            free_nodes: Vec::new(),
            free_wide_nodes: Vec::new(),
            free_towers: Default::default(),
            touched: Touched::default(),
            random: 0x9e37_79b9_7f4a_7c15,
        };
        for band in 0..n_bands {
            let head = list.new_node(band as u32, 0, HEAD_LEVELS);
            for level in 0..HEAD_LEVELS {
                list.link_mut(head, level).owner = head;
            }
            list.bands.push(Band {
                head,
                top: 0,
                bounds: Aabb::EMPTY,
                n_triangles: 0,
                wide_node: END,
            });
            // Every band is refitted once, empty ones too, so that the table holds no stale box.
            list.touched.add(head);
        }
        list.lay_table(n_bands);
        list
    }

    /// Empty wide nodes over so many bands, eight to one, up to a single one.
    fn lay_table(&mut self, n_bands: usize) {
        let mut n = n_bands;
        while n > 1 || self.table.is_empty() {
            let mut level = Vec::with_capacity(n.div_ceil(LANES));
            for first in (0..n).step_by(LANES) {
                level.push(self.wide_nodes.len() as u32);
                self.wide_nodes.push(WideListNode {
                    len: (n - first).min(LANES) as u32,
                    ..WideListNode::EMPTY
                });
            }
            n = level.len();
            self.table.push(level);
        }
    }

    /// The wide node that all searches begin at.
    pub(super) fn root(&self) -> u32 {
        self.table[self.table.len() - 1][0]
    }

    /// Triangles filed.
    pub fn len(&self) -> usize {
        self.bands.iter().map(|b| b.n_triangles).sum()
    }

    /// Nothing is filed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The box of all triangles, exact.
    pub fn bounds(&self) -> &Aabb {
        &self.bounds
    }

    pub(super) fn link(&self, node: u32, level: usize) -> &SkipLink {
        debug_assert!(level < self.nodes[node as usize].n_links as usize);
        &self.links[self.nodes[node as usize].tower as usize + level]
    }

    pub(super) fn link_mut(&mut self, node: u32, level: usize) -> &mut SkipLink {
        debug_assert!(level < self.nodes[node as usize].n_links as usize);
        &mut self.links[self.nodes[node as usize].tower as usize + level]
    }

    pub(super) fn handle(&self, t: TriangleId) -> Option<(u32, usize)> {
        self.handles.get(t.0 as usize).copied().unwrap_or(Handle::NONE).get()
    }

    /// A node without neighbours, with an empty leaf.
    pub(super) fn new_node(&mut self, band: u32, low_key: FilingKey, n_links: usize) -> u32 {
        let tower = match self.free_towers[n_links - 1].pop() {
            Some(tower) => {
                self.links[tower as usize..][..n_links].fill(SkipLink::EMPTY);
                tower
            }
            None => {
                self.links.resize(self.links.len() + n_links, SkipLink::EMPTY);
                (self.links.len() - n_links) as u32
            }
        };
        let node = ListNode { low_key, band, prev: END, tower, n_links: n_links as u32 };
        match self.free_nodes.pop() {
            Some(n) => {
                self.nodes[n as usize] = node;
                self.leaves[n as usize] = ListLeaf::EMPTY;
                n
            }
            None => {
                self.nodes.push(node);
                self.leaves.push(ListLeaf::EMPTY);
                (self.nodes.len() - 1) as u32
            }
        }
    }

    pub(super) fn free_node(&mut self, n: u32) {
        let node = &mut self.nodes[n as usize];
        let tower = &mut self.links[node.tower as usize..][..node.n_links as usize];
        let wide_nodes = tower.iter_mut().map(|link| std::mem::replace(&mut link.wide_node, END));
        self.free_wide_nodes.extend(wide_nodes.filter(|wide_node| *wide_node != END));
        self.free_towers[node.n_links as usize - 1].push(node.tower);
        node.n_links = 0;
        self.free_nodes.push(n);
    }

    /// Files a triangle. O(log n) expected.
    pub(super) fn insert(&mut self, band: usize, entry: ListEntry) {
        debug_assert!(
            self.handle(entry.triangle).is_none(),
            "{:?} is filed already",
            entry.triangle
        );
        let mut n = self.find(band, entry.key);
        if self.leaves[n as usize].is_full() {
            let upper = self.split(n);
            // Of equal keys a triangle may be on either side: [`validate`] allows a leaf to end with the next one's
            // low key.
            if entry.key >= self.nodes[upper as usize].low_key {
                n = upper;
            }
        }
        let lane = self.leaves[n as usize].push(entry);
        self.handles[entry.triangle.0 as usize] = Handle::new(n, lane);
        self.bands[band].n_triangles += 1;
        self.touched.add(n);
    }

    /// Takes a triangle out by its handle. O(1), or O(log n) when its leaf empties.
    ///
    /// # Panics
    /// When it is not filed.
    pub(super) fn remove(&mut self, t: TriangleId) {
        let (n, lane) = self.handle(t).expect("a filed triangle");
        self.leaves[n as usize].remove(lane);
        self.handles[t.0 as usize] = Handle::NONE;
        if lane < self.leaves[n as usize].len() {
            let moved = self.leaves[n as usize].triangles[lane];
            self.handles[moved.0 as usize] = Handle::new(n, lane);
        }
        let band = self.nodes[n as usize].band as usize;
        self.bands[band].n_triangles -= 1;
        // An emptied node is unlinked at the next refit and not here: what follows often fills it again.
        self.touched.add(n);
    }

    /// The last node of the band with `low_key` <= key.
    fn find(&self, band: usize, key: FilingKey) -> u32 {
        debug_assert!(band < self.bands.len(), "band {band} of {}", self.bands.len());
        let Band { head, top, .. } = self.bands[band];
        let mut n = head;
        for level in (0..=top).rev() {
            while let next = self.link(n, level).next
                && next != END
                && self.nodes[next as usize].low_key <= key
            {
                n = next;
            }
        }
        n
    }

    /// Moves the upper half of a full leaf to a new node behind it.
    fn split(&mut self, n: u32) -> u32 {
        let mut entries: Vec<ListEntry> = self.leaves[n as usize].entries().collect();
        entries.sort_unstable_by_key(|e| (e.key, e.triangle));
        let upper_half = entries.split_off(entries.len() / 2);
        let band = self.nodes[n as usize].band;
        // A seeded generator, so that the same edits give the same list on every machine.
        let height = self.random_height();
        let upper = self.new_node(band, upper_half[0].key, height);
        self.refill(n, &entries);
        self.refill(upper, &upper_half);
        self.link_behind(n, upper);
        upper
    }

    /// Replaces a leaf's triangles.
    pub(super) fn refill(&mut self, n: u32, entries: &[ListEntry]) {
        debug_assert!(entries.len() <= LANES, "{} triangles in leaf {n}", entries.len());
        self.leaves[n as usize] = ListLeaf::EMPTY;
        for e in entries {
            let lane = self.leaves[n as usize].push(*e);
            self.handles[e.triangle.0 as usize] = Handle::new(n, lane);
        }
        self.touched.add(n);
    }

    /// Puts a new node right behind another one and its tower between the taller ones around it.
    fn link_behind(&mut self, before: u32, node: u32) {
        debug_assert!(self.nodes[before as usize].low_key <= self.nodes[node as usize].low_key);
        let n_links = self.nodes[node as usize].n_links as usize;
        let band = self.nodes[node as usize].band as usize;
        let mut left = before;
        for level in 0..n_links {
            while self.nodes[left as usize].n_links as usize <= level {
                // The owner one level down is the nearest node to the left that is tall enough: no search from the
                // head.
                left = self.link(left, level - 1).owner;
            }
            let next = self.link(left, level).next;
            let above = if self.nodes[left as usize].n_links as usize > level + 1 {
                left
            } else {
                self.link(left, level).owner
            };
            self.link_mut(left, level).next = node;
            *self.link_mut(node, level) = SkipLink { next, owner: above, ..SkipLink::EMPTY };
            if level == 0 {
                self.nodes[node as usize].prev = left;
                if next != END {
                    self.nodes[next as usize].prev = node;
                }
            }
            if level + 1 < n_links {
                self.own_run(node, level, node);
            }
            self.touched.add(left);
        }
        self.bands[band].top = self.bands[band].top.max(n_links - 1);
        self.touched.add(node);
    }

    /// Unlinks an empty node that is no head and frees it. O(log n) expected.
    pub(super) fn unlink_empty(&mut self, node: u32) {
        let ListNode { n_links, band, prev, .. } = self.nodes[node as usize].clone();
        debug_assert!(
            self.leaves[node as usize].len() == 0 && self.bands[band as usize].head != node
        );
        let mut left = prev;
        for level in 0..n_links as usize {
            while self.nodes[left as usize].n_links as usize <= level {
                left = self.link(left, level - 1).owner;
            }
            while self.link(left, level).next != node {
                left = self.link(left, level).next;
            }
            let next = self.link(node, level).next;
            self.link_mut(left, level).next = next;
            if level == 0 && next != END {
                self.nodes[next as usize].prev = left;
            }
            if level + 1 < n_links as usize {
                let taller = self.nodes[left as usize].n_links as usize > level + 1;
                let above = if taller { left } else { self.link(left, level).owner };
                self.own_run(next, level, above);
            }
            self.touched.add(left);
        }
        let band = &self.bands[band as usize];
        let (mut top, head) = (band.top, band.head);
        while top > 0 && self.link(head, top).next == END {
            top -= 1;
        }
        let band = self.nodes[node as usize].band as usize;
        self.bands[band].top = top;
        self.free_node(node);
    }

    /// Sets the owner of the links at `level` from `from` up to the next taller node.
    pub(super) fn own_run(&mut self, from: u32, level: usize, owner: u32) {
        // Ownership runs up to the next taller node: a run is short, as towers are geometric.
        let mut n = from;
        while n != END && (n == owner || self.nodes[n as usize].n_links as usize == level + 1) {
            let link = self.link_mut(n, level);
            link.owner = owner;
            n = link.next;
        }
    }

    /// Links of a new tower: 1, and one more with a chance of 1 in [`FAN_OUT`] each time.
    fn random_height(&mut self) -> usize {
        let mut height = 1;
        while height < HEAD_LEVELS - 1 && self.next_random().is_multiple_of(u64::from(FAN_OUT)) {
            height += 1;
        }
        height
    }

    /// Xorshift: the levels' seeded generator.
    pub(super) fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 16
    }
}
