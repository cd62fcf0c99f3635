//! Storage of scenes, claims and heartbeats: a folder, or a part of an object store.
//!
//! A key consists of names separated by `/`, below the location's root. A file is either put whole, or appended to,
//! like a journal. An appended file is one file in a folder, and a row of objects in an object store, because objects
//! cannot grow.

pub mod folder_place;
#[cfg(feature = "objects")]
pub mod object_address;
#[cfg(feature = "objects")]
mod object_client;
#[cfg(feature = "objects")]
pub mod object_place;
#[cfg(feature = "objects")]
mod object_requests;
#[cfg(feature = "objects")]
mod object_row;

use std::{
    fmt,
    io::{self, Read, Seek},
    time::Duration,
};

use crate::os::lasting::NamedFile;

/// Operations that the store needs of its storage location. All of them block on the disk or the network.
///
/// Reads and lists after a finished write see it, on any machine: the validity of acknowledgements rests on that. POSIX
/// guarantees it for a local disk, and S3 for reads, writes and lists since 2020.
///
/// An error of kind [`io::ErrorKind::TimedOut`] means that a write may still take effect, also later.
pub trait StorePlace: fmt::Debug + Send + Sync {
    /// Returns a key in readable form.
    fn shown(&self, key: &str) -> String;

    /// Lists the entries right below a key, in no order; `None` if nothing was ever put there.
    ///
    /// # Errors
    /// Errors of the system.
    fn list(&self, below: &str) -> io::Result<Option<Vec<PlaceEntry>>>;

    /// Lists the entries below several keys, as [`StorePlace::list`].
    ///
    /// # Errors
    /// The first error.
    fn lists(&self, below: &[String]) -> io::Result<Vec<Option<Vec<PlaceEntry>>>> {
        below.iter().map(|key| self.list(key)).collect()
    }

    /// Returns the bytes of all files below a key.
    ///
    /// # Errors
    /// Errors of the system.
    fn bytes(&self, below: &str) -> io::Result<u64>;

    /// Opens a file to read.
    ///
    /// # Errors
    /// Errors of the system; `NotFound` if the file does not exist.
    fn open(&self, key: &str, form: FileForm) -> io::Result<PlaceFile>;

    /// Reads the first `n` bytes of a file, or all of a shorter one. For an appended file: at most the bytes that it
    /// was begun with.
    ///
    /// # Errors
    /// Errors of [`StorePlace::open`].
    fn head(&self, key: &str, form: FileForm, n: usize) -> io::Result<Vec<u8>>;

    /// Puts a file atomically and durably, replacing an existing one. The file is the concatenation of the parts.
    ///
    /// # Errors
    /// Errors of the system.
    fn put(&self, key: &str, parts: &[&[u8]]) -> io::Result<()>;

    /// Puts a file that need not be durable, replacing an existing one.
    ///
    /// # Errors
    /// Errors of the system.
    fn put_fleeting(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(key, &[bytes])
    }

    /// Puts a whole file durably if there is none: of several concurrent callers one gets `true`.
    ///
    /// # Errors
    /// Errors of the system; the file then does not exist, unless the error is `TimedOut`.
    fn put_new(&self, key: &str, bytes: &[u8]) -> io::Result<bool>;

    /// Puts the first files below an empty key: the last one exists only if all do.
    ///
    /// # Errors
    /// Errors of the system; the remaining files then lack the last one, unless the error is `TimedOut`.
    fn put_first(&self, below: &str, files: &[FirstFile<'_>]) -> io::Result<()>;

    /// Begins a file that is appended to, if there is none.
    ///
    /// # Errors
    /// Errors of the system.
    fn begin(&self, key: &str, head: &[u8]) -> io::Result<Box<dyn Append>>;

    /// Continues a file that [`StorePlace::put_first`] has put, and nobody has appended to.
    ///
    /// # Errors
    /// Errors of the system.
    fn go_on(&self, key: &str) -> io::Result<Box<dyn Append>>;

    /// Returns the number of appends after which readers of a file have to wait for long.
    fn appends_max(&self) -> u64 {
        u64::MAX
    }

    /// Returns the maximum number of writes that may be awaited concurrently.
    fn writes_at_once(&self) -> usize {
        1
    }

    /// Returns the identity of the file at a key, to check later that it is still there; `None` if nothing can replace
    /// it.
    ///
    /// # Errors
    /// Errors of the system.
    fn named(&self, _key: &str) -> io::Result<Option<NamedFile>> {
        Ok(None)
    }

    /// Removes a file; it may be gone already.
    ///
    /// # Errors
    /// Errors of the system.
    fn remove(&self, key: &str, form: FileForm) -> io::Result<()>;

    /// Makes removals below a key durable.
    ///
    /// # Errors
    /// Errors of the system.
    fn sync(&self, _below: &str) -> io::Result<()> {
        Ok(())
    }

    /// Removes the container of the files below a key, unless it holds a file.
    ///
    /// # Errors
    /// Errors of the system.
    fn remove_empty(&self, _below: &str) -> io::Result<()> {
        Ok(())
    }

    /// Removes all files below a key, some of which may be gone already. The files may be read until the removal is
    /// done.
    ///
    /// # Errors
    /// Errors of the system; each implementation documents which files then remain.
    fn remove_all(&self, below: &str) -> io::Result<()>;

    /// Keeps a damaged file for inspection, under a second name with one more extension. A file that was put whole
    /// keeps only that name.
    ///
    /// # Errors
    /// Errors of the system; `AlreadyExists` if that name is taken.
    fn set_aside(&self, key: &str, form: FileForm, extension: &str) -> io::Result<()>;
}

/// Writer of an appended file.
pub trait Append: fmt::Debug + Send + Sync {
    /// Appends bytes, and returns when they are durable.
    ///
    /// # Errors
    /// Errors of the system, or those of [`Append::check`]. Nothing may be appended after an error.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Checks that the file is still at its path, if another file could replace it.
    ///
    /// # Errors
    /// `NotFound` if it is not: all appended bytes are lost.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Form in which a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// Put as a whole.
    Whole,
    /// Begun, then appended to.
    Appended,
}

/// Entry right below a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceEntry {
    /// Name of the entry.
    pub name: String,
    /// True if there are entries below this one.
    pub has_more: bool,
}

/// A first file below a key.
#[derive(Debug)]
pub struct FirstFile<'a> {
    /// Name right below the key.
    pub name: String,
    /// Form in which the file is written from then on.
    pub form: FileForm,
    /// Content, as parts to concatenate.
    pub parts: Vec<&'a [u8]>,
}

/// A file to read.
pub struct PlaceFile {
    /// Reader, at the first byte.
    pub from: Box<dyn ReadSeek>,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Time since the last write, by the clocks of both machines; `None` if the location does not report it.
    pub age: Option<Duration>,
}

/// A reader that can seek.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

impl fmt::Debug for PlaceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

/// Returns the error of a write that may still take effect.
pub(in crate::store) fn uncertain(error: io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, error)
}

/// Joins a key and a name; the empty key is the root.
pub fn key_below(key: &str, name: &str) -> String {
    if key.is_empty() { name.to_owned() } else { format!("{key}/{name}") }
}
