//! What must be true of a list at all times.

use super::{
    leaf::ListLeaf,
    skip_list::{Band, END, HEAD_LEVELS, SkipList},
};
use crate::geometry::{Aabb, TriangleMesh, lanes::LANES};

impl SkipList {
    /// Checks order, levels, owners, handles and boxes against the mesh. O(n).
    ///
    /// # Panics
    /// When anything is wrong.
    pub fn assert_well_formed(&self, mesh: &TriangleMesh) {
        assert!(self.touched.nodes.is_empty(), "touched nodes wait for a refit");
        for band in 0..self.bands.len() {
            self.assert_order(band);
            for level in 0..=self.bands[band].top {
                self.assert_level(band, level);
            }
            let Band { head, top, wide_node, .. } = self.bands[band];
            self.assert_wide_node(wide_node, head, END, top);
            self.assert_table(band);
            let Aabb { min, max } = self.bands[band].bounds;
            // Exactly, not only large enough: a box that is too large is never wrong but never shrinks again.
            let all = self
                .band_entries(band)
                .fold(Aabb::EMPTY, |b, e| b.union(&Aabb::of_points(e.corners)));
            assert_eq!(Aabb { min, max }, all, "box of band {band}");
        }
        assert_eq!(self.bounds, mesh.used_box(), "box of the list");
        self.assert_handles(mesh);
        let live =
            self.bands.iter().enumerate().map(|(b, _)| self.band_nodes(b).count()).sum::<usize>();
        assert_eq!(live + self.free_nodes.len(), self.nodes.len(), "nodes are listed or free");
    }

    /// Bottom list: sorted, linked both ways, keys between their node's and the next.
    fn assert_order(&self, band: usize) {
        let (mut prev, mut n_triangles, mut top) = (END, 0, 0);
        for n in self.band_nodes(band) {
            let node = &self.nodes[n as usize];
            assert_eq!(
                (node.band as usize, node.prev),
                (band, prev),
                "band and predecessor of node {n}"
            );
            let next = self.link(n, 0).next;
            // Equal keys may be on both sides of a border, so the upper bound is included.
            let high = if next == END { u32::MAX } else { self.nodes[next as usize].low_key };
            let leaf = &self.leaves[n as usize];
            for e in leaf.entries() {
                assert!(node.low_key <= e.key && e.key <= high, "key {} in node {n}", e.key);
            }
            assert_lanes_clear(leaf);
            assert!(prev == END || leaf.len() > 0, "node {n} is empty");
            if prev != END {
                top = top.max(node.n_links as usize - 1);
            }
            n_triangles += leaf.len();
            prev = n;
        }
        assert_eq!(n_triangles, self.bands[band].n_triangles, "triangles of band {band}");
        assert_eq!(top, self.bands[band].top, "levels of band {band}");
    }

    /// One level: links the nodes that are tall enough, boxes are the unions of what the links span.
    fn assert_level(&self, band: usize, level: usize) {
        let tall = |n: &u32| self.nodes[*n as usize].n_links as usize > level;
        let nodes: Vec<u32> = self.band_nodes(band).filter(tall).collect();
        let mut owner = END;
        for (i, &n) in nodes.iter().enumerate() {
            let link = self.link(n, level);
            assert_eq!(
                link.next,
                nodes.get(i + 1).copied().unwrap_or(END),
                "link {n} at level {level}"
            );
            if self.nodes[n as usize].n_links as usize > level + 1 {
                owner = n;
            }
            if level + 1 < HEAD_LEVELS {
                assert_eq!(link.owner, owner, "owner of link {n} at level {level}");
            }
            let bounds = if level == 0 {
                self.leaves[n as usize].corners.boxes().union()
            } else {
                self.assert_wide_node(link.wide_node, n, link.next, level - 1);
                self.union_of_run(n, link.next, level - 1)
            };
            assert_eq!(link.bounds, bounds, "box of link {n} at level {level}");
        }
    }

    /// A wide node holds the first links of its run, and says where the run goes on.
    fn assert_wide_node(&self, wide_node: u32, start: u32, end: u32, level: usize) {
        let wide_node = &self.wide_nodes[wide_node as usize];
        let mut n = start;
        for lane in 0..wide_node.len as usize {
            let below = if level == 0 { n } else { self.link(n, level).wide_node };
            assert_eq!(wide_node.below[lane], below, "wide_node of run {start} at level {level}");
            assert_eq!(wide_node.boxes.get(lane), self.link(n, level).bounds, "box in a wide_node");
            n = self.link(n, level).next;
        }
        let rest = if n == end { (END, END) } else { (n, end) };
        assert_eq!((wide_node.rest, wide_node.end), rest, "rest of run {start} at level {level}");
        assert_eq!(wide_node.level as usize, level, "level of the wide_node of run {start}");
        assert!(n == end || wide_node.len as usize == LANES, "a wide_node with room has no rest");
    }

    /// The band is in the table, and what is above it holds it.
    fn assert_table(&self, band: usize) {
        let (mut at, mut below) = (band, self.bands[band].wide_node);
        let mut bounds = self.bands[band].bounds;
        for level in &self.table {
            let wide_node = &self.wide_nodes[level[at / LANES] as usize];
            assert_eq!(wide_node.boxes.get(at % LANES), bounds, "box of band {band} in the table");
            assert_eq!(wide_node.below[at % LANES], below, "band {band} in the table");
            (below, bounds) = (level[at / LANES], wide_node.boxes.union());
            at /= LANES;
        }
        assert_eq!(bounds, self.bounds, "box of the table");
    }

    /// Each triangle of the mesh is filed once, under its handle, with its present box.
    fn assert_handles(&self, mesh: &TriangleMesh) {
        assert_eq!(self.len(), mesh.n_triangles(), "triangles filed");
        assert_eq!(self.handles.len(), mesh.triangle_id_end() as usize, "handles");
        for t in mesh.triangle_ids() {
            let (n, lane) = self.handle(t).expect("a triangle of the mesh is filed");
            let entry = self.leaves[n as usize].entry(lane);
            assert!(lane < self.leaves[n as usize].len(), "handle of {t:?} points past its leaf");
            assert_eq!((entry.triangle, entry.corners), (t, mesh.corners(t)), "entry of {t:?}");
        }
    }
}

fn assert_lanes_clear(leaf: &ListLeaf) {
    for lane in leaf.len()..LANES {
        assert!(
            leaf.entry(lane).corners.iter().all(|p| p.is_nan()),
            "an unused lane has a triangle"
        );
    }
}
