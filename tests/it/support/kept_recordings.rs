//! Recordings of a test's server: kept if the test fails, for `palpate replay`.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A folder that is removed at the end, unless the test has failed by then.
pub struct KeptRecordings(PathBuf);

impl KeptRecordings {
    pub fn new(test: &str) -> KeptRecordings {
        let name = format!("recorded-{test}-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("a temporary folder");
        KeptRecordings(folder)
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for KeptRecordings {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what the server was told and answered is in {}", self.0.display());
        } else {
            // An error means that the folder is gone already.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
