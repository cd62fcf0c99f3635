//! Changes of journals, applied while they are read.

use super::journal::JournalRecord;
use crate::scene::saved::{NotAScene, SavedScene, SceneChange};

/// Applies changes from the journals of a scene to it. Most changes are applied at once, so that only the record that
/// is being read is in memory.
///
/// A cut waits. The engine may have failed in it, and a later record then voids it. The writer of a cut holds the
/// scene's edit lock until that record is written: in between only positions are saved, which do not take the lock. So
/// the cut is valid as soon as any other change follows, or none does.
#[derive(Default)]
pub(super) struct JournalReplay {
    /// A cut, then positions that were saved since: the newest of each tissue.
    waiting: Vec<FoundChange>,
}

struct FoundChange {
    sequence: u64,
    generation: u64,
    change: SceneChange,
}

/// A change that is invalid for the scene before it.
#[derive(Debug)]
pub(super) struct NotMade {
    pub(super) sequence: u64,
    /// Generation of its journal.
    pub(super) generation: u64,
    pub(super) why: NotAScene,
}

impl JournalReplay {
    /// Takes the next record.
    ///
    /// # Errors
    /// The first change that cannot be applied: later changes were made to another scene.
    pub(super) fn take(
        &mut self,
        scene: &mut SavedScene,
        (sequence, generation): (u64, u64),
        record: JournalRecord,
    ) -> Result<(), NotMade> {
        let change = match record {
            JournalRecord::Void(of) => {
                self.waiting.retain(|waiting| waiting.sequence != of);
                return self.end(scene);
            }
            JournalRecord::Change(change) => change,
        };
        let is_moved = matches!(change, SceneChange::Moved { .. });
        if !is_moved {
            self.end(scene)?;
        }
        let waits = matches!(change, SceneChange::Edited { .. });
        let found = FoundChange { sequence, generation, change };
        if waits || !self.waiting.is_empty() {
            self.waiting.retain(|waiting| !found.is_instead_of(waiting));
            self.waiting.push(found);
            return Ok(());
        }
        found.make(scene)
    }

    /// Applies the waiting changes: no record follows, or none that voids them.
    ///
    /// # Errors
    /// Errors of [`JournalReplay::take`].
    pub(super) fn end(&mut self, scene: &mut SavedScene) -> Result<(), NotMade> {
        self.waiting.drain(..).try_for_each(|found| found.make(scene))
    }
}

impl FoundChange {
    fn make(self, scene: &mut SavedScene) -> Result<(), NotMade> {
        let (sequence, generation) = (self.sequence, self.generation);
        scene.apply(self.change).map_err(|why| NotMade { sequence, generation, why })
    }

    /// Returns true if `other` has older positions of the same vertices.
    fn is_instead_of(&self, other: &FoundChange) -> bool {
        match (&self.change, &other.change) {
            (
                SceneChange::Moved { tissue, geometry_revision, positions, .. },
                SceneChange::Moved {
                    tissue: of, geometry_revision: older, positions: before, ..
                },
            ) => tissue == of && geometry_revision > older && positions.len() >= before.len(),
            _ => false,
        }
    }
}
