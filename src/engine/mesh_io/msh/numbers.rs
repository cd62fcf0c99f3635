//! The numbers of an MSH file, as text or as bytes.

use glam::Vec3;

use crate::mesh_io::{
    read_error::{FilePlace, MeshReadError, check_fits, check_text_fits, unexpected},
    text::TextCursor,
    vtk::number_kind::ByteOrder,
};

/// The unread part of a file.
#[derive(Clone)]
pub(super) struct Numbers<'a> {
    text: TextCursor<'a>,
    version: Version,
    /// `None`: ASCII.
    order: Option<ByteOrder>,
    /// Bytes of a size in a binary file of version 4.1.
    n_size_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// 2.2.
    V2,
    /// 4.1.
    V4,
}

/// A run of elements of one type.
pub(super) struct ElementBlock {
    pub(super) element_type: i64,
    pub(super) n_elements: u64,
    /// Tags of each element beside its number.
    pub(super) n_tags: u64,
    /// True if the element's number and tags were read with the block.
    pub(super) is_tagged: bool,
}

impl<'a> Numbers<'a> {
    /// Reads the header.
    pub(super) fn after_header(bytes: &'a [u8]) -> Result<Numbers<'a>, MeshReadError> {
        let mut text = TextCursor::new(bytes);
        let word = text.word();
        if word != Some(b"$MeshFormat") {
            return Err(unexpected(FilePlace::Line(1), "$MeshFormat", word));
        }
        let word = text.word();
        let version = match word {
            Some(b"2" | b"2.0" | b"2.1" | b"2.2") => Version::V2,
            Some(b"4.1") => Version::V4,
            _ => return Err(unexpected(text.place(), "version 2.2 or 4.1", word)),
        };
        let is_binary: u8 = text.number("0 or 1, for ASCII or binary")?;
        let n_size_bytes: usize = text.number("the number of bytes of a size")?;
        if !matches!(n_size_bytes, 4 | 8) {
            let got = n_size_bytes.to_string();
            return Err(unexpected(text.place(), "sizes of 4 or 8 bytes", Some(got.as_bytes())));
        }
        let mut file = Numbers { text, version, order: None, n_size_bytes };
        if is_binary != 0 {
            file.text.line();
            let one = file.bytes(4, "the number 1")?;
            let order = if one[0] == 1 { ByteOrder::Little } else { ByteOrder::Big };
            if order.unsigned(one) != 1 {
                return Err(unexpected(file.place(), "the number 1 in four bytes", Some(one)));
            }
            file.order = Some(order);
        }
        file.end_section("MeshFormat")?;
        Ok(file)
    }

    pub(super) fn version(&self) -> Version {
        self.version
    }

    pub(super) fn place(&self) -> FilePlace {
        match self.order {
            Some(_) => FilePlace::Byte(self.text.offset()),
            None => self.text.place(),
        }
    }

    /// Name of the section that begins here; `None` at the end of the file.
    pub(super) fn section(&mut self) -> Option<&'a [u8]> {
        let word = self.text.word()?;
        // The numbers of a binary section begin on the next line.
        self.text.line();
        Some(word.strip_prefix(b"$").unwrap_or(word))
    }

    pub(super) fn end_section(&mut self, name: &str) -> Result<(), MeshReadError> {
        let expected = format!("$End{name}");
        let word = self.text.word();
        if word == Some(expected.as_bytes()) {
            return Ok(());
        }
        Err(unexpected(self.place(), &expected, word))
    }

    /// Skips to the end of a section whose first line was read.
    pub(super) fn skip_section(&mut self, name: &[u8]) {
        let end = [b"$End", name].concat();
        while self.text.line().is_some_and(|line| !line.text().trim_ascii().ends_with(&end)) {}
    }

    /// Checks a declared count against the number of items that were read.
    pub(super) fn check_count(&self, what: &str, n: u64, n_read: u64) -> Result<(), MeshReadError> {
        if n == n_read {
            return Ok(());
        }
        let got = n_read.to_string();
        Err(unexpected(self.place(), &format!("{n} {what}"), Some(got.as_bytes())))
    }

