//! Two histories of one scene: files of two servers that both acted as its owner.

use super::{
    folder::{SceneFolder, Unreadable},
    generations::end_of,
    journal::JournalRecord,
};
use crate::scene::saved::SceneChange;

impl SceneFolder {
    /// Describes journals that continue past the begin of a later one. One such change is legitimate: that of an owner
    /// that found out after the write that it had lost the scene, or whose write failed, and which was never
    /// acknowledged. The journal's next change is written only once that one is acknowledged. O(bytes of all journals).
    ///
    /// # Errors
    /// Returns an error if the files cannot be read now.
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

    /// Returns the last record of a journal if it has two or more changes from the record `end` on that wait for each
    /// other.
    fn last_changes(&self, generation: u64, end: u64) -> Result<Option<u64>, Unreadable> {
        if end == u64::MAX {
            return Ok(None);
        }
        let (mut n, mut last) = (0, end);
        // Damage of the journal is reported by the reader of the scene.
        let Some(mut reader) = self.open_journal(generation)? else { return Ok(None) };
        while let Ok(Some((sequence, record))) = reader.read() {
            // Positions are saved without the edit lock, and a cut may be voided.
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
