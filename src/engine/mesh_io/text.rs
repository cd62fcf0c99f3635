//! A cursor in a text of lines and words that tracks its line number.

use std::str::FromStr;

use super::read_error::{FilePlace, MeshReadError, unexpected};

/// The unread part of a file, by lines or by words. The text need not be UTF-8; [`TextCursor::take`] cuts out a binary
/// block.
#[derive(Clone)]
pub(super) struct TextCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

/// A line without its end.
pub(super) struct Line<'a> {
    text: &'a [u8],
    number: usize,
}

/// The words of a line up to a `#`.
#[derive(Clone)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(super) fn of(line: &'a [u8]) -> Words<'a> {
        let comment = line.iter().position(|b| *b == b'#').unwrap_or(line.len());
        Words { rest: &line[..comment] }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        self.rest = after;
        (!word.is_empty()).then_some(word)
    }
}

impl<'a> TextCursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> TextCursor<'a> {
        TextCursor { bytes, at: 0, line: 1 }
    }

    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// The file from `offset` on, read or not.
    pub(super) fn since(&self, offset: usize) -> &'a [u8] {
        &self.bytes[offset..]
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Line of the next byte, counted from 1.
    pub(super) fn place(&self) -> FilePlace {
        FilePlace::Line(self.line)
    }

    /// Returns the next line, or `None` at the end.
    pub(super) fn line(&mut self) -> Option<Line<'a>> {
        if self.rest().is_empty() {
            return None;
        }
        // The last line may lack its end.
        let end = self.rest().iter().position(|b| *b == b'\n');
        let text = &self.rest()[..end.unwrap_or(self.rest().len())];
        let number = self.line;
        self.skip(text.len() + usize::from(end.is_some()));
        // Files from Windows end lines with two bytes.
        Some(Line { text: text.strip_suffix(b"\r").unwrap_or(text), number })
    }

    /// Returns the next word, skipping any number of line ends.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let end = self.rest().iter().position(u8::is_ascii_whitespace);
        let word = &self.rest()[..end.unwrap_or(self.rest().len())];
        self.at += word.len();
        (!word.is_empty()).then_some(word)
    }

    /// Parses the next word as a number.
    pub(super) fn number<T: FromStr>(&mut self, expected: &str) -> Result<T, MeshReadError> {
        let word = self.word();
        parse(word, self.place(), expected)
    }

    pub(super) fn skip_space(&mut self) {
        let n = self.rest().iter().position(|b| !b.is_ascii_whitespace());
        self.skip(n.unwrap_or(self.rest().len()));
    }

    /// Returns the next `n` bytes, of any content; line numbers mean nothing after them.
    pub(super) fn take(&mut self, n: usize) -> &'a [u8] {
        let taken = &self.rest()[..n];
        self.at += n;
        taken
    }

    fn skip(&mut self, n: usize) {
        // Counted over the skipped part and not at each byte, so that long binary parts cost one pass.
        self.line += self.rest()[..n].iter().filter(|b| **b == b'\n').count();
        self.at += n;
    }
}

impl<'a> Line<'a> {
    pub(super) fn place(&self) -> FilePlace {
        FilePlace::Line(self.number)
    }

    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The words up to a `#`.
    pub(super) fn words(&self) -> Words<'a> {
        Words::of(self.text)
    }

    /// Returns true if this line ends in a backslash, so that the next line continues it.
    pub(super) fn ends_in_backslash(&self) -> bool {
        self.text.ends_with(b"\\")
    }

    pub(super) fn unexpected(&self, expected: &str) -> MeshReadError {
        unexpected(self.place(), expected, Some(self.text))
    }
}

/// Parses a word as a number.
pub(super) fn parse<T: FromStr>(
    word: Option<&[u8]>,
    place: FilePlace,
    expected: &str,
) -> Result<T, MeshReadError> {
    // Rust's own parser rounds correctly, rejects words that are no number, and uses no locale.
    word.and_then(|w| std::str::from_utf8(w).ok())
        .and_then(|w| w.parse().ok())
        .ok_or_else(|| unexpected(place, expected, word))
}

/// Parses three words as coordinates.
pub(super) fn parse_point<'a>(
    words: &mut impl Iterator<Item = &'a [u8]>,
    place: FilePlace,
) -> Result<glam::Vec3, MeshReadError> {
    let mut next = || parse(words.next(), place, "a coordinate");
    Ok(glam::Vec3::new(next()?, next()?, next()?))
}
