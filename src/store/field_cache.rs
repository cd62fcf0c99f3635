//! Cache of built distance fields on disk: one file each, named by a hash of the field's inputs.
//!
//! A file is used only if its magic, version, key, length and checksum are right and it decodes to a field of exactly
//! the requested surface. Any other file causes one warning and a new build.

mod file;
mod key;
mod room;

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use tracing::warn;

use crate::{
    geometry::TriangleMesh,
    os::lasting::sync_folder,
    scene::tool::field::is_field_of,
    sdf::{Field, FieldOptions},
    surface::Surface,
};
use file::{CacheError, decode, encode, open_bounded, read_bounded};
pub use key::FieldKey;
use room::{Room, TEMPORARY, note_use};

/// Cached fields of a data directory.
#[derive(Clone, Debug)]
pub struct FieldCache {
    folder: PathBuf,
    room: Room,
}

/// Origin of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOrigin {
    /// Shared with another link of the same mesh.
    Shared,
    /// Read from disk.
    Cached,
    /// Built by this call.
    Built,
}

impl FieldCache {
    /// Creates the cache of a data directory, of at most `bytes_max` unless a single field is larger. Its folder is
    /// made when the first field is written.
    pub fn new(data_dir: &Path, bytes_max: u64) -> FieldCache {
        FieldCache { folder: data_dir.join("fields"), room: Room { bytes_max } }
    }

    /// Returns the path of a surface's field, cached or not.
    pub fn path(&self, mesh: &TriangleMesh, options: &FieldOptions) -> PathBuf {
        self.folder.join(FieldKey::of(mesh, options).file_name())
    }

    /// Returns the field of a surface: from the cache, or built and then cached. A file that cannot be used or written
    /// causes a warning and changes no answer. `reserve` is called with the file's bytes before they are read; its
    /// result is held until the field is loaded.
    ///
    /// # Errors
    /// Errors of `reserve` and `build`.
    pub fn get_or_build<E, R>(
        &self,
        surface: &Surface,
        options: &FieldOptions,
        reserve: impl FnOnce(u64) -> Result<R, E>,
        build: impl FnOnce() -> Result<Field, E>,
    ) -> Result<(Field, FieldOrigin), E> {
        let key = FieldKey::of(surface.mesh(), options);
        let path = self.folder.join(key.file_name());
        let found = match open_bounded(&path) {
            Ok((file, length)) => {
                let _room = reserve(length)?;
                read((file, length), &key, surface, options)
            }
            Err(error) => Err(error.into()),
        };
        match found {
            Ok(field) => {
                note_use(&path);
                return Ok((field, FieldOrigin::Cached));
            }
            Err(CacheError::Io(e)) if e.kind() == io::ErrorKind::NotFound => {}
            Err(error) => warn!(path = %path.display(), "cached field {error}; building it again"),
        }
        let field = build()?;
        match self.write(&path, &encode(&key, &field)) {
            Ok(()) => self.room.tidy(&self.folder, &path),
            Err(error) => warn!(path = %path.display(), "cannot keep a field: {error}"),
        }
        Ok((field, FieldOrigin::Built))
    }

    /// Writes atomically: to a temporary file in the same folder, which is then renamed.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        static WRITES: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.folder)?;
        // Two servers, or two uploads, may write the same field at the same time.
        let number = WRITES.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{number}.{TEMPORARY}", process::id()));
        let written = (|| {
            let mut file = File::create_new(&temporary)?;
            file.write_all(bytes)?;
            // The bytes are durable before the name, and the name before it counts: after a power cut the file is
            // complete or missing.
            file.sync_all()?;
            fs::rename(&temporary, path)?;
            sync_folder(&self.folder)
        })();
        if written.is_err() {
            // Fails if the file could not be made or was renamed already.
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

fn read(
    opened: (File, u64),
    key: &FieldKey,
    surface: &Surface,
    options: &FieldOptions,
) -> Result<Field, CacheError> {
    let field = decode(key, &read_bounded(opened)?)?;
    if is_field_of(&field, surface, options) { Ok(field) } else { Err(CacheError::Foreign) }
}

#[cfg(test)]
mod tests;
