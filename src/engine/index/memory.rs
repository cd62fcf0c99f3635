//! Memory of a list.

use super::skip_list::{SkipList, Touched};

fn bytes<T>(list: &Vec<T>) -> usize {
    size_of::<T>() * list.capacity()
}

impl SkipList {
    /// Bytes allocated, spare capacity included.
    pub(crate) fn heap_bytes(&self) -> usize {
        let SkipList { grid, lists, leaves, runs, handles, free_leaves, free_runs, .. } = self;
        let Touched { leaves: touched, lanes, runs: touched_runs } = &self.touched;
        grid.heap_bytes()
            + (bytes(lists) + bytes(leaves) + bytes(runs) + bytes(handles))
            + (bytes(free_leaves) + bytes(free_runs))
            + (bytes(touched) + bytes(lanes) + touched_runs.iter().map(bytes).sum::<usize>())
    }
}
