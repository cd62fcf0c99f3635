//! Legacy VTK PolyData, ASCII or binary (big-endian), file versions 1 to 5.
//!
//! Own code: vtkio allocates by a header's counts, and aborts. `POINTS`, `POLYGONS` and `TRIANGLE_STRIPS` are read;
//! vertices, lines and fields are skipped, and reading ends at point or cell data. From version 5 on cells are stored
//! as offsets and connectivity.

mod block;

use glam::Vec3;

use super::{
    polygon::Faces,
    read_error::{FilePlace, MeshReadError, excerpt, unexpected},
};
use crate::geometry::MeshData;
use block::{BYTE, INT, ValueKind, Vtk};

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    let mut file = Vtk::open(bytes)?;
    let (mut positions, mut faces) = (Vec::new(), Faces::default());
    while let Some(section) = file.section()? {
        match section {
            Section::Points => positions = file.points()?,
            Section::Polygons => file.cells("POLYGONS", &mut faces, Faces::push_polygon)?,
            Section::Strips => file.cells("TRIANGLE_STRIPS", &mut faces, Faces::push_strip)?,
            Section::Vertices => file.cells("VERTICES", &mut Faces::default(), |_, _| true)?,
            Section::Lines => file.cells("LINES", &mut Faces::default(), |_, _| true)?,
            Section::Field => file.field()?,
            Section::Metadata => file.skip_metadata(),
            // The remaining sections belong to points or cells and do not describe the surface.
            Section::Attributes => break,
        }
    }
    let triangles = faces.cut(&positions, &mut file.room)?;
    Ok(MeshData { positions, triangles })
}

#[derive(Clone, Copy)]
enum Section {
    Points,
    Polygons,
    Strips,
    Vertices,
    Lines,
    Field,
    Metadata,
    Attributes,
}

const SECTIONS: [(&str, Section); 9] = [
    ("POINTS", Section::Points),
    ("POLYGONS", Section::Polygons),
    ("TRIANGLE_STRIPS", Section::Strips),
    ("VERTICES", Section::Vertices),
    ("LINES", Section::Lines),
    ("FIELD", Section::Field),
    ("METADATA", Section::Metadata),
    ("POINT_DATA", Section::Attributes),
    ("CELL_DATA", Section::Attributes),
];

