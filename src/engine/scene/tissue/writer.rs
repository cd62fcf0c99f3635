//! State of the writer of a tissue between two changes: the spare copy, and the change it has missed.

use std::sync::Arc;

use glam::Vec3;

use super::{edit::TopologyEdit, revision::Revision, vertex_history::VertexHistory};
use crate::{geometry::TriangleId, surface::CrossingSearch};

#[derive(Default)]
pub(super) struct TissueWriter {
    /// The revision before the published one.
    pub(super) spare: Option<Arc<Revision>>,
    /// Change that the published revision has and the spare has not.
    pub(super) missed: Option<Change>,
    /// Old revisions that readers still had: kept so that they are freed here and not in a tick.
    pub(super) retired: Vec<Arc<Revision>>,
    /// Search for crossings of the tissue with itself, from its first change on, and the revision (geometry, topology)
    /// that it follows.
    pub(super) crossings: Option<CrossingSearch>,
    pub(super) followed: (u64, u64),
}

/// Triangles that are tested between two checks for a new change: a quarter of a millisecond.
const TRIANGLES_PER_SEARCH: usize = 256;

/// A change that was published.
pub(super) enum Change {
    /// Some vertices were moved to these positions.
    Moved {
        vertices: Vec<u32>,
        positions: Vec<Vec3>,
    },
    /// All vertices were moved to where the published revision has them.
    MovedAll,
    Cut(TopologyEdit),
}

impl TissueWriter {
    /// Returns a copy of the current revision that nobody else sees. `superseded`: all vertices are about to be moved,
    /// so a missed deformation need not be applied.
    pub(super) fn next_revision(&mut self, current: &Arc<Revision>, superseded: bool) -> Revision {
        let missed = self.missed.take();
        let mut next = match self.spare.take().map(Arc::try_unwrap) {
            Some(Ok(spare)) => spare,
            // A reader that is slow, or holds a revision on purpose, is not waited for.
            Some(Err(still_read)) => {
                self.retired.push(still_read);
                return Revision::clone(current);
            }
            None => return Revision::clone(current),
        };
        // The spare is one change behind. Applying that costs as much as the change; copying costs the whole mesh.
        match missed {
            Some(Change::Moved { .. } | Change::MovedAll) if superseded => {}
            Some(Change::Moved { vertices, positions }) => {
                next.move_vertices(&vertices, &positions);
            }
            Some(Change::MovedAll) => {
                next.move_all(current.surface.mesh().positions().to_vec());
            }
            Some(Change::Cut(edit)) => drop(next.cut(&edit)),
            None => {}
        }
        next.take_counts_of(current);
        debug_assert_eq!(next.surface.mesh().n_triangles(), current.surface.mesh().n_triangles());
        next
    }

    /// Starts to follow crossings before the first change of a tissue.
    pub(super) fn begin_search(&mut self, current: &Revision) {
        if self.crossings.is_none() {
            self.crossings = Some(current.surface.crossing_search());
            self.followed = (current.geometry_revision, current.topology_revision);
        }
    }

    /// Continues the search for crossings in the published revision. Returns true if it is complete.
    pub(super) fn search_crossings(&mut self, current: &Revision) -> bool {
        let Some(search) = &mut self.crossings else { return true };
        let newest = (current.geometry_revision, current.topology_revision);
        if std::mem::replace(&mut self.followed, newest) != newest {
            search.follow(current.surface.mesh());
        }
        current.surface.search_crossings(search, TRIANGLES_PER_SEARCH)
    }

    /// Returns the allocated memory without that shared with the published revision's `history`.
    pub(super) fn heap_bytes_beside(&self, history: &VertexHistory) -> usize {
        let kept = self.spare.iter().chain(&self.retired);
        kept.map(|r| r.heap_bytes_beside(history)).sum::<usize>()
            + self.missed.as_ref().map_or(0, Change::heap_bytes)
            + self.crossings.as_ref().map_or(0, CrossingSearch::heap_bytes)
    }
}

impl Change {
    fn heap_bytes(&self) -> usize {
        match self {
            Change::Moved { vertices, positions } => {
                size_of::<u32>() * vertices.capacity() + size_of::<Vec3>() * positions.capacity()
            }
            Change::MovedAll => 0,
            Change::Cut(edit) => {
                size_of::<TriangleId>() * (edit.removed.capacity() + edit.parents.capacity())
                    + size_of::<Vec3>() * edit.added_positions.capacity()
                    + size_of::<[u32; 3]>() * edit.added.capacity()
            }
        }
    }
}
