//! Invariants of a list.

use super::{
    leaf::ListLeaf,
    link_run::{END, LEVELS, LinkRun, Place},
    skip_list::SkipList,
};
use crate::geometry::{Aabb, TriangleMesh, lanes::LANES};

/// Leaves, runs and triangles that links lead to.
#[derive(Default)]
struct Listed {
    leaves: usize,
    runs: usize,
    triangles: usize,
}

impl SkipList {
    /// Asserts levels, places, handles and boxes against the mesh. O(n).
    ///
    /// # Panics
    /// Panics if an invariant is violated.
    pub fn assert_well_formed(&self, mesh: &TriangleMesh) {
        let waiting = |run: &LinkRun| run.waits;
        assert!(self.touched.leaves.is_empty(), "touched leaves wait for a refit");
        assert!(!self.runs.iter().any(waiting), "runs wait for a refit");
        let mut listed = Listed::default();
        assert_eq!(self.run(self.root).place, Place::NONE, "place of the root");
        let bounds = self.assert_run(self.root, mesh, &mut listed);
        assert_eq!((self.bounds, bounds), (mesh.used_box(), self.bounds), "box of the list");
        assert_eq!(listed.triangles, mesh.n_triangles(), "triangles listed");
        let all = (listed.leaves + self.free_leaves.len(), listed.runs + self.free_runs.len());
        assert_eq!(all, (self.leaves.len(), self.runs.len()), "leaves and runs are listed or free");
        self.assert_handles(mesh);
    }

    /// Checks everything below a run and returns its exact box: a box that is too large is never wrong but never
    /// shrinks again.
    fn assert_run(&self, n: u32, mesh: &TriangleMesh, listed: &mut Listed) -> Aabb {
        let run = self.run(n);
        let level = run.level as usize;
        listed.runs += 1;
        for lane in 0..run.len() {
            let (below, place) = (run.below[lane], Place::new(n, lane));
            let bounds = if level == 0 {
                assert_eq!(self.leaf(below).place, place, "place of leaf {below}");
                listed.leaves += 1;
                self.assert_leaf(below, mesh)
            } else {
                let spanned = self.run(below);
                assert_eq!(spanned.place, place, "place of run {below}");
                if level == LEVELS {
                    self.assert_list(below, mesh, listed);
                } else {
                    assert_eq!(spanned.level as usize, level - 1, "level of run {below}");
                    assert_eq!(spanned.list, run.list, "list of run {below}");
                    assert!(level > LEVELS || spanned.len() > 0, "run {below} is empty");
                }
                self.assert_run(below, mesh, listed)
            };
            assert_eq!(run.boxes.get(lane), bounds, "box of link {lane} of run {n}");
        }
        for lane in run.len()..LANES {
            assert_eq!((run.boxes.get(lane), run.below[lane]), (Aabb::EMPTY, END), "unused lane");
        }
        run.boxes.union()
    }

    /// Checks the top of a list, and the number of its triangles.
    fn assert_list(&self, top: u32, mesh: &TriangleMesh, listed: &mut Listed) {
        let run = self.run(top);
        let list = &self.lists[run.list as usize];
        let filed = |n: &u32| self.leaf(*n).len();
        let leaves = self.leaves_below(top);
        assert_eq!(list.top, top, "top of list {}", run.list);
        let n_triangles: usize = leaves.iter().map(filed).sum();
        assert_eq!(list.n_triangles, n_triangles, "triangles of {}", run.list);
        assert!((run.level as usize) < LEVELS - 1 && mesh.n_triangles() >= list.n_triangles);
        assert!(run.level == 0 || run.len() > 1, "a level of one link on top of {}", run.list);
        listed.triangles += list.n_triangles;
    }

    fn assert_leaf(&self, n: u32, mesh: &TriangleMesh) -> Aabb {
        let leaf = self.leaf(n);
        assert!(leaf.len() > 0, "leaf {n} is empty");
        for (lane, t) in leaf.triangles().iter().enumerate() {
            assert_eq!(self.handle(*t), Some((n, lane)), "handle of {t:?}");
            assert_eq!(leaf.vertices(lane), mesh.vertices(*t), "vertices of {t:?}");
            assert_eq!(leaf.corners.get(lane), mesh.corners(*t), "corners of {t:?}");
        }
        assert_lanes_clear(leaf);
        Aabb::of_points(leaf.triangles().iter().flat_map(|t| mesh.corners(*t)))
    }

    /// Asserts that each triangle of the mesh is filed, and no other.
    fn assert_handles(&self, mesh: &TriangleMesh) {
        assert_eq!(self.len(), mesh.n_triangles(), "triangles filed");
        assert_eq!(self.handles.len(), mesh.triangle_id_end() as usize, "handles");
        let filed = self.handles.iter().filter(|place| **place != Place::NONE).count();
        assert_eq!(filed, mesh.n_triangles(), "handles of triangles that are there");
        for t in mesh.triangle_ids() {
            let (n, lane) = self.handle(t).expect("a triangle of the mesh is filed");
            assert_eq!(self.leaf(n).triangles().get(lane), Some(&t), "entry of {t:?}");
        }
    }
}

fn assert_lanes_clear(leaf: &ListLeaf) {
    for lane in leaf.len()..LANES {
        let unused = leaf.corners.get(lane).iter().all(|p| p.is_nan());
        assert!(unused && leaf.vertices(lane) == [0; 3], "an unused lane has a triangle");
    }
}
