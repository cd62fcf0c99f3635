//! OFF, ASCII: a header line, the counts, then a line for each vertex and each face. What follows on a
//! line (normals, colours) is ignored.

use super::{
    polygon::push_fan,
    read_error::{MeshReadError, check_fits, unexpected},
    read_room::ReadRoom,
    text::{Line, TextCursor, parse, parse_point},
};
use crate::geometry::MeshData;

/// "0 0 0" and a line end.
const VERTEX_BYTES_MIN: u64 = 6;
/// "3 0 0 0" and a line end.
const FACE_BYTES_MIN: u64 = 8;

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    let mut text = TextCursor::new(bytes);
    // Own code, like OBJ's: the format is a page long, and errors name the line.
    let [n_vertices, n_faces] = read_counts(&mut text)?;
    // The last line may lack its end.
    let left = text.rest().len() + 1;
    check_fits(text.place(), n_vertices, "vertices", VERTEX_BYTES_MIN, left)?;
    check_fits(text.place(), n_faces, "faces", FACE_BYTES_MIN, left)?;
    let mut room = ReadRoom::of(bytes);
    let mut positions = room.vec(n_vertices, "vertices", text.place())?;
    for _ in 0..n_vertices {
        let line = content_line(&mut text, "a vertex")?;
        positions.push(parse_point(&mut line.words(), line.place())?);
    }
    let (n_triangles, n_corners_max) = count_triangles(text.rest(), n_faces);
    let mut triangles = room.vec(n_triangles, "triangles", text.place())?;
    let mut corners = room.vec(n_corners_max, "corners", text.place())?;
    for _ in 0..n_faces {
        let line = content_line(&mut text, "a face")?;
        let mut words = line.words();
        let n: u32 = parse(words.next(), line.place(), "the number of corners")?;
        corners.clear();
        // A line that is too short ends this at once, so a lying number costs nothing.
        for _ in 0..n {
            corners.push(parse(words.next(), line.place(), "a vertex number")?);
        }
        if !push_fan(&mut triangles, &corners) {
            return Err(line.unexpected("a face of at least 3 corners"));
        }
    }
    Ok(MeshData { positions, triangles })
}

/// Triangles of the faces that begin here, and corners of the largest, by what the lines hold.
fn count_triangles(faces: &[u8], n_faces: u64) -> (u64, u64) {
    // A pass over the faces' first words alone, so that the arrays are made once and never grow. What is damaged counts
    // for nothing: it is refused by who reads it.
    let mut text = TextCursor::new(faces);
    let (mut n_triangles, mut n_corners_max) = (0, 0);
    for _ in 0..n_faces {
        let Ok(line) = content_line(&mut text, "a face") else { break };
        let mut words = line.words();
        let said = parse(words.next(), line.place(), "the number of corners");
        // A colour may follow; a number that lies has no words.
        let n_corners = said.map_or(0, |n: u32| u64::from(n).min(words.count() as u64));
        n_corners_max = n_corners.max(n_corners_max);
        n_triangles += n_corners.saturating_sub(2);
    }
    (n_triangles, n_corners_max)
}

/// Vertices and faces. The counts may be on the header's line.
fn read_counts(text: &mut TextCursor) -> Result<[u64; 2], MeshReadError> {
    let mut line = content_line(text, "OFF")?;
    let mut words = line.words();
    let header = words.next();
    // Variants with colours or normals keep the coordinates first on each line.
    if !matches!(header, Some(b"OFF" | b"COFF" | b"NOFF" | b"CNOFF")) {
        return Err(line.unexpected("OFF"));
    }
    let mut first = words.next();
    if first.is_none() {
        line = content_line(text, "the numbers of vertices and faces")?;
        words = line.words();
        first = words.next();
    }
    let n_vertices = parse(first, line.place(), "the number of vertices")?;
    let n_faces = parse(words.next(), line.place(), "the number of faces")?;
    Ok([n_vertices, n_faces])
}

fn content_line<'a>(text: &mut TextCursor<'a>, expected: &str) -> Result<Line<'a>, MeshReadError> {
    while let Some(line) = text.line() {
        if line.words().next().is_some() {
            return Ok(line);
        }
    }
    Err(unexpected(text.place(), expected, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_comments_colours_and_quads() {
        let text =
            "# made by hand\nCOFF 4 1 0\n0 0 0 255 0 0\n1 0 0 #\n\n1 1 0\n0 1 0\n4 0 1 2 3 9 9 9";
        let data = read(text.as_bytes()).expect("readable");
        assert_eq!((data.positions.len(), data.triangles), (4, vec![[0, 1, 2], [0, 2, 3]]));
    }

    #[test]
    fn names_the_line() {
        for (text, said) in [
            ("", "line 1: expected OFF, got nothing"),
            ("OFF BINARY", "line 1: expected the number of vertices, got \"BINARY\""),
            ("OFF\n4", "line 2: expected the number of faces, got nothing"),
            (
                "OFF 4000000000 1 0\n0 0 0",
                "line 2: 4000000000 vertices need at least 24000000000 bytes, 6 are left",
            ),
            ("OFF 1 1 0\n0 0 0\n3 0 -1 0\n", "line 3: expected a vertex number, got \"-1\""),
            (
                "OFF 1 1 0\n0 0 0\n2 0 0 0\n",
                "line 3: expected a face of at least 3 corners, got \"2 0 0 0\"",
            ),
            ("OFF 1 1 0\n0 0 0\n9 0 0 0\n", "line 3: expected a vertex number, got nothing"),
        ] {
            assert_eq!(read(text.as_bytes()).expect_err("damaged").to_string(), said);
        }
    }
}
