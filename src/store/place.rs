//! Where scenes, claims and signs of life are: a folder, or a part of an object store.
//!
//! A key is names with `/` between them, below the place's root. A file is put whole, or is appended to: a journal. What is
//! appended to is one file in a folder, and a row of objects in an object store, as objects cannot grow.

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

/// What the store needs of where its files are. All of it waits for the disk or the network.
///
/// Whoever reads after a write has returned sees it, whoever lists too, on whatever machine: what is acknowledged rests on
/// that. POSIX promises it of a local disk, and S3 of reads, writes and lists since 2020.
///
/// An error of the kind [`io::ErrorKind::TimedOut`] says of a write that it may be made all the same, also later.
pub trait StorePlace: fmt::Debug + Send + Sync {
    /// A key as a person finds it.
    fn shown(&self, key: &str) -> String;

    /// What is right below a key, in no order; `None` when nothing was ever put there.
    ///
    /// # Errors
    /// The system's.
    fn list(&self, below: &str) -> io::Result<Option<Vec<PlaceEntry>>>;

    /// The same of many.
    ///
    /// # Errors
    /// The first.
    fn lists(&self, below: &[String]) -> io::Result<Vec<Option<Vec<PlaceEntry>>>> {
        below.iter().map(|key| self.list(key)).collect()
    }

    /// Bytes of all files below a key.
    ///
    /// # Errors
    /// The system's.
    fn bytes(&self, below: &str) -> io::Result<u64>;

    /// A file to read.
    ///
    /// # Errors
    /// The system's; `NotFound` when it is not there.
    fn open(&self, key: &str, form: FileForm) -> io::Result<PlaceFile>;

    /// The first `n` bytes of a file, or all of a shorter one. Of what is appended to: at most what it was begun with.
    ///
    /// # Errors
    /// As [`StorePlace::open`].
    fn head(&self, key: &str, form: FileForm, n: usize) -> io::Result<Vec<u8>>;

    /// Puts a file whole or not at all, in the place of one that is there; it lasts then. The parts follow each other.
    ///
    /// # Errors
    /// The system's.
    fn put(&self, key: &str, parts: &[&[u8]]) -> io::Result<()>;

    /// The same of one that need not last.
    ///
    /// # Errors
    /// The system's.
    fn put_fleeting(&self, key: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(key, &[bytes])
    }

    /// Puts a file whole, which lasts then, where there is none: of several who do, one gets `true`.
    ///
    /// # Errors
    /// The system's; it is not there then, unless the error is `TimedOut`.
    fn put_new(&self, key: &str, bytes: &[u8]) -> io::Result<bool>;

    /// Puts the first files below a key, where nothing is yet: the last one is there only if all are.
    ///
    /// # Errors
    /// The system's; what is left of them has no last one, unless the error is `TimedOut`.
    fn put_first(&self, below: &str, files: &[FirstFile<'_>]) -> io::Result<()>;

    /// Puts a file that is appended to, where there is none.
    ///
    /// # Errors
    /// The system's.
    fn begin(&self, key: &str, head: &[u8]) -> io::Result<Box<dyn Append>>;

    /// Goes on with one that [`StorePlace::put_first`] has put, and nobody has appended to.
    ///
    /// # Errors
    /// The system's.
    fn go_on(&self, key: &str) -> io::Result<Box<dyn Append>>;

    /// How often a file may be appended to before whoever reads it has to wait for long.
    fn appends_max(&self) -> u64 {
        u64::MAX
    }

    /// How many writes may be waited for at once.
    fn writes_at_once(&self) -> usize {
        1
    }

    /// What is now at a key, to find out later whether it is still there; `None` where nothing can take its place.
    ///
    /// # Errors
    /// The system's.
    fn named(&self, _key: &str) -> io::Result<Option<NamedFile>> {
        Ok(None)
    }

    /// Removes a file; it may be gone already.
    ///
    /// # Errors
    /// The system's.
    fn remove(&self, key: &str, form: FileForm) -> io::Result<()>;

    /// Makes removals below a key last.
    ///
    /// # Errors
    /// The system's.
    fn sync(&self, _below: &str) -> io::Result<()> {
        Ok(())
    }

    /// Removes what holds the files below a key, unless there is one.
    ///
    /// # Errors
    /// The system's.
    fn remove_empty(&self, _below: &str) -> io::Result<()> {
        Ok(())
    }

    /// Removes all files below a key, some of which may be gone already. They may be read until it is done.
    ///
    /// # Errors
    /// The system's; which of them are still there is for the place to say.
    fn remove_all(&self, below: &str) -> io::Result<()>;

    /// Keeps a damaged file under a second name with one more extension, for whoever wants to look at it. One that was put
    /// whole has only that name then.
    ///
    /// # Errors
    /// The system's; `AlreadyExists` when that name is taken.
    fn set_aside(&self, key: &str, form: FileForm, extension: &str) -> io::Result<()>;
}

/// A file that is appended to.
pub trait Append: fmt::Debug + Send + Sync {
    /// Returns when the bytes are there to stay.
    ///
    /// # Errors
    /// The system's, or as [`Append::check`]. Nothing may be appended any more.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Whether it is still in its place, where another could take that.
    ///
    /// # Errors
    /// `NotFound` when it is not: all that was appended is lost.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

/// How a file comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// Put whole.
    Whole,
    /// Begun, then appended to.
    Appended,
}

/// Something right below a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceEntry {
    /// Its name there.
    pub name: String,
    /// Whether something is below it.
    pub has_more: bool,
}

/// One of the first files below a key.
#[derive(Debug)]
pub struct FirstFile<'a> {
    /// Right below the key.
    pub name: String,
    /// How it goes on.
    pub form: FileForm,
    /// What is in it, one part after the other.
    pub parts: Vec<&'a [u8]>,
}

/// A file to read.
pub struct PlaceFile {
    /// At its first byte.
    pub from: Box<dyn ReadSeek>,
    /// Of all of it.
    pub bytes: u64,
    /// Since it was last written, by the clocks of both machines; `None` where the place does not say it.
    pub age: Option<Duration>,
}

/// What can be read from any byte on.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

impl fmt::Debug for PlaceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

/// The error of a write that may be made all the same.
pub(in crate::store) fn uncertain(error: io::Error) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, error)
}

/// A key below another; the root is the empty one.
pub fn key_below(key: &str, name: &str) -> String {
    if key.is_empty() { name.to_owned() } else { format!("{key}/{name}") }
}
