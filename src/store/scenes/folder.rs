//! The files of one scene: how they come and go, and what they add up to.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use tracing::{error, info, warn};

use super::{
    file_head::{FileError, FileHead, FileKind, NewerFormat},
    journal::{JournalFile, JournalReader, JournalRecord},
    snapshot::{SceneSnapshot, TEMPORARY},
};
use crate::os::lasting::sync_folder;

/// The folder of one scene.
#[derive(Clone, Debug)]
pub struct SceneFolder(PathBuf);

/// A scene as its files have it.
#[derive(Debug)]
pub struct FoundScene {
    /// With all changes that count.
    pub kept: SceneSnapshot,
    /// Of the next change.
    pub next_sequence: u64,
    /// The greatest that any of its files has.
    pub generation: u64,
    /// Bytes of the snapshot that it was read from.
    pub snapshot_bytes: u64,
    /// What was damaged, in words: changes may be lost when it was a journal.
    pub damage: Vec<String>,
    damaged_files: Vec<PathBuf>,
}

/// Why there is no scene in its files. They are left as they are.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The system's reason.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Of a later version.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
    /// No snapshot is good.
    #[error("no snapshot of it can be read: {0}")]
    NoSnapshot(String),
}

/// A folder that is not a scene's yet, or not any more: scene ids have no dot.
pub const PASSING: &str = ".";
const SNAPSHOT: &str = "snapshot";
const JOURNAL: &str = "journal";
/// Of files that were found damaged, and are kept for whoever wants to look at them.
const DAMAGED: &str = "damaged";
/// Snapshots that are kept, each with the journals since.
const SNAPSHOTS_KEPT: usize = 2;
/// A generation's upper half is the epoch of its owner, where servers share a folder: files of a later owner come after
/// all that an earlier one writes, whenever that is.
const EPOCH_SHIFT: u32 = 32;

/// Of an owner's first files.
pub fn first_generation(epoch: u64) -> u64 {
    debug_assert!(epoch < 1 << EPOCH_SHIFT, "{epoch} epochs");
    epoch << EPOCH_SHIFT
}

impl SceneFolder {
    pub(super) fn new(folder: PathBuf) -> SceneFolder {
        SceneFolder(folder)
    }

    /// Makes it, with a first snapshot and an empty journal of a generation, all at once.
    ///
    /// # Errors
    /// The system's; there is no such folder then.
    pub fn create(&self, first: &SceneSnapshot, generation: u64) -> io::Result<JournalFile> {
        let passing = self.passing(&format!("new-{generation}"));
        // Of a try that failed, and whose files could not be removed then.
        let _ = fs::remove_dir_all(&passing.0);
        let made = (|| {
            fs::create_dir(&passing.0)?;
            first.write(&passing.snapshot(generation), generation, 0)?;
            let journal = JournalFile::create(&passing.journal(generation), generation, 0)?;
            let rename = || fs::rename(&passing.0, &self.0);
            let journal = journal.moved(&self.journal(generation), rename)?;
            sync_folder(self.parent())?;
            Ok(journal)
        })();
        if made.is_err() {
            // Not there when it could not be made or was renamed.
            let _ = fs::remove_dir_all(&passing.0);
        }
        made
    }

    /// Takes it away, at once and for good. None of its files may be open: Windows would refuse.
    ///
    /// # Errors
    /// The system's; all of it is still there then.
    pub fn remove(&self) -> io::Result<()> {
        let passing = self.passing("gone");
        // Of a scene of the same name, whose files could not be removed then.
        let _ = fs::remove_dir_all(&passing.0);
        fs::rename(&self.0, &passing.0)?;
        sync_folder(self.parent())?;
        // What is left of it goes when the store is opened the next time.
        fs::remove_dir_all(&passing.0).or_else(|error| {
            warn!(folder = %passing.0.display(), "a deleted scene's files stay for now: {error}");
            Ok(())
        })
    }

