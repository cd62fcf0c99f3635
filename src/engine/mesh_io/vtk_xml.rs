//! VTK XML files: UnstructuredGrid (`.vtu`) and PolyData (`.vtp`), with one piece.
//!
//! Arrays may be text, base64 or appended bytes, compressed with zlib or not. Only points and cells are decoded. The
//! XML is read as a stream: appended bytes are no XML, and reading ends where they begin.

mod data_array;

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{
    cells::Cells,
    mesh_file::MeshFile,
    polygon::Faces,
    read_error::{FilePlace, MeshReadError, one_line, unexpected},
    read_room::{self, ReadRoom},
    vtk::{
        number_kind::{ByteOrder, NumberKind},
        unstructured::{self, Connectivity},
    },
};
use data_array::{ArrayReader, DataArray, Encoding, Stream};

/// Deepest nesting of elements; VTK's files have seven levels.
const DEPTH_MAX: usize = 16;

pub(super) fn read(bytes: &[u8]) -> Result<MeshFile, MeshReadError> {
    let outline = Outline::of(bytes)?;
    let mut room = ReadRoom::new(bytes, read_room::of_compressed);
    let piece = outline.piece.ok_or_else(|| unexpected(FilePlace::Byte(0), "a piece", None))?;
    let reader = outline.reader;
    let positions = match outline.arrays.points {
        Some(points) => reader.points(points, piece.points, &mut room)?,
        None => Vec::new(),
    };
    let mut faces = Faces::default();
    for (section, arrays, n, push) in [
        (
            "Polys",
            outline.arrays.polygons,
            piece.polygons,
            Faces::push_polygon as fn(&mut _, &_) -> _,
        ),
        ("Strips", outline.arrays.strips, piece.strips, Faces::push_strip),
    ] {
        if let Some((connectivity, place)) = cells(&reader, section, arrays, n, &mut room)? {
            connectivity.add_to(&mut faces, push, section, place, &mut room)?;
        }
    }
    let arrays = outline.arrays.cells;
    let Some((connectivity, place)) = cells(&reader, "Cells", arrays, piece.cells, &mut room)?
    else {
        return MeshFile::new(positions, faces, Cells::default(), &mut room);
    };
    let types =
        outline.arrays.types.ok_or_else(|| unexpected(place, "an array \"types\"", None))?;
    let types = reader.counts(types, piece.cells, &mut room, &[])?;
    unstructured::mesh(positions, connectivity, &types, place, &mut room)
}

/// Reads the cells of a section, if it has any.
fn cells(
    reader: &ArrayReader,
    section: &str,
    arrays: CellArrays,
    n: u64,
    room: &mut ReadRoom,
) -> Result<Option<(Connectivity, FilePlace)>, MeshReadError> {
    if n == 0 {
        return Ok(None);
    }
    let missing = |name: &str| {
        unexpected(FilePlace::Byte(0), &format!("an array \"{name}\" in {section}"), None)
    };
    let offsets = arrays.offsets.ok_or_else(|| missing("offsets"))?;
    let corners = arrays.corners.ok_or_else(|| missing("connectivity"))?;
    let place = offsets.place;
    // The array holds the end of each cell.
    let bounds = reader.counts(offsets, n, room, &[0])?;
    let n_corners = bounds.last().copied().unwrap_or_default();
    let corners = reader.counts(corners, n_corners.into(), room, &[])?;
    Ok(Some((Connectivity::by_bounds(bounds, corners), place)))
}

/// Outline of a file: its arrays, not yet decoded.
struct Outline<'a> {
    reader: ArrayReader<'a>,
    arrays: GridArrays<'a>,
    piece: Option<PieceCounts>,
}

#[derive(Default)]
struct GridArrays<'a> {
    points: Option<DataArray<'a>>,
    cells: CellArrays<'a>,
    types: Option<DataArray<'a>>,
    polygons: CellArrays<'a>,
    strips: CellArrays<'a>,
}

#[derive(Clone, Copy, Default)]
struct CellArrays<'a> {
    offsets: Option<DataArray<'a>>,
    corners: Option<DataArray<'a>>,
}

