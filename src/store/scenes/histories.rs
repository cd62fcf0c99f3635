//! Two histories of one scene: what two servers have left that both took themselves for its owner.

use super::{
    folder::{SceneFolder, Unreadable},
    generations::end_of,
    journal::JournalRecord,
};
use crate::scene::saved::SceneChange;

impl SceneFolder {
    /// Journals that go on where a later one has begun in their place, in words. One change may be there in good order: that
    /// of an owner that found out after the write that the scene was another's, or whose write failed, and which was never
    /// acknowledged. The next one of its journal is only written once that one is. O(bytes of all journals).
    ///
    /// # Errors
    /// When the files cannot be read now.
    pub(super) fn two_histories(&self) -> Result<Vec<String>, Unreadable> {
        let journals = self.first_records()?;
        let mut found = Vec::new();
        for (generation, _) in &journals {
            let end = end_of(*generation, journals.iter().copied());
            let Some(last) = self.last_changes(*generation, end)? else { continue };
            found.push(format!(
                "journal {generation} goes on to record {last}, and a later one begins at record {end} in its place: two \
                 servers wrote, and what one of them acknowledged is left out"
            ));
        }
        Ok(found)
    }

    /// The last record of a journal, if there are two changes or more from the record `end` on that wait for each other.
    fn last_changes(&self, generation: u64, end: u64) -> Result<Option<u64>, Unreadable> {
        if end == u64::MAX {
            return Ok(None);
        }
        let (mut n, mut last) = (0, end);
        // What is damaged of it is told by who reads the scene.
        let Some(mut reader) = self.open_journal(generation)? else { return Ok(None) };
        while let Ok(Some((sequence, record))) = reader.read() {
            // Positions are kept without a turn, and a cut may be taken back.
            let waits = match &record {
                JournalRecord::Change(change) => !matches!(change, SceneChange::Moved { .. }),
                JournalRecord::Void(_) => false,
            };
            n += u64::from(waits && sequence >= end);
            last = sequence;
        }
        Ok((n > 1).then_some(last))
    }
}
