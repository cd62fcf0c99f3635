//! Head of each file of a scene: kind, version of the format, two numbers, checksum.

use std::io::{self, Read};

/// Version of the format: of both kinds of file, of the scenes and changes in them, and of the meaning of changes,
/// since the new ids of a cut are computed again by each read. Version 1, of builds before the first release, had no
/// filled holes in its description of a mesh, version 2 no driven tissues, version 3 no materials.
pub const VERSION: u32 = 4;
/// First version in which tissues may be driven.
pub const DRIVEN_SINCE: u32 = 3;
/// Oldest version that is read.
pub const VERSION_MIN: u32 = 2;
/// Bytes of a head on disk.
pub const HEAD_BYTES: usize = 8 + 4 + 8 + 8 + CHECKSUM_BYTES;
/// Bytes of a checksum on disk.
pub const CHECKSUM_BYTES: usize = 16;

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Scene at one moment.
    Snapshot,
    /// Changes of a scene.
    Journal,
}

/// Head of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHead {
    /// Kind of the file.
    pub kind: FileKind,
    /// Position among the files of its scene.
    pub generation: u64,
    /// Number of the first record that is not in a snapshot, or that is in a journal.
    pub sequence: u64,
    /// Version of the format.
    pub version: u32,
}

/// Reasons why a file, or the rest of it, is unusable.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Error of the system.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file ends within an item: an incomplete write, or bytes that were cut off.
    #[error("ends within what was begun at byte {at}")]
    Torn {
        /// Offset in the file.
        at: u64,
    },
    /// The bytes differ from those that were written.
    #[error("is damaged at byte {at}: {what}")]
    Damaged {
        /// Offset in the file.
        at: u64,
        /// Description of the damage.
        what: &'static str,
    },
    /// The file has another format.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
}

/// Error for a file of another version, whose content must not be guessed.
#[derive(Debug, thiserror::Error)]
#[error("{name} is of format {got}, this version reads {VERSION_MIN} to {VERSION}")]
pub struct NewerFormat {
    name: String,
    got: u32,
}

impl FileKind {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            FileKind::Snapshot => b"PALPSNP\n",
            FileKind::Journal => b"PALPJRN\n",
        }
    }
}

impl FileHead {
    /// Makes the head of a new file.
    pub fn new(kind: FileKind, generation: u64, sequence: u64) -> FileHead {
        FileHead { kind, generation, sequence, version: VERSION }
    }

    /// Encodes the head.
    pub fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(self.kind.magic());
        bytes[8..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.generation.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.sequence.to_le_bytes());
        let sum = checksum(&[&bytes[..28]]);
        bytes[28..].copy_from_slice(&sum);
        bytes
    }

    /// Reads the head of an open file. `name`: readable name of the file.
    ///
    /// # Errors
    /// Returns an error if the head is damaged, or of a later version.
    pub fn read(kind: FileKind, name: &str, from: &mut impl Read) -> Result<FileHead, FileError> {
        let mut bytes = [0; HEAD_BYTES];
        read_whole(from, &mut bytes, 0)?;
        let number = |at| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let damaged = |what| Err(FileError::Damaged { at: 0, what });
        if bytes[..8] != kind.magic()[..] {
            return damaged("it does not begin as one of its kind");
        }
        // Checked before the version is used: a flipped bit in the version is damage, and no other version.
        if bytes[28..] != checksum(&[&bytes[..28]])[..] {
            return damaged("the checksum of its head is wrong");
        }
        let version = u32::from_le_bytes(std::array::from_fn(|i| bytes[8 + i]));
        if !(VERSION_MIN..=VERSION).contains(&version) {
            let name = name.to_owned();
            return Err(NewerFormat { name, got: version }.into());
        }
        Ok(FileHead { kind, generation: number(12), sequence: number(20), version })
    }
}

/// Checksum of the parts, as of their concatenation.
pub fn checksum(parts: &[&[u8]]) -> [u8; CHECKSUM_BYTES] {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(part);
    }
    let sum = hash.finalize();
    std::array::from_fn(|i| sum.as_bytes()[i])
}

/// Fills `into`; `at` is the offset in the file at which the current item began.
pub fn read_whole(from: &mut impl Read, into: &mut [u8], at: u64) -> Result<(), FileError> {
    from.read_exact(into).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => FileError::Torn { at },
        _ => FileError::Io(error),
    })
}