impl Vtk<'_> {
    /// Reads the section that begins here; `None` at the end of the file.
    fn section(&mut self) -> Result<Option<Section>, MeshReadError> {
        // Binary blocks may end with or without a line end.
        self.text.skip_space();
        let (place, rest) = (self.place(), self.text.rest());
        let Some(word) = self.text.word() else { return Ok(None) };
        match section_named(word) {
            Some((_, section)) => Ok(Some(section)),
            None => Err(self
                .wrong_block_size()
                .unwrap_or_else(|| unexpected(place, "a section such as POLYGONS", Some(rest)))),
        }
    }

    fn points(&mut self) -> Result<Vec<Vec3>, MeshReadError> {
        let n: u64 = self.text.number("the number of points")?;
        let kind = self.number_kind()?;
        self.point_block(&format!("POINTS {n}"), n, kind)
    }

    /// Adds the triangles of cells. `push` returns true if the corners make such a cell.
    fn cells(
        &mut self,
        name: &str,
        faces: &mut Faces,
        push: fn(&mut Faces, &[u32]) -> bool,
    ) -> Result<(), MeshReadError> {
        let n: u64 = self.text.number("the number of cells")?;
        let size: u64 = self.text.number("the size of the cells")?;
        let (place, section) = (self.place(), format!("{name} {n} {size}"));
        let refused = |cell: usize, got: String| {
            let expected = format!("cell {cell} of {section} to be one");
            Err(MeshReadError::Unexpected { place, expected, got })
        };
        // Version 5 stores cells as offsets and connectivity, earlier versions store each as its length and its
        // corners.
        if self.major_version >= 5 {
            let offsets = self.array("OFFSETS", n)?;
            let corners = self.array("CONNECTIVITY", size)?;
            // A cell of k corners has k - 2 triangles, as polygon and as strip; there is one more offset than cells.
            let n_triangles = size.saturating_sub(2 * n.saturating_sub(1));
            faces.make_room(n_triangles, &mut self.room, place)?;
            for (cell, ends) in offsets.windows(2).enumerate() {
                match corners.get(ends[0] as usize..ends[1] as usize) {
                    Some(corners) if push(faces, corners) => {}
                    _ => return refused(cell, format!("offsets {} to {}", ends[0], ends[1])),
                }
            }
            return Ok(());
        }
        let numbers = self.counts(&section, size, INT)?;
        let n_triangles = size.saturating_sub(n.saturating_mul(3));
        faces.make_room(n_triangles, &mut self.room, place)?;
        let mut rest = &numbers[..];
        for cell in 0..n as usize {
            let Some((k, after)) = rest.split_first() else {
                return refused(cell, "the end of the section".to_owned());
            };
            // Lengths come from the file: each is checked against the remaining corners.
            match after.split_at_checked(*k as usize) {
                Some((corners, after)) if push(faces, corners) => rest = after,
                Some(_) => return refused(cell, format!("one of {k} corners")),
                None => {
                    return refused(
                        cell,
                        format!("one of {k} corners, {} of them there", after.len()),
                    );
                }
            }
        }
        match rest.len() {
            0 => Ok(()),
            n_more => {
                refused(n as usize, format!("the end of the cells and {n_more} numbers more"))
            }
        }
    }

    fn array(&mut self, name: &str, n: u64) -> Result<Vec<u32>, MeshReadError> {
        let word = self.text.word();
        if word != Some(name.as_bytes()) {
            return Err(unexpected(self.place(), name, word));
        }
        let kind = self.number_kind()?;
        self.counts(name, n, kind)
    }

    fn field(&mut self) -> Result<(), MeshReadError> {
        self.text.word();
        let n_arrays: u64 = self.text.number("the number of arrays")?;
        for _ in 0..n_arrays {
            let mut name = self.text.word();
            // Metadata of the array before.
            if name == Some(b"METADATA") {
                self.skip_metadata();
                name = self.text.word();
            }
            let section = format!("FIELD array {}", excerpt(name.unwrap_or_default()));
            let n_components: u64 = self.text.number("the number of components")?;
            let n_tuples: u64 = self.text.number("the number of tuples")?;
            let n = n_components.saturating_mul(n_tuples);
            match self.value_kind()? {
                ValueKind::Number(kind) => self.pass(&section, n, kind)?,
                ValueKind::Bit => {
                    self.pass(&section, if self.binary { n.div_ceil(8) } else { n }, BYTE)?
                }
                ValueKind::String => self.pass_strings(&section, n)?,
            }
        }
        Ok(())
    }

    /// Skips to the next empty line.
    fn skip_metadata(&mut self) {
        self.text.line();
        while self.text.line().is_some_and(|line| !line.text().is_empty()) {}
    }

    /// Returns an error if no section begins after a block, but one begins elsewhere: the block's size is then wrong.
    fn wrong_block_size(&self) -> Option<MeshReadError> {
        let last = self.last.as_ref()?;
        // Searched from the start of the block, because its declared end is in doubt.
        let bytes = self.text.since(last.at);
        let (found, next) = bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .find_map(|(i, _)| Some((i, section_line(&bytes[i + 1..])?)))?;
        Some(MeshReadError::BlockSize {
            place: FilePlace::Byte(last.at),
            section: last.section.clone(),
            declared: last.n_bytes as u64,
            next: next.to_owned(),
            found: found as u64,
            escapes: count_escapes(&bytes[..found]),
        })
    }
}

fn section_named(word: &[u8]) -> Option<(&'static str, Section)> {
    SECTIONS.into_iter().find(|(name, _)| name.as_bytes() == word)
}

fn section_line(line: &[u8]) -> Option<&'static str> {
    let end = line.iter().position(|b| *b == b' ')?;
    section_named(&line[..end]).map(|(name, _)| name)
}

/// Counts texts such as `\E3` in bytes that are text throughout, which binary numbers are not.
fn count_escapes(bytes: &[u8]) -> u64 {
    // Binary numbers are not text for long; bytes that are text were converted.
    if std::str::from_utf8(bytes).is_err() {
        return 0;
    }
    let is_escape = |w: &&[u8]| w[0] == b'\\' && w[1..].iter().all(u8::is_ascii_hexdigit);
    bytes.windows(3).filter(is_escape).count() as u64
}

#[cfg(test)]
mod tests;
