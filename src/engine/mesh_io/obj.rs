//! Wavefront OBJ: the `v` and `f` lines.
//!
//! Own code although a maintained reader, tobj, exists: it numbers vertices by first use in each group and drops unused
//! ones, while clients deform a tissue by the file's numbers; it keeps 104 bytes for a face of 4; it overflows on
//! vertex number 0; and its errors name no line. The tests compare with it.

use glam::Vec3;

use super::{
    polygon::Faces,
    read_error::{FilePlace, MeshReadError, unexpected},
    read_room::ReadRoom,
    text::{Line, TextCursor, parse, parse_point},
};
use crate::geometry::MeshData;

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    let mut room = ReadRoom::of(bytes);
    let Arrays { mut positions, mut faces, mut corners, n_vertices } =
        Arrays::for_file(bytes, &mut room)?;
    let mut text = TextCursor::new(bytes);
    while let Some(line) = text.line() {
        let mut words = line.words();
        match words.next() {
            // A fourth coordinate, or a colour, may follow and is ignored.
            Some(b"v") => positions.push(parse_point(&mut words, line.place())?),
            Some(b"f") => {
                // One list serves all faces, so that a file of a million faces allocates once.
                corners.clear();
                // Faces may come before the vertices that they name.
                read_face(line, &mut text, (positions.len(), n_vertices), &mut corners)?;
                if !faces.push_polygon(&corners) {
                    let got = format!("{} corners", corners.len());
                    let expected = "a face of at least 3 corners";
                    return Err(unexpected(text.place(), expected, Some(got.as_bytes())));
                }
            }
            // Materials, groups, normals and curves move no vertex.
            _ => {}
        }
    }
    let triangles = faces.cut(&positions, &mut room)?;
    Ok(MeshData { positions, triangles })
}

/// Arrays with capacity for a whole file.
struct Arrays {
    positions: Vec<Vec3>,
    faces: Faces,
    /// Corners of one face.
    corners: Vec<u32>,
    /// Vertices of the whole file.
    n_vertices: u64,
}

impl Arrays {
    fn for_file(bytes: &[u8], room: &mut ReadRoom) -> Result<Arrays, MeshReadError> {
        // A pass over the words alone, as the file declares no counts: the arrays are allocated once and never grow.
        let (mut n_positions, mut n_triangles, mut n_corners_max) = (0, 0, 0);
        let mut text = TextCursor::new(bytes);
        while let Some(line) = text.line() {
            match line.words().next() {
                Some(b"v") => n_positions += 1,
                Some(b"f") => {
                    let mut n_words = line.words().count() as u64 - 1;
                    let mut goes_on = line.ends_in_backslash();
                    while let Some(next) = goes_on.then(|| text.line()).flatten() {
                        n_words += next.words().count() as u64;
                        goes_on = next.ends_in_backslash();
                    }
                    n_corners_max = n_words.max(n_corners_max);
                    n_triangles += n_words.saturating_sub(2);
                }
                _ => {}
            }
        }
        let whole = FilePlace::Line(1);
        Ok(Arrays {
            positions: room.vec(n_positions, "vertices", whole)?,
            faces: Faces::with_room(n_triangles, room, whole)?,
            corners: room.vec(n_corners_max, "corners", whole)?,
            n_vertices: n_positions,
        })
    }
}

/// Reads a face, which continues over lines that end in a backslash.
fn read_face(
    first: Line,
    text: &mut TextCursor,
    n_vertices: (usize, u64),
    corners: &mut Vec<u32>,
) -> Result<(), MeshReadError> {
    let mut line = first;
    let mut n_skipped = 1;
    loop {
        for word in line.words().skip(n_skipped).filter(|word| *word != b"\\") {
            // The backslash may directly follow a number.
            let word = word.strip_suffix(b"\\").unwrap_or(word);
            corners.push(vertex_number(word, n_vertices, &line)?);
        }
        if !line.ends_in_backslash() {
            return Ok(());
        }
        line = text.line().ok_or_else(|| line.unexpected("the face to go on in the next line"))?;
        n_skipped = 0;
    }
}

