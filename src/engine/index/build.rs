//! Builds all lists, or one, from triangles in any order.

use super::{
    lat_lon::{LatLonGrid, LatLonOptions, centroid},
    link_run::{END, LEVELS, Place},
    skip_list::{CellList, SkipList, TABLE_LEVELS, Touched},
    surface_area::{BoxedItem, parts, union},
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh, lanes::LANES};

impl SkipList {
    /// Files every triangle of the mesh. O(n log n).
    pub fn build(mesh: &TriangleMesh, options: &LatLonOptions) -> SkipList {
        // The grid stays fixed until the next build, so a triangle's cell depends on its centroid alone.
        let grid = LatLonGrid::new(mesh, options);
        let mut filed: Vec<(u32, BoxedItem)> = mesh
            .triangle_ids()
            .map(|t| (grid.locate(centroid(&mesh.corners(t))), boxed(t, mesh)))
            .collect();
        filed.sort_unstable_by_key(|(cell, item)| (*cell, item.item));
        let n_cells = grid.n_cells();
        let mut list = SkipList {
            grid,
            lists: vec![CellList { top: END, n_triangles: 0 }; n_cells],
            bounds: Aabb::EMPTY,
            // With some spare capacity for the first cuts, but not twice as much as necessary.
            leaves: Vec::with_capacity(filed.len() / (LANES - 1) + n_cells),
            runs: Vec::with_capacity(filed.len() / ((LANES - 1) * (LANES - 2)) + 2 * n_cells),
            root: END,
            handles: vec![Place::NONE; mesh.triangle_id_end() as usize],
            free_leaves: Vec::new(),
            free_runs: Vec::new(),
            touched: Touched::default(),
            random: 0x9e37_79b9_7f4a_7c15,
        };
        let mut filed = filed.as_slice();
        let mut cells = Vec::with_capacity(n_cells);
        // An empty list gets the box of the list before it.
        let mut bounds = Aabb { min: glam::Vec3::ZERO, max: glam::Vec3::ZERO };
        for cell in 0..n_cells as u32 {
            let (own, others) = filed.split_at(filed.partition_point(|(c, _)| *c == cell));
            filed = others;
            let mut items: Vec<BoxedItem> = own.iter().map(|(_, item)| *item).collect();
            if !items.is_empty() {
                bounds = union(&items);
            }
            cells.push(BoxedItem { bounds, item: cell });
            list.lay_list(cell, &mut items, mesh);
        }
        let n_levels = (0..TABLE_LEVELS).find(|l| LANES.pow(*l as u32 + 1) >= n_cells);
        let level = LEVELS + n_levels.expect("a grid has no more cells");
        list.root = list.lay(&mut cells, level, END, mesh);
        list.refit(mesh);
        list
    }

    /// Rebuilds a list from its triangles and `more`.
    pub(super) fn relay_list(&mut self, list: u32, more: &[TriangleId], mesh: &TriangleMesh) {
        let top = self.lists[list as usize].top;
        let leaves = self.leaves_below(top);
        let filed = leaves.iter().flat_map(|n| self.leaf(*n).triangles()).chain(more);
        let mut items: Vec<BoxedItem> = filed.map(|t| boxed(*t, mesh)).collect();
        let place = self.run(top).place;
        self.clear(top);
        self.free_run(top);
        self.lay_list(list, &mut items, mesh);
        self.set_top(list, self.lists[list as usize].top, place);
    }

    /// Builds the list of a cell that has none.
    fn lay_list(&mut self, list: u32, items: &mut [BoxedItem], mesh: &TriangleMesh) {
        let fits = |level: &usize| items.len() <= capacity(*level) * LANES;
        let level = (0..LEVELS - 1).find(fits).unwrap_or(LEVELS - 2);
        let top = self.lay(items, level, list, mesh);
        self.lists[list as usize] = CellList { top, n_triangles: items.len() };
        self.touch_run(top);
    }

    /// Builds a run over all items: triangles, or lists in the table.
    fn lay(
        &mut self,
        items: &mut [BoxedItem],
        level: usize,
        list: u32,
        mesh: &TriangleMesh,
    ) -> u32 {
        let run = self.new_run(level, list);
        if items.is_empty() {
            return run;
        }
        let (mut items, mut start) = (items, 0);
        for end in parts(items, capacity(level)) {
            let part;
            (part, items) = items.split_at_mut(end - start);
            start = end;
            let bounds = union(part);
            let below = match level {
                0 => self.new_leaf(),
                LEVELS => self.lists[part[0].item as usize].top,
                _ => self.lay(part, level - 1, list, mesh),
            };
            self.push_link(run, below, &bounds);
            if level == 0 {
                part.iter().for_each(|i| self.push(below, TriangleId(i.item), mesh));
            }
        }
        run
    }

    /// Extends the handles to ids below `end`.
    pub(super) fn reserve_ids(&mut self, end: TriangleId) {
        self.handles.resize(end.0 as usize, Place::NONE);
    }
}

/// Maximum items below a link of a level: triangles, or lists in the table.
fn capacity(level: usize) -> usize {
    LANES.pow(if level < LEVELS { level + 1 } else { level - LEVELS } as u32)
}

fn boxed(t: TriangleId, mesh: &TriangleMesh) -> BoxedItem {
    BoxedItem { bounds: mesh.triangle_box(t), item: t.0 }
}
