//! Names and times of files, as far as systems differ in how they keep them.

use std::{
    fs::{File, Metadata},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// The file or folder that a path led to, to find out whether it still does: one that is open can be written to and flushed
/// when its name is long gone.
#[derive(Debug)]
pub struct NamedFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl NamedFile {
    /// `about`: of what the path leads to now.
    pub fn new(path: &Path, about: &Metadata) -> NamedFile {
        NamedFile { path: path.to_owned(), identity: identity(about) }
    }

    /// Whether the path still leads to it. One question to the system.
    ///
    /// # Errors
    /// `NotFound` when it leads to nothing or to another file; else the system's.
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

/// The time when it was made: its number on the volume is not to be had from a path.
#[cfg(windows)]
fn identity(about: &Metadata) -> (u64, u64) {
    use std::os::windows::fs::MetadataExt as _;
    (0, about.creation_time())
}

/// Makes the names in a folder last.
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(test)]
    injected::fail_when_asked(folder)?;
    File::open(folder)?.sync_all()
}

/// Nothing: no folder can be flushed on Windows. NTFS writes changes of names to its own journal in their order, and a
/// flush of any later file brings them to the disk; FAT keeps no such journal.
///
/// # Errors
/// When there is no such folder.
#[cfg(windows)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Also looked at, so that a folder that is not there is an error everywhere.
    if folder.metadata()?.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Since a file was last written, as far as its file system's clock and this machine's agree; `None` where that has no such
/// time. No change of a clock makes it negative.
pub fn age(about: &Metadata) -> Option<Duration> {
    Some(about.modified().ok()?.elapsed().unwrap_or_default())
}

/// Says of a file that it was changed now, by the clock of its file system, which may be another machine's; on Windows by
/// this machine's.
///
/// # Errors
/// The system's.
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

/// Failures that tests ask for, on their own thread.
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

    /// The next `n` times that this thread [makes the names in this folder last](super::sync_folder) fail.
    pub fn failing_syncs(folder: &Path, n: u32) {
        NEXT.set((folder.to_owned(), n));
    }

    /// Before the system is asked.
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
