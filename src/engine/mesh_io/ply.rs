//! PLY, ASCII or binary: a wrapper of ply-rs-bw for the header and for each element; elements are read one by one so
//! that only the used ones are kept.

use std::io::{self, BufRead, Read};

use glam::Vec3;
use ply_rs_bw::{
    parser::{ParseError, Parser, Reader},
    ply::{
        ElementDef, Encoding, Header, Property, PropertyAccess, PropertyAccessResult, PropertyType,
        ScalarType,
    },
};

use super::{
    polygon::Faces,
    read_error::{FilePlace, MeshReadError, check_fits, check_text_fits, one_line, unexpected},
    read_room::ReadRoom,
};
use crate::geometry::MeshData;

/// Corners of the smallest polygon.
const CORNERS_MIN: u64 = 3;
/// Size limit of a record: ply-rs-bw keeps a record as a list of its words, which take eight times its bytes. A polygon
/// of 16,000 corners fits.
const RECORD_BYTES_MAX: u64 = 64 << 10;

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    // Two passes over the file, so that the arrays are allocated once and never grow: a header does not declare the
    // number of triangles of its polygons.
    let (mut n_vertices, mut n_triangles) = (0, 0);
    let count = |corners: &[u32]| {
        n_triangles += corners.len().saturating_sub(2) as u64;
        corners.len() >= CORNERS_MIN as usize
    };
    for_each(bytes, |_| n_vertices += 1, count)?;
    let (mut room, whole) = (ReadRoom::of(bytes), FilePlace::Byte(0));
    let mut positions: Vec<Vec3> = room.vec(n_vertices, "vertices", whole)?;
    let mut faces = Faces::with_room(n_triangles, &mut room, whole)?;
    for_each(bytes, |p| positions.push(p), |corners| faces.push_polygon(corners))?;
    let triangles = faces.cut(&positions, &mut room)?;
    Ok(MeshData { positions, triangles })
}

/// Passes the vertices and the corners of each face, in the file's order. `face` returns true if the corners make a
/// face.
fn for_each(
    bytes: &[u8],
    mut vertex: impl FnMut(Vec3),
    mut face: impl FnMut(&[u32]) -> bool,
) -> Result<(), MeshReadError> {
    let mut reader = Reader::new(bytes);
    let parser = Parser::<Record>::new();
    let header =
        parser.read_header(&mut reader).map_err(|e| damaged(&e, FilePlace::Line(reader.line())))?;
    let mut payload = Payload {
        // The reader's own line count continues, as its header may have any length.
        line: reader.line(),
        rest: reader.into_inner(),
        n_bytes: bytes.len(),
        encoding: header.encoding,
        parser,
        // One line at a time, in one buffer for all lines.
        text: String::new(),
    };
    let (vertices, faces) = (element(&header, "vertex")?, element(&header, "face")?);
    // Read in the order of the file, since elements have no other borders.
    for definition in header.elements.values() {
        payload.check_fits(definition)?;
        for _ in 0..definition.count {
            let place = payload.place();
            let record = payload.next(definition)?;
            // Compared by identity: the element was found once, and its name need not be compared for each record.
            if std::ptr::eq(definition, vertices) {
                vertex(Vec3::from_array(record.position));
            } else if std::ptr::eq(definition, faces) {
                let corners = record.corners.as_deref();
                if !corners.is_some_and(&mut face) {
                    let expected = "a face of at least 3 vertex numbers, none negative";
                    return Err(unexpected(place, expected, Some(b"another list")));
                }
            }
        }
    }
    Ok(())
}

/// A vertex or face; other properties in the file are skipped.
struct Record {
    position: [f32; 3],
    /// `None` also if one of the numbers is no vertex number.
    corners: Option<Vec<u32>>,
}

impl PropertyAccess for Record {
    fn new() -> Record {
        Record { position: [0.0; 3], corners: None }
    }

    fn set_property(&mut self, name: &str, value: Property) -> PropertyAccessResult {
        match name {
            "x" | "y" | "z" => match value.to_f32_lossy() {
                Some(coordinate) => {
                    self.position[usize::from(name.as_bytes()[0] - b'x')] = coordinate
                }
                None => return PropertyAccessResult::UnsupportedType,
            },
            // Writers use both names.
            "vertex_indices" | "vertex_index" => self.corners = value.to_u32_list(),
            _ => return PropertyAccessResult::Ignored,
        }
        PropertyAccessResult::Set
    }
}

