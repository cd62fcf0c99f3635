//! Tests of a store that temporarily fails to return its files: the failure is reported, and never taken for damage.

use std::{
    io::{self, Read, Seek, SeekFrom},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use super::*;
use crate::store::place::{Append, FileForm, FirstFile, PlaceEntry, PlaceFile, StorePlace};

/// A folder of which one call fails: the one that follows a given number of calls.
#[derive(Debug)]
struct FailingPlace {
    folder: FolderPlace,
    failure: Arc<Failure>,
}

/// A file of such a folder.
struct FailingRead {
    of: PlaceFile,
    failure: Arc<Failure>,
}

#[derive(Debug)]
struct Failure {
    /// Calls left before the failure; negative: it has happened.
    left: AtomicI64,
    /// Error number of the system.
    error: i32,
}

impl Failure {
    fn ask(&self) -> io::Result<()> {
        let is_now = self.left.fetch_sub(1, Relaxed) == 0;
        if is_now { Err(io::Error::from_raw_os_error(self.error)) } else { Ok(()) }
    }
}

impl Read for FailingRead {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.failure.ask()?;
        self.of.from.read(into)
    }
}

impl Seek for FailingRead {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.of.from.seek(to)
    }
}

impl StorePlace for FailingPlace {
    fn shown(&self, key: &str) -> String {
        self.folder.shown(key)
    }

    fn list(&self, below: &str) -> io::Result<Option<Vec<PlaceEntry>>> {
        self.failure.ask()?;
        self.folder.list(below)
    }

    fn bytes(&self, below: &str) -> io::Result<u64> {
        self.folder.bytes(below)
    }

    fn open(&self, key: &str, form: FileForm) -> io::Result<PlaceFile> {
        self.failure.ask()?;
        let of = self.folder.open(key, form)?;
        let (bytes, age) = (of.bytes, of.age);
        let from = Box::new(FailingRead { of, failure: Arc::clone(&self.failure) });
        Ok(PlaceFile { from, bytes, age })
    }

    fn head(&self, key: &str, form: FileForm, n: usize) -> io::Result<Vec<u8>> {
        self.failure.ask()?;
        self.folder.head(key, form, n)
    }

    fn put(&self, key: &str, parts: &[&[u8]]) -> io::Result<()> {
        self.folder.put(key, parts)
    }

    fn put_new(&self, key: &str, bytes: &[u8]) -> io::Result<bool> {
        self.folder.put_new(key, bytes)
    }

    fn put_first(&self, below: &str, files: &[FirstFile<'_>]) -> io::Result<()> {
        self.folder.put_first(below, files)
    }

    fn begin(&self, key: &str, head: &[u8]) -> io::Result<Box<dyn Append>> {
        self.folder.begin(key, head)
    }

    fn go_on(&self, key: &str) -> io::Result<Box<dyn Append>> {
        self.folder.go_on(key)
    }

    fn remove(&self, key: &str, form: FileForm) -> io::Result<()> {
        self.folder.remove(key, form)
    }

    fn remove_all(&self, below: &str) -> io::Result<()> {
        self.folder.remove_all(below)
    }

    fn set_aside(&self, key: &str, form: FileForm, extension: &str) -> io::Result<()> {
        self.folder.set_aside(key, form, extension)
    }
}

/// Reads the scene of a folder whose call after `n` others fails; also returns whether so many calls were made.
fn read_failing(root: &Path, n: i64, error: i32) -> (Result<FoundScene, Unreadable>, bool) {
    let failure = Arc::new(Failure { left: AtomicI64::new(n), error });
    let folder = FolderPlace::new(root.to_owned(), "");
    let place: Arc<dyn StorePlace> =
        Arc::new(FailingPlace { folder, failure: Arc::clone(&failure) });
    let found = SceneFolder::new(&place, ID).read();
    (found, failure.left.load(Relaxed) < 0)
}

#[test]
fn an_error_of_the_system_is_never_taken_for_damage() {
    let place = place("away");
    let states = keep(&SceneStore::open(&place.0).expect("a new store").folder(ID));
    let root = place.0.join("scenes");
    let before = files(&root.join(ID));
    // EIO, ENOMEM, EACCES, ENFILE, EMFILE, ESTALE.
    for error in [5, 12, 13, 23, 24, 116] {
        let mut n = 0;
        loop {
            let (found, has_failed) = read_failing(&root, n, error);
            if !has_failed {
                let found = found.expect("nothing has failed");
                assert_eq!((&found.kept.scene, found.damage.len()), (&states[END], 0));
                break;
            }
            let case = format!("error {error} after {n} questions");
            match found {
                Err(Unreadable::Io(io)) => assert_eq!(io.raw_os_error(), Some(error), "{case}"),
                found => panic!("{case}: {found:?}"),
            }
            n += 1;
        }
        // The folder twice, the newest snapshot, two heads, and two journals one after the other.
        assert!(n > 9, "{n} questions were asked");
    }
    assert_eq!(files(&root.join(ID)), before);
}

/// A call that a signal interrupts is repeated, or reported.
#[test]
fn a_question_that_a_signal_interrupts_loses_nothing() {
    let place = place("interrupted");
    let states = keep(&SceneStore::open(&place.0).expect("a new store").folder(ID));
    let mut n = 0;
    while let (found, true) = read_failing(&place.0.join("scenes"), n, 4) {
        match found {
            Ok(found) => assert_eq!((&found.kept.scene, found.damage.len()), (&states[END], 0)),
            Err(error) => assert!(matches!(error, Unreadable::Io(_)), "{error}"),
        }
        n += 1;
    }
}
