//! How each file of a scene begins: kind, version of the format, two numbers, checksum.

use std::io::{self, Read};

/// The format of both kinds of file, of the scenes and changes in them, and of what changes mean: which ids a cut gives is
/// computed again when it is read. 1, of builds before the first version, had no
/// filled holes in what it says of a mesh.
pub const VERSION: u32 = 2;
/// Of a head on disk.
pub const HEAD_BYTES: usize = 8 + 4 + 8 + 8 + CHECKSUM_BYTES;
/// Of a checksum on disk.
pub const CHECKSUM_BYTES: usize = 16;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A scene at one moment.
    Snapshot,
    /// Changes.
    Journal,
}

/// The beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHead {
    /// What it is.
    pub kind: FileKind,
    /// Its place among the files of its scene.
    pub generation: u64,
    /// The number of the first record that is not in a snapshot, or that is in a journal.
    pub sequence: u64,
}

/// Why a file, or the rest of it, is of no use.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system's reason.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It ends before what was begun is whole: a write that did not come to its end, or bytes that were cut off.
    #[error("ends within what was begun at byte {at}")]
    Torn {
        /// Of the file.
        at: u64,
    },
    /// Not what was written.
    #[error("is damaged at byte {at}: {what}")]
    Damaged {
        /// Of the file.
        at: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Of a later version.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
}

/// A file that another version has written: what is in it must not be guessed.
#[derive(Debug, thiserror::Error)]
#[error("{name} is of format {got}, this version reads {VERSION}")]
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
    /// As bytes.
    pub fn encode(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..8].copy_from_slice(self.kind.magic());
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.generation.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.sequence.to_le_bytes());
        let sum = checksum(&[&bytes[..28]]);
        bytes[28..].copy_from_slice(&sum);
        bytes
    }

    /// The head of an open file. `name`: of the file, for people.
    ///
    /// # Errors
    /// When it is none, or of a later version.
    pub fn read(kind: FileKind, name: &str, from: &mut impl Read) -> Result<FileHead, FileError> {
        let mut bytes = [0; HEAD_BYTES];
        read_whole(from, &mut bytes, 0)?;
        let number = |at| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let damaged = |what| Err(FileError::Damaged { at: 0, what });
        if bytes[..8] != kind.magic()[..] {
            return damaged("it does not begin as one of its kind");
        }
        // Before the version is believed: a flipped bit in it is damage, and no other version.
        if bytes[28..] != checksum(&[&bytes[..28]])[..] {
            return damaged("the checksum of its head is wrong");
        }
        let got = u32::from_le_bytes(std::array::from_fn(|i| bytes[8 + i]));
        if got != VERSION {
            let name = name.to_owned();
            return Err(NewerFormat { name, got }.into());
        }
        Ok(FileHead { kind, generation: number(12), sequence: number(20) })
    }
}

/// Of parts, as if they were one.
pub fn checksum(parts: &[&[u8]]) -> [u8; CHECKSUM_BYTES] {
    let mut hash = blake3::Hasher::new();
    for part in parts {
        hash.update(part);
    }
    let sum = hash.finalize();
    std::array::from_fn(|i| sum.as_bytes()[i])
}

/// Fills `into`; `at` is where what it is of began in the file.
pub fn read_whole(from: &mut impl Read, into: &mut [u8], at: u64) -> Result<(), FileError> {
    from.read_exact(into).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => FileError::Torn { at },
        _ => FileError::Io(error),
    })
}