/// File content after the header.
struct Payload<'a> {
    rest: &'a [u8],
    n_bytes: usize,
    /// Number of the next line, counted from 1, if ASCII.
    line: usize,
    encoding: Encoding,
    parser: Parser<Record>,
    text: String,
}

impl Payload<'_> {
    fn place(&self) -> FilePlace {
        match self.encoding {
            Encoding::Ascii => FilePlace::Line(self.line),
            _ => FilePlace::Byte(self.n_bytes - self.rest.len()),
        }
    }

    fn check_fits(&self, definition: &ElementDef) -> Result<(), MeshReadError> {
        let smallest: u64 = definition
            .properties
            .iter()
            .map(|(name, p)| smallest_size(name, &p.data_type, self.encoding))
            .sum();
        // Elements of no bytes fit into any file, however large their count.
        if smallest == 0 && definition.count > 0 {
            let expected = "an element with a property";
            return Err(unexpected(self.place(), expected, Some(definition.name.as_bytes())));
        }
        let check = if self.encoding == Encoding::Ascii { check_text_fits } else { check_fits };
        let what = format!("{} elements", definition.name);
        check(self.place(), definition.count as u64, &what, smallest, self.rest.len())
    }

    fn next(&mut self, definition: &ElementDef) -> Result<Record, MeshReadError> {
        let place = self.place();
        let record = match self.encoding {
            Encoding::Ascii => self.next_line().and_then(|()| {
                self.line += 1;
                self.parser.read_ascii_element(&self.text, definition)
            }),
            Encoding::BinaryBigEndian => self.parser.read_big_endian_element(
                &mut self.rest.by_ref().take(RECORD_BYTES_MAX),
                definition,
            ),
            Encoding::BinaryLittleEndian => self.parser.read_little_endian_element(
                &mut self.rest.by_ref().take(RECORD_BYTES_MAX),
                definition,
            ),
        };
        record.map_err(|e| damaged(&e, place))
    }

    fn next_line(&mut self) -> Result<(), ParseError> {
        self.text.clear();
        match self.rest.by_ref().take(RECORD_BYTES_MAX).read_line(&mut self.text)? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            _ => Ok(()),
        }
    }
}

fn element<'a>(header: &'a Header, name: &str) -> Result<&'a ElementDef, MeshReadError> {
    let needed: &[&[&str]] = match name {
        "vertex" => &[&["x"], &["y"], &["z"]],
        _ => &[&["vertex_indices", "vertex_index"]],
    };
    let found = header.elements.get(name);
    let has = |names: &&[&str]| {
        names.iter().any(|n| found.is_some_and(|d| d.properties.contains_key(*n)))
    };
    match needed.iter().find(|names| !has(names)) {
        None => found.ok_or_else(|| unexpected(FilePlace::Line(1), name, None)),
        Some(_) if name == "face" && found.is_none_or(|faces| faces.count == 0) => {
            let is_there = |name: &str| header.elements.contains_key(name);
            let got = match is_there("tristrips") {
                true => "triangle strips (element tristrips): export the mesh as triangles",
                false => "points alone: make a surface of them first",
            };
            let expected = "a header that declares element face";
            Err(MeshReadError::Unexpected {
                place: FilePlace::Line(1),
                expected: expected.into(),
                got: got.into(),
            })
        }
        Some(names) => {
            let expected =
                format!("a header that declares element {name} with {}", names.join(" or "));
            Err(unexpected(FilePlace::Line(1), &expected, None))
        }
    }
}

/// Least number of bytes of a property.
fn smallest_size(name: &str, data_type: &PropertyType, encoding: Encoding) -> u64 {
    // In a text: a digit and a separator.
    let size = |scalar: &ScalarType| match (encoding, scalar) {
        (Encoding::Ascii, _) => 2,
        (_, ScalarType::Char | ScalarType::UChar) => 1,
        (_, ScalarType::Short | ScalarType::UShort) => 2,
        (_, ScalarType::Int | ScalarType::UInt | ScalarType::Float) => 4,
        (_, ScalarType::Double) => 8,
    };
    match data_type {
        PropertyType::Scalar(scalar) => size(scalar),
        PropertyType::List(count, item) if matches!(name, "vertex_indices" | "vertex_index") => {
            size(count) + CORNERS_MIN * size(item)
        }
        PropertyType::List(count, _) => size(count),
    }
}

