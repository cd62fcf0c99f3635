//! Store location in a folder of a file system.

use std::{
    fs::{self, File, Metadata},
    io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use tracing::warn;

use super::{Append, FileForm, FirstFile, PlaceEntry, PlaceFile, StorePlace, uncertain};
use crate::os::{
    lasting::{NamedFile, age, sync_folder},
    regular_file,
};

/// An existing folder.
#[derive(Debug)]
pub struct FolderPlace {
    root: PathBuf,
    /// Part of temporary names, which separates them from those of other servers.
    own: String,
    lock: FolderLock,
}

/// File whose lock makes a folder this process's own, if there is one: a different file at its path would be another
/// process's to lock.
#[derive(Clone, Debug, Default)]
struct FolderLock(Option<Arc<NamedFile>>);

/// Prefix of the names of temporary files and folders, which are being written or removed; no id begins with it.
pub const PASSING: &str = ".";
/// Extension of a file that is being written; its stem is the generation.
pub const TEMPORARY: &str = "tmp";

/// Number of new files that this process has put.
static PUTS: AtomicU64 = AtomicU64::new(0);

/// Maximum scenes whose changes are written concurrently. Each has a file and a sync of its own; file systems commit
/// concurrent syncs together, and a disk takes several in the time of one.
const WRITES_AT_ONCE: usize = 4;

impl FolderPlace {
    /// Creates the location. `own`: a name unique to this process, needed if several put new files.
    pub fn new(root: PathBuf, own: &str) -> FolderPlace {
        FolderPlace { root, own: own.to_owned(), lock: FolderLock::default() }
    }

    /// Refuses all writes once the locked file is not at its path any more.
    pub fn locked_by(self, lock: NamedFile) -> FolderPlace {
        FolderPlace { lock: FolderLock(Some(Arc::new(lock))), ..self }
    }

    fn end(&self, path: &Path, file: File, bytes: u64) -> io::Result<Box<dyn Append>> {
        let named = NamedFile::new(path, &file.metadata()?);
        let lock = self.lock.clone();
        let end = FileEnd { file, bytes, named, lock };
        end.check()?;
        Ok(Box::new(end))
    }

    fn path(&self, key: &str) -> PathBuf {
        if key.is_empty() { self.root.clone() } else { self.root.join(key) }
    }

    /// Returns a temporary path next to `path`, unique to it.
    fn passing(path: &Path, why: &str) -> PathBuf {
        let name = path.file_name().expect("a key has a name").to_string_lossy();
        path.with_file_name(format!("{PASSING}{why}{name}"))
    }
}

impl StorePlace for FolderPlace {
    fn shown(&self, key: &str) -> String {
        self.path(key).display().to_string()
    }

    fn list(&self, below: &str) -> io::Result<Option<Vec<PlaceEntry>>> {
        let entries = match fs::read_dir(self.path(below)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let has_more = entry.file_type()?.is_dir();
            found.extend(
                entry.file_name().into_string().ok().map(|n| PlaceEntry { name: n, has_more }),
            );
        }
        Ok(Some(found))
    }

    fn bytes(&self, below: &str) -> io::Result<u64> {
        fs::read_dir(self.path(below))?.map(|entry| Ok(entry?.metadata()?.len())).sum()
    }

    fn open(&self, key: &str, _: FileForm) -> io::Result<PlaceFile> {
        let (file, about) = opened(&self.path(key))?;
        let (bytes, age) = (about.len(), age(&about));
        Ok(PlaceFile { from: Box::new(BufReader::new(file)), bytes, age })
    }

    fn head(&self, key: &str, _: FileForm, n: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        opened(&self.path(key))?.0.take(n as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn put(&self, key: &str, parts: &[&[u8]]) -> io::Result<()> {
        self.lock.check()?;
        let path = self.path(key);
        let temporary = path.with_extension(TEMPORARY);
        let written = (|| {
            let mut file = overwritten(&temporary)?;
            parts.iter().try_for_each(|part| file.write_all(part))?;
            // The bytes are durable before the name, and the name before it is valid.
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            sync_folder(folder_of(&path))
        })();
        if written.is_err() {
            // Fails if the file could not be made or was renamed already.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn put_fleeting(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let passing = FolderPlace::passing(&path, "");
        match overwritten(&passing).and_then(|mut file| file.write_all(bytes)) {
            // The old file has its space on a full disk, on which everything but changes has to go on.
            Err(error) if is_full(&error) && path.is_file() => {
                let _ = fs::remove_file(&passing);
                let (mut file, _) = regular_file::open(&path, File::options().write(true))?;
                file.write_all(bytes)?;
                file.set_len(bytes.len() as u64)
            }
            written => written.and_then(|()| fs::rename(&passing, path)),
        }
    }

    fn put_new(&self, key: &str, bytes: &[u8]) -> io::Result<bool> {
        let path = self.path(key);
        let folder = folder_of(&path);
        fs::create_dir_all(folder)?;
        let name = path.file_name().expect("a key has a name").to_string_lossy();
        // Several threads may put the same file concurrently: each writes a temporary file of its own.
        let number = PUTS.fetch_add(1, Relaxed);
        let passing = folder.join(format!("{PASSING}{name}-{}-{number}", self.own));
        let mut file = File::create_new(&passing)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        // Hard links are atomic, and never replace another file.
        let put = written.map(|()| fs::hard_link(&passing, &path));
        // If removal fails, the file is ignored.
        let _ = fs::remove_file(&passing);
        let lasting = || sync_folder(folder).and_then(|()| sync_folder(folder_of(folder)));
        match put? {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // On a network file system, also after a link that was requested and not answered.
            linked => linked.and_then(|()| lasting()).map_err(uncertain).map(|()| true),
        }
    }

    /// Writes a folder under a temporary name, and renames it when it is complete.
    fn put_first(&self, below: &str, files: &[FirstFile<'_>]) -> io::Result<()> {
        self.lock.check()?;
        let path = self.path(below);
        let first = files.first().expect("there are some");
        let passing = FolderPlace::passing(&path, &format!("new-{}-", first.name));
        // Left by a try that failed, and whose files could not be removed then.
        let _ = fs::remove_dir_all(&passing);
        let made = (|| {
            fs::create_dir(&passing)?;
            for file in files {
                let mut to = File::create_new(passing.join(&file.name))?;
                file.parts.iter().try_for_each(|part| to.write_all(part))?;
                to.sync_all()?;
            }
            sync_folder(&passing)?;
            fs::rename(&passing, &path)
        })();
        if made.is_err() {
            // Fails if the folder could not be made.
            let _ = fs::remove_dir_all(&passing);
            return made;
        }
        sync_folder(folder_of(&path)).map_err(|failed| match unmade(&path, files) {
            Ok(()) => failed,
            Err(error) => uncertain(error),
        })
    }

    fn begin(&self, key: &str, head: &[u8]) -> io::Result<Box<dyn Append>> {
        self.lock.check()?;
        let path = self.path(key);
        let mut file = File::create_new(&path)?;
        let written = (|| {
            file.write_all(head)?;
            file.sync_all()?;
            sync_folder(folder_of(&path))
        })();
        if let Err(error) = written {
            // Nothing was appended: a file that stays changes nothing.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        self.end(&path, file, head.len() as u64)
    }

    fn go_on(&self, key: &str) -> io::Result<Box<dyn Append>> {
        let path = self.path(key);
        let (mut file, _) = regular_file::open(&path, File::options().write(true))?;
        let bytes = file.seek(SeekFrom::End(0))?;
        self.end(&path, file, bytes)
    }

    fn named(&self, key: &str) -> io::Result<Option<NamedFile>> {
        let path = self.path(key);
        Ok(Some(NamedFile::new(&path, &path.metadata()?)))
    }

    fn writes_at_once(&self) -> usize {
        WRITES_AT_ONCE
    }

    fn remove(&self, key: &str, _: FileForm) -> io::Result<()> {
        self.lock.check()?;
        gone(fs::remove_file(self.path(key)))
    }

    fn sync(&self, below: &str) -> io::Result<()> {
        sync_folder(&self.path(below))
    }

    fn remove_empty(&self, below: &str) -> io::Result<()> {
        match fs::remove_dir(self.path(below)) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            done => gone(done),
        }
    }

    /// Removes atomically and durably: after an error all files are still there, durably. After an error of kind
    /// `TimedOut` a power cut decides whether they are; a repeated call continues. None of the files may be open:
    /// Windows would refuse.
    fn remove_all(&self, below: &str) -> io::Result<()> {
        self.lock.check()?;
        let path = self.path(below);
        let passing = FolderPlace::passing(&path, "gone-");
        // The path does not exist if an earlier try came this far: its files must stay until the removal of their name
        // is durable.
        if fs::exists(&path)? {
            // Left by an earlier removal under the same name, whose files could not be removed then.
            let _ = fs::remove_dir_all(&passing);
            fs::rename(&path, &passing)?;
        }
        let around = folder_of(&path);
        sync_folder(around).map_err(|failed| {
            let put_back = fs::rename(&passing, &path).and_then(|()| sync_folder(around));
            put_back.map_or_else(uncertain, |()| failed)
        })?;
        // Remaining files are removed when the store is opened the next time.
        gone(fs::remove_dir_all(&passing)).or_else(|error| {
            warn!(folder = %passing.display(), "a deleted scene's files stay for now: {error}");
            Ok(())
        })
    }

    /// An appended file keeps its name too, until that is removed.
    fn set_aside(&self, key: &str, form: FileForm, extension: &str) -> io::Result<()> {
        let path = self.path(key);
        let to = self.path(&format!("{key}.{extension}"));
        match form {
            FileForm::Whole => fs::rename(&path, &to),
            FileForm::Appended => fs::hard_link(&path, &to),
        }
    }
}

/// End of a file, for appending.
#[derive(Debug)]
struct FileEnd {
    file: File,
    /// Number of complete bytes on the disk.
    bytes: u64,
    named: NamedFile,
    lock: FolderLock,
}

impl FolderLock {
    /// Checks that the folder is still this process's own.
    fn check(&self) -> io::Result<()> {
        // Error kind other than that of a missing file: the folder's files are not lost.
        let moved = |error| {
            let why =
                "the data folder was moved, removed or replaced, or another server may have it";
            io::Error::other(format!("{error}: {why}"))
        };
        self.0.as_ref().map_or(Ok(()), |lock| lock.check().map_err(moved))
    }
}

impl Append for FileEnd {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        // An open file accepts writes and a flush even after its name is gone.
        let written = written.and_then(|()| self.check());
        match written {
            Ok(()) => self.bytes += bytes.len() as u64,
            // Bytes that were written already are cut off if possible.
            Err(_) => drop(self.file.set_len(self.bytes)),
        }
        written
    }

    fn check(&self) -> io::Result<()> {
        self.lock.check()?;
        self.named.check()
    }
}

/// Opens a file to read. Anything but a regular file counts as missing.
fn opened(path: &Path) -> io::Result<(File, Metadata)> {
    regular_file::open(path, File::options().read(true)).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => io::ErrorKind::NotFound.into(),
        _ => error,
    })
}

/// Opens a file to write from its beginning. Anything else with its name is removed.
fn overwritten(path: &Path) -> io::Result<File> {
    let open = || {
        regular_file::open(path, File::options().create(true).truncate(true).write(true))
            .map(|(file, _)| file)
    };
    open().or_else(|error| {
        let is_other = fs::symlink_metadata(path).is_ok_and(|about| !about.is_file());
        if is_other { fs::remove_file(path).and_then(|()| open()) } else { Err(error) }
    })
}

/// Ignores a missing file: another process may have removed it.
fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes the first files of a folder, the last one first: the remaining files are no scene unless the last one is
/// there. Removes them by name, because another server may have taken over the scene since, with files of its own.
fn unmade(path: &Path, files: &[FirstFile<'_>]) -> io::Result<()> {
    files.iter().rev().try_for_each(|file| gone(fs::remove_file(path.join(&file.name))))?;
    fs::remove_dir(path)?;
    sync_folder(folder_of(path))
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().expect("below the place's root")
}

#[cfg(all(test, unix))]
mod tests;
