//! Files of keys and certificates, read again when they change.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tracing::{error, info};

use crate::os::regular_file;

/// Error of a file of keys or certificates. Never contains a secret.
#[derive(Debug, thiserror::Error)]
#[error("{setting}, {}: {problem}", file.display())]
pub struct AccessError {
    /// Setting that names the file.
    pub setting: &'static str,
    /// Path as configured.
    pub file: PathBuf,
    /// Description of the problem.
    pub problem: String,
}

impl AccessError {
    /// Creates the error for the file of a setting.
    pub fn new(setting: &'static str, file: &Path, problem: impl ToString) -> AccessError {
        AccessError { setting, file: file.to_owned(), problem: problem.to_string() }
    }
}

/// Content of files that may change.
pub struct WatchedFiles<T> {
    now: ArcSwap<T>,
    files: Vec<PathBuf>,
    /// Digest of each file at the last read; `None` if the file could not be read.
    // Digests instead of times: two changes within a tick of the system's clock have the same time.
    seen: Mutex<Vec<Option<blake3::Hash>>>,
    read: Box<dyn Fn() -> Result<T, AccessError> + Send + Sync>,
}

impl<T> WatchedFiles<T> {
    /// Reads the files for the first time.
    ///
    /// # Errors
    /// Returns an error if they cannot be used.
    pub fn open(
        files: Vec<PathBuf>,
        read: impl Fn() -> Result<T, AccessError> + Send + Sync + 'static,
    ) -> Result<WatchedFiles<T>, AccessError> {
        let seen = Mutex::new(digests(&files));
        Ok(WatchedFiles { now: ArcSwap::from_pointee(read()?), files, seen, read: Box::new(read) })
    }

    /// Returns the content that was read last.
    pub fn now(&self) -> Arc<T> {
        self.now.load_full()
    }

    /// Reads changed files again, or all if `asked`. Unusable files change nothing: the last content stays. `succeed`
    /// is called with the new and the old content.
    pub fn refresh(&self, asked: bool, succeed: impl FnOnce(&mut T, &T)) {
        let mut seen = self.seen.lock();
        let new = digests(&self.files);
        if *seen == new && !asked {
            return;
        }
        // Updated even if reading fails: a broken file is logged once, not at each interval.
        *seen = new;
        let files = self.files.iter().map(|f| f.display().to_string()).collect::<Vec<_>>();
        match (self.read)() {
            Ok(mut read) => {
                info!(files = files.join(", "), "read again");
                succeed(&mut read, &self.now.load());
                self.now.store(Arc::new(read));
            }
            Err(problem) => error!("what was read before stays in use: {problem}"),
        }
    }
}

fn digests(files: &[PathBuf]) -> Vec<Option<blake3::Hash>> {
    let digest = |file: &PathBuf| regular_file::read(file).ok().map(|bytes| blake3::hash(&bytes));
    files.iter().map(digest).collect()
}

/// Advice for a file that is not there, as in a container that is started without its folder.
const MISSING: &str = "is missing: add it, or mount its folder; deploy/dev-certificates.sh FOLDER makes server.pem, \
                       server.key and keys.toml for development";

/// Reads the text of a setting's file.
pub fn read_file(setting: &'static str, file: &Path) -> Result<String, AccessError> {
    let read = regular_file::read(file)
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
    read.map_err(|e: io::Error| match e.kind() {
        io::ErrorKind::NotFound => AccessError::new(setting, file, MISSING),
        _ => AccessError::new(setting, file, e),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_change_within_one_tick_of_the_clock_is_read() {
        let file = std::env::temp_dir().join(format!("palpate-access-{}", std::process::id()));
        let at = std::time::SystemTime::now();
        let write = |text: &str| {
            fs::write(&file, text).expect("room");
            fs::File::open(&file).and_then(|f| f.set_modified(at)).expect("an own file");
        };
        write("one");
        let from = file.clone();
        let watched = WatchedFiles::open(vec![file.clone()], move || read_file("setting", &from))
            .expect("a file");
        write("two");
        watched.refresh(false, |_, _| ());
        assert_eq!(**watched.now.load(), "two");
        fs::remove_file(&file).expect("an own file");
        watched.refresh(false, |_, _| ());
        assert_eq!(**watched.now.load(), "two", "what cannot be read changes nothing");
        #[cfg(unix)]
        {
            use crate::os::regular_file::tests::{at_once, make_fifo};
            make_fifo(&file);
            let watched = at_once(move || {
                watched.refresh(true, |_, _| ());
                watched
            });
            assert_eq!(**watched.now.load(), "two", "a FIFO is not waited for");
            fs::remove_file(&file).expect("an own file");
        }
    }
}
