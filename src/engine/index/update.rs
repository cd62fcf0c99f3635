//! Updates the lists after triangles moved or were added or removed: in batches, only at the changes.

use super::{
    lat_lon::centroid,
    skip_list::SkipList,
    surface_area::{BoxedItem, best_split, sides, union},
};
use crate::geometry::{TriangleId, TriangleMesh};

/// Result of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Updated {
    /// Triangles with a vertex that moved.
    pub touched: usize,
    /// Triangles filed in another place; some may have moved earlier.
    pub relocated: usize,
}

/// A list is rebuilt if more than one in this many of its triangles enter it at once: filing a triangle costs about as
/// much as building with this many.
const BULK_SHARE: usize = 2;

/// A leaf has come apart if its two parts together have less than this share of its sides: there is a gap between them.
/// Parts that touch have at least all of its sides.
const APART: f32 = 0.8;

impl SkipList {
    /// Updates the list after vertices moved. A triangle keeps its place as long as its leaf stays together; other
    /// triangles are filed again, in bulk if a list changed much.
    pub fn update(&mut self, mesh: &TriangleMesh, vertices: &[u32]) -> Updated {
        for v in vertices {
            // Leaves are only recorded here: all corners of each are read again at once.
            for (t, _) in mesh.ring(*v) {
                let (n, lane) = self.handle(t).expect("a triangle of the mesh is filed");
                self.touched.add_lanes(n, 1 << lane);
            }
        }
        let touched = self.touched.n_lanes();
        let grown = self.refit(mesh);
        debug_assert!(touched <= self.len(), "{touched} touched of {}", self.len());
        Updated { touched, relocated: self.settle(grown, mesh) }
    }

    /// As [`SkipList::update`], if all vertices may have moved.
    pub fn update_all(&mut self, mesh: &TriangleMesh) -> Updated {
        let grown = self.refit_all(mesh);
        Updated { touched: self.len(), relocated: self.settle(grown, mesh) }
    }

    /// Removes triangles and files new ones. The mesh need no longer contain the `removed` ones.
    pub fn edit(&mut self, mesh: &TriangleMesh, removed: &[TriangleId], added: &[TriangleId]) {
        for t in removed {
            self.remove(*t);
        }
        // Ids only grow, so extending the handles for the new ones keeps all old handles.
        self.reserve_ids(TriangleId(mesh.triangle_id_end()));
        self.file(added, mesh);
        let grown = self.refit(mesh);
        self.settle(grown, mesh);
    }

    /// Files triangles of leaves that have come apart again, and returns their number.
    fn settle(&mut self, grown: Vec<u32>, mesh: &TriangleMesh) -> usize {
        let strays: Vec<TriangleId> = grown.iter().flat_map(|n| self.strays(*n, mesh)).collect();
        if strays.is_empty() {
            return 0;
        }
        strays.iter().for_each(|t| self.remove(*t));
        self.file(&strays, mesh);
        self.refit(mesh);
        strays.len()
    }

    /// The smaller part of a leaf's triangles, if a gap separates it from the rest.
    fn strays(&self, leaf: u32, mesh: &TriangleMesh) -> Vec<TriangleId> {
        let boxed = |t: &TriangleId| BoxedItem { bounds: mesh.triangle_box(*t), item: t.0 };
        let mut items: Vec<BoxedItem> = self.leaf(leaf).triangles().iter().map(boxed).collect();
        let whole = sides(&union(&items));
        let Some((k, parted)) = best_split(&mut items, sides, |_| true) else { return vec![] };
        if parted >= APART * whole {
            return vec![];
        }
        let (lower, upper) = items.split_at(k);
        let fewer = if lower.len() < upper.len() { lower } else { upper };
        fewer.iter().map(|i| TriangleId(i.item)).collect()
    }

    /// Files triangles that are not in the list, cell by cell: one by one if few enter, else in bulk.
    fn file(&mut self, triangles: &[TriangleId], mesh: &TriangleMesh) {
        debug_assert!(triangles.iter().all(|t| self.handle(*t).is_none()), "filed twice");
        let located = |t: &TriangleId| (self.grid.locate(centroid(&mesh.corners(*t))), *t);
        let mut located: Vec<(u32, TriangleId)> = triangles.iter().map(located).collect();
        located.sort_unstable();
        for run in located.chunk_by(|a, b| a.0 == b.0) {
            let list = run[0].0;
            let entering: Vec<TriangleId> = run.iter().map(|(_, t)| *t).collect();
            if entering.len() * BULK_SHARE > self.lists[list as usize].n_triangles {
                self.relay_list(list, &entering, mesh);
            } else {
                entering.iter().for_each(|t| self.insert(list, *t, mesh));
            }
        }
    }
}
