//! Errors of mesh files, with their position.

use std::fmt;

/// Damage in a mesh file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshReadError {
    /// The content differs from the format.
    #[error("{place}: expected {expected}, got {got}")]
    Unexpected {
        /// Position of the damage.
        place: FilePlace,
        /// Content that the format requires there.
        expected: String,
        /// Start of the actual content.
        got: String,
    },
    /// A count that the rest of the file cannot hold.
    #[error("{place}: {count} {what} need at least {needed} bytes, {} left", bytes_are(*left))]
    Truncated {
        /// Start of the counted items.
        place: FilePlace,
        /// Declared count.
        count: u64,
        /// Name of the counted items.
        what: String,
        /// Least bytes of that many items.
        needed: u64,
        /// Bytes left in the file.
        left: u64,
    },
    /// Arrays larger than a reader may allocate for a file of this size.
    #[error(
        "{place}: {count} {what} take {needed} bytes of memory, expected at most {left} for a file of {file} bytes"
    )]
    TooDense {
        /// Start of the counted items.
        place: FilePlace,
        /// Number of items in the file.
        count: u64,
        /// Name of the counted items.
        what: String,
        /// Bytes of that many items in memory.
        needed: u64,
        /// Bytes that the reader may still allocate.
        left: u64,
        /// Size of the file, bytes.
        file: u64,
    },
    /// A binary block whose declared size differs from its actual size.
    #[error(
        "{place}: {section} declares {declared} bytes, but the next section, {next}, begins after {found}{}",
        escapes_note(*escapes)
    )]
    BlockSize {
        /// Start of the block.
        place: FilePlace,
        /// First line of the section.
        section: String,
        /// Bytes declared by the section's line.
        declared: u64,
        /// Keyword of the next section.
        next: String,
        /// Bytes up to the next section.
        found: u64,
        /// Bytes in between that were replaced by text such as `\E3`.
        escapes: u64,
    },
    /// The format's parser rejected the file.
    #[error("{place}: {message}")]
    Reader {
        /// Position that the parser reached.
        place: FilePlace,
        /// Message of the parser.
        message: String,
    },
}

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// Line of a text, counted from 1.
    Line(usize),
    /// Byte, counted from 0.
    Byte(usize),
    /// A facet of an STL file, counted from 0.
    Facet(usize),
    /// Face: a polygon or a strip's triangle, counted from 0.
    Face(usize),
    /// Cell of a grid, counted from 0.
    Cell(usize),
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilePlace::Line(n) => write!(f, "line {n}"),
            FilePlace::Byte(n) => write!(f, "byte {n}"),
            FilePlace::Facet(n) => write!(f, "facet {n}"),
            FilePlace::Face(n) => write!(f, "face {n}"),
            FilePlace::Cell(n) => write!(f, "cell {n}"),
        }
    }
}

/// Error for content that differs from the format; `got` is the actual content, if any.
pub(super) fn unexpected(place: FilePlace, expected: &str, got: Option<&[u8]>) -> MeshReadError {
    let got = got.map_or_else(|| "nothing".to_owned(), excerpt);
    MeshReadError::Unexpected { place, expected: expected.to_owned(), got }
}

/// Size check: `count` things of at least `smallest` bytes each must fit in the bytes left.
pub(super) fn check_fits(
    place: FilePlace,
    count: u64,
    what: &str,
    smallest: u64,
    left: usize,
) -> Result<(), MeshReadError> {
    // Saturating, because a header may declare any count: the product only has to exceed any file's size.
    check_size(place, count, what, count.saturating_mul(smallest), left)
}

/// Size check of a text, whose last line or word may lack its end.
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

/// Start of some bytes of a file, printable in a message.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 40;
    // A file may be binary and of any length; a message may be neither.
    let shown = &bytes[..bytes.len().min(SHOWN_MAX)];
    let dots = if bytes.len() > SHOWN_MAX { "..." } else { "" };
    format!("\"{}{dots}\"", shown.escape_ascii())
}

/// A parser's message on one line; the message may quote any length of the file.
pub(super) fn one_line(message: &str) -> String {
    const SHOWN_MAX: usize = 160;
    let words: Vec<&str> = message.split_whitespace().collect();
    // Cut by characters, as a cut within a character would not be text.
    words.join(" ").chars().take(SHOWN_MAX).collect()
}

fn escapes_note(escapes: u64) -> String {
    match escapes {
        // Text conversions replace bytes that are no characters by escapes; their count shows a user the cause of the
        // damage.
        0 => String::new(),
        n => {
            format!("; {n} bytes in it were replaced by text such as \\E3, as by a text conversion")
        }
    }
}
