//! The files of one scene: how they come and go, and what they add up to.

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

/// The folder of one scene, or what stands for it in an object store.
#[derive(Clone, Debug)]
pub struct SceneFolder {
    place: Arc<dyn StorePlace>,
    /// The scene's id.
    key: String,
    /// The folder that was read or made: changes to what was read are of no use in another.
    home: Arc<OnceLock<NamedFile>>,
}

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
    /// Since that was written, where the place says it.
    pub snapshot_age: Option<Duration>,
    /// Those since.
    pub n_journals: u64,
    /// Of their records.
    pub journal_bytes: u64,
    /// What was damaged, in words: changes may be lost when it was a journal.
    pub damage: Vec<String>,
    damaged_files: Vec<(String, FileForm)>,
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

/// What a snapshot and the journals since give.
enum ReadFrom {
    Scene(Box<FoundScene>),
    /// The snapshot is, in words.
    Damaged(String),
    /// It is of an owner that was stopped, and wrote on when another had taken the scene over.
    Stale,
}

/// How a journal begins.
struct JournalHead {
    generation: u64,
    head: Result<FileHead, FileError>,
}

const SNAPSHOT: &str = "snapshot";
const JOURNAL: &str = "journal";
/// Of files that were found damaged, and are kept for whoever wants to look at them.
const DAMAGED: &str = "damaged";
/// A scene is read so often while its files go; no server writes snapshots as fast as one is read.
const LIVE_READS_MAX: usize = 5;

impl SceneFolder {
    pub(super) fn new(place: &Arc<dyn StorePlace>, id: &str) -> SceneFolder {
        SceneFolder { place: Arc::clone(place), key: id.to_owned(), home: Arc::default() }
    }

    fn note_home(&self) -> io::Result<()> {
        if self.home.get().is_none()
            && let Some(home) = self.place.named(&self.key)?
        {
            // An error: another thread was first.
            let _ = self.home.set(home);
        }
        Ok(())
    }