/// The reader's message contains the line if it read text.
fn damaged(error: &ParseError, place: FilePlace) -> MeshReadError {
    // A quotation and the parser's inner state follow on lines of their own; this error reports the place.
    let message = error.to_string();
    let message = message.split("\n\tError:").next().unwrap_or_default();
    let message = one_line(&message.replacen("\n\tString:", " In:", 1));
    let named = error.line().map(|line| format!("Line {line}: "));
    // The line would otherwise be reported twice.
    let message = match named.as_deref().and_then(|named| message.strip_prefix(named)) {
        Some(rest) => rest.to_owned(),
        None => message,
    };
    MeshReadError::Reader { place, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(vertex: &str, face: &str, payload: &str) -> String {
        format!(
            "ply\nformat ascii 1.0\ncomment by hand\nelement vertex 3\n{vertex}element face 1\n\
             property list uchar {face}\nend_header\n{payload}"
        )
    }

    const XYZ: &str = "property double x\nproperty uchar red\nproperty float y\nproperty short z\n";

    #[test]
    fn passes_over_what_it_does_not_use() {
        let payload = "0 9 0 0\n1.5 9 0 0\n0 9 1 -2\n3 2 1 0\n";
        for face in ["int vertex_indices", "ushort vertex_index", "uchar vertex_index"] {
            let text = file(XYZ, face, payload);
            let edges = "element edge 1\nproperty int a\nproperty list uchar float b\nend_header\n";
            let longer = text.replace("end_header\n", edges) + "7 2 0.5 0.5\n";
            for text in [text, longer] {
                let data = read(text.as_bytes()).expect("readable");
                assert_eq!(data.positions, [Vec3::ZERO, Vec3::X * 1.5, Vec3::new(0.0, 1.0, -2.0)]);
                assert_eq!(data.triangles, [[2, 1, 0]]);
            }
        }
    }

    #[test]
    fn names_the_place() {
        let face = "int vertex_indices";
        let zeros = "0 9 0 0\n".repeat(3);
        for (text, said) in [
            (String::new(), "line 1: Unexpected end of file while reading magic number."),
            (
                file("property float x\nproperty float y\n", face, ""),
                "line 1: expected a header that declares element vertex with z, got nothing",
            ),
            (
                file(XYZ, "int corners", ""),
                "expected a header that declares element face with vertex_indices or vertex_index",
            ),
            (
                file(XYZ, face, &zeros),
                "line 15: 1 face elements need at least 7 bytes, 0 bytes are left",
            ),
            (file(XYZ, face, "0 9 0 0\n0 9 0 x\n0 9 0 0\n3 0 0 0"), "line 13: Couldn't parse"),
            (file(XYZ, face, "").replace("end_header", "propertly x\nend_header"), "line 11: "),
            (
                file(XYZ, face, "").replace("element face", "element tristrips"),
                "got triangle strips (element tristrips): export the mesh as triangles",
            ),
            (file(XYZ, face, "").replace("element face", "element edge"), "got points alone"),
            (
                file(XYZ, face, &(zeros.clone() + "3 0 0 -1\n")),
                "line 15: expected a face of at least 3",
            ),
            (
                file(XYZ, face, &(zeros.clone() + "2 0 0     \n")),
                "line 15: expected a face of at least 3",
            ),
            (file(XYZ, face, &(zeros + "3 0 0     \n")), "line 15: Expected 3 list elements"),
        ] {
            let found = read(text.as_bytes()).expect_err("damaged").to_string();
            assert!(found.contains(said), "{found}");
            assert!(!found.contains('{') && !found.contains("Error"), "{found}");
        }
    }

    #[test]
    fn an_element_of_nothing_cannot_be_counted() {
        let header = "ply\nformat binary_little_endian 1.0\nelement nothing 4000000000\n";
        let rest = file(XYZ, "int vertex_indices", "").split_off(37);
        let said = read((header.to_owned() + &rest).as_bytes()).expect_err("lies").to_string();
        assert!(said.contains("expected an element with a property, got \"nothing\""), "{said}");
    }
}
