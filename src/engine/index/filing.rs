//! Files and removes single triangles.

use super::{
    leaf::ListLeaf,
    link_run::{LEVELS, LinkRun, Place},
    skip_list::SkipList,
    surface_area::{BoxedItem, best_split, half_area, union},
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh, lanes::LANES};

/// Minimum size of either half of a leaf or run after a split.
const FEWEST: usize = 3;

impl SkipList {
    /// Files a triangle along the path on which boxes grow least. O(log n).
    pub(super) fn insert(&mut self, list: u32, t: TriangleId, mesh: &TriangleMesh) {
        debug_assert!(self.handle(t).is_none(), "{t:?} is filed already");
        let leaf = self.descend(list, &mesh.triangle_box(t));
        if self.leaf(leaf).is_full() {
            self.split(leaf, t, mesh);
        } else {
            self.push(leaf, t, mesh);
        }
        self.lists[list as usize].n_triangles += 1;
        // Lists that grow by single triangles never become that tall, unless most triangles of each were removed many
        // times.
        if self.run(self.lists[list as usize].top).level as usize + 1 == LEVELS {
            self.relay_list(list, &[], mesh);
        }
    }

    /// Finds the leaf whose boxes grow least by `bounds`, and grows the links to it.
    fn descend(&mut self, list: u32, bounds: &Aabb) -> u32 {
        let mut n = self.lists[list as usize].top;
        if self.run(n).len() == 0 {
            let leaf = self.new_leaf();
            self.push_link(n, leaf, bounds);
        }
        loop {
            let run = &mut self.runs[n as usize];
            let lane = run.boxes.least_growth(bounds);
            // Grown now and not at the next refit, so that the next filed triangle finds it.
            run.boxes.set(lane, &run.boxes.get(lane).union(bounds));
            debug_assert!(lane < run.len(), "lane {lane} of {}", run.len());
            n = run.below[lane];
            if run.level == 0 {
                return n;
            }
        }
    }

    /// Adds a triangle to a leaf that is not full.
    pub(super) fn push(&mut self, leaf: u32, t: TriangleId, mesh: &TriangleMesh) {
        let lane = self.leaves[leaf as usize].push(t, mesh);
        self.handles[t.0 as usize] = Place::new(leaf, lane);
        self.touched.add(leaf);
    }

    /// Removes a triangle by its handle. O(1), or O(log n) if its leaf empties.
    ///
    /// # Panics
    /// Panics if it is not filed.
    pub(super) fn remove(&mut self, t: TriangleId) {
        let (n, lane) = self.handle(t).expect("a filed triangle");
        let list = self.list_of(n);
        self.lists[list].n_triangles -= 1;
        self.leaves[n as usize].remove(lane);
        self.handles[t.0 as usize] = Place::NONE;
        if lane < self.leaf(n).len() {
            let moved = self.leaf(n).triangles[lane];
            self.handles[moved.0 as usize] = Place::new(n, lane);
        }
        // An emptied leaf is unlinked at the next refit and not here: the next filings often fill it again.
        self.touched.add(n);
    }

    /// Splits a full leaf with one more triangle into that leaf and a new one next to it.
    fn split(&mut self, leaf: u32, t: TriangleId, mesh: &TriangleMesh) {
        let all = self.leaf(leaf).triangles().iter().copied().chain([t]);
        let mut items: Vec<BoxedItem> =
            all.map(|t| BoxedItem { bounds: mesh.triangle_box(t), item: t.0 }).collect();
        let (lower, upper) = halves(&mut items);
        let place = self.leaf(leaf).place;
        self.leaves[leaf as usize] = ListLeaf::at(place);
        let new = self.new_leaf();
        for (leaf, items) in [(leaf, lower), (new, upper)] {
            items.iter().for_each(|i| self.push(leaf, TriangleId(i.item), mesh));
        }
        let (run, lane) = place.get().expect("a leaf of a list");
        self.runs[run as usize].boxes.set(lane, &union(lower));
        self.link(run, new, &union(upper));
    }

    /// Adds a link to a run. A full run is split, and a link to its upper half added to the run above: in a list of
    /// towers, the node at which that half begins grows by one.
    fn link(&mut self, run: u32, below: u32, bounds: &Aabb) {
        if self.run(run).len() < LANES {
            return self.push_link(run, below, bounds);
        }
        let LinkRun { level, list, place, .. } = *self.run(run);
        let old = self.run(run).clone();
        let linked = |lane: usize| BoxedItem { bounds: old.boxes.get(lane), item: old.below[lane] };
        let mut items: Vec<BoxedItem> = (0..LANES).map(linked).collect();
        items.push(BoxedItem { bounds: *bounds, item: below });
        let (lower, upper) = halves(&mut items);
        self.runs[run as usize] = LinkRun { place, ..LinkRun::new(level as usize, list) };
        let new = self.new_run(level as usize, list);
        for (run, items) in [(run, lower), (new, upper)] {
            items.iter().for_each(|i| self.push_link(run, i.item, &i.bounds));
            self.touch_run(run);
        }
        if self.lists[list as usize].top == run {
            let top = self.new_run(level as usize + 1, list);
            self.set_top(list, top, place);
            self.push_link(top, run, &union(lower));
            self.push_link(top, new, &union(upper));
            return;
        }
        let (above, lane) = place.get().expect("a run of a list");
        self.runs[above as usize].boxes.set(lane, &union(lower));
        self.link(above, new, &union(upper));
    }

