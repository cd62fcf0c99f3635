//! A folder for the files of one test.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

/// Tests with equal names run concurrently: each has its own folder.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// A folder of this test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let (process, n) = (std::process::id(), FOLDERS.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("palpate-{name}-{process}-{n}"));
        // Left by a killed process with an equal process id.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a temporary folder");
        Folder(folder)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.join(name);
        // Renamed into place, so that no reader meets half of it.
        let new = self.0.join(format!("{name}.new"));
        fs::write(&new, text).expect("room");
        fs::rename(new, &file).expect("the same folder");
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error means that the folder is gone already.
        let _ = fs::remove_dir_all(&self.0);
    }
}
