//! A scene at one moment, as one file: head, length, checksum, payload.

use std::{
    fs::{self, File},
    io::{self, Read, Write as _},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::file_head::{
    CHECKSUM_BYTES, FileError, FileHead, FileKind, HEAD_BYTES, checksum, read_whole,
};
use crate::os::lasting::sync_folder;
use crate::scene::saved::SavedScene;

/// A scene, and whose it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneSnapshot {
    /// The name of the key that made it; never its secret.
    pub owner: Option<String>,
    /// All else.
    pub scene: SavedScene,
}

/// A greater file is not read: a scene of the largest meshes is below.
const PAYLOAD_BYTES_MAX: u64 = 64 << 30;
/// Of a file on its way to its name.
pub const TEMPORARY: &str = "tmp";

impl SceneSnapshot {
    /// Writes it whole or not at all, and makes it last. Returns its bytes. `sequence`: of the first change not in it.
    ///
    /// # Errors
    /// The system's; there is no such file then.
    pub fn write(&self, path: &Path, generation: u64, sequence: u64) -> io::Result<u64> {
        let head = FileHead { kind: FileKind::Snapshot, generation, sequence }.encode();
        let payload = postcard::to_stdvec(self).expect("numbers and sequences only");
        let length = (payload.len() as u64).to_le_bytes();
        let sum = checksum(&[&head, &length, &payload]);
        let temporary = path.with_extension(TEMPORARY);
        let written = (|| {
            let mut file = File::create(&temporary)?;
            for part in [&head[..], &length, &sum, &payload] {
                file.write_all(part)?;
            }
            // The bytes before the name, and the name before it counts.
            file.sync_all()?;
            fs::rename(&temporary, path)?;
            sync_folder(path.parent().expect("a file is in a folder"))
        })();
        if written.is_err() {
            // Not there when it could not be made or was renamed.
            let _ = fs::remove_file(&temporary);
        }
        written.map(|()| (HEAD_BYTES + 8 + CHECKSUM_BYTES + payload.len()) as u64)
    }

    /// Reads it, and the number of the first change not in it.
    ///
    /// # Errors
    /// When it is damaged, or of a later version.
    pub fn read(path: &Path) -> Result<(SceneSnapshot, FileHead), FileError> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let head = FileHead::read(FileKind::Snapshot, path, &mut file)?;
        let (mut length, mut sum) = ([0; 8], [0; CHECKSUM_BYTES]);
        let at = HEAD_BYTES as u64;
        read_whole(&mut file, &mut length, at)?;
        read_whole(&mut file, &mut sum, at)?;
        let n = u64::from_le_bytes(length);
        let rest = bytes.saturating_sub(at + 8 + CHECKSUM_BYTES as u64);
        let damaged = |what| FileError::Damaged { at, what };
        if n > rest {
            return Err(FileError::Torn { at });
        }
        if n != rest || n > PAYLOAD_BYTES_MAX {
            return Err(damaged("its length is not as stated"));
        }
        let mut payload = Vec::with_capacity(n as usize);
        file.take(n).read_to_end(&mut payload)?;
        if sum != checksum(&[&head.encode(), &length, &payload]) {
            return Err(damaged("its checksum is wrong"));
        }
        let read: SceneSnapshot =
            postcard::from_bytes(&payload).map_err(|_| damaged("it does not decode"))?;
        read.scene.check().map_err(|_| damaged("it is no scene"))?;
        Ok((read, head))
    }
}
