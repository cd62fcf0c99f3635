//! Files of one scene: their creation and removal, and the scene that they add up to.

use std::{
    fmt, io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tracing::{error, info, warn};

use super::{
    file_head::{FileError, FileHead, FileKind, HEAD_BYTES, NewerFormat},
    generations::{end_of, epoch_of, first_generation, next_generation, oldest_kept},
    journal::{JournalFile, JournalReader},
    replay::{JournalReplay, NotMade},
    snapshot::{FoundSnapshot, SceneSnapshot},
};
use crate::{
    os::lasting::NamedFile,
    store::place::{
        FileForm, FirstFile, PlaceEntry, StorePlace, folder_place::TEMPORARY, key_below, uncertain,
    },
};

/// Folder of one scene, or its counterpart in an object store.
#[derive(Clone, Debug)]
pub struct SceneFolder {
    place: Arc<dyn StorePlace>,
    /// The scene's id.
    key: String,
    /// Identity of the folder that was read or made: changes to the scene read from it are useless in another.
    home: Arc<OnceLock<NamedFile>>,
}

/// A scene as read from its files.
#[derive(Debug)]
pub struct FoundScene {
    /// Scene with all valid changes.
    pub kept: SceneSnapshot,
    /// Number of the next change.
    pub next_sequence: u64,
    /// Greatest generation of its files.
    pub generation: u64,
    /// Bytes of the snapshot from which it was read.
    pub snapshot_bytes: u64,
    /// Time since that snapshot was written, if the location reports it.
    pub snapshot_age: Option<Duration>,
    /// Number of journals since that snapshot.
    pub n_journals: u64,
    /// Bytes of the records in those journals.
    pub journal_bytes: u64,
    /// Descriptions of the damage: changes may be lost if a journal was damaged.
    pub damage: Vec<String>,
    damaged_files: Vec<(String, FileForm)>,
}

/// Reasons why no scene can be read from the files, which are left unchanged.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Error of the system.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A file has a later format.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
    /// No snapshot is intact.
    #[error("no snapshot of it can be read: {0}")]
    NoSnapshot(String),
}

/// Result of reading a snapshot and the journals since.
enum ReadFrom {
    Scene(Box<FoundScene>),
    /// Description of the damaged snapshot.
    Damaged(String),
    /// Written by an owner that was stopped, and wrote on after another server had taken the scene over.
    Stale,
}

/// Head of a journal.
struct JournalHead {
    generation: u64,
    head: Result<FileHead, FileError>,
}

const SNAPSHOT: &str = "snapshot";
const JOURNAL: &str = "journal";
/// Extension of damaged files that are kept for inspection.
const DAMAGED: &str = "damaged";
/// Maximum reads of a scene while its files are removed; no server writes snapshots as fast as one is read.
const LIVE_READS_MAX: usize = 5;

impl SceneFolder {
    pub(super) fn new(place: &Arc<dyn StorePlace>, id: &str) -> SceneFolder {
        SceneFolder { place: Arc::clone(place), key: id.to_owned(), home: Arc::default() }
    }

    fn note_home(&self) -> io::Result<()> {
        if self.home.get().is_none()
            && let Some(home) = self.place.named(&self.key)?
        {
            // On an error another thread was first.
            let _ = self.home.set(home);
        }
        Ok(())
    }

    /// Creates the scene, with a first snapshot and an empty journal of a generation. The scene exists once the
    /// snapshot does.
    ///
    /// # Errors
    /// Errors of the system; there is then no scene, unless the error is `TimedOut`.
    pub fn create(&self, first: &SceneSnapshot, generation: u64) -> io::Result<JournalFile> {
        let (head, snapshot) = (JournalFile::head(generation, 0), first.encode(generation, 0));
        let file = |extension, form, parts| {
            let name = file_name(generation, extension);
            FirstFile { name, form, parts }
        };
        let journal = file(JOURNAL, FileForm::Appended, vec![&head[..]]);
        let snapshot = file(SNAPSHOT, FileForm::Whole, snapshot.parts().to_vec());
        self.place.put_first(&self.key, &[journal, snapshot])?;
        let begun = self.note_home().and_then(|()| self.place.go_on(&self.journal(generation)));
        let end = begun.map_err(|failed| {
            // Files of this epoch only: files of a later one belong to a server that has taken the scene over.
            let removed = self.remove_before(epoch_of(generation) + 1);
            removed.and_then(|()| self.place.sync("")).map_or_else(uncertain, |()| failed)
        })?;
        Ok(JournalFile::begun(end, head, 0))
    }

