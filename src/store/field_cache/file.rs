//! File format of a field: magic, version, key, payload length, checksum, payload.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use super::key::FieldKey;
use crate::{os::regular_file, sdf::Field};

const MAGIC: [u8; 8] = *b"PALPFLD\n";
/// Version of this layout; the field's own version is part of the key.
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 8 + 4 + 32 + 8 + 32;
/// Maximum file size; larger files are not read. A field of the largest mesh that a server accepts is well below.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// Reasons why a file was not used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Error of the system.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The bytes differ from those that were written.
    #[error("is damaged: {0}")]
    Damaged(&'static str),
    /// The file holds a field of another surface or other options.
    #[error("holds a field of something else")]
    Foreign,
}

/// Encodes a whole file.
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

/// Decodes the field of a whole file. The field must still be checked against the surface.
pub fn decode(key: &FieldKey, bytes: &[u8]) -> Result<Field, CacheError> {
    let mut rest = bytes;
    let mut next = |n| rest.split_off(..n).ok_or(CacheError::Damaged("it is cut short"));
    let (magic, version, file_key) = (next(8)?, next(4)?, next(32)?);
    let (length, sum) = (next(8)?, next(32)?);
    // In the order that explains a wrong file best; the checksum, which reads all of it, last.
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
    // A sequence allocates no more than its elements in the file need.
    match postcard::take_from_bytes(rest) {
        Ok((field, [])) => Ok(field),
        Ok(_) => Err(CacheError::Damaged("bytes are left over")),
        Err(_) => Err(CacheError::Damaged("it does not decode")),
    }
}

/// Opens a file of at most the maximum size, and returns its length.
pub fn open_bounded(path: &Path) -> io::Result<(File, u64)> {
    let (file, about) = regular_file::open(path, File::options().read(true))?;
    let length = about.len();
    if length > FILE_BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok((file, length))
}

/// Reads a file that had this length: no more, even if it has grown.
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
