//! Identity, durability and modification times of files, as far as systems differ.

use std::{
    fs::{File, Metadata},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// Identity of the file or folder at a path, to check whether the path still leads to it: an open file can be written
/// and flushed long after its name is gone.
#[derive(Debug)]
pub struct NamedFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl NamedFile {
    /// Creates the identity from `about`, the metadata of the path now.
    pub fn new(path: &Path, about: &Metadata) -> NamedFile {
        NamedFile { path: path.to_owned(), identity: identity(about) }
    }

    /// Checks that the path still leads to the file. One system call.
    ///
    /// # Errors
    /// `NotFound` if it leads to nothing or to another file; otherwise the error of the system.
    pub fn check(&self) -> io::Result<()> {
        use io::ErrorKind::{NotADirectory, NotFound};
        let path = self.path.display();
        match self.path.metadata() {
            Ok(about) if identity(&about) == self.identity => Ok(()),
            Err(error) if !matches!(error.kind(), NotFound | NotADirectory) => {
                Err(io::Error::new(error.kind(), format!("{path}: {error}")))
            }
            _ => Err(io::Error::new(
                NotFound,
                format!(
                    "{path} is gone or another file, expected the one that this server has open"
                ),
            )),
        }
    }
}

#[cfg(unix)]
fn identity(about: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (about.dev(), about.ino())
}

/// Creation time: the file's index on the volume cannot be read from a path.
#[cfg(windows)]
fn identity(about: &Metadata) -> (u64, u64) {
    use std::os::windows::fs::MetadataExt as _;
    (0, about.creation_time())
}

/// Flushes the names in a folder to the disk.
///
/// # Errors
/// Errors of the system.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(test)]
    injected::fail_when_asked(folder)?;
    File::open(folder)?.sync_all()
}

/// Does nothing: Windows cannot flush a folder. NTFS writes name changes to its own journal in order, and a flush of
/// any later file brings them to the disk; FAT has no such journal.
///
/// # Errors
/// Returns an error if there is no such folder.
#[cfg(windows)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // The check makes a missing folder an error on every system.
    if folder.metadata()?.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Time since a file was last written, as far as the clocks of its file system and this machine agree; `None` if the
/// file system has no such time. Never negative, even after a clock change.
pub fn age(about: &Metadata) -> Option<Duration> {
    Some(about.modified().ok()?.elapsed().unwrap_or_default())
}

/// Sets the modification time of a file to now, by the clock of its file system, which may be another machine's; on
/// Windows by this machine's clock.
///
/// # Errors
/// Errors of the system.
pub fn note_change(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, futimens};
        let time = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
        let now = Timestamps { last_access: time(UTIME_OMIT), last_modification: time(UTIME_NOW) };
        Ok(futimens(file, &now)?)
    }
    #[cfg(windows)]
    file.set_modified(std::time::SystemTime::now())
}

/// Failures that tests inject on their own thread.
#[cfg(all(test, unix))]
pub mod injected {
    use std::{
        cell::RefCell,
        io,
        path::{Path, PathBuf},
    };

    thread_local! {
        static NEXT: RefCell<(PathBuf, u32)> = const { RefCell::new((PathBuf::new(), 0)) };
    }

    /// Makes the next `n` calls of this thread that [flush the names in this folder](super::sync_folder) fail.
    pub fn failing_syncs(folder: &Path, n: u32) {
        NEXT.set((folder.to_owned(), n));
    }

    /// Fails if a failure was injected; called before the system call.
    pub fn fail_when_asked(folder: &Path) -> io::Result<()> {
        NEXT.with_borrow_mut(|(of, left)| {
            if *left == 0 || of != folder {
                return Ok(());
            }
            *left -= 1;
            Err(io::Error::other("injected"))
        })
    }
}
