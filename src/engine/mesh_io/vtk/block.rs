//! Header of a VTK file and its runs of numbers, as text or as big-endian bytes.

use glam::Vec3;

use super::number_kind::{ByteOrder, NumberKind};
use crate::mesh_io::{
    read_error::{FilePlace, MeshReadError, check_fits, check_text_fits, unexpected},
    read_room::ReadRoom,
    text::TextCursor,
};

/// Storage type of an array's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Number(NumberKind),
    /// Eight values in a byte.
    Bit,
    String,
}

/// A VTK file and its reading position.
pub(super) struct Vtk<'a> {
    pub(super) text: TextCursor<'a>,
    pub(super) room: ReadRoom,
    pub(super) binary: bool,
    pub(super) major_version: u32,
    /// Last block read, whose size is in doubt if no section follows it.
    pub(super) last: Option<LastBlock>,
}

/// A block of binary numbers: the line that declares it, and its position.
pub(super) struct LastBlock {
    pub(super) section: String,
    pub(super) at: usize,
    pub(super) n_bytes: usize,
}

impl<'a> Vtk<'a> {
    /// Reads the header.
    pub(super) fn open(bytes: &'a [u8]) -> Result<Vtk<'a>, MeshReadError> {
        const MAGIC: &str = "# vtk DataFile Version ";
        let mut text = TextCursor::new(bytes);
        let version = text.line().and_then(|line| {
            let version = std::str::from_utf8(line.text().strip_prefix(MAGIC.as_bytes())?).ok()?;
            version.trim().split('.').next()?.parse().ok()
        });
        let major_version = version.ok_or_else(|| {
            unexpected(FilePlace::Line(1), &format!("\"{MAGIC}x.y\""), Some(bytes))
        })?;
        // The title may have any content.
        text.line();
        let encoding = text.word();
        let binary = match encoding {
            Some(word) if word.eq_ignore_ascii_case(b"BINARY") => true,
            Some(word) if word.eq_ignore_ascii_case(b"ASCII") => false,
            _ => return Err(unexpected(text.place(), "ASCII or BINARY", encoding)),
        };
        let word = text.word();
        let is_one_of = |word: Option<&[u8]>, names: &[&str]| {
            let is =
                |name: &&str| word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()));
            names.iter().any(is)
        };
        if !is_one_of(word, &["DATASET"]) {
            return Err(unexpected(text.place(), "DATASET", word));
        }
        let word = text.word();
        if !is_one_of(word, &["POLYDATA", "UNSTRUCTURED_GRID"]) {
            let expected =
                "POLYDATA or UNSTRUCTURED_GRID (of another grid: export the boundary surface)";
            return Err(unexpected(text.place(), expected, word));
        }
        Ok(Vtk { text, room: ReadRoom::of(bytes), binary, major_version, last: None })
    }

    /// Current position; lines cannot be counted in a binary file.
    pub(super) fn place(&self) -> FilePlace {
        if self.binary { FilePlace::Byte(self.text.offset()) } else { self.text.place() }
    }

    /// Reads the next word, which must name a kind of numbers.
    pub(super) fn number_kind(&mut self) -> Result<NumberKind, MeshReadError> {
        match self.value_kind()? {
            ValueKind::Number(kind) => Ok(kind),
            ValueKind::Bit => Err(unexpected(self.place(), "a kind of numbers", Some(b"bit"))),
            ValueKind::String => {
                Err(unexpected(self.place(), "a kind of numbers", Some(b"string")))
            }
        }
    }

    /// Reads the next word, which must name a kind of values.
    pub(super) fn value_kind(&mut self) -> Result<ValueKind, MeshReadError> {
        let word = self.text.word();
        let name = word.and_then(|w| std::str::from_utf8(w).ok()).map(str::to_ascii_lowercase);
        let kind = name.and_then(|name| match &*name {
            "bit" => Some(ValueKind::Bit),
            "string" | "utf8_string" => Some(ValueKind::String),
            name => NumberKind::named(name).map(ValueKind::Number),
        });
        kind.ok_or_else(|| unexpected(self.place(), "a kind of values such as float", word))
    }

    /// Reads `n` points of three coordinates.
    pub(super) fn point_block(
        &mut self,
        section: &str,
        n: u64,
        kind: NumberKind,
    ) -> Result<Vec<Vec3>, MeshReadError> {
        let n_coordinates = n.saturating_mul(3);
        if !self.binary {
            // Checked before anything is reserved.
            self.check_words_fit(section, n_coordinates)?;
            let mut points = self.room.vec(n, "points", self.place())?;
            for _ in 0..n {
                let mut next = || self.text.number("a coordinate");
                points.push(Vec3::new(next()?, next()?, next()?));
            }
            return Ok(points);
        }
        let bytes = self.block(section, n_coordinates, kind)?;
        let mut points = self.room.vec(n, "points", self.place())?;
        points.extend(bytes.chunks_exact(3 * kind.n_bytes()).map(|point| {
            Vec3::from_array(
                [0, 1, 2].map(|i| kind.coordinate(&point[i * kind.n_bytes()..], ByteOrder::Big)),
            )
        }));
        Ok(points)
    }

    /// Reads integers that are not negative.
    pub(super) fn counts(
        &mut self,
        section: &str,
        n: u64,
        kind: NumberKind,
    ) -> Result<Vec<u32>, MeshReadError> {
        // Vertex numbers are 32 bits here, whatever the file stores: larger meshes are rejected by size anyway.
        const EXPECTED: &str = "a number from 0 to 4294967295";
        if !self.binary {
            // Checked before anything is reserved.
            self.check_words_fit(section, n)?;
            let mut numbers = self.room.vec(n, "numbers", self.place())?;
            for _ in 0..n {
                numbers.push(self.text.number(EXPECTED)?);
            }
            return Ok(numbers);
        }
        let bytes = self.block(section, n, kind)?;
        let mut numbers = self.room.vec(n, "numbers", self.place())?;
        let start = self.text.offset() - bytes.len();
        for (i, number) in bytes.chunks_exact(kind.n_bytes()).enumerate() {
            let number = kind.whole(number, ByteOrder::Big);
            numbers.push(u32::try_from(number).map_err(|_| {
                let got = number.to_string();
                let place = FilePlace::Byte(start + i * kind.n_bytes());
                unexpected(place, EXPECTED, Some(got.as_bytes()))
            })?);
        }
        Ok(numbers)
    }

    /// Skips numbers of any kind.
    pub(super) fn pass(
        &mut self,
        section: &str,
        n: u64,
        kind: NumberKind,
    ) -> Result<(), MeshReadError> {
        if self.binary {
            return self.block(section, n, kind).map(|_| ());
        }
        self.check_words_fit(section, n)?;
        (0..n).try_for_each(|_| {
            self.text.word().map(|_| ()).ok_or_else(|| unexpected(self.place(), "a number", None))
        })
    }

    /// Skips strings: in a text each has its own line.
    pub(super) fn pass_strings(&mut self, section: &str, n: u64) -> Result<(), MeshReadError> {
        self.text.line();
        for _ in 0..n {
            let is_there = match self.binary {
                false => self.text.line().is_some(),
                true => self.pass_string().is_some(),
            };
            if !is_there {
                return Err(unexpected(self.place(), &format!("{n} strings of {section}"), None));
            }
        }
        Ok(())
    }

    /// Skips a string of a binary file. The first two bits of its length give the number of bytes of the length.
    fn pass_string(&mut self) -> Option<()> {
        let rest = self.text.rest();
        let n_length_bytes = 8 >> (rest.first()? >> 6);
        let length = ByteOrder::Big.unsigned(rest.get(..n_length_bytes)?)
            & ((1 << (8 * n_length_bytes - 2)) - 1);
        let n_bytes = n_length_bytes.checked_add(usize::try_from(length).ok()?)?;
        rest.get(..n_bytes)?;
        self.text.take(n_bytes);
        Some(())
    }

    /// Checks that the words fit: a digit and a space each.
    fn check_words_fit(&self, section: &str, n: u64) -> Result<(), MeshReadError> {
        let what = format!("numbers of {section}");
        check_text_fits(self.place(), n, &what, 2, self.text.rest().len())
    }

    /// Returns the bytes after this line.
    fn block(
        &mut self,
        section: &str,
        n: u64,
        kind: NumberKind,
    ) -> Result<&'a [u8], MeshReadError> {
        self.text.line();
        let at = self.text.offset();
        let what = format!("numbers of {section}");
        check_fits(FilePlace::Byte(at), n, &what, kind.n_bytes() as u64, self.text.rest().len())?;
        let n_bytes = n as usize * kind.n_bytes();
        // Stored, because a wrong size shows only at the start of the next section.
        self.last = Some(LastBlock { section: section.to_owned(), at, n_bytes });
        Ok(self.text.take(n_bytes))
    }
}
