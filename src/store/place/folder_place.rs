//! A folder of a file system as a place.

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

/// A folder that is there.
#[derive(Debug)]
pub struct FolderPlace {
    root: PathBuf,
    /// Sets its passing files apart from those of other servers.
    own: String,
    lock: FolderLock,
}

/// The file whose lock makes a folder this process's, if there is one: another in its place is another's to lock.
#[derive(Clone, Debug, Default)]
struct FolderLock(Option<Arc<NamedFile>>);

/// How the name of a file or folder begins that is on its way to its name, or to its end: no id begins with it.
pub const PASSING: &str = ".";
/// Of a file on its way to its name, which its generation tells.
pub const TEMPORARY: &str = "tmp";

/// Files that this process has put where there was none.
static PUTS: AtomicU64 = AtomicU64::new(0);

/// Scenes whose changes are written at once. Each has a file and a sync of its own; file systems commit those that come
/// together in one, and a disk takes several in the time of one.
const WRITES_AT_ONCE: usize = 4;

impl FolderPlace {
    /// `own`: of this process alone, where several put new files.
    pub fn new(root: PathBuf, own: &str) -> FolderPlace {
        FolderPlace { root, own: own.to_owned(), lock: FolderLock::default() }
    }

    /// The same, into which nothing is written once the locked file is not in its place.
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

    /// Beside a path, and of no other.
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
            // The bytes before the name, and the name before it counts.
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            sync_folder(folder_of(&path))
        })();
        if written.is_err() {
            // Not there when it could not be made or was renamed.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn put_fleeting(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(key);
        let passing = FolderPlace::passing(&path, "");
        match overwritten(&passing).and_then(|mut file| file.write_all(bytes)) {
            // The old one has room on a full disk, where all has to go on but changes.
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
        // Several threads may put the same file at once: each writes one of its own.
        let number = PUTS.fetch_add(1, Relaxed);
        let passing = folder.join(format!("{PASSING}{name}-{}-{number}", self.own));
        let mut file = File::create_new(&passing)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        // A hard link is made whole or not at all, and never over another file.
        let put = written.map(|()| fs::hard_link(&passing, &path));
        // Should it stay, it is nobody's.
        let _ = fs::remove_file(&passing);
        let lasting = || sync_folder(folder).and_then(|()| sync_folder(folder_of(folder)));
        match put? {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // On a network's file system, also of a link that was asked for and not answered.
            linked => linked.and_then(|()| lasting()).map_err(uncertain).map(|()| true),
        }
    }

    /// A folder that is renamed when all is in it.
    fn put_first(&self, below: &str, files: &[FirstFile<'_>]) -> io::Result<()> {
        self.lock.check()?;
        let path = self.path(below);
        let first = files.first().expect("there are some");
        let passing = FolderPlace::passing(&path, &format!("new-{}-", first.name));
        // Of a try that failed, and whose files could not be removed then.
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
            // Not there when it could not be made.
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
            // Nothing was appended: should it stay, it changes nothing.
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

    /// At once and for good: all of it is still there after an error, and lasts. After one that is `TimedOut` a power cut
    /// decides whether it is; asked again, this goes on. None of the files may be open: Windows would refuse.
    fn remove_all(&self, below: &str) -> io::Result<()> {
        self.lock.check()?;
        let path = self.path(below);
        let passing = FolderPlace::passing(&path, "gone-");
        // It is not when an earlier try came so far: its files must stay until it is known that their name is gone.
        if fs::exists(&path)? {
            // Of one of the same name, whose files could not be removed then.
            let _ = fs::remove_dir_all(&passing);
            fs::rename(&path, &passing)?;
        }
        let around = folder_of(&path);
        sync_folder(around).map_err(|failed| {
            let put_back = fs::rename(&passing, &path).and_then(|()| sync_folder(around));
            put_back.map_or_else(uncertain, |()| failed)
        })?;
        // What is left of it goes when the store is opened the next time.
        gone(fs::remove_dir_all(&passing)).or_else(|error| {
            warn!(folder = %passing.display(), "a deleted scene's files stay for now: {error}");
            Ok(())
        })
    }

    /// What is appended to keeps its name too, for when that is removed.
    fn set_aside(&self, key: &str, form: FileForm, extension: &str) -> io::Result<()> {
        let path = self.path(key);
        let to = self.path(&format!("{key}.{extension}"));
        match form {
            FileForm::Whole => fs::rename(&path, &to),
            FileForm::Appended => fs::hard_link(&path, &to),
        }
    }
}

/// The end of a file.
#[derive(Debug)]
struct FileEnd {
    file: File,
    /// Whole and on the disk.
    bytes: u64,
    named: NamedFile,
    lock: FolderLock,
}

impl FolderLock {
    /// Whether the folder is still this process's.
    fn check(&self) -> io::Result<()> {
        // Of another kind than that of a file that is missing: what is in the folder is not lost.
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
        // An open file takes bytes, and a flush, when nobody will find it any more.
        let written = written.and_then(|()| self.check());
        match written {
            Ok(()) => self.bytes += bytes.len() as u64,
            // What is in it already is cut off where that is possible.
            Err(_) => drop(self.file.set_len(self.bytes)),
        }
        written
    }

    fn check(&self) -> io::Result<()> {
        self.lock.check()?;
        self.named.check()
    }
}

/// A file to read. Anything else of its name is as good as none.
fn opened(path: &Path) -> io::Result<(File, Metadata)> {
    regular_file::open(path, File::options().read(true)).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => io::ErrorKind::NotFound.into(),
        _ => error,
    })
}

/// A file to write from its beginning. Whatever else has its name goes.
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

/// Whoever else was about to remove it may have done so.
fn gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes the first files of a folder, the last one first: what is left after an error is no scene unless that is there.
/// By their names, as another server may have taken the scene over since it was there, with files of its own.
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
