//! Printing to standard output, whose reader may close it early.

use std::io::{self, ErrorKind, Write};

/// Prints text and flushes. A reader that has closed the pipe, like `head`, has all it wants: no error.
///
/// # Errors
/// Errors of the system, for example a full disk.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    // print! would panic if this returned an error.
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
