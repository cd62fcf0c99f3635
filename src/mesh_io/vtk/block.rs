//! A VTK file's header and its runs of numbers, as text or as big-endian bytes.

use glam::Vec3;

use crate::mesh_io::{
    read_error::{FilePlace, MeshReadError, check_fits, unexpected},
    read_room::ReadRoom,
    text::TextCursor,
};

/// What numbers are stored as. Signed and unsigned are told apart only by their names: where it would
/// matter a negative number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
}

const NAMES: [(&str, Kind); 13] = [
    ("float", Kind::Float),
    ("double", Kind::Double),
    ("vtktypeint32", Kind::Int),
    ("vtktypeint64", Kind::Long),
    ("int", Kind::Int),
    // Legacy files hold it in 4 bytes, although the type has 8 in memory.
    ("vtkIdType", Kind::Int),
    ("long", Kind::Long),
    ("char", Kind::Byte),
    ("unsigned_char", Kind::Byte),
    ("short", Kind::Short),
    ("unsigned_short", Kind::Short),
    ("unsigned_int", Kind::Int),
    ("unsigned_long", Kind::Long),
];

impl Kind {
    fn n_bytes(self) -> u64 {
        match self {
            Kind::Byte => 1,
            Kind::Short => 2,
            Kind::Int | Kind::Float => 4,
            Kind::Long | Kind::Double => 8,
        }
    }
}

/// A VTK file as far as it was read.
pub(super) struct Vtk<'a> {
    pub(super) text: TextCursor<'a>,
    pub(super) room: ReadRoom,
    pub(super) binary: bool,
    pub(super) major_version: u32,
    /// The block read last, whose size is in doubt when no section follows it.
    pub(super) last: Option<LastBlock>,
}

/// A block of binary numbers: the line that declares it, and where it is.
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
        // A title of any content.
        text.line();
        let encoding = text.word();
        let binary = match encoding {
            Some(b"BINARY") => true,
            Some(b"ASCII") => false,
            _ => return Err(unexpected(text.place(), "ASCII or BINARY", encoding)),
        };
        for expected in ["DATASET", "POLYDATA"] {
            let word = text.word();
            if word != Some(expected.as_bytes()) {
                return Err(unexpected(text.place(), expected, word));
            }
        }
        Ok(Vtk { text, room: ReadRoom::of(bytes), binary, major_version, last: None })
    }

    /// In a binary file lines cannot be counted.
    pub(super) fn place(&self) -> FilePlace {
        if self.binary { FilePlace::Byte(self.text.offset()) } else { self.text.place() }
    }

    /// The next word, which must name one of the kinds.
    pub(super) fn kind(&mut self, allowed: &[Kind]) -> Result<Kind, MeshReadError> {
        let word = self.text.word();
        let is_allowed = |(_, kind): &&(&str, Kind)| allowed.contains(kind);
        let found = NAMES.iter().filter(is_allowed).find(|(n, _)| Some(n.as_bytes()) == word);
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().filter(is_allowed).map(|(n, _)| *n).collect();
            unexpected(self.place(), &names.join(" or "), word)
        })
    }

    /// `n` points of three coordinates.
    pub(super) fn point_block(
        &mut self,
        section: &str,
        n: u64,
        kind: Kind,
    ) -> Result<Vec<Vec3>, MeshReadError> {
        let n_coordinates = n.saturating_mul(3);
        if !self.binary {
            // Before anything is reserved.
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
        // Big-endian whatever the machine is: the format says so.
        match kind {
            Kind::Double => points.extend(bytes.as_chunks::<24>().0.iter().map(|point| {
                let [x, y, z] = [0, 8, 16].map(|at| {
                    f64::from_be_bytes(*point[at..].first_chunk().expect("three of eight bytes"))
                });
                Vec3::new(x as f32, y as f32, z as f32)
            })),
            _ => points.extend(bytes.as_chunks::<12>().0.iter().map(|point| {
                Vec3::from_array([0, 4, 8].map(|at| {
                    f32::from_be_bytes(*point[at..].first_chunk().expect("three of four bytes"))
                }))
            })),
        }
        Ok(points)
    }

    /// Integers that are not negative.
    pub(super) fn counts(
        &mut self,
        section: &str,
        n: u64,
        kind: Kind,
    ) -> Result<Vec<u32>, MeshReadError> {
        // Vertex numbers are 32 bits here, whatever the file has: meshes beyond that are refused by size anyway.
        const EXPECTED: &str = "a number from 0 to 4294967295";
        if !self.binary {
            // Before anything is reserved.
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
        let size = kind.n_bytes() as usize;
        for (i, number) in bytes.chunks_exact(size).enumerate() {
            let number = match number.first_chunk() {
                Some(long) => i64::from_be_bytes(*long),
                None => i32::from_be_bytes(*number.first_chunk().expect("four bytes")).into(),
            };
            numbers.push(u32::try_from(number).map_err(|_| {
                let got = number.to_string();
                unexpected(FilePlace::Byte(start + i * size), EXPECTED, Some(got.as_bytes()))
            })?);
        }
        Ok(numbers)
    }

    /// Passes over numbers of any kind.
    pub(super) fn pass(&mut self, section: &str, n: u64, kind: Kind) -> Result<(), MeshReadError> {
        if self.binary {
            return self.block(section, n, kind).map(|_| ());
        }
        self.check_words_fit(section, n)?;
        (0..n).try_for_each(|_| {
            self.text.word().map(|_| ()).ok_or_else(|| unexpected(self.place(), "a number", None))
        })
    }

    /// A digit and a space each; the last may lack the space.
    fn check_words_fit(&self, section: &str, n: u64) -> Result<(), MeshReadError> {
        let what = format!("numbers of {section}");
        check_fits(self.place(), n, &what, 2, self.text.rest().len() + 1)
    }

    /// The bytes after this line.
    fn block(&mut self, section: &str, n: u64, kind: Kind) -> Result<&'a [u8], MeshReadError> {
        self.text.line();
        let at = self.text.offset();
        let what = format!("numbers of {section}");
        check_fits(FilePlace::Byte(at), n, &what, kind.n_bytes(), self.text.rest().len())?;
        let n_bytes = (n * kind.n_bytes()) as usize;
        // Remembered, because a wrong size shows only where the next section should begin.
        self.last = Some(LastBlock { section: section.to_owned(), at, n_bytes });
        Ok(self.text.take(n_bytes))
    }
}
