//! What a list has allocated.

use super::skip_list::{SkipList, Touched};

fn bytes<T>(list: &Vec<T>) -> usize {
    size_of::<T>() * list.capacity()
}

impl SkipList {
    /// Room to grow included.
    pub(crate) fn heap_bytes(&self) -> usize {
        let SkipList { grid, bands, bounds: _, nodes, leaves, links, wide_nodes, .. } = self;
        let SkipList { table, handles, free_nodes, free_wide_nodes, .. } = self;
        let Touched { nodes: touched, lanes } = &self.touched;
        grid.heap_bytes()
            + (bytes(bands) + bytes(nodes) + bytes(leaves) + bytes(links) + bytes(wide_nodes))
            + (self.table.iter().map(bytes).sum::<usize>() + bytes(table) + bytes(handles))
            + (bytes(free_nodes) + bytes(free_wide_nodes))
            + self.free_towers.iter().map(bytes).sum::<usize>()
            + (bytes(touched) + bytes(lanes))
    }
}
