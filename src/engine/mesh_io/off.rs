//! OFF, ASCII: a header, the counts, then each vertex and each face.
//!
//! Most files have a line for each vertex and each face; the rest of the line (normals, colours) is ignored. A file
//! with fewer lines is in free form: numbers follow each other over any number of lines.

use std::str::FromStr;

use glam::Vec3;

use super::{
    polygon::Faces,
    read_error::{FilePlace, MeshReadError, check_text_fits, unexpected},
    read_room::ReadRoom,
    text::{Line, TextCursor, Words, parse},
};
use crate::geometry::MeshData;

/// Least bytes of a vertex: "0 0 0" and a line end.
const VERTEX_BYTES_MIN: u64 = 6;
/// Least bytes of a face: "3 0 0 0" and a line end.
const FACE_BYTES_MIN: u64 = 8;

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    // Own code, as for OBJ: the format is a page long, and errors name the line.
    let (mut records, n_extra_numbers) = Records::after_header(bytes)?;
    let n_vertices = records.next("the number of vertices")?;
    let n_faces = records.next("the number of faces")?;
    records.check_fits(n_vertices, "vertices", VERTEX_BYTES_MIN)?;
    records.check_fits(n_faces, "faces", FACE_BYTES_MIN)?;
    records.find_form(n_vertices + n_faces)?;
    let mut room = ReadRoom::of(bytes);
    let mut positions = room.vec(n_vertices, "vertices", records.place)?;
    for _ in 0..n_vertices {
        records.begin("a vertex")?;
        let n_passed = if records.by_lines { 0 } else { n_extra_numbers };
        let mut next = || records.next("a coordinate");
        positions.push(Vec3::new(next()?, next()?, next()?));
        (0..n_passed).try_for_each(|_| next().map(|_| ()))?;
    }
    let (n_triangles, n_corners_max) = count_triangles(records.clone(), n_faces);
    let mut faces = Faces::with_room(n_triangles, &mut room, records.place)?;
    let mut corners = room.vec(n_corners_max, "corners", records.place)?;
    for _ in 0..n_faces {
        records.begin("a face")?;
        let n: u32 = records.next("the number of corners")?;
        corners.clear();
        // A file that is too short ends this loop at once, so a false count costs nothing.
        for _ in 0..n {
            corners.push(records.next("a vertex number")?);
        }
        if !faces.push_polygon(&corners) {
            let got = format!("{n} corners");
            let expected = "a face of at least 3 corners";
            return Err(unexpected(records.place, expected, Some(got.as_bytes())));
        }
    }
    // Colours of faces are indistinguishable from the next face in free form.
    if let Some(word) = records.word().filter(|_| !records.by_lines) {
        let expected = format!("the end of the file after {n_faces} faces");
        return Err(unexpected(records.place, &expected, Some(word)));
    }
    let triangles = faces.cut(&positions, &mut room)?;
    Ok(MeshData { positions, triangles })
}

/// Counts the triangles of the faces that begin here, and the corners of the largest, by the file's content.
fn count_triangles(mut faces: Records, n_faces: u64) -> (u64, u64) {
    // A pass over the faces alone, so that the arrays are allocated once and never grow. Damaged faces count for
    // nothing: the reading pass rejects them.
    let (mut n_triangles, mut n_corners_max) = (0, 0);
    for _ in 0..n_faces {
        let said = faces.begin("a face").and_then(|()| faces.next("the number of corners"));
        let Ok(n_said): Result<u32, _> = said else { break };
        // A false number has too few words.
        let n_corners = (0..n_said).take_while(|_| faces.word().is_some()).count() as u64;
        n_corners_max = n_corners.max(n_corners_max);
        n_triangles += n_corners.saturating_sub(2);
    }
    (n_triangles, n_corners_max)
}

/// The vertices and faces of a file, word by word.
#[derive(Clone)]
struct Records<'a> {
    text: TextCursor<'a>,
    /// The rest of the line.
    words: Words<'a>,
    /// Position of the line.
    place: FilePlace,
    /// Each record has its own line.
    by_lines: bool,
}

