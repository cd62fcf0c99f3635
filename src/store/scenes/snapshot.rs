//! A scene at one moment, as one file: head, length, checksum, payload.

use std::{
    io::{self, Read as _},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::file_head::{
    CHECKSUM_BYTES, DRIVEN_SINCE, FileError, FileHead, FileKind, HEAD_BYTES, checksum, read_whole,
};
use crate::scene::saved::{ADDED_IN_FORMAT_4, SavedScene, UndrivenScene};
use crate::store::place::{FileForm, PlaceFile, StorePlace};

/// A scene and its owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SceneSnapshot {
    /// Name of the key that made it; never its secret.
    pub owner: Option<String>,
    /// State of the scene.
    pub scene: SavedScene,
}

/// A snapshot as read from its file.
#[derive(Debug)]
pub struct FoundSnapshot {
    /// Content of the snapshot.
    pub kept: SceneSnapshot,
    /// Head of the file, with the number of the first change that is not in the snapshot.
    pub head: FileHead,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Time since the file was written, if the location reports it.
    pub age: Option<Duration>,
}

/// Maximum payload; larger files are not read. A scene of the largest meshes is below.
const PAYLOAD_BYTES_MAX: u64 = 64 << 30;

/// A snapshot as bytes.
pub struct EncodedSnapshot {
    head: [u8; HEAD_BYTES],
    length: [u8; 8],
    sum: [u8; CHECKSUM_BYTES],
    payload: Vec<u8>,
}

impl SceneSnapshot {
    /// Encodes the snapshot. `sequence`: number of the first change that is not in it.
    pub fn encode(&self, generation: u64, sequence: u64) -> EncodedSnapshot {
        let head = FileHead::new(FileKind::Snapshot, generation, sequence).encode();
        let payload = postcard::to_stdvec(self).expect("numbers and sequences only");
        let length = (payload.len() as u64).to_le_bytes();
        let sum = checksum(&[&head, &length, &payload]);
        EncodedSnapshot { head, length, sum, payload }
    }

    fn decode(payload: &[u8], version: u32) -> postcard::Result<SceneSnapshot> {
        if version > DRIVEN_SINCE {
            return postcard::from_bytes(payload);
        }
        if version == DRIVEN_SINCE {
            return postcard::from_bytes(&[payload, &ADDED_IN_FORMAT_4].concat());
        }
        let (owner, scene): (_, UndrivenScene) = postcard::from_bytes(payload)?;
        Ok(SceneSnapshot { owner, scene: scene.into() })
    }

    /// Writes the snapshot atomically and durably. Returns its bytes.
    ///
    /// # Errors
    /// Errors of the system; there is then no such file.
    pub fn write(
        &self,
        place: &dyn StorePlace,
        key: &str,
        (generation, sequence): (u64, u64),
    ) -> io::Result<u64> {
        let encoded = self.encode(generation, sequence);
        place.put(key, &encoded.parts())?;
        Ok(encoded.parts().iter().map(|part| part.len() as u64).sum())
    }

    /// Reads a snapshot.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, or has a later format.
    pub fn read(place: &dyn StorePlace, key: &str) -> Result<FoundSnapshot, FileError> {
        let PlaceFile { mut from, bytes, age } = place.open(key, FileForm::Whole)?;
        let head = FileHead::read(FileKind::Snapshot, &place.shown(key), &mut from)?;
        let (mut length, mut sum) = ([0; 8], [0; CHECKSUM_BYTES]);
        let at = HEAD_BYTES as u64;
        read_whole(&mut from, &mut length, at)?;
        read_whole(&mut from, &mut sum, at)?;
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
        from.take(n).read_to_end(&mut payload)?;
        if sum != checksum(&[&head.encode(), &length, &payload]) {
            return Err(damaged("its checksum is wrong"));
        }
        let kept = SceneSnapshot::decode(&payload, head.version);
        let kept = kept.map_err(|_| damaged("it does not decode"))?;
        kept.scene.check().map_err(|_| damaged("it is no scene"))?;
        Ok(FoundSnapshot { kept, head, bytes, age })
    }
}

impl EncodedSnapshot {
    /// Returns the parts of the file, in order.
    pub fn parts(&self) -> [&[u8]; 4] {
        [&self.head, &self.length, &self.sum, &self.payload]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Format 3 had no materials, which are last.
    #[test]
    fn a_scene_of_format_3_is_read() {
        let snapshot = SceneSnapshot { owner: None, scene: SavedScene::new("old".to_owned()) };
        let mut payload = postcard::to_stdvec(&snapshot).expect("plain data");
        assert_eq!(SceneSnapshot::decode(&payload, 4).expect("of format 4"), snapshot);
        assert_eq!(payload.pop(), Some(0));
        assert_eq!(SceneSnapshot::decode(&payload, DRIVEN_SINCE).expect("of format 3"), snapshot);
    }
}
