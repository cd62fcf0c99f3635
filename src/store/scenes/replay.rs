//! Changes of journals, made as they are read.

use super::journal::JournalRecord;
use crate::scene::saved::{NotAScene, SavedScene, SceneChange};

/// Changes on their way from the journals of a scene into it. Most are made at once, so that no more of the journals is in
/// memory than the record that is read.
///
/// A cut waits. The engine may have failed in it, and a record behind it says so then. Whoever cuts has the scene's turn
/// until that is written: in between only positions are kept, which take no turn. So the cut counts as soon as any other
/// change follows, or none does.
#[derive(Default)]
pub(super) struct JournalReplay {
    /// A cut, then positions that were kept since: the newest of each tissue.
    waiting: Vec<FoundChange>,
}

struct FoundChange {
    sequence: u64,
    generation: u64,
    change: SceneChange,
}

/// A change that the scene before it does not allow.
#[derive(Debug)]
pub(super) struct NotMade {
    pub(super) sequence: u64,
    /// Of its journal.
    pub(super) generation: u64,
    pub(super) why: NotAScene,
}

impl JournalReplay {
    /// The next record.
    ///
    /// # Errors
    /// The first change that cannot be made: what follows was made for another scene.
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

    /// Makes what waits: no record follows, or none that takes it back.
    ///
    /// # Errors
    /// As [`JournalReplay::take`].
    pub(super) fn end(&mut self, scene: &mut SavedScene) -> Result<(), NotMade> {
        self.waiting.drain(..).try_for_each(|found| found.make(scene))
    }
}

impl FoundChange {
    fn make(self, scene: &mut SavedScene) -> Result<(), NotMade> {
        let (sequence, generation) = (self.sequence, self.generation);
        scene.apply(self.change).map_err(|why| NotMade { sequence, generation, why })
    }

    /// Whether another has positions of the same vertices that are older.
    fn is_instead_of(&self, other: &FoundChange) -> bool {
        match (&self.change, &other.change) {
            (
                SceneChange::Moved { tissue, geometry_revision, positions },
                SceneChange::Moved { tissue: of, geometry_revision: older, positions: before },
            ) => tissue == of && geometry_revision > older && positions.len() >= before.len(),
            _ => false,
        }
    }
}
