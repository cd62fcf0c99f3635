//! The revisions of a tissue that a client asked to hold: their positions, long after ticks have moved on.

use std::sync::Arc;

use glam::Vec3;

use super::revision::Revision;
use crate::scene::limits::HELD_MAX;

/// Positions of all vertices at one revision.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldPositions {
    /// Number of deformations so far.
    pub geometry_revision: u64,
    /// Number of cuts so far.
    pub topology_revision: u64,
    /// Positions in scene frame, metres: `[n_vertices]`.
    pub positions: Arc<[Vec3]>,
}

/// At most [`HELD_MAX`] revisions, the newest last.
#[derive(Debug, Default)]
pub(super) struct HeldRevisions(Vec<HeldPositions>);

impl HeldPositions {
    /// Copies only the positions, so that the revision goes back to the writer.
    pub(super) fn of(revision: &Revision) -> HeldPositions {
        HeldPositions {
            geometry_revision: revision.geometry_revision,
            topology_revision: revision.topology_revision,
            positions: revision.surface.mesh().positions().into(),
        }
    }
}

impl HeldRevisions {
    /// Adds the newest revision. Revisions from before a cut go, as no interval can begin with them any more, and
    /// the oldest goes if the list is full.
    pub(super) fn push(&mut self, newest: HeldPositions) {
        let HeldPositions { geometry_revision, topology_revision, .. } = newest;
        // A revision that is held twice is kept once, as the newest.
        self.0.retain(|h| {
            h.topology_revision == topology_revision && h.geometry_revision != geometry_revision
        });
        if self.0.len() == HELD_MAX {
            self.0.remove(0);
        }
        self.0.push(newest);
        debug_assert!(self.0.len() <= HELD_MAX, "{} are held", self.0.len());
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let positions = self.0.iter().map(|h| size_of_val(&*h.positions)).sum::<usize>();
        size_of::<HeldPositions>() * self.0.capacity() + positions
    }

    pub(super) fn all(&self) -> &[HeldPositions] {
        &self.0
    }
}