impl<'a> Records<'a> {
    /// Reads the header; also returns the count of numbers that follow the coordinates of each vertex in free form.
    fn after_header(bytes: &'a [u8]) -> Result<(Records<'a>, u32), MeshReadError> {
        let mut text = TextCursor::new(bytes);
        let line = content_line(&mut text, "OFF")?;
        let mut rest = line.text().trim_ascii_start();
        let mut strip = |prefix: &[u8]| {
            let stripped = rest.strip_prefix(prefix);
            rest = stripped.unwrap_or(rest);
            u32::from(stripped.is_some())
        };
        // Prefixes name variants with texture, colours and normals, whose numbers follow the coordinates.
        let n_extra_numbers = 2 * strip(b"ST") + 4 * strip(b"C") + 3 * strip(b"N");
        if strip(b"OFF") == 0 {
            return Err(line.unexpected("OFF"));
        }
        // The counts may be on the header's line, directly after it.
        let words = Words::of(rest);
        Ok((Records { text, words, place: line.place(), by_lines: false }, n_extra_numbers))
    }

    fn check_fits(&self, n: u64, what: &str, smallest: u64) -> Result<(), MeshReadError> {
        let n_left = self.words.rest().len() + self.text.rest().len();
        check_text_fits(self.place, n, what, smallest, n_left)
    }

    /// Finds out whether there are lines for `n_records` records after the counts.
    fn find_form(&mut self, n_records: u64) -> Result<(), MeshReadError> {
        let mut after = self.text.clone();
        self.by_lines = (0..n_records).all(|_| content_line(&mut after, "").is_ok());
        if !self.by_lines {
            let _: u64 = self.next("the number of edges")?;
        }
        Ok(())
    }

    /// Moves to the next vertex or face.
    fn begin(&mut self, expected: &str) -> Result<(), MeshReadError> {
        if self.by_lines {
            let line = content_line(&mut self.text, expected)?;
            (self.words, self.place) = (line.words(), line.place());
        }
        Ok(())
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        loop {
            let word = self.words.next();
            if word.is_some() || self.by_lines {
                return word;
            }
            let line = self.text.line()?;
            (self.words, self.place) = (line.words(), line.place());
        }
    }

    fn next<T: FromStr>(&mut self, expected: &str) -> Result<T, MeshReadError> {
        let word = self.word();
        parse(word, self.place, expected)
    }
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
    fn reads_free_form() {
        let vertices = "0 0 0 1 0 0 1 1 0\n0 1 0";
        let extra = |numbers: &str| {
            format!("0 0 0 {numbers} 1 0 0 {numbers}\n1 1 0 {numbers} 0 1 0 {numbers}")
        };
        for text in [
            format!("OFF 4 2 5 {vertices} 3 0 1 2 3 0 2 3"),
            format!("OFF4 2 5\n{vertices}\n3 0 1 2\n3 0 2 3\n"),
            format!("OFF\n4 2 5 # counts\n{vertices} # vertices\n3 0 1 2 3 0\n2 3"),
            format!("COFF 4 2 0 {} 3 0 1 2 3 0 2 3", extra("255 0 0 1")),
            format!("NOFF 4 2 0\n{} 3 0 1 2 3 0 2 3", extra("0 0 1")),
            format!("STCNOFF4 2 0\n{} 3 0 1 2 3 0 2 3", extra("0 0 1 .5 .5 .5 1 0 0")),
        ] {
            let data = read(text.as_bytes()).expect("readable");
            assert_eq!((data.positions.len(), data.positions[3]), (4, Vec3::Y), "{text}");
            assert_eq!(data.triangles, [[0, 1, 2], [0, 2, 3]], "{text}");
        }
        let longer = format!("OFF 4 2 5 {vertices} 3 0 1 2 3 0 2 3 255");
        let said = read(longer.as_bytes()).expect_err("ambiguous").to_string();
        assert_eq!(said, "line 2: expected the end of the file after 2 faces, got \"255\"");
    }

    #[test]
    fn names_the_line() {
        for (text, said) in [
            ("", "line 1: expected OFF, got nothing"),
            ("OFF BINARY", "line 1: expected the number of vertices, got \"BINARY\""),
            ("OFF\n4", "line 2: expected the number of faces, got nothing"),
            (
                "OFF 4000000000 1 0\n0 0 0",
                "line 1: 4000000000 vertices need at least 23999999999 bytes, 7 bytes are left",
            ),
            ("OFF 1 1 0\n0 0 0\n3 0 -1 0\n", "line 3: expected a vertex number, got \"-1\""),
            (
                "OFF 1 1 0\n0 0 0\n2 0 0 0\n",
                "line 3: expected a face of at least 3 corners, got \"2 corners\"",
            ),
            ("OFF 1 1 0\n0 0 0\n9 0 0 0\n", "line 3: expected a vertex number, got nothing"),
        ] {
            assert_eq!(read(text.as_bytes()).expect_err("damaged").to_string(), said);
        }
    }
}
