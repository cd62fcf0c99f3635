//! Tests of a disk that fails between a rename and the moment from which the new name is durable.

use std::{fs, io, path::PathBuf, process, thread};

use super::FolderPlace;
use crate::{
    os::lasting::injected::failing_syncs,
    store::place::{FileForm, FirstFile, PlaceEntry, StorePlace as _},
};

/// Temporary folder, removed when the test ends.
struct Root(PathBuf);

impl Root {
    fn new(name: &str) -> Root {
        let folder = std::env::temp_dir().join(format!("palpate-place-{name}-{}", process::id()));
        // Left by an earlier process with the same number.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        Root(folder)
    }

    fn place(&self) -> FolderPlace {
        FolderPlace::new(self.0.clone(), "a")
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // Error ignored: the folder is gone already.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn put(place: &FolderPlace) -> io::Result<()> {
    let file = |name: &str, parts| {
        let (name, form) = (name.to_owned(), FileForm::Whole);
        FirstFile { name, form, parts }
    };
    place.put_first("liver", &[file("0.journal", vec![b"head"]), file("0.snapshot", vec![b"all"])])
}

fn entries(place: &FolderPlace) -> Vec<PlaceEntry> {
    place.list("").expect("readable").expect("there")
}

#[test]
fn first_files_whose_folder_cannot_be_made_to_last_are_taken_away_again() {
    let root = Root::new("first");
    let place = root.place();
    for (n, kind) in [(1, io::ErrorKind::Other), (2, io::ErrorKind::TimedOut)] {
        failing_syncs(&root.0, n);
        let failed = put(&place).expect_err("it cannot be made to last");
        assert_eq!(failed.kind(), kind, "{failed}");
        assert_eq!(entries(&place), [], "after {n} failures");
    }
    put(&place).expect("nothing is in its way");
}

#[test]
fn a_removal_that_cannot_be_made_to_last_leaves_all_files_and_can_be_repeated() {
    let root = Root::new("remove");
    let place = root.place();
    put(&place).expect("room");
    let before = (entries(&place), place.bytes("liver").expect("there"));
    for (n, kind) in [(1, io::ErrorKind::Other), (2, io::ErrorKind::TimedOut)] {
        failing_syncs(&root.0, n);
        let failed = place.remove_all("liver").expect_err("it cannot be made to last");
        assert_eq!(failed.kind(), kind, "{failed}");
        assert_eq!((entries(&place), place.bytes("liver").expect("there")), before);
    }
    place.remove_all("liver").expect("there");
    assert_eq!(entries(&place), []);
    place.remove_all("liver").expect("gone already");
}

#[test]
fn of_many_threads_one_puts_a_new_file_and_the_others_are_told_that_it_is_there() {
    const THREADS: usize = 8;
    let root = Root::new("new");
    let place = root.place();
    for n in 0..50 {
        let key = format!("liver/{n}");
        let put = || place.put_new(&key, b"one claim").expect("room");
        let done: Vec<bool> = thread::scope(|scope| {
            let threads = [(); THREADS].map(|()| scope.spawn(put));
            threads.map(|thread| thread.join().expect("no panic")).to_vec()
        });
        assert_eq!(done.iter().filter(|is_first| **is_first).count(), 1, "{done:?}");
        let found = place.head(&key, FileForm::Whole, 99).expect("there");
        assert_eq!(found, b"one claim");
    }
    let names = place.list("liver").expect("readable").expect("there");
    assert_eq!(names.len(), 50, "{names:?}");
}

#[test]
fn a_new_file_whose_name_cannot_be_made_to_last_may_be_there() {
    let root = Root::new("unsynced");
    let place = root.place();
    failing_syncs(&root.0.join("liver"), 1);
    let failed = place.put_new("liver/1", b"one claim").expect_err("it cannot be made to last");
    assert_eq!(failed.kind(), io::ErrorKind::TimedOut, "{failed}");
    assert!(!place.put_new("liver/1", b"another").expect("readable"));
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_place_of_a_file_is_not_waited_for() {
    use crate::os::regular_file::tests::{at_once, make_fifo};

    let root = Root::new("fifo");
    make_fifo(&root.0.join("0.snapshot"));
    let (opened, head, gone_on) = at_once({
        let place = root.place();
        move || {
            let gone_on = place.go_on("0.snapshot").map(drop);
            let opened = place.open("0.snapshot", FileForm::Whole).map(drop);
            (opened, place.head("0.snapshot", FileForm::Whole, 8).map(drop), gone_on)
        }
    });
    for read in [opened, head] {
        assert_eq!(read.expect_err("none is there").kind(), io::ErrorKind::NotFound);
    }
    gone_on.expect_err("no file");
    make_fifo(&root.0.join("0.snapshot").with_extension(super::TEMPORARY));
    make_fifo(&FolderPlace::passing(&root.0.join("beat"), ""));
    let place = root.place();
    let put =
        at_once(move || (place.put("0.snapshot", &[b"all"]), place.put_fleeting("beat", b"now")));
    assert!(put.0.is_ok() && put.1.is_ok(), "{put:?}");
    assert_eq!(fs::read(root.0.join("0.snapshot")).expect("a file"), b"all");
}
