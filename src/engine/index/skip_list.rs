//! The list itself: leaves and runs of links in arenas, and the place of each triangle.

use super::{
    lat_lon::LatLonGrid,
    leaf::ListLeaf,
    link_run::{LEVELS, LinkRun, Place},
};
use crate::geometry::{Aabb, TriangleId, lanes::LANES};

/// The bounded skip lists of one surface.
///
/// Holds the triangles' corners and the numbers of their vertices. A method that changes the list takes the mesh that
/// the list was built from, in its current state.
#[derive(Clone, Debug)]
pub struct SkipList {
    pub(super) grid: LatLonGrid,
    /// List of each cell of the grid.
    pub(super) lists: Vec<CellList>,
    /// Box that holds every triangle.
    pub(super) bounds: Aabb,
    pub(super) leaves: Vec<ListLeaf>,
    /// Runs of all lists, and of the table over them.
    pub(super) runs: Vec<LinkRun>,
    /// Run at which all searches begin.
    pub(super) root: u32,
    /// Leaf and lane by triangle id.
    pub(super) handles: Vec<Place>,
    pub(super) free_leaves: Vec<u32>,
    pub(super) free_runs: Vec<u32>,
    pub(super) touched: Touched,
    pub(super) random: u64,
}

/// The list of one cell of the grid.
#[derive(Clone, Debug)]
pub(super) struct CellList {
    /// Run of the highest level; of level 0 and without links if the list is empty.
    pub(super) top: u32,
    pub(super) n_triangles: usize,
}

/// Maximum levels of the table: over [`CELLS_MAX`](super::lat_lon::CELLS_MAX) lists.
pub(super) const TABLE_LEVELS: usize = 4;
const _: () = assert!(LANES.pow(TABLE_LEVELS as u32) == super::lat_lon::CELLS_MAX);

/// Leaves whose links are out of date, each once, and the runs outdated by them.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    pub(super) leaves: Vec<u32>,
    /// Changed lanes of each leaf, a bit each; 0 if the leaf is not touched.
    pub(super) lanes: Vec<u8>,
    /// Runs whose boxes changed, by level.
    pub(super) runs: [Vec<u32>; LEVELS + TABLE_LEVELS],
}

impl Touched {
    /// Adds a whole leaf.
    pub(super) fn add(&mut self, leaf: u32) {
        self.add_lanes(leaf, u8::MAX);
    }

    /// Adds some lanes of a leaf.
    #[inline(always)]
    pub(super) fn add_lanes(&mut self, leaf: u32, lanes: u8) {
        let there = &mut self.lanes[leaf as usize];
        if *there == 0 {
            self.leaves.push(leaf);
        }
        *there |= lanes;
    }

    pub(super) fn n_lanes(&self) -> usize {
        self.leaves.iter().map(|n| self.lanes[*n as usize].count_ones() as usize).sum()
    }
}

impl SkipList {
    /// Number of filed triangles.
    pub fn len(&self) -> usize {
        self.lists.iter().map(|list| list.n_triangles).sum()
    }

    /// Returns true if no triangle is filed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Exact bounding box of all triangles.
    pub fn bounds(&self) -> &Aabb {
        &self.bounds
    }

    /// Leaf and lane of a triangle, if it is filed.
    #[inline(always)]
    pub(super) fn handle(&self, t: TriangleId) -> Option<(u32, usize)> {
        self.handles.get(t.0 as usize).copied().unwrap_or(Place::NONE).get()
    }

    pub(super) fn leaf(&self, n: u32) -> &ListLeaf {
        &self.leaves[n as usize]
    }

    pub(super) fn run(&self, n: u32) -> &LinkRun {
        &self.runs[n as usize]
    }

    /// Returns an empty leaf without a link to it.
    pub(super) fn new_leaf(&mut self) -> u32 {
        self.free_leaves.pop().unwrap_or_else(|| {
            self.leaves.push(ListLeaf::EMPTY);
            self.touched.lanes.push(0);
            (self.leaves.len() - 1) as u32
        })
    }

    pub(super) fn free_leaf(&mut self, n: u32) {
        self.leaves[n as usize] = ListLeaf::EMPTY;
        self.free_leaves.push(n);
    }

    /// Returns a run without links that no link spans.
    pub(super) fn new_run(&mut self, level: usize, list: u32) -> u32 {
        let run = LinkRun::new(level, list);
        match self.free_runs.pop() {
            Some(n) => {
                self.runs[n as usize] = run;
                n
            }
            None => {
                self.runs.push(run);
                (self.runs.len() - 1) as u32
            }
        }
    }

    pub(super) fn free_run(&mut self, n: u32) {
        // It may still be among the touched runs, but no longer waits.
        self.runs[n as usize] = LinkRun::new(0, u32::MAX);
        self.free_runs.push(n);
    }

    /// Adds a link to a run that is not full.
    pub(super) fn push_link(&mut self, run: u32, below: u32, bounds: &Aabb) {
        let lane = self.runs[run as usize].push(below, bounds);
        self.put_below(Place::new(run, lane), below);
    }

    /// Sets the target of the link at a place to this leaf or run.
    pub(super) fn put_below(&mut self, place: Place, below: u32) {
        // The table itself has no link above it.
        let Some((run, lane)) = place.get() else { return };
        let run = &mut self.runs[run as usize];
        run.below[lane] = below;
        if run.level == 0 {
            self.leaves[below as usize].place = place;
        } else {
            self.runs[below as usize].place = place;
        }
    }

    /// List that contains a leaf.
    pub(super) fn list_of(&self, leaf: u32) -> usize {
        let (run, _) = self.leaf(leaf).place.get().expect("a leaf of a list");
        self.run(run).list as usize
    }

    /// Leaves below a run, in list order.
    pub(super) fn leaves_below(&self, run: u32) -> Vec<u32> {
        let LinkRun { level, .. } = self.run(run);
        let below = self.run(run).below().iter();
        if *level == 0 {
            return below.copied().collect();
        }
        below.flat_map(|run| self.leaves_below(*run)).collect()
    }

    /// Xorshift: a seeded generator.
    pub(super) fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 16
    }
}