    /// Removes the scene durably. None of its files may be open.
    ///
    /// # Errors
    /// Errors of the system; a folder of the file system then still has all files, unless the error is `TimedOut`.
    pub fn remove(&self) -> io::Result<()> {
        self.place.remove_all(&self.key)
    }

    /// Removes all files that owners before an epoch have left. Their pending removals and writes do not touch files
    /// that are made from that epoch on.
    ///
    /// # Errors
    /// Errors of the system; some files may remain, which nobody reads.
    pub fn remove_before(&self, epoch: u64) -> io::Result<()> {
        for PlaceEntry { name, has_more } in self.place.list(&self.key)?.unwrap_or_default() {
            let number = name.split('.').next().and_then(|n| n.parse::<u64>().ok());
            if number.is_none_or(|generation| generation < first_generation(epoch)) {
                let form = if has_more { FileForm::Appended } else { FileForm::Whole };
                self.place.remove(&key_below(&self.key, &name), form)?;
            }
        }
        // The folder may hold files of a later epoch.
        self.place.remove_empty(&self.key)
    }

    /// Returns the greatest epoch of the files; 0 if there are none, or none that was shared.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn newest_epoch(&self) -> io::Result<u64> {
        Ok(self.all_generations()?.iter().flatten().max().map_or(0, |g| epoch_of(*g)))
    }

    /// Returns true if the folder exists.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn is_there(&self) -> io::Result<bool> {
        Ok(self.place.list(&self.key)?.is_some())
    }

    /// Returns true if there is no snapshot and no record: the creator of the scene ended before the scene existed, or
    /// the files are missing.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn has_nothing(&self) -> io::Result<bool> {
        let entries = self.place.list(&self.key)?.unwrap_or_default();
        match &entries[..] {
            [] => Ok(true),
            [one] if generation(&one.name, JOURNAL).is_some() => {
                let journal = self.place.open(&key_below(&self.key, &one.name), FileForm::Appended);
                Ok(journal?.bytes <= HEAD_BYTES as u64)
            }
            _ => Ok(false),
        }
    }

    /// Returns the number of appends to a journal after which a snapshot is due.
    pub fn appends_max(&self) -> u64 {
        self.place.appends_max()
    }

    /// Returns the bytes of all files.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn bytes(&self) -> io::Result<u64> {
        self.place.bytes(&self.key)
    }

    /// Continues a scene that was read, with files of a new epoch: later writes of previous owners are not read any
    /// more. Returns the journal and its generation. If servers share the scene, the caller's claim was the newest
    /// after the read.
    ///
    /// # Errors
    /// Errors of the system, or files of a later owner; for readers of the files nothing has then changed.
    pub fn take_over(&self, found: &FoundScene, epoch: u64) -> io::Result<(JournalFile, u64)> {
        let generation = next_generation(epoch, found.generation).map_err(io::Error::other)?;
        let journal = self.begin_journal(generation, found.next_sequence)?;
        self.write_snapshot(&found.kept, generation, found.next_sequence)?;
        Ok((journal, generation))
    }

    /// Begins a journal that follows all others.
    ///
    /// # Errors
    /// Errors of the system; the file then does not exist.
    pub fn begin_journal(&self, generation: u64, sequence: u64) -> io::Result<JournalFile> {
        if let Some(home) = self.home.get() {
            home.check().map_err(io::Error::other)?;
        }
        JournalFile::create(&*self.place, &self.journal(generation), (generation, sequence))
    }

    /// Writes the scene as it was when the journal of that generation began, and removes needless files. Returns its
    /// bytes.
    ///
    /// # Errors
    /// Errors of the system; nothing is then removed.
    pub fn write_snapshot(
        &self,
        snapshot: &SceneSnapshot,
        generation: u64,
        sequence: u64,
    ) -> io::Result<u64> {
        let key = self.snapshot(generation);
        let bytes = snapshot.write(&*self.place, &key, (generation, sequence))?;
        if let Err(error) = self.tidy() {
            warn!(folder = self.shown(), "old files of a scene stay: {error}");
        }
        Ok(bytes)
    }

    /// Reads the scene from all valid files. Changes nothing.
    ///
    /// # Errors
    /// Returns an error if no snapshot can be read, a file has a later format, or the store cannot return a listed
    /// file.
    pub fn read(&self) -> Result<FoundScene, Unreadable> {
        // If the folder is missing, so is every snapshot.
        let _ = self.note_home();
        let [snapshots, journals] = self.all_generations()?;
        let (mut damage, mut damaged_files) = (Vec::new(), Vec::new());
        for generation in snapshots.iter().rev().copied() {
            match self.read_from(generation, &journals)? {
                ReadFrom::Scene(mut scene) => {
                    scene.generation = scene.generation.max(snapshots.last().copied().unwrap_or(0));
                    // Damage that was found first is reported first.
                    damage.append(&mut scene.damage);
                    damaged_files.append(&mut scene.damaged_files);
                    return Ok(FoundScene { damage, damaged_files, ..*scene });
                }
                ReadFrom::Damaged(what) => {
                    damaged_files.push((self.snapshot(generation), FileForm::Whole));
                    damage.push(what);
                }
                ReadFrom::Stale => {}
            }
        }
        let reasons =
            if damage.is_empty() { "there is none".to_owned() } else { damage.join("; ") };
        Err(Unreadable::NoSnapshot(reasons))
    }

    /// Reads the scene of a snapshot and all journals since.
    fn read_from(&self, generation: u64, journals: &[u64]) -> Result<ReadFrom, Unreadable> {
        let read = SceneSnapshot::read(&*self.place, &self.snapshot(generation));
        let FoundSnapshot { kept, head, bytes: snapshot_bytes, age } = match told(read)? {
            Ok(read) => read,
            Err(error) => return Ok(ReadFrom::Damaged(format!("snapshot {generation} {error}"))),
        };
        let since = self.heads(journals.iter().copied().filter(|g| *g >= generation))?;
        if head.sequence > end_of(generation, first_records(&since)) {
            info!(folder = self.shown(), "snapshot {generation} is a stale owner's");
            return Ok(ReadFrom::Stale);
        }
        let mut scene = FoundScene {
            kept,
            next_sequence: head.sequence,
            generation: journals.last().copied().unwrap_or(0).max(generation),
            snapshot_bytes,
            snapshot_age: age,
            n_journals: since.len() as u64,
            journal_bytes: 0,
            damage: Vec::new(),
            damaged_files: Vec::new(),
        };
        // The journal was begun before the snapshot, and is removed with it.
        if !journals.contains(&generation) {
            scene.damage.push(format!("journal {generation} is missing"));
        }
        self.replay(since, &mut scene)?;
        Ok(ReadFrom::Scene(Box::new(scene)))
    }

    /// Returns the damage of all files, including those that are kept in case newer files are damaged, and reports if
    /// two servers wrote. Changes nothing.
    ///
    /// # Errors
    /// Errors of [`SceneFolder::read`].
    pub fn damage(&self) -> Result<Vec<String>, Unreadable> {
        let mut damage = self.read()?.damage;
        let [snapshots, journals] = self.all_generations()?;
        for generation in snapshots {
            let more = match self.read_from(generation, &journals)? {
                ReadFrom::Scene(scene) => scene.damage,
                ReadFrom::Damaged(what) => vec![what],
                ReadFrom::Stale => Vec::new(),
            };
            for what in more {
                if !damage.contains(&what) {
                    damage.push(what);
                }
            }
        }
        damage.append(&mut self.two_histories()?);
        Ok(damage)
    }

    /// Returns generation and first record of all journals with an intact head.
    pub(super) fn first_records(&self) -> Result<Vec<(u64, u64)>, Unreadable> {
        Ok(first_records(&self.heads(self.generations(JOURNAL)?.into_iter())?).collect())
    }

    /// Opens a journal to read; `None` if its head is damaged.
    pub(super) fn open_journal(&self, n: u64) -> Result<Option<JournalReader>, Unreadable> {
        let read = JournalReader::open(&*self.place, &self.journal(n));
        Ok(told(read)?.ok())
    }

    /// As [`SceneFolder::read`], while a server may continue the scene and remove files that a newer snapshot has made
    /// needless: returns the scene as it was at some moment since the call.
    ///
    /// # Errors
    /// Errors of [`SceneFolder::read`]; also if the scene is deleted meanwhile.
    pub fn read_live(&self) -> Result<FoundScene, Unreadable> {
        self.settled(|| self.read(), |found| found.damage.is_empty())
    }

    /// As [`SceneFolder::damage`], while a server may continue the scene.
    ///
    /// # Errors
    /// Errors of [`SceneFolder::read_live`].
    pub fn damage_live(&self) -> Result<Vec<String>, Unreadable> {
        self.settled(|| self.damage(), Vec::is_empty)
    }

    /// Repeats the look if something was wrong and files have come or gone meanwhile.
    fn settled<T>(
        &self,
        look: impl Fn() -> Result<T, Unreadable>,
        is_whole: impl Fn(&T) -> bool,
    ) -> Result<T, Unreadable> {
        for _ in 1..LIVE_READS_MAX {
            let before = self.all_generations()?;
            let found = look();
            if found.as_ref().is_ok_and(&is_whole) || self.all_generations()? == before {
                return found;
            }
        }
        look()
    }

    /// Returns the generations of all snapshots and journals.
    fn all_generations(&self) -> io::Result<[Vec<u64>; 2]> {
        Ok([self.generations(SNAPSHOT)?, self.generations(JOURNAL)?])
    }

    fn heads(&self, journals: impl Iterator<Item = u64>) -> io::Result<Vec<JournalHead>> {
        let head = |generation| {
            let head = self.head(FileKind::Journal, generation)?;
            Ok(JournalHead { generation, head })
        };
        journals.map(head).collect()
    }

    /// Reads the head of a file, or returns its damage.
    ///
    /// # Errors
    /// Returns an error if the head cannot be read now.
    fn head(&self, kind: FileKind, generation: u64) -> io::Result<Result<FileHead, FileError>> {
        let (key, form) = match kind {
            FileKind::Snapshot => (self.snapshot(generation), FileForm::Whole),
            FileKind::Journal => (self.journal(generation), FileForm::Appended),
        };
        match self.place.head(&key, form, HEAD_BYTES) {
            Err(error) if !is_missing(&error) => Err(error),
            Err(missing) => Ok(Err(missing.into())),
            Ok(bytes) => Ok(FileHead::read(kind, &self.place.shown(&key), &mut &bytes[..])),
        }
    }

    /// Applies the changes of journals, up to the first that is missing or invalid. Only one journal is open at a time:
    /// a scene may have many.
    fn replay(&self, heads: Vec<JournalHead>, scene: &mut FoundScene) -> Result<(), Unreadable> {
        let n = heads.len();
        let mut journals = Vec::new();
        for (at, JournalHead { generation, head }) in heads.into_iter().enumerate() {
            match head {
                Ok(head) => journals.push((generation, head.sequence)),
                Err(FileError::Newer(newer)) => return Err(newer.into()),
                // A journal is durable before the first record is added to it.
                Err(FileError::Torn { .. }) if at + 1 == n => {
                    info!(folder = self.shown(), "journal {generation} has no head yet");
                }
                Err(error) => scene.harmed(self.journal(generation), generation, &error),
            }
        }
        let mut changes = JournalReplay::default();
        let mut made = Ok(());
        for (generation, first) in journals.iter().copied() {
            // Considers all later journals: a stale owner may have begun another after the take-over.
            let end = end_of(generation, journals.iter().copied());
            if first >= end {
                continue;
            }
            if first > scene.next_sequence {
                let (from, to) = (scene.next_sequence, first - 1);
                scene.damage.push(format!("records {from} to {to} are missing"));
                break;
            }
            made = self.replay_one((generation, end), &mut changes, scene)?;
            if made.is_err() {
                break;
            }
        }
        let made = made.and_then(|()| changes.end(&mut scene.kept.scene));
        if let Err(NotMade { sequence, generation, why }) = made {
            scene.damaged_files.push((self.journal(generation), FileForm::Appended));
            scene.damage.push(format!("record {sequence} of journal {generation}: {why}"));
            // Later changes were made to a scene other than the one that is left.
            scene.next_sequence = sequence;
        }
        Ok(())
    }

    /// Applies the changes of a journal before the number `end`.
    fn replay_one(
        &self,
        (generation, end): (u64, u64),
        changes: &mut JournalReplay,
        scene: &mut FoundScene,
    ) -> Result<Result<(), NotMade>, Unreadable> {
        let key = self.journal(generation);
        let mut reader = match told(JournalReader::open(&*self.place, &key))? {
            Ok(reader) => reader,
            Err(error) => {
                scene.harmed(key, generation, &error);
                return Ok(Ok(()));
            }
        };
        scene.journal_bytes += reader.rest();
        while reader.next_sequence() < end {
            match told(reader.read())? {
                Ok(Some((sequence, record))) if sequence >= scene.next_sequence => {
                    scene.next_sequence = sequence + 1;
                    let made = changes.take(&mut scene.kept.scene, (sequence, generation), record);
                    if made.is_err() {
                        return Ok(made);
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                // The next journal continues here: the record that could not be written was never acknowledged.
                Err(_) if scene.next_sequence == end => break,
                Err(FileError::Torn { at }) if end == u64::MAX => {
                    let bytes = reader.rest();
                    info!(
                        folder = self.shown(),
                        "journal {generation} ends within a record at byte {at}: {bytes} bytes were never acknowledged"
                    );
                    break;
                }
                Err(error) => {
                    let error = format!("{error}; {} bytes are left out", reader.rest());
                    scene.harmed(key, generation, &error);
                    break;
                }
            }
        }
        Ok(Ok(()))
    }

    /// Removes all files that the newest snapshots do not need.
    fn tidy(&self) -> io::Result<()> {
        let snapshots = self.generations(SNAPSHOT)?;
        let journals = self.generations(JOURNAL)?;
        let heads = self.heads(journals.iter().copied())?;
        let first = |generation: &u64| {
            let head = self.head(FileKind::Snapshot, *generation)?;
            Ok((*generation, head.ok().map(|head| head.sequence)))
        };
        let firsts: Vec<_> = snapshots.iter().map(first).collect::<io::Result<_>>()?;
        let journal_firsts: Vec<_> = first_records(&heads).collect();
        let Some(oldest) = oldest_kept(&firsts, &journal_firsts) else { return Ok(()) };
        // Temporary files of earlier generations only: a later owner is about to rename its own.
        let whole = [(snapshots, SNAPSHOT), (self.generations(TEMPORARY)?, TEMPORARY)];
        for (generations, extension) in whole {
            for generation in generations.into_iter().filter(|g| *g < oldest) {
                self.place.remove(&self.file(generation, extension), FileForm::Whole)?;
            }
        }
        for generation in journals.into_iter().filter(|g| *g < oldest) {
            self.place.remove(&self.journal(generation), FileForm::Appended)?;
        }
        self.place.sync(&self.key)
    }

    /// Returns the generations of files with this extension, ascending.
    fn generations(&self, extension: &str) -> io::Result<Vec<u64>> {
        let entries = self.place.list(&self.key)?.unwrap_or_default();
        let numbers = entries.iter().filter_map(|entry| generation(&entry.name, extension));
        let mut found: Vec<u64> = numbers.collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Keeps damaged files for inspection: a snapshot is renamed, because only a limited number of good ones stay, and
    /// a journal gets a second name for the time after its removal.
    pub fn keep_damaged(&self, found: &FoundScene) {
        for (key, form) in &found.damaged_files {
            let path = self.place.shown(key);
            match self.place.set_aside(key, *form, DAMAGED) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    error!(path, "damaged, and cannot be kept: {error}");
                }
                _ => error!(path, "damaged; kept as .{DAMAGED}"),
            }
        }
    }

    fn shown(&self) -> String {
        self.place.shown(&self.key)
    }

    fn snapshot(&self, generation: u64) -> String {
        self.file(generation, SNAPSHOT)
    }

    fn journal(&self, generation: u64) -> String {
        self.file(generation, JOURNAL)
    }

    fn file(&self, generation: u64, extension: &str) -> String {
        key_below(&self.key, &file_name(generation, extension))
    }
}

