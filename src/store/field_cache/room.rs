//! Limit of the disk space for cached fields.
//!
//! The least recently used files are removed first. A temporary file that was not written for an hour was left by a
//! killed server. Ages are measured by the file system's own clock, which may be another machine's.

use std::{
    fs::{self, File},
    io,
    path::Path,
    time::Duration,
};

use tracing::{info, warn};

use crate::os::{lasting::note_change, regular_file};

/// Extension of files that are being written.
pub const TEMPORARY: &str = "tmp";
/// Extension of cached fields.
const KEPT: &str = "field";
/// Age after which a temporary file is removed; writing the largest field takes seconds.
const TEMPORARY_AGE_MAX: Duration = Duration::from_secs(3600);

/// Limit of one folder.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Maximum bytes of all cached fields.
    pub bytes_max: u64,
}

impl Room {
    /// Removes abandoned temporary files, and fields beyond the limit. `newest` was written just now, and stays.
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
            // An error means that another server that shares the folder has removed it.
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
        // Least recently used first.
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

/// Marks a cached field as used now.
pub fn note_use(path: &Path) {
    // An error means a folder that cannot be written. Nothing is removed from it then either.
    let opened = regular_file::open(path, File::options().append(true));
    let _ = opened.map(|(file, _)| note_change(&file));
}

fn remove(path: &Path, why: &str) {
    match fs::remove_file(path) {
        Ok(()) => info!(path = %path.display(), "a kept field was removed: {why}"),
        Err(error) => warn!(path = %path.display(), "a kept field stays: {error}"),
    }
}