/// Parses a corner: `v`, `v/vt`, `v//vn` or `v/vt/vn`; numbers count from 1, or back from the last vertex. There are
/// `n_read` vertices so far and `n_vertices` in the file.
fn vertex_number(
    word: &[u8],
    (n_read, n_vertices): (usize, u64),
    line: &Line,
) -> Result<u32, MeshReadError> {
    let number = word.split(|b| *b == b'/').next();
    let number: i64 = parse(number, line.place(), "a vertex number")?;
    // The format counts back from the vertices read so far.
    let from_0 = if number < 0 { n_read as i64 + number } else { number - 1 };
    u32::try_from(from_0).ok().filter(|v| u64::from(*v) < n_vertices).ok_or_else(|| {
        let back =
            if n_read > 0 { format!(", or from -1 back to -{n_read}") } else { String::new() };
        let expected = format!("a vertex number from 1 to {n_vertices}{back}");
        unexpected(line.place(), &expected, Some(word))
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, fs};

    use glam::Vec3;

    use super::*;
    use crate::oracle::shared_data;

    fn triangles(text: &str) -> Vec<[u32; 3]> {
        read(text.as_bytes()).expect("readable").triangles
    }

    fn error(text: &str) -> String {
        read(text.as_bytes()).expect_err("damaged").to_string()
    }

    #[test]
    fn reads_the_ways_to_write_a_face() {
        let v = "v 0 0 0\nv 1 0 0 1.0\nv 1 1 0 0.5 0.5 0.5\nv 0 1 0\n";
        assert_eq!(triangles(&format!("{v}f 1 2 3 4")), [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(triangles(&format!("{v}f 1/9 2//7 3/8/7\r\n")), [[0, 1, 2]]);
        assert_eq!(triangles(&format!("{v}f -4 -3 -1 # last")), [[0, 1, 3]]);
        assert_eq!(triangles(&format!("{v}f 1 2 \\\n 3 \\\r\n4\n")), [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(triangles(&format!("f 1 2 3\n{v}")), [[0, 1, 2]]);
        assert_eq!(triangles(&format!("mtllib gone.mtl\nusemtl x\n{v}s 1\nl 1 2\n")).len(), 0);
    }

    #[test]
    fn names_the_line() {
        assert_eq!(error("v 0 0\n"), "line 1: expected a coordinate, got nothing");
        assert_eq!(error("v 0 0 0\n\nv 0 x 0"), "line 3: expected a coordinate, got \"x\"");
        for number in ["0", "-2", "4294967297", "99999999999999999999", "", "one"] {
            let said = error(&format!("v 0 0 0\nf 1 1 {number}/1"));
            assert!(said.starts_with("line 2: expected a vertex number"), "{said}");
        }
        // In the numbers of the file, also of a face before its vertices.
        let said = "expected a vertex number from 1 to 3, or from -1 back to -3";
        let v = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
        assert_eq!(error(&format!("{v}\nf 1 2 9/4")), format!("line 5: {said}, got \"9/4\""));
        assert!(
            error(&format!("f 1 2 4\n{v}"))
                .starts_with("line 1: expected a vertex number from 1 to 3")
        );
        assert!(
            error("v 0 0 0\nf 1 1").contains("a face of at least 3 corners, got \"2 corners\"")
        );
        assert!(error(&format!("{v}f 1 2 \\")).contains("line 4: expected the face to go on"));
    }

    /// Equals tobj's triangles, in order, by position: tobj numbers vertices its own way.
    #[test]
    fn reads_what_tobj_reads() {
        let Some(folder) = shared_data() else { return };
        for name in ["liver-smooth", "tongue", "tooth", "dental_instrument_light"] {
            let bytes = fs::read(folder.join(format!("meshes/{name}.obj"))).expect("readable");
            let options = tobj::LoadOptions { triangulate: true, ..Default::default() };
            let no_materials = |_: &std::path::Path| Err(tobj::LoadError::OpenFileFailed);
            let (models, _) =
                tobj::load_obj_buf(&mut &bytes[..], &options, no_materials).expect("obj");
            let theirs: Vec<Vec3> = models
                .iter()
                .flat_map(|m| {
                    m.mesh
                        .indices
                        .iter()
                        .map(|i| Vec3::from_slice(&m.mesh.positions[3 * *i as usize..]))
                })
                .collect();
            let ours = read(&bytes).expect("readable");
            let corners = ours.triangles.as_flattened();
            let found: Vec<Vec3> = corners.iter().map(|v| ours.positions[*v as usize]).collect();
            assert_eq!(found, theirs, "{name}");
            let mut renumbered: HashMap<u32, u32> = HashMap::new();
            let n_theirs: usize = models.iter().map(|m| m.mesh.positions.len() / 3).sum();
            corners.iter().for_each(|v| *renumbered.entry(*v).or_default() += 1);
            assert!(renumbered.len() <= n_theirs, "{name}");
        }
    }
}