impl FoundScene {
    /// Records a journal of which a part is unusable.
    fn harmed(&mut self, key: String, generation: u64, error: &impl fmt::Display) {
        self.damaged_files.push((key, FileForm::Appended));
        self.damage.push(format!("journal {generation} {error}"));
    }
}

fn file_name(generation: u64, extension: &str) -> String {
    format!("{generation}.{extension}")
}

/// Returns the generation of a file name if it has this extension.
fn generation(name: &str, extension: &str) -> Option<u64> {
    name.strip_suffix(extension)?.strip_suffix('.')?.parse().ok()
}

/// Returns the result of a read, or the file's damage.
///
/// # Errors
/// Returns an error if the content of the file is unknown: another version has written it, or the system does not
/// return a listed file. A temporary failure of a disk or network, or a lack of descriptors or memory, is no damage:
/// treating it as damage would drop the rest of the scene.
fn told<T>(read: Result<T, FileError>) -> Result<Result<T, FileError>, Unreadable> {
    match read {
        Err(FileError::Newer(newer)) => Err(newer.into()),
        Err(FileError::Io(error)) if !is_missing(&error) => Err(error.into()),
        told => Ok(told),
    }
}

/// Returns true if the system reports that there is no such file. A listed file is then lost.
fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Returns generation and first record of those journals that have an intact head.
fn first_records(journals: &[JournalHead]) -> impl Iterator<Item = (u64, u64)> {
    journals.iter().filter_map(|j| Some((j.generation, j.head.as_ref().ok()?.sequence)))
}
