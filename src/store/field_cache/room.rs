//! How much of a disk the kept fields take, and what goes when it is too much.
//!
//! Files used longest ago go first. A temporary file that nobody has written to for an hour was left by a server that
//! was killed. Ages are told by the file system's own clock, which may be another machine's.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::Duration,
};

use tracing::{info, warn};

use crate::os::{lasting::note_change, regular_file};

/// Of files on their way to their name.
pub const TEMPORARY: &str = "tmp";
/// Of kept fields.
const KEPT: &str = "field";
/// Writing the largest field takes seconds.
const TEMPORARY_AGE_MAX: Duration = Duration::from_secs(3600);

/// What one folder may hold.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Of all kept fields together.
    pub bytes_max: u64,
}

impl Room {
    /// Removes what is too old or too much. `newest` was written just now, and stays.
    pub fn tidy(self, folder: &Path, newest: &Path) {
        if let Err(error) = self.try_tidy(folder, newest) {
            warn!(folder = %folder.display(), "the kept fields cannot be looked through: {error}");
        }
    }

    fn try_tidy(self, folder: &Path, newest: &Path) -> io::Result<()> {
        let now = fs::metadata(newest)?.modified()?;
        let mut kept = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            // An error: another server that shares the folder has removed it.
            let Ok(metadata) = entry.metadata() else { continue };
            let used = metadata.modified()?;
            match path.extension().and_then(|e| e.to_str()) {
                Some(KEPT) => kept.push((used, metadata.len(), path)),
                Some(TEMPORARY)
                    if now.duration_since(used).is_ok_and(|age| age > TEMPORARY_AGE_MAX) =>
                {
                    remove(&path, "it was never finished");
                }
                _ => {}
            }
        }
        // Used longest ago first.
        kept.sort();
        let mut bytes: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, freed, path) in kept.iter().filter(|(.., path)| path != newest) {
            if bytes <= self.bytes_max {
                break;
            }
            bytes -= freed;
            remove(path, "there is no room for it");
        }
        Ok(())
    }
}

/// Notes that a kept field was used now.
pub fn note_use(path: &Path) {
    // An error: a folder that cannot be written to. Nothing is removed from it then either.
    let opened = regular_file::open(path, File::options().append(true));
    let _ = opened.map(|(file, _)| note_change(&file));
}

fn remove(path: &Path, why: &str) {
    match fs::remove_file(path) {
        Ok(()) => info!(path = %path.display(), "a kept field was removed: {why}"),
        Err(error) => warn!(path = %path.display(), "a kept field stays: {error}"),
    }
}
