//! The tissue triangles that a search wants, in blocks by ascending id, so that a search cut short by the end of a tick
//! continues in the next one.
//!
//! The index has an order of its own, which a deformation changes between two ticks; ids stay. A block is the least of
//! the wanted ids that are left. If not even one pass through the index fits in a tick, triangles are checked one after
//! the other, which can be interrupted anywhere.

use crate::{
    geometry::{Aabb, TriangleId},
    surface::Surface,
    time_left::{TimeLeft, note_step},
};

/// Maximum ids of a block. A pass through the index costs some 20 ns for each triangle that is left out again, and a
/// triangle that is given a microsecond and more.
pub(super) const BLOCK_MAX: usize = 1024;

/// Cursor of a search: lesser ids are done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockCursor {
    pub(super) next: TriangleId,
    /// True if a pass through the index takes longer than a tick has.
    scans: bool,
}

/// Boxes of the scene that are wanted: those that overlap `region` and are `near`. Both stay true if a box grows.
pub(super) struct Wanted<'a> {
    pub(super) region: &'a Aabb,
    pub(super) near: &'a dyn Fn(&Aabb) -> bool,
}

impl BlockCursor {
    pub(super) const START: BlockCursor = BlockCursor { next: TriangleId(0), scans: false };

    /// Returns true if nothing is done yet.
    pub(super) fn is_at_start(&self) -> bool {
        self.next == TriangleId(0)
    }

    /// Fills `block`, ascending, and returns the id at which the next one begins; the mesh's end if this is the last
    /// one. `None`: the time is over, and the next tick uses the other method.
    pub(super) fn block(
        &mut self,
        surface: &Surface,
        wanted: &Wanted,
        block: &mut Vec<TriangleId>,
        time: &TimeLeft,
    ) -> Option<TriangleId> {
        block.clear();
        if self.scans {
            self.scan(surface, wanted, block, time)
        } else {
            self.pass(surface, wanted, block, time)
        }
    }

    /// Fills a block from the index.
    fn pass(
        &mut self,
        surface: &Surface,
        wanted: &Wanted,
        block: &mut Vec<TriangleId>,
        time: &TimeLeft,
    ) -> Option<TriangleId> {
        let mut end = TriangleId(surface.mesh().triangle_id_end());
        let near = |b: &Aabb| !time.is_over() && (wanted.near)(b);
        surface.overlap(&(*wanted.region, near), |t| {
            if t < self.next || t >= end {
                return;
            }
            block.push(t);
            if block.len() == 2 * BLOCK_MAX {
                // The greater half waits for the next pass.
                block.select_nth_unstable(BLOCK_MAX);
                end = block[BLOCK_MAX];
                block.truncate(BLOCK_MAX);
            }
        });
        if time.was_over() {
            self.scans = true;
            block.clear();
            return None;
        }
        block.sort_unstable();
        if block.len() > BLOCK_MAX {
            end = block[BLOCK_MAX];
            block.truncate(BLOCK_MAX);
        }
        Some(end)
    }

    /// Scans by ids, up to the first that is wanted: all that were checked are done, however little time there is.
    fn scan(
        &mut self,
        surface: &Surface,
        wanted: &Wanted,
        block: &mut Vec<TriangleId>,
        time: &TimeLeft,
    ) -> Option<TriangleId> {
        let mesh = surface.mesh();
        for t in (self.next.0..mesh.triangle_id_end()).map(TriangleId) {
            note_step();
            if time.is_over() {
                self.next = t;
                return None;
            }
            let is_wanted = |b: &Aabb| wanted.region.overlaps(b) && (wanted.near)(b);
            if mesh.get(t).is_some() && is_wanted(&mesh.triangle_box(t)) {
                block.push(t);
                return Some(TriangleId(t.0 + 1));
            }
        }
        Some(TriangleId(mesh.triangle_id_end()))
    }
}
