//! Appended file as a row of objects: `KEY/0000000000` holds the bytes that the file was begun with, and each further
//! object those of one append.

use std::{io, sync::Arc};

use bytes::Bytes;
use object_store::path::Path;

use super::{Append, object_requests::ObjectRequests};

/// End of a row, for appending.
#[derive(Debug)]
pub(super) struct RowEnd {
    requests: Arc<ObjectRequests>,
    row: Path,
    /// Number of the next object.
    next: u64,
}

/// Digits of an object's number, zero-padded so that objects are listed in order.
const DIGITS: usize = 10;

/// Returns the path of a row's object with this number.
pub(super) fn piece(row: &Path, number: u64) -> Path {
    row.clone().join(format!("{number:0DIGITS$}"))
}

/// Returns true if an object of this name belongs to a row; other objects are ignored.
pub(super) fn is_piece(name: &str) -> bool {
    name.len() == DIGITS && name.bytes().all(|b| b.is_ascii_digit())
}

impl RowEnd {
    /// Returns the end of a row that has only its first object.
    pub(super) fn after_first(requests: &Arc<ObjectRequests>, row: Path) -> RowEnd {
        RowEnd { requests: Arc::clone(requests), row, next: 1 }
    }
}

impl Append for RowEnd {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = piece(&self.row, self.next);
        // Conditional on absence: an object that another writer put there, by whatever mistake, is not overwritten.
        if !self.requests.put_new(at, Bytes::copy_from_slice(bytes))? {
            let words = format!("{}: there is another object already", piece(&self.row, self.next));
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, words));
        }
        self.next += 1;
        Ok(())
    }
}
