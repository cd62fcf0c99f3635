//! A field as bytes: magic, version, key, payload length, checksum, payload.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::key::FieldKey;
use crate::{os::regular_file, sdf::Field};

const MAGIC: [u8; 8] = *b"PALPFLD\n";
/// Of this layout; the field's own version is part of the key.
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 8 + 4 + 32 + 8 + 32;
/// A greater file is not read. A field of the largest mesh a server takes is well below.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// Why a file was not used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The system's reason.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// Not what was written.
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    /// A field, but not of this surface and these options.
    #[error("holds a field of something else")]
    Foreign,
}

/// A whole file.
pub fn encode(key: &FieldKey, field: &Field) -> Vec<u8> {
    let payload = postcard::to_stdvec(field).expect("numbers and sequences only");
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(key.bytes());
    bytes.extend((payload.len() as u64).to_le_bytes());
    bytes.extend(checksum(key, &payload));
    bytes.extend(payload);
    bytes
}

/// The field of a whole file. What it names is still to be checked against the surface.
pub fn decode(key: &FieldKey, bytes: &[u8]) -> Result<Field, CacheError> {
    let mut rest = bytes;
    let mut next = |n| rest.split_off(..n).ok_or(CacheError::Damaged("it is cut short"));
    let (magic, version, file_key) = (next(8)?, next(4)?, next(32)?);
    let (length, sum) = (next(8)?, next(32)?);
    // In the order in which a wrong file is best explained; the checksum, which reads all of it, last.
    if magic != MAGIC {
        return Err(CacheError::Damaged("it does not begin as one"));
    }
    if version != VERSION.to_le_bytes() {
        return Err(CacheError::Damaged("it is of another version"));
    }
    if file_key != key.bytes() {
        return Err(CacheError::Foreign);
    }
    if length != (rest.len() as u64).to_le_bytes() {
        return Err(CacheError::Damaged("its length is not as stated"));
    }
    if sum != checksum(key, rest) {
        return Err(CacheError::Damaged("its checksum is wrong"));
    }
    // A sequence takes no more memory than the bytes that are there bring elements for.
    match postcard::take_from_bytes(rest) {
        Ok((field, [])) => Ok(field),
        Ok(_) => Err(CacheError::Damaged("bytes are left over")),
        Err(_) => Err(CacheError::Damaged("it does not decode")),
    }
}

/// A file that is not too long to be one, and how long it is.
pub fn open_bounded(path: &Path) -> io::Result<(File, u64)> {
    let (file, about) = regular_file::open(path, File::options().read(true))?;
    let length = about.len();
    if length > FILE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok((file, length))
}

/// The bytes of a file that had this length: no more, whatever became of it.
pub fn read_bounded((file, length): (File, u64)) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(length as usize);
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn checksum(key: &FieldKey, payload: &[u8]) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    hash.update(key.bytes()).update(payload);
    hash.finalize().into()
}
