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
    /// Indices depend on the changes alone.
    pub(super) is_repeatable: bool,
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
        // A change that is left out would leave this copy another index than the other one has.
        let superseded = superseded && !self.is_repeatable;
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
        // The published copy was rebuilt after this change too.
        self.rebuild_if_repeatable(&mut next);
        next.take_counts_of(current);
        debug_assert_eq!(next.surface.mesh().n_triangles(), current.surface.mesh().n_triangles());
        next
    }

    /// Rebuilds a worn index at once, if the index must not depend on the writer's idle time.
    pub(super) fn rebuild_if_repeatable(&self, next: &mut Revision) {
        if self.is_repeatable && next.surface.is_worn() {
            next.surface.rebuild();
        }
    }

    /// Starts to follow crossings before the first change of a tissue.
    pub(super) fn begin_search(&mut self, current: &Revision) {
        if self.crossings.is_none() && !self.is_repeatable {
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

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use crate::{
        geometry::{
            TriangleId,
            mesh::load::{self, LoadOptions},
        },
        oracle::shapes,
        scene::{
            Limits, Scene, Tissue, TissueOptions,
            tissue::{deform::Deformation, edit::TopologyEdit},
        },
        surface::Surface,
    };

    /// All of a surface, as its derived `Debug` shows it. Lines are sorted, since maps have no order.
    fn lines(surface: &Surface) -> Vec<String> {
        let mut lines: Vec<String> = format!("{surface:#?}").lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    }

    /// Makes the same changes in two scenes, in one of which the writer has idle time and slow readers. Returns the
    /// number of changes after which the indices or their findings differed.
    fn differing(is_repeatable: bool) -> usize {
        let ball = shapes::sphere(0.03, 5);
        let tissues = [(); 2].map(|()| {
            let scene = Scene::new("s".to_owned(), Limits::default());
            if is_repeatable {
                scene.make_repeatable();
            }
            let mesh = load::load(ball.clone(), &LoadOptions::default()).expect("a ball");
            scene.add_tissue("ball", mesh, TissueOptions::default(), 0).expect("room")
        });
        let [rested, hurried] = &tissues;
        let surfaces = || tissues.each_ref().map(|t: &std::sync::Arc<Tissue>| t.current());
        let (mut n_differing, mut readers) = (0, Vec::new());
        for i in 0..90_u64 {
            let n = ball.positions.len();
            // Vertices are scattered, so that the indices wear.
            let scattered = |v: usize| ball.positions[(v * (1 + i as usize % 7)) % n];
            let deformation = match i % 3 {
                0 => Deformation::Dense((0..n).map(scattered).collect()),
                1 => Deformation::Dense(ball.positions.iter().map(|p| *p * 1.1).collect()),
                _ => Deformation::Sparse {
                    vertices: (0..40).map(|v| v * 3).collect(),
                    positions: (0..40).map(|v| ball.positions[v] + Vec3::Z * 0.01).collect(),
                },
            };
            if i % 5 == 0 {
                readers.push(rested.current());
            }
            if i % 4 == 0 {
                readers.clear();
            }
            for tissue in &tissues {
                tissue.deform(deformation.clone(), i).expect("a good move");
                if i == 50 {
                    let edit =
                        TopologyEdit { removed: vec![TriangleId(7)], ..TopologyEdit::default() };
                    tissue.edit(edit, &Limits::default(), i).expect("a good cut");
                }
            }
            if i % 2 == 0 {
                rested.catch_up();
                while !rested.search_crossings() {}
            }
            let [a, b] = surfaces();
            n_differing += usize::from(lines(&a.surface) != lines(&b.surface));
            a.surface.assert_well_formed();
        }
        hurried.catch_up();
        n_differing
    }

    #[test]
    fn a_repeatable_index_depends_on_its_changes_alone() {
        assert_eq!(differing(true), 0);
        let others = differing(false);
        assert!(others > 20, "idle time made a difference after {others} changes only");
    }
}
