//! What is wrong with a mesh file, and where.

use std::fmt;

/// What is damaged, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshReadError {
    /// Something else than the format has there.
    #[error("{place}: expected {expected}, got {got}")]
    Unexpected {
        /// Where it is.
        place: FilePlace,
        /// What the format has there.
        expected: String,
        /// The start of what is there.
        got: String,
    },
    /// A count that the rest of the file has no room for.
    #[error("{place}: {count} {what} need at least {needed} bytes, {} left", bytes_are(*left))]
    Truncated {
        /// Where the counted things begin.
        place: FilePlace,
        /// The count declared.
        count: u64,
        /// What is counted.
        what: String,
        /// Bytes that so many take at least.
        needed: u64,
        /// Bytes there are.
        left: u64,
    },
    /// Arrays that would be larger than a reader may take for such a file.
    #[error(
        "{place}: {count} {what} take {needed} bytes of memory, expected at most {left} for a file of {file} bytes"
    )]
    TooDense {
        /// Where the counted things begin.
        place: FilePlace,
        /// Counted in the file.
        count: u64,
        /// What is counted.
        what: String,
        /// Bytes that so many take in memory.
        needed: u64,
        /// Bytes that the reader may still take.
        left: u64,
        /// Bytes of the file.
        file: u64,
    },
    /// A binary block whose declared size is not the one it has.
    #[error(
        "{place}: {section} declares {declared} bytes, but the next section, {next}, begins after {found}{}",
        escapes_note(*escapes)
    )]
    BlockSize {
        /// Where the block begins.
        place: FilePlace,
        /// The section's first line.
        section: String,
        /// Bytes that the section's line declares.
        declared: u64,
        /// The keyword of the section that follows.
        next: String,
        /// Bytes up to that section.
        found: u64,
        /// Bytes in between that were replaced by text such as `\E3`.
        escapes: u64,
    },
    /// The format's reader refused it.
    #[error("{place}: {message}")]
    Reader {
        /// How far it came.
        place: FilePlace,
        /// In the reader's words.
        message: String,
    },
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// Of a text, counted from 1.
    Line(usize),
    /// Counted from 0.
    Byte(usize),
    /// A facet of an STL file, counted from 0.
    Facet(usize),
    /// A polygon or strip's triangle, counted from 0.
    Face(usize),
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilePlace::Line(n) => write!(f, "line {n}"),
            FilePlace::Byte(n) => write!(f, "byte {n}"),
            FilePlace::Facet(n) => write!(f, "facet {n}"),
            FilePlace::Face(n) => write!(f, "face {n}"),
        }
    }
}

/// Something else than the format has there: `got` is what is there, if anything is.
pub(super) fn unexpected(place: FilePlace, expected: &str, got: Option<&[u8]>) -> MeshReadError {
    let got = got.map_or_else(|| "nothing".to_owned(), excerpt);
    MeshReadError::Unexpected { place, expected: expected.to_owned(), got }
}

/// The size gate: `count` things of at least `smallest` bytes each must fit in the bytes left.
pub(super) fn check_fits(
    place: FilePlace,
    count: u64,
    what: &str,
    smallest: u64,
    left: usize,
) -> Result<(), MeshReadError> {
    // Saturating, because a header may claim any count: the product only has to be larger than any file.
    check_size(place, count, what, count.saturating_mul(smallest), left)
}

/// The size gate of a text, whose last line or word may lack its end.
pub(super) fn check_text_fits(
    place: FilePlace,
    count: u64,
    what: &str,
    smallest: u64,
    left: usize,
) -> Result<(), MeshReadError> {
    check_size(place, count, what, count.saturating_mul(smallest).saturating_sub(1), left)
}

fn check_size(
    place: FilePlace,
    count: u64,
    what: &str,
    needed: u64,
    left: usize,
) -> Result<(), MeshReadError> {
    let left = left as u64;
    if needed <= left {
        return Ok(());
    }
    Err(MeshReadError::Truncated { place, count, what: what.to_owned(), needed, left })
}

fn bytes_are(n: u64) -> String {
    match n {
        1 => "1 byte is".to_owned(),
        n => format!("{n} bytes are"),
    }
}

/// The start of some bytes of a file, fit for a message.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 40;
    // A file may be binary and of any length; a message is neither.
    let shown = &bytes[..bytes.len().min(SHOWN_MAX)];
    let dots = if bytes.len() > SHOWN_MAX { "..." } else { "" };
    format!("\"{}{dots}\"", shown.escape_ascii())
}

/// A reader's message, which may quote any length of the file.
pub(super) fn one_line(message: &str) -> String {
    const SHOWN_MAX: usize = 160;
    let words: Vec<&str> = message.split_whitespace().collect();
    // By characters, as a cut within one would be no text.
    words.join(" ").chars().take(SHOWN_MAX).collect()
}

fn escapes_note(escapes: u64) -> String {
    match escapes {
        // Text conversions replace bytes that are no characters by escapes; a count of them tells a user what has
        // happened to the file.
        0 => String::new(),
        n => {
            format!("; {n} bytes in it were replaced by text such as \\E3, as by a text conversion")
        }
    }
}
