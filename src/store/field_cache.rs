//! Built fields on disk: one file each, named by what the field was built from.
//!
//! A file is trusted only when its magic, version, key, length and checksum are right and what it decodes
//! to is a field of the very surface asked about. Anything else is one warning and a new build.

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

/// The cached fields of a data directory.
#[derive(Clone, Debug)]
pub struct FieldCache {
    folder: PathBuf,
    room: Room,
}

/// Where a field came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOrigin {
    /// Another link of the same mesh has it.
    Shared,
    /// Read from disk.
    Cached,
    /// Built just now.
    Built,
}

impl FieldCache {
    /// The cache of a data directory, of `bytes_max` at most but for one field that is larger. Its folder is made when
    /// something is first kept.
    pub fn new(data_dir: &Path, bytes_max: u64) -> FieldCache {
        FieldCache { folder: data_dir.join("fields"), room: Room { bytes_max } }
    }

    /// Where the field of a surface is or would be.
    pub fn path(&self, mesh: &TriangleMesh, options: &FieldOptions) -> PathBuf {
        self.folder.join(FieldKey::of(mesh, options).file_name())
    }

    /// The field of a surface: as kept, or built and then kept. A file that cannot be used, or written, is
    /// worth a warning and changes no answer. `reserve`: is asked for a file's bytes before they are read, and what it
    /// gives is held until the field is there.
    ///
    /// # Errors
    /// Those of `reserve` and `build`.
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

    /// Whole or not at all: to a temporary file beside it, then renamed.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        static WRITES: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.folder)?;
        // Two servers, or two uploads, may keep the same field at the same time.
        let number = WRITES.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{number}.{TEMPORARY}", process::id()));
        let written = (|| {
            let mut file = File::create_new(&temporary)?;
            file.write_all(bytes)?;
            // The bytes before the name, and the name before it counts: after a power cut the file is whole or not
            // there.
            file.sync_all()?;
            fs::rename(&temporary, path)?;
            sync_folder(&self.folder)
        })();
        if written.is_err() {
            // Not there when it could not be made or was renamed.
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
