//! What a list has allocated.

use super::skip_list::{SkipList, Touched};

fn bytes<T>(list: &Vec<T>) -> usize {
    size_of::<T>() * list.capacity()
}

impl SkipList {
    /// Room to grow included.
    pub(crate) fn heap_bytes(&self) -> usize {
        let SkipList { frame, bands, bounds: _, nodes, blocks, links, strips, .. } = self;
        let SkipList { table, handles, free_nodes, free_strips, .. } = self;
        let Touched { nodes: touched, lanes } = &self.touched;
        frame.heap_bytes()
            + (bytes(bands) + bytes(nodes) + bytes(blocks) + bytes(links) + bytes(strips))
            + (self.table.iter().map(bytes).sum::<usize>() + bytes(table) + bytes(handles))
            + (bytes(free_nodes) + bytes(free_strips))
            + self.free_towers.iter().map(bytes).sum::<usize>()
            + (bytes(touched) + bytes(lanes))
    }
}