    /// Checks the count of a block against what the section declares.
    pub(super) fn check_at_most(
        &self,
        what: &str,
        n_left: u64,
        n: u64,
    ) -> Result<(), MeshReadError> {
        if n <= n_left {
            return Ok(());
        }
        let expected = format!("at most {n_left} more {what}");
        Err(unexpected(self.place(), &expected, Some(n.to_string().as_bytes())))
    }

    /// Checks that the file may hold `n` things, each of some integers and some coordinates.
    pub(super) fn check_fits(
        &self,
        n: u64,
        what: &str,
        n_integers: u64,
        n_coordinates: u64,
    ) -> Result<(), MeshReadError> {
        let n_left = self.text.rest().len();
        match (self.order, self.version) {
            (None, _) => {
                check_text_fits(self.place(), n, what, 2 * (n_integers + n_coordinates), n_left)
            }
            // A run of elements of version 2.2 shares its type.
            (_, Version::V2) => check_fits(self.place(), n, what, 4 + 8 * n_coordinates, n_left),
            _ => {
                let smallest = self.n_size_bytes as u64 * n_integers + 8 * n_coordinates;
                check_fits(self.place(), n, what, smallest, n_left)
            }
        }
    }

    /// Count of a section: in version 2.2 a text also in binary files.
    pub(super) fn count(&mut self, expected: &str) -> Result<u64, MeshReadError> {
        if self.version == Version::V4 {
            return self.size(expected);
        }
        let n = self.text.number(expected)?;
        self.text.line();
        Ok(n)
    }

    pub(super) fn int(&mut self, expected: &str) -> Result<i64, MeshReadError> {
        let Some(order) = self.order else { return self.text.number(expected) };
        let bits = order.unsigned(self.bytes(4, expected)?);
        Ok(i64::from(bits as u32 as i32))
    }

    /// Number that version 4.1 stores as a size.
    pub(super) fn size(&mut self, expected: &str) -> Result<u64, MeshReadError> {
        let Some(order) = self.order else { return self.text.number(expected) };
        Ok(order.unsigned(self.bytes(self.n_size_bytes, expected)?))
    }

    /// Number of a node or an element: an int in version 2.2, a size in version 4.1.
    pub(super) fn tag(&mut self, expected: &str) -> Result<u64, MeshReadError> {
        let Some(order) = self.order else { return self.text.number(expected) };
        let n_bytes = if self.version == Version::V2 { 4 } else { self.n_size_bytes };
        Ok(order.unsigned(self.bytes(n_bytes, expected)?))
    }

    pub(super) fn coordinate(&mut self, expected: &str) -> Result<f32, MeshReadError> {
        let Some(order) = self.order else { return self.text.number(expected) };
        Ok(f64::from_bits(order.unsigned(self.bytes(8, expected)?)) as f32)
    }

    pub(super) fn point(&mut self) -> Result<Vec3, MeshReadError> {
        let mut next = || self.coordinate("a coordinate");
        Ok(Vec3::new(next()?, next()?, next()?))
    }

    /// Reads the head of the next run of elements.
    pub(super) fn element_block(&mut self) -> Result<ElementBlock, MeshReadError> {
        let not_negative = |n: i64| n.max(0) as u64;
        if self.version == Version::V4 {
            self.int("the dimension of an entity")?;
            self.int("the tag of an entity")?;
            let element_type = self.int("an element's type")?;
            let n_elements = self.size("the number of elements in the block")?;
            return Ok(ElementBlock { element_type, n_elements, n_tags: 0, is_tagged: false });
        }
        if self.order.is_some() {
            let element_type = self.int("an element's type")?;
            let n_elements = not_negative(self.int("the number of elements")?);
            let n_tags = not_negative(self.int("the number of tags")?);
            return Ok(ElementBlock { element_type, n_elements, n_tags, is_tagged: false });
        }
        self.tag("an element's number")?;
        let element_type = self.int("an element's type")?;
        for _ in 0..self.size("the number of tags")? {
            self.int("a tag of an element")?;
        }
        Ok(ElementBlock { element_type, n_elements: 1, n_tags: 0, is_tagged: true })
    }

    fn bytes(&mut self, n: usize, expected: &str) -> Result<&'a [u8], MeshReadError> {
        if self.text.rest().len() < n {
            return Err(unexpected(self.place(), expected, None));
        }
        Ok(self.text.take(n))
    }
}