/// Declared counts of a piece.
#[derive(Clone, Copy, Default)]
struct PieceCounts {
    points: u64,
    cells: u64,
    polygons: u64,
    strips: u64,
}

/// An element that arrays belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArraySection {
    Points,
    Cells,
    Polygons,
    Strips,
    Other,
}

impl<'a> Outline<'a> {
    fn of(bytes: &'a [u8]) -> Result<Outline<'a>, MeshReadError> {
        let mut xml = Reader::from_reader(bytes);
        let mut outline: Option<Outline> = None;
        // Open elements, innermost last.
        let mut open = Vec::with_capacity(DEPTH_MAX);
        loop {
            let event = xml.read_event().map_err(|error| MeshReadError::Reader {
                place: FilePlace::Byte(xml.error_position() as usize),
                message: one_line(&error.to_string()),
            })?;
            let at = xml.buffer_position() as usize;
            let (element, is_open) = match event {
                Event::Start(element) => (element, true),
                Event::Empty(element) => (element, false),
                Event::End(_) => {
                    open.pop();
                    continue;
                }
                Event::Eof if open.is_empty() => break,
                Event::Eof => {
                    return Err(unexpected(FilePlace::Byte(at), "the end of an element", None));
                }
                _ => continue,
            };
            let element = Element { tag: element, place: FilePlace::Byte(at) };
            let Some(outline) = &mut outline else {
                outline = Some(Outline::of_header(&element)?);
                open.extend(is_open.then_some(ArraySection::Other));
                continue;
            };
            let content = if is_open { &bytes[at..] } else { &[] };
            let mut section = ArraySection::Other;
            match element.tag.name().as_ref() {
                b"Piece" => outline.begin_piece(&element)?,
                b"Points" => section = ArraySection::Points,
                b"Cells" => section = ArraySection::Cells,
                b"Polys" => section = ArraySection::Polygons,
                b"Strips" => section = ArraySection::Strips,
                b"DataArray" => {
                    let parent = open.last().copied().unwrap_or(ArraySection::Other);
                    outline.add_array(&element, parent, content)?;
                }
                b"AppendedData" => {
                    outline.reader.append(element.appended(content)?);
                    break;
                }
                _ => {}
            }
            if is_open {
                if open.len() == DEPTH_MAX {
                    return Err(unexpected(element.place, "elements nested less deeply", None));
                }
                open.push(section);
            }
        }
        outline.ok_or_else(|| unexpected(FilePlace::Byte(0), "VTKFile", Some(bytes)))
    }

    fn of_header(element: &Element) -> Result<Outline<'a>, MeshReadError> {
        if element.tag.name().as_ref() != b"VTKFile" {
            return Err(unexpected(element.place, "VTKFile", Some(&element.tag)));
        }
        element.value("type", &[("UnstructuredGrid", ()), ("PolyData", ())], None)?;
        const LITTLE: ByteOrder = ByteOrder::Little;
        let order = [("LittleEndian", LITTLE), ("BigEndian", ByteOrder::Big)];
        Ok(Outline {
            reader: ArrayReader::new(
                element.value("byte_order", &order, Some(LITTLE))?,
                element.value("header_type", &[("UInt32", 4), ("UInt64", 8)], Some(4))?,
                element.value(
                    "compressor",
                    &[("", false), ("vtkZLibDataCompressor", true)],
                    Some(false),
                )?,
            ),
            arrays: GridArrays::default(),
            piece: None,
        })
    }

    fn begin_piece(&mut self, element: &Element) -> Result<(), MeshReadError> {
        if self.piece.is_some() {
            return Err(unexpected(element.place, "one piece (merge pieces before saving)", None));
        }
        self.piece = Some(PieceCounts {
            points: element.number("NumberOfPoints")?,
            cells: element.number("NumberOfCells")?,
            polygons: element.number("NumberOfPolys")?,
            strips: element.number("NumberOfStrips")?,
        });
        Ok(())
    }

