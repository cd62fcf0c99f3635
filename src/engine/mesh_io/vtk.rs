//! Legacy VTK PolyData and UnstructuredGrid, ASCII or binary (big-endian), file versions 1 to 5.
//!
//! Own code: vtkio allocates by a header's counts, and aborts. Points and cells are read; vertices, lines and fields
//! are skipped, and reading ends at point or cell data. From version 5 on cells are stored as offsets and
//! connectivity.

mod block;
pub(super) mod number_kind;
pub(super) mod unstructured;

use glam::Vec3;

use super::{
    cells::Cells,
    mesh_file::MeshFile,
    polygon::Faces,
    read_error::{FilePlace, MeshReadError, excerpt, unexpected},
};
use block::{ValueKind, Vtk};
use number_kind::{BYTE, INT};
use unstructured::{Connectivity, no_cell};

pub(super) fn read(bytes: &[u8]) -> Result<MeshFile, MeshReadError> {
    let mut file = Vtk::open(bytes)?;
    let (mut positions, mut faces) = (Vec::new(), Faces::default());
    let mut cells = None;
    while let Some(section) = file.section()? {
        match section {
            Section::Points => positions = file.points()?,
            Section::Polygons => file.faces("POLYGONS", &mut faces, Faces::push_polygon)?,
            Section::Strips => file.faces("TRIANGLE_STRIPS", &mut faces, Faces::push_strip)?,
            Section::Vertices => drop(file.connectivity("VERTICES")?),
            Section::Lines => drop(file.connectivity("LINES")?),
            Section::Cells => cells = Some(file.connectivity("CELLS")?.0),
            Section::CellTypes => {
                let types = file.cell_types()?;
                let place = file.place();
                let cells = cells.ok_or_else(|| unexpected(place, "CELLS before", None))?;
                return unstructured::mesh(positions, cells, &types, place, &mut file.room);
            }
            Section::Field => file.field()?,
            Section::Metadata => file.skip_metadata(),
            // The remaining sections belong to points or cells and do not describe the surface.
            Section::Attributes => break,
        }
    }
    if cells.is_some() {
        return Err(unexpected(file.place(), "CELL_TYPES", None));
    }
    MeshFile::new(positions, faces, Cells::default(), &mut file.room)
}

#[derive(Clone, Copy)]
enum Section {
    Points,
    Polygons,
    Strips,
    Vertices,
    Lines,
    Cells,
    CellTypes,
    Field,
    Metadata,
    Attributes,
}

/// Length of the longest keyword.
const KEYWORD_BYTES_MAX: usize = "TRIANGLE_STRIPS".len();
const SECTIONS: [(&str, Section); 11] = [
    ("POINTS", Section::Points),
    ("POLYGONS", Section::Polygons),
    ("TRIANGLE_STRIPS", Section::Strips),
    ("VERTICES", Section::Vertices),
    ("LINES", Section::Lines),
    ("CELLS", Section::Cells),
    ("CELL_TYPES", Section::CellTypes),
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

    /// Adds the triangles of a section's cells. `push` returns true if the corners make such a cell.
    fn faces(
        &mut self,
        name: &str,
        faces: &mut Faces,
        push: fn(&mut Faces, &[u32]) -> bool,
    ) -> Result<(), MeshReadError> {
        let (cells, section, place) = self.connectivity(name)?;
        cells.add_to(faces, push, &section, place, &mut self.room)
    }

    /// Reads a section's cells. Returns them with the section's line and place.
    fn connectivity(
        &mut self,
        name: &str,
    ) -> Result<(Connectivity, String, FilePlace), MeshReadError> {
        let n: u64 = self.text.number("the number of cells")?;
        let size: u64 = self.text.number("the size of the cells")?;
        let (place, section) = (self.place(), format!("{name} {n} {size}"));
        // Version 5 stores cells as offsets and connectivity, earlier versions store each as its length and its
        // corners.
        let cells = if self.major_version >= 5 {
            let bounds = self.array("OFFSETS", n)?;
            Connectivity::by_bounds(bounds, self.array("CONNECTIVITY", size)?)
        } else {
            let numbers = self.counts(&section, size, INT)?;
            // A cell takes a number at least.
            let bounds = self.room.vec(n.min(size) + 1, "cells", place)?;
            Connectivity::by_lengths(n as usize, numbers, bounds)
                .map_err(|damage| no_cell(&section, place, damage))?
        };
        Ok((cells, section, place))
    }

    fn cell_types(&mut self) -> Result<Vec<u32>, MeshReadError> {
        let n: u64 = self.text.number("the number of cells")?;
        self.counts(&format!("CELL_TYPES {n}"), n, INT)
    }

    fn array(&mut self, name: &str, n: u64) -> Result<Vec<u32>, MeshReadError> {
        let word = self.text.word();
        if !word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes())) {
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
    SECTIONS.into_iter().find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()))
}

fn section_line(line: &[u8]) -> Option<&'static str> {
    // No keyword is longer: the search ends here, as this is asked of each line.
    let end = line.iter().take(KEYWORD_BYTES_MAX + 1).position(|b| *b == b' ')?;
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