    /// Takes away all that owners before an epoch have left of it. What they may still be about to remove or to write is
    /// nothing that is made from that epoch on.
    ///
    /// # Errors
    /// The system's; some of it may be there still, which nobody reads.
    pub fn remove_before(&self, epoch: u64) -> io::Result<()> {
        // Whoever was about to remove it may be doing so.
        let gone = |done: io::Result<()>| match done {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        };
        if !self.is_there()? {
            return Ok(());
        }
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|n| n.split('.').next()?.parse::<u64>().ok());
            if number.is_none_or(|generation| generation < first_generation(epoch)) {
                gone(fs::remove_file(entry.path()))?;
            }
        }
        match fs::remove_dir(&self.0) {
            // There is something of a later epoch in it.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            done => gone(done),
        }
    }

    /// The greatest epoch of its files; 0 when there are none, or none that was shared.
    ///
    /// # Errors
    /// The system's.
    pub fn newest_epoch(&self) -> io::Result<u64> {
        let generations = [self.generations(SNAPSHOT)?, self.generations(JOURNAL)?];
        Ok(generations.iter().flatten().max().map_or(0, |g| g >> EPOCH_SHIFT))
    }

    /// Whether there is such a folder.
    ///
    /// # Errors
    /// The system's.
    pub fn is_there(&self) -> io::Result<bool> {
        fs::exists(&self.0)
    }

    /// Goes on with a scene that was read, with files of an epoch of its own: what the owners before it still write is
    /// not read any more. Returns the journal and its generation.
    ///
    /// # Errors
    /// The system's; nothing has changed for who reads the files then.
    pub fn take_over(&self, found: &FoundScene, epoch: u64) -> io::Result<(JournalFile, u64)> {
        // Again in the same epoch when the first try came to nothing.
        let generation = first_generation(epoch).max(found.generation + 1);
        let journal = self.begin_journal(generation, found.next_sequence)?;
        self.write_snapshot(&found.kept, generation, found.next_sequence)?;
        Ok((journal, generation))
    }

    /// A journal that goes on after all others.
    ///
    /// # Errors
    /// The system's; there is no such file then.
    pub fn begin_journal(&self, generation: u64, sequence: u64) -> io::Result<JournalFile> {
        JournalFile::create(&self.journal(generation), generation, sequence)
    }

    /// Keeps what the scene was when the journal of that generation began, and removes what nobody needs any more.
    /// Returns its bytes.
    ///
    /// # Errors
    /// The system's; nothing is removed then.
    pub fn write_snapshot(
        &self,
        snapshot: &SceneSnapshot,
        generation: u64,
        sequence: u64,
    ) -> io::Result<u64> {
        let bytes = snapshot.write(&self.snapshot(generation), generation, sequence)?;
        if let Err(error) = self.tidy() {
            warn!(folder = %self.0.display(), "old files of a scene stay: {error}");
        }
        Ok(bytes)
    }

    /// The scene of all files that count. Changes nothing.
    ///
    /// # Errors
    /// When no snapshot can be read, or a file is of a later version.
    pub fn read(&self) -> Result<FoundScene, Unreadable> {
        let (snapshots, journals) = (self.generations(SNAPSHOT)?, self.generations(JOURNAL)?);
        let (mut damage, mut damaged_files) = (Vec::new(), Vec::new());
        let mut found = None;
        for generation in snapshots.iter().rev().copied() {
            match SceneSnapshot::read(&self.snapshot(generation)) {
                // Of an owner that was stopped, and wrote on when another had taken the scene over.
                Ok((_, head)) if head.sequence > self.first_after(generation, &journals) => {
                    info!(folder = %self.0.display(), "snapshot {generation} is a stale owner's");
                }
                Ok(read) => {
                    found = Some((generation, read));
                    break;
                }
                Err(FileError::Newer(newer)) => return Err(newer.into()),
                Err(error) => {
                    damaged_files.push(self.snapshot(generation));
                    damage.push(format!("snapshot {generation} {error}"));
                }
            }
        }
        let Some((from, (kept, head))) = found else {
            let reasons =
                if damage.is_empty() { "there is none".to_owned() } else { damage.join("; ") };
            return Err(Unreadable::NoSnapshot(reasons));
        };
        let snapshot_bytes = fs::metadata(self.snapshot(from))?.len();
        let last = [journals.last(), snapshots.last()].into_iter().flatten().max().copied();
        let mut scene = FoundScene {
            kept,
            next_sequence: head.sequence,
            generation: last.unwrap_or(from),
            snapshot_bytes,
            damage,
            damaged_files,
        };
        let journals: Vec<u64> = journals.into_iter().filter(|g| *g >= from).collect();
        self.replay(&journals, &mut scene)?;
        Ok(scene)
    }

    /// The least first record of the journals of later generations.
    fn first_after(&self, generation: u64, journals: &[u64]) -> u64 {
        let later = journals.iter().filter(|g| **g > generation);
        let firsts = later.filter_map(|g| JournalReader::open(&self.journal(*g)).ok());
        firsts.map(|reader| reader.next_sequence()).min().unwrap_or(u64::MAX)
    }

    /// Makes the changes of journals, up to the first that is missing or no change.
    fn replay(&self, journals: &[u64], scene: &mut FoundScene) -> Result<(), Unreadable> {
        let mut readers = Vec::new();
        for (at, generation) in journals.iter().copied().enumerate() {
            match JournalReader::open(&self.journal(generation)) {
                Ok(reader) => readers.push((generation, reader)),
                Err(FileError::Newer(newer)) => return Err(newer.into()),
                // A journal lasts before the first record is added to it.
                Err(FileError::Torn { .. }) if at + 1 == journals.len() => {
                    info!(folder = %self.0.display(), "journal {generation} has no head yet");
                }
                Err(error) => {
                    scene.damaged_files.push(self.journal(generation));
                    scene.damage.push(format!("journal {generation} {error}"));
                }
            }
        }
        let firsts: Vec<u64> = readers.iter().map(|(_, reader)| reader.next_sequence()).collect();
        let (mut changes, mut voids) = (Vec::new(), BTreeSet::new());
        let mut expected = scene.next_sequence;
        for (at, (generation, mut reader)) in readers.into_iter().enumerate() {
            // Not only the next one's: a stale owner may have begun another after it was taken over.
            let end = firsts[at + 1..].iter().min().copied().unwrap_or(u64::MAX);
            if firsts[at] >= end {
                continue;
            }
            if firsts[at] > expected {
                scene.damage.push(format!("records {expected} to {} are missing", firsts[at] - 1));
                break;
            }
            while reader.next_sequence() < end {
                match reader.read() {
                    Ok(Some((sequence, record))) if sequence >= expected => {
                        match record {
                            JournalRecord::Change(change) => {
                                changes.push((sequence, generation, change))
                            }
                            JournalRecord::Void(of) => drop(voids.insert(of)),
                        }
                        expected = sequence + 1;
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    // The next journal goes on here: what could not be written was never acknowledged.
                    Err(_) if expected == end => break,
                    Err(FileError::Torn { at }) if end == u64::MAX => {
                        let bytes = reader.rest();
                        info!(
                            folder = %self.0.display(),
                            "journal {generation} ends within a record at byte {at}: {bytes} bytes were never acknowledged"
                        );
                        break;
                    }
                    Err(error) => {
                        scene.damaged_files.push(self.journal(generation));
                        let bytes = reader.rest();
                        scene.damage.push(format!(
                            "journal {generation} {error}; {bytes} bytes are left out"
                        ));
                        break;
                    }
                }
            }
        }
        scene.next_sequence = expected;
        for (sequence, generation, change) in changes {
            if voids.contains(&sequence) {
                continue;
            }
            if let Err(error) = scene.kept.scene.apply(change) {
                scene.damaged_files.push(self.journal(generation));
                scene.damage.push(format!("record {sequence} of journal {generation}: {error}"));
                // What follows was made for another scene than is left.
                scene.next_sequence = sequence;
                break;
            }
        }
        Ok(())
    }

    /// Removes all that the newest snapshots do not need.
    fn tidy(&self) -> io::Result<()> {
        let snapshots = self.generations(SNAPSHOT)?;
        let journals = self.generations(JOURNAL)?;
        // Also when it is a stale owner that tidies up: its own does not push out one that counts.
        let counts = |generation: &u64| {
            let path = self.snapshot(*generation);
            let head = File::open(&path).map(|mut file| {
                FileHead::read(FileKind::Snapshot, &path, &mut file).map(|head| head.sequence)
            });
            !matches!(head, Ok(Ok(sequence)) if sequence > self.first_after(*generation, &journals))
        };
        let Some(oldest) = snapshots.iter().rev().copied().filter(counts).nth(SNAPSHOTS_KEPT - 1)
        else {
            return Ok(());
        };
        for generation in snapshots.into_iter().filter(|g| *g < oldest) {
            fs::remove_file(self.snapshot(generation))?;
        }
        for generation in journals.into_iter().filter(|g| *g < oldest) {
            fs::remove_file(self.journal(generation))?;
        }
        // Not those of a later owner, who is about to give them their names.
        for generation in self.generations(TEMPORARY)?.into_iter().filter(|g| *g < oldest) {
            fs::remove_file(self.0.join(format!("{generation}.{TEMPORARY}")))?;
        }
        sync_folder(&self.0)
    }

    /// Ascending.
    fn generations(&self, extension: &str) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|n| n.strip_suffix(extension)?.strip_suffix('.'));
            found.extend(number.and_then(|n| n.parse::<u64>().ok()));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Keeps what was found damaged for whoever wants to look at it: a snapshot out of the way of the good ones, of which
    /// only so many stay, a journal under a second name for when the first is removed.
    pub fn keep_damaged(&self, found: &FoundScene) {
        for path in &found.damaged_files {
            let name = path.file_name().expect("a file").to_string_lossy();
            let to = path.with_file_name(format!("{name}.{DAMAGED}"));
            let kept = match path.extension() {
                Some(extension) if extension == SNAPSHOT => fs::rename(path, &to),
                _ => fs::hard_link(path, &to),
            };
            match kept.map_err(|error| (error.kind(), error)) {
                Ok(()) | Err((io::ErrorKind::AlreadyExists, _)) => {
                    error!(path = %path.display(), "damaged; kept as .{DAMAGED}");
                }
                Err((_, error)) => {
                    error!(path = %path.display(), "damaged, and cannot be kept: {error}");
                }
            }
        }
    }

    fn snapshot(&self, generation: u64) -> PathBuf {
        self.0.join(format!("{generation}.{SNAPSHOT}"))
    }

    fn journal(&self, generation: u64) -> PathBuf {
        self.0.join(format!("{generation}.{JOURNAL}"))
    }

    fn passing(&self, why: &str) -> SceneFolder {
        let name = self.0.file_name().expect("a scene's id").to_string_lossy();
        SceneFolder(self.parent().join(format!("{PASSING}{why}-{name}")))
    }

    fn parent(&self) -> &Path {
        self.0.parent().expect("below the store's root")
    }
}