    /// Keeps an array that describes the mesh. `content`: the file behind the array's tag.
    fn add_array(
        &mut self,
        element: &Element,
        section: ArraySection,
        content: &'a [u8],
    ) -> Result<(), MeshReadError> {
        let name = element.text("Name")?;
        let slot = match (section, &*name) {
            (ArraySection::Points, _) => &mut self.arrays.points,
            (ArraySection::Cells, "types") => &mut self.arrays.types,
            (ArraySection::Cells, "offsets") => &mut self.arrays.cells.offsets,
            (ArraySection::Cells, "connectivity") => &mut self.arrays.cells.corners,
            (ArraySection::Polygons, "offsets") => &mut self.arrays.polygons.offsets,
            (ArraySection::Polygons, "connectivity") => &mut self.arrays.polygons.corners,
            (ArraySection::Strips, "offsets") => &mut self.arrays.strips.offsets,
            (ArraySection::Strips, "connectivity") => &mut self.arrays.strips.corners,
            _ => return Ok(()),
        };
        let kind = element.text("type")?;
        let kind = NumberKind::named(&kind)
            .ok_or_else(|| unexpected(element.place, "a type of numbers", Some(kind.as_bytes())))?;
        // Elements with information may follow the numbers.
        let end = content.iter().position(|b| *b == b'<').unwrap_or(content.len());
        let encoding = match &*element.text("format")? {
            "ascii" | "" => Encoding::Text(&content[..end]),
            "binary" => Encoding::Base64(&content[..end]),
            "appended" => Encoding::Appended(element.number("offset")?),
            other => {
                let expected = "the format ascii, binary or appended";
                return Err(unexpected(element.place, expected, Some(other.as_bytes())));
            }
        };
        *slot = Some(DataArray { kind, encoding, place: element.place });
        Ok(())
    }
}

/// An element's tag, and its place.
struct Element<'t> {
    tag: BytesStart<'t>,
    place: FilePlace,
}

impl Element<'_> {
    /// Value of an attribute; empty if there is none.
    fn text(&self, name: &str) -> Result<String, MeshReadError> {
        let attribute = self.tag.try_get_attribute(name).map_err(|error| {
            let message = one_line(&error.to_string());
            MeshReadError::Reader { place: self.place, message }
        })?;
        Ok(attribute.map(|a| String::from_utf8_lossy(&a.value).into_owned()).unwrap_or_default())
    }

    /// Attribute that is a count; 0 if there is none.
    fn number(&self, name: &str) -> Result<u64, MeshReadError> {
        match &*self.text(name)? {
            "" => Ok(0),
            text => text.trim().parse().map_err(|_| {
                unexpected(self.place, &format!("a number as {name}"), Some(text.as_bytes()))
            }),
        }
    }

    /// Attribute with one of the values that are listed; `missing` if there is none.
    fn value<T: Copy>(
        &self,
        name: &str,
        values: &[(&str, T)],
        missing: Option<T>,
    ) -> Result<T, MeshReadError> {
        let text = self.text(name)?;
        let known = values.iter().find(|(value, _)| *value == text).map(|(_, meaning)| *meaning);
        known.or(missing.filter(|_| text.is_empty())).ok_or_else(|| {
            let names: Vec<&str> =
                values.iter().map(|(v, _)| *v).filter(|v| !v.is_empty()).collect();
            let expected = format!("{name} {}", names.join(" or "));
            unexpected(self.place, &expected, Some(text.as_bytes()))
        })
    }

    /// Appended data behind this tag.
    fn appended<'a>(&self, content: &'a [u8]) -> Result<Stream<'a>, MeshReadError> {
        // An underscore marks the first byte.
        let content = content.trim_ascii_start();
        let data = content
            .strip_prefix(b"_")
            .ok_or_else(|| unexpected(self.place, "an underscore", Some(content)))?;
        let is_base64 = self.value("encoding", &[("raw", false), ("base64", true)], None)?;
        Ok(if is_base64 { Stream::Base64(data, 0) } else { Stream::Raw(data) })
    }
}

#[cfg(test)]
mod tests;
