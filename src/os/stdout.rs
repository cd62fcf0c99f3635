//! The standard output, whose reader may go before all is said.

use std::io::{self, ErrorKind, Write};

/// Prints text, at once. A reader that has gone, as `head` does, has all that it wants: that is no error.
///
/// # Errors
/// The system's, as of a file on a full disk.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    // Not by print!, which panics where this gives an error.
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