    /// Removes the link at a place, and the links above it that then span nothing. O(log n).
    fn unlink(&mut self, place: Place) {
        let (n, lane) = place.get().expect("a link");
        let run = &mut self.runs[n as usize];
        run.remove(lane);
        let (len, list, above) = (run.len(), run.list, run.place);
        if lane < len {
            let moved = self.run(n).below[lane];
            self.put_below(place, moved);
        }
        if n != self.lists[list as usize].top && len == 0 {
            self.free_run(n);
            return self.unlink(above);
        }
        self.touch_run(n);
        if n == self.lists[list as usize].top {
            self.lower_top(list, above);
        }
    }

    /// Removes each top level of a list that has fewer than two links.
    fn lower_top(&mut self, list: u32, place: Place) {
        let top = self.lists[list as usize].top;
        let LinkRun { level, len, below, .. } = *self.run(top);
        if level == 0 || len > 1 {
            return;
        }
        if len == 0 {
            // It may wait on its old level, which would refit it too late for leaves filed below it in the meantime.
            (self.runs[top as usize].level, self.runs[top as usize].waits) = (0, false);
            return self.touch_run(top);
        }
        self.free_run(top);
        self.set_top(list, below[0], place);
        self.touch_run(below[0]);
        self.lower_top(list, place);
    }

    /// Makes a run the top of its list, and updates the table.
    pub(super) fn set_top(&mut self, list: u32, top: u32, place: Place) {
        self.lists[list as usize].top = top;
        self.put_below(place, top);
    }

    /// Frees everything below a run, and leaves the run without links, on the bottom level.
    pub(super) fn clear(&mut self, run: u32) {
        let LinkRun { level, list, place, .. } = *self.run(run);
        for below in self.run(run).below().to_vec() {
            if level == 0 {
                self.free_leaf(below);
            } else {
                self.clear(below);
                self.free_run(below);
            }
        }
        self.runs[run as usize] = LinkRun { place, ..LinkRun::new(0, list) };
    }

    /// Unlinks every touched leaf that is empty.
    pub(super) fn drop_empty(&mut self) {
        for i in 0..self.touched.leaves.len() {
            let n = self.touched.leaves[i];
            let place = self.leaf(n).place;
            if place != Place::NONE && self.leaf(n).len() == 0 {
                self.unlink(place);
                self.free_leaf(n);
            }
        }
    }
}

/// Splits one item too many into the two halves of least surface.
fn halves(items: &mut [BoxedItem]) -> (&[BoxedItem], &[BoxedItem]) {
    debug_assert!(items.len() == LANES + 1, "{} items", items.len());
    let fits = |k: usize| k >= FEWEST && LANES + 1 - k >= FEWEST;
    // If no surface is less than infinite, any half is equally good.
    let k = best_split(items, half_area, fits).map_or(LANES / 2, |(k, _)| k);
    items.split_at(k)
}

#[cfg(test)]
mod tests {
    use crate::{
        geometry::{TriangleId, TriangleMesh},
        index::{LatLonOptions, SkipList},
        oracle::{Random, shapes},
    };

    /// One triangle at a time: runs are split up to several levels, emptied, and the levels removed again.
    #[test]
    fn lists_grow_and_shrink_by_single_triangles() {
        let seed = 14;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut mesh = TriangleMesh::new(shapes::organ(2_000, 3));
        let band_edges = Some(1e3);
        let options = LatLonOptions { band_edges, ..LatLonOptions::default() };
        let mut list = SkipList::build(&mesh, &options);
        let mut out: Vec<[u32; 3]> = Vec::new();
        for (outwards, end) in [(4, 0), (0, usize::MAX), (3, 1_000), (3, 0), (0, usize::MAX)] {
            let mut round = 0;
            while mesh.n_triangles() > end || (end == usize::MAX && !out.is_empty()) {
                if random.below(4) < outwards || out.is_empty() {
                    let all: Vec<TriangleId> = mesh.triangle_ids().collect();
                    let t = all[random.below(all.len())];
                    out.push(mesh.vertices(t));
                    mesh.remove_triangle(t);
                    list.edit(&mesh, &[t], &[]);
                } else {
                    let t = mesh.add_triangle(out.swap_remove(random.below(out.len())));
                    list.edit(&mesh, &[], &[t]);
                }
                round += 1;
                if round % 50 == 0 {
                    list.assert_well_formed(&mesh);
                }
            }
            list.assert_well_formed(&mesh);
        }
        assert_eq!(list.len(), 2_000);
        let built = SkipList::build(&mesh, &options);
        let leaves = |list: &SkipList| list.leaves.len() - list.free_leaves.len();
        assert!(leaves(&list) < 2 * leaves(&built), "{}, {}", leaves(&list), leaves(&built));
    }
}
