//! The files of one scene's journal: writes to them, and checks that they are still this server's.

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

/// Locked while the disk is waited for, but never by code that computes or answers ticks and deformations.
pub(super) struct JournalFiles {
    pub(super) folder: SceneFolder,
    /// Lease of the scene, if servers share the folder.
    pub(super) lease: Option<Arc<SceneLease>>,
    /// `None` until something is persisted, and once the scene is deleted.
    pub(super) file: Option<JournalFile>,
    /// The last journal has records that may not count: the next journal must begin before them.
    pub(super) is_torn: bool,
    /// The journal is gone from the disk, with acknowledged changes: nothing is persisted before a snapshot has them.
    pub(super) is_gone: bool,
    pub(super) removal: Removal,
    /// Another instance continues with the files.
    pub(super) is_closed: bool,
    /// Greatest generation of all files.
    pub(super) generation: u64,
    /// Number of journals since the newest snapshot.
    pub(super) n_journals: u64,
    pub(super) next_sequence: u64,
    /// Voids of cuts that were persisted but not applied, while the voids are not on the disk yet. The next change was
    /// made for the scene without these cuts, and counts only together with the voids.
    pub(super) open_voids: Vec<JournalRecord>,
}

/// Progress of the removal of a scene's files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    NotBegun,
    /// It is unknown whether the files exist after a power cut, so nothing may be persisted in them.
    Unknown,
    Done,
}

impl JournalFiles {
    /// Checks that the scene is this server's; called before anything is written.
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

    /// Appends records to the journal, or to the next one. Returns the number of the first record, and the bytes of
    /// all.
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
        // A record of uncertain outcome counts if this server ends before its next journal begins.
        let appended = file.append(records);
        let more = file.bytes() - before;
        if appended.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            // A server that has claimed the scene since may have read the records before it removed the file.
            self.check_written()?;
            self.is_gone = true;
        }
        let first = appended.map_err(NotKept::of_write)?;
        self.check_written()?;
        self.next_sequence = first + records.len() as u64;
        Ok((first, more))
    }

    /// Checks that a record was written in time; called when it is on the disk, before it is acknowledged. A server
    /// that claims the scene from now on reads the record.
    pub(super) fn check_written(&mut self) -> Result<(), NotKept> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let why = match lease.new_owner() {
            Ok(None) => return Ok(()),
            Ok(Some(owner)) => elsewhere(lease, owner).to_string(),
            Err(error) => format!("the claims cannot be read: {error}"),
        };
        // If the scene is this server's all the same, its next journal continues before the record.
        (self.file, self.is_torn) = (None, true);
        Err(NotKept::Unknown(why))
    }

    /// Removes all files of the scene. The claim of a shared scene ends before its files are removed.
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
        // Raised even if the journal then fails to begin: if its file stays, the next journal has another name.
        self.generation = match &self.lease {
            Some(lease) => next_generation(lease.epoch(), self.generation)
                .map_err(|later| failed(io::Error::other(later)))?,
            None => self.generation + 1,
        };
        self.n_journals += 1;
        // The last journal does not continue then either: no record of it would be read from the first number of the
        // new file on.
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