    /// Makes it, with a first snapshot and an empty journal of a generation. It is a scene once the snapshot is there.
    ///
    /// # Errors
    /// The system's; there is no scene then, unless the error is `TimedOut`.
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
            // Of this epoch alone: files of a later one are those of a server that has taken the scene over.
            let removed = self.remove_before(epoch_of(generation) + 1);
            removed.and_then(|()| self.place.sync("")).map_or_else(uncertain, |()| failed)
        })?;
        Ok(JournalFile::begun(end, head, 0))
    }

    /// Takes it away for good. None of its files may be open.
    ///
    /// # Errors
    /// The system's; in a folder of the file system all of it is there then, unless the error is `TimedOut`.
    pub fn remove(&self) -> io::Result<()> {
        self.place.remove_all(&self.key)
    }

    /// Takes away all that owners before an epoch have left of it. What they may still be about to remove or to write is
    /// nothing that is made from that epoch on.
    ///
    /// # Errors
    /// The system's; some of it may be there still, which nobody reads.
    pub fn remove_before(&self, epoch: u64) -> io::Result<()> {
        for PlaceEntry { name, has_more } in self.place.list(&self.key)?.unwrap_or_default() {
            let number = name.split('.').next().and_then(|n| n.parse::<u64>().ok());
            if number.is_none_or(|generation| generation < first_generation(epoch)) {
                let form = if has_more { FileForm::Appended } else { FileForm::Whole };
                self.place.remove(&key_below(&self.key, &name), form)?;
            }
        }
        // There may be something of a later epoch in it.
        self.place.remove_empty(&self.key)
    }

    /// The greatest epoch of its files; 0 when there are none, or none that was shared.
    ///
    /// # Errors
    /// The system's.
    pub fn newest_epoch(&self) -> io::Result<u64> {
        Ok(self.all_generations()?.iter().flatten().max().map_or(0, |g| epoch_of(*g)))
    }

    /// Whether there is such a folder.
    ///
    /// # Errors
    /// The system's.
    pub fn is_there(&self) -> io::Result<bool> {
        Ok(self.place.list(&self.key)?.is_some())
    }

    /// Whether there is no snapshot, and no record: whoever claimed the id came to its end before the scene was there, or
    /// the files are away.
    ///
    /// # Errors
    /// The system's.
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

    /// How often a journal may be appended to before a snapshot is due.
    pub fn appends_max(&self) -> u64 {
        self.place.appends_max()
    }

    /// Bytes of all its files.
    ///
    /// # Errors
    /// The system's.
    pub fn bytes(&self) -> io::Result<u64> {
        self.place.bytes(&self.key)
    }

    /// Goes on with a scene that was read, with files of an epoch of its own: what the owners before it still write is
    /// not read any more. Returns the journal and its generation. Where servers share the scene, the caller's claim was the
    /// newest after it was read.
    ///
    /// # Errors
    /// The system's, or when there are files of a later owner; nothing has changed for who reads the files then.
    pub fn take_over(&self, found: &FoundScene, epoch: u64) -> io::Result<(JournalFile, u64)> {
        let generation = next_generation(epoch, found.generation).map_err(io::Error::other)?;
        let journal = self.begin_journal(generation, found.next_sequence)?;
        self.write_snapshot(&found.kept, generation, found.next_sequence)?;
        Ok((journal, generation))
    }

    /// A journal that goes on after all others.
    ///
    /// # Errors
    /// The system's; there is no such file then.
    pub fn begin_journal(&self, generation: u64, sequence: u64) -> io::Result<JournalFile> {
        if let Some(home) = self.home.get() {
            home.check().map_err(io::Error::other)?;
        }
        JournalFile::create(&*self.place, &self.journal(generation), (generation, sequence))
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
        let key = self.snapshot(generation);
        let bytes = snapshot.write(&*self.place, &key, (generation, sequence))?;
        if let Err(error) = self.tidy() {
            warn!(folder = self.shown(), "old files of a scene stay: {error}");
        }
        Ok(bytes)
    }

    /// The scene of all files that count. Changes nothing.
    ///
    /// # Errors
    /// When no snapshot can be read, a file is of a later version, or the store does not give what it lists.
    pub fn read(&self) -> Result<FoundScene, Unreadable> {
        // Not there: neither is there a snapshot.
        let _ = self.note_home();
        let [snapshots, journals] = self.all_generations()?;
        let (mut damage, mut damaged_files) = (Vec::new(), Vec::new());
        for generation in snapshots.iter().rev().copied() {
            match self.read_from(generation, &journals)? {
                ReadFrom::Scene(mut scene) => {
                    scene.generation = scene.generation.max(snapshots.last().copied().unwrap_or(0));
                    // What was found first is told first.
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

    /// The scene of a snapshot and all journals since.
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
        // It was begun before the snapshot, and is removed with it.
        if !journals.contains(&generation) {
            scene.damage.push(format!("journal {generation} is missing"));
        }
        self.replay(since, &mut scene)?;
        Ok(ReadFrom::Scene(Box::new(scene)))
    }

    /// What is damaged of all its files, those too that are kept for when newer ones are, and whether two servers wrote.
    /// Changes nothing.
    ///
    /// # Errors
    /// As [`SceneFolder::read`].
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

    /// Generation and first record of all journals whose head is good.
    pub(super) fn first_records(&self) -> Result<Vec<(u64, u64)>, Unreadable> {
        Ok(first_records(&self.heads(self.generations(JOURNAL)?.into_iter())?).collect())
    }

    /// A journal to read; `None` when it does not begin as one.
    pub(super) fn open_journal(&self, n: u64) -> Result<Option<JournalReader>, Unreadable> {
        let read = JournalReader::open(&*self.place, &self.journal(n));
        Ok(told(read)?.ok())
    }

    /// The same while a server may go on with the scene, which removes files that a newer snapshot has made needless: what
    /// is read is the scene at some moment since the call.
    ///
    /// # Errors
    /// As [`SceneFolder::read`]; also of a scene that is deleted meanwhile.
    pub fn read_live(&self) -> Result<FoundScene, Unreadable> {
        self.settled(|| self.read(), |found| found.damage.is_empty())
    }

    /// As [`SceneFolder::damage`] while a server may go on with the scene.
    ///
    /// # Errors
    /// As [`SceneFolder::read_live`].
    pub fn damage_live(&self) -> Result<Vec<String>, Unreadable> {
        self.settled(|| self.damage(), Vec::is_empty)
    }

    /// Looks again where something was wrong and files have come or gone meanwhile.
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

    /// Of all snapshots and journals.
    fn all_generations(&self) -> io::Result<[Vec<u64>; 2]> {
        Ok([self.generations(SNAPSHOT)?, self.generations(JOURNAL)?])
    }

    /// How journals begin.
    fn heads(&self, journals: impl Iterator<Item = u64>) -> io::Result<Vec<JournalHead>> {
        let head = |generation| {
            let head = self.head(FileKind::Journal, generation)?;
            Ok(JournalHead { generation, head })
        };
        journals.map(head).collect()
    }

    /// How a file begins, or how that is damaged.
    ///
    /// # Errors
    /// When that cannot be told.
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

    /// Makes the changes of journals, up to the first that is missing or no change. One journal is open at a time: a scene
    /// may have many.
    fn replay(&self, heads: Vec<JournalHead>, scene: &mut FoundScene) -> Result<(), Unreadable> {
        let n = heads.len();
        let mut journals = Vec::new();
        for (at, JournalHead { generation, head }) in heads.into_iter().enumerate() {
            match head {
                Ok(head) => journals.push((generation, head.sequence)),
                Err(FileError::Newer(newer)) => return Err(newer.into()),
                // A journal lasts before the first record is added to it.
                Err(FileError::Torn { .. }) if at + 1 == n => {
                    info!(folder = self.shown(), "journal {generation} has no head yet");
                }
                Err(error) => scene.harmed(self.journal(generation), generation, &error),
            }
        }
        let mut changes = JournalReplay::default();
        let mut made = Ok(());
        for (generation, first) in journals.iter().copied() {
            // Not only the next one's: a stale owner may have begun another after it was taken over.
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
            // What follows was made for another scene than is left.
            scene.next_sequence = sequence;
        }
        Ok(())
    }

    /// Makes the changes of a journal before the number `end`.
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
                // The next journal goes on here: what could not be written was never acknowledged.
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

    /// Removes all that the newest snapshots do not need.
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
        // Temporary ones: not those of a later owner, who is about to give them their names.
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

    /// Ascending.
    fn generations(&self, extension: &str) -> io::Result<Vec<u64>> {
        let entries = self.place.list(&self.key)?.unwrap_or_default();
        let numbers = entries.iter().filter_map(|entry| generation(&entry.name, extension));
        let mut found: Vec<u64> = numbers.collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Keeps what was found damaged for whoever wants to look at it: a snapshot out of the way of the good ones, of which
    /// only so many stay, a journal under a second name for when the first is removed.
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

    /// For people.
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
    /// A journal of which something is of no use.
    fn harmed(&mut self, key: String, generation: u64, error: &impl fmt::Display) {
        self.damaged_files.push((key, FileForm::Appended));
        self.damage.push(format!("journal {generation} {error}"));
    }
}

fn file_name(generation: u64, extension: &str) -> String {
    format!("{generation}.{extension}")
}

/// Of a file of this name, when it has this extension.
fn generation(name: &str, extension: &str) -> Option<u64> {
    name.strip_suffix(extension)?.strip_suffix('.')?.parse().ok()
}

/// What was read, or how it is damaged.
///
/// # Errors
/// When nothing is known of what is in the file: another version has written it, or the system does not give what is there
/// according to its list. A disk or a network that fails now, or a process that has no descriptor or memory left, is no
/// damage: who took it for that would go on without the rest of the scene.
fn told<T>(read: Result<T, FileError>) -> Result<Result<T, FileError>, Unreadable> {
    match read {
        Err(FileError::Newer(newer)) => Err(newer.into()),
        Err(FileError::Io(error)) if !is_missing(&error) => Err(error.into()),
        told => Ok(told),
    }
}

/// Whether the system says that there is no such file. One that was listed is lost then.
fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Generation and first record of those journals whose head is good.
fn first_records(journals: &[JournalHead]) -> impl Iterator<Item = (u64, u64)> {
    journals.iter().filter_map(|j| Some((j.generation, j.head.as_ref().ok()?.sequence)))
}
