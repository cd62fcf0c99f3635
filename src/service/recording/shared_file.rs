//! A file in memory, for tests that read what a recording's thread writes.

use std::{
    io::{self, Write},
    sync::Arc,
};

use parking_lot::Mutex;

/// Clones share one file.
#[derive(Clone, Default)]
pub(super) struct SharedFile(Arc<Mutex<Vec<u8>>>);

impl SharedFile {
    /// Returns the bytes written so far.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.lock().clone()
    }
}

impl Write for SharedFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
