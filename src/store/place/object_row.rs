//! A file that is appended to, as a row of objects: `KEY/0000000000` is what it was begun with, and each further one what
//! was appended at a time.

use std::{io, sync::Arc};

use bytes::Bytes;
use object_store::path::Path;

use super::{Append, object_requests::ObjectRequests};

/// The end of a row.
#[derive(Debug)]
pub(super) struct RowEnd {
    requests: Arc<ObjectRequests>,
    row: Path,
    /// Of the object that is put next.
    next: u64,
}

/// So that objects are listed in their order.
const DIGITS: usize = 10;

/// The object of a row with this number.
pub(super) fn piece(row: &Path, number: u64) -> Path {
    row.clone().join(format!("{number:0DIGITS$}"))
}

/// Whether an object of this name is of a row; others in its place are nobody's.
pub(super) fn is_piece(name: &str) -> bool {
    name.len() == DIGITS && name.bytes().all(|b| b.is_ascii_digit())
}

impl RowEnd {
    /// Of a row with a first object alone.
    pub(super) fn after_first(requests: &Arc<ObjectRequests>, row: Path) -> RowEnd {
        RowEnd { requests: Arc::clone(requests), row, next: 1 }
    }
}

impl Append for RowEnd {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = piece(&self.row, self.next);
        // Where there is none: what another has put there, by whatever mistake, is not written over.
        if !self.requests.put_new(at, Bytes::copy_from_slice(bytes))? {
            let words = format!("{}: there is another object already", piece(&self.row, self.next));
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, words));
        }
        self.next += 1;
        Ok(())
    }
}
