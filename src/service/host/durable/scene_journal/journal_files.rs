//! The files of one scene's journal: what is written to them, and whether they are still this server's.

use std::{io, sync::Arc};

use tracing::warn;

use crate::{
    service::host::{
        cluster::scene_lease::{NewOwner, SceneLease},
        durable::not_kept::NotKept,
        scene_life::Ended,
    },
    store::scenes::{
        folder::SceneFolder,
        generations::next_generation,
        journal::{JournalFile, JournalRecord},
    },
};

/// Locked while the disk is waited for, by nobody who computes or answers ticks and deformations.
pub(super) struct JournalFiles {
    pub(super) folder: SceneFolder,
    /// Where servers share the folder: that the scene is this server's.
    pub(super) lease: Option<Arc<SceneLease>>,
    /// `None` until something is kept, and once the scene is deleted.
    pub(super) file: Option<JournalFile>,
    /// The last journal has records that may not count: the next one is to begin before them.
    pub(super) is_torn: bool,
    /// The journal is gone from the disk, with changes that were acknowledged: nothing is kept before a snapshot has them.
    pub(super) is_gone: bool,
    pub(super) removal: Removal,
    /// Another goes on with the files.
    pub(super) is_closed: bool,
    /// The greatest of all files.
    pub(super) generation: u64,
    /// Those since the newest snapshot.
    pub(super) n_journals: u64,
    pub(super) next_sequence: u64,
    /// Of cuts that were kept and not made, and are not taken back on the disk yet. Whatever is kept next was made for the
    /// scene without them, and counts with them only.
    pub(super) open_voids: Vec<JournalRecord>,
}

/// How far the removal of a scene's files has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    NotBegun,
    /// Whether they are there after a power cut is not known, so that nothing may be kept in them.
    Unknown,
    Done,
}

impl JournalFiles {
    /// Before anything is written: whether the scene is this server's.
    pub(super) fn check_own(&self) -> Result<(), NotKept> {
        if self.removal != Removal::NotBegun || self.is_closed {
            return Err(NotKept::Gone);
        }
        let Some(lease) = &self.lease else { return Ok(()) };
        match lease.new_owner().map_err(failed)? {
            None => Ok(()),
            Some(owner) => Err(elsewhere(lease, owner).into()),
        }
    }

    /// Adds records to the journal, or to the next one. Returns the number of the first, and the bytes of all.
    pub(super) fn append(&mut self, records: &[JournalRecord]) -> Result<(u64, u64), NotKept> {
        self.check_own()?;
        if self.is_gone {
            let why = "a journal is gone from its place, and changes wait for a snapshot that has all of it";
            return Err(failed(io::Error::other(why)));
        }
        if self.file.as_ref().is_none_or(JournalFile::is_broken) {
            self.begin_journal()?;
        }
        let file = self.file.as_mut().expect("it was begun");
        let before = file.bytes();
        // Where it is uncertain it counts should this server end before its next journal begins.
        let appended = file.append(records);
        let more = file.bytes() - before;
        if appended.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            // Who has claimed the scene since may have read the records before it removed the file.
            self.check_written()?;
            self.is_gone = true;
        }
        let first = appended.map_err(NotKept::of_write)?;
        self.check_written()?;
        self.next_sequence = first + records.len() as u64;
        Ok((first, more))
    }

    /// After it is on the disk, and before it is acknowledged: whether it was written in time. Who claims the scene from
    /// now on reads it.
    pub(super) fn check_written(&mut self) -> Result<(), NotKept> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let why = match lease.new_owner() {
            Ok(None) => return Ok(()),
            Ok(Some(owner)) => elsewhere(lease, owner).to_string(),
            Err(error) => format!("the claims cannot be read: {error}"),
        };
        // Should it be this server's all the same, its next journal goes on before the record.
        (self.file, self.is_torn) = (None, true);
        Err(NotKept::Unknown(why))
    }

    /// All files of the scene. Those of a shared one are nobody's before they go.
    pub(super) fn remove(&self) -> Result<(), NotKept> {
        let Some(lease) = &self.lease else {
            return self.folder.remove().map_err(NotKept::of_write);
        };
        if let Some(owner) = lease.delete().map_err(NotKept::of_write)? {
            return Err(elsewhere(lease, owner).into());
        }
        if let Err(error) = self.folder.remove_before(lease.epoch() + 1) {
            warn!("a deleted scene's files stay for now: {error}");
        }
        Ok(())
    }

    pub(super) fn begin_journal(&mut self) -> Result<(), NotKept> {
        // Also of one that fails: should its file stay, the next has another name.
        self.generation = match &self.lease {
            Some(lease) => next_generation(lease.epoch(), self.generation)
                .map_err(|later| failed(io::Error::other(later)))?,
            None => self.generation + 1,
        };
        self.n_journals += 1;
        // Nor does the last one go on then: from the first number of that file on, no record of it would be read.
        (self.file, self.is_torn) = (None, true);
        let begun = self.folder.begin_journal(self.generation, self.next_sequence);
        (self.file, self.is_torn) = (Some(begun.map_err(failed)?), false);
        Ok(())
    }
}

pub(super) fn failed(error: io::Error) -> NotKept {
    NotKept::Disk(Arc::new(error))
}

pub(super) fn elsewhere(lease: &SceneLease, owner: NewOwner) -> Ended {
    Ended::Elsewhere { id: lease.scene().to_owned(), owner }
}
