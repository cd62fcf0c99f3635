//! STL: a wrapper of stl_io.
//!
//! stl_io takes a file for ASCII if it begins with "solid ". Many binary files do, so the length decides first: binary
//! is 84 bytes, 50 for each triangle, and less than that of padding. stl_io also accepts only one spelling of one solid
//! and of a number, while programs write `end solid`, capitals, several solids into a file, and normals that are not
//! numbers: these files are rewritten to the form that stl_io accepts.

use std::io::{self, Cursor};

use glam::Vec3;

use super::{
    read_error::{FilePlace, MeshReadError, check_fits, one_line, unexpected},
    read_room::ReadRoom,
};
use crate::geometry::MeshData;

/// Length of the comment and the count.
const HEADER_BYTES: usize = 84;
const COMMENT_BYTES: usize = 80;
/// Length of a triangle: the normal, three corners and two bytes without meaning.
const TRIANGLE_BYTES: u64 = 50;
/// Maximum length of a line in an ASCII file; `vertex` and three numbers take a few dozen bytes.
const LINE_BYTES_MAX: usize = 4096;

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    // Leading space is allowed.
    let first = bytes.trim_ascii_start();
    let says_solid = first.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
    match declared_triangles(bytes) {
        // A line end, or padding, may follow the last triangle.
        Some(n) if (bytes.len() - HEADER_BYTES) as u64 / TRIANGLE_BYTES == n => {
            let end = HEADER_BYTES + (TRIANGLE_BYTES * n) as usize;
            // The comment is zeroed, so that the file cannot be taken for ASCII.
            collect(&[&[0; COMMENT_BYTES], &bytes[COMMENT_BYTES..end]].concat(), n)
        }
        _ if says_solid => {
            let text = as_one_solid(bytes);
            collect(&text, count_facets(&text)?)
        }
        // Neither length nor first word fits: either the count is wrong or the file was cut short.
        Some(n) => {
            let left = bytes.len() - HEADER_BYTES;
            check_fits(FilePlace::Byte(HEADER_BYTES), n, "triangles", TRIANGLE_BYTES, left)?;
            let surplus = left as u64 - TRIANGLE_BYTES * n;
            let n_more = surplus / TRIANGLE_BYTES;
            let got =
                format!("{surplus} bytes more, as of {n_more} triangles that it does not count");
            let place = FilePlace::Byte(bytes.len() - surplus as usize);
            let expected = format!("the end of the file after the {n} triangles of its header");
            Err(MeshReadError::Unexpected { place, expected, got })
        }
        None => {
            let expected = "\"solid\" or a binary header of 84 bytes";
            Err(unexpected(FilePlace::Byte(0), expected, Some(bytes)))
        }
    }
}

/// Rewrites the facets of all solids as one solid, in lower case and with a first and last line that stl_io accepts.
fn as_one_solid(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() + 16);
    // stl_io requires a name after it, or at least a space.
    text.extend(b"solid ");
    let mut is_ended = false;
    for line in bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii) {
        match solid_line(line) {
            Some(line) => is_ended = line == SolidLine::End,
            None => {
                text.push(b'\n');
                match is_facet_with_normal(line) {
                    true => text.extend(FACET),
                    false => text.extend(line.iter().map(u8::to_ascii_lowercase)),
                }
                is_ended &= line.is_empty();
            }
        }
    }
    // A file that was cut short stays without an end, which stl_io rejects.
    if is_ended {
        text.extend(b"\nendsolid");
    }
    text
}

/// Facet line with a dummy normal. Normals are not used, and those of a triangle without area are `nan`, `-nan(ind)`,
/// `1.#QNAN` or worse.
const FACET: &[u8] = b"facet normal 0 0 0";

fn is_facet_with_normal(line: &[u8]) -> bool {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_next =
        |word: Option<&[u8]>, name: &[u8]| word.is_some_and(|w| w.eq_ignore_ascii_case(name));
    // A line with three numbers is no shorter than its replacement.
    is_next(words.next(), b"facet") && is_next(words.next(), b"normal") && words.count() == 3
}

/// First or last line of a solid.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SolidLine {
    Begin,
    End,
}

fn solid_line(line: &[u8]) -> Option<SolidLine> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next()?;
    let is = |word: &[u8], expected: &[u8]| word.eq_ignore_ascii_case(expected);
    let ends = is(first, b"endsolid")
        || is(first, b"end") && words.next().is_none_or(|word| is(word, b"solid"));
    match (is(first, b"solid"), ends) {
        (true, _) => Some(SolidLine::Begin),
        (_, true) => Some(SolidLine::End),
        _ => None,
    }
}

fn declared_triangles(bytes: &[u8]) -> Option<u64> {
    let count = bytes.get(COMMENT_BYTES..HEADER_BYTES)?;
    Some(u64::from(u32::from_le_bytes(count.try_into().ok()?)))
}

/// Upper bound of the number of triangles of an ASCII file.
fn count_facets(bytes: &[u8]) -> Result<u64, MeshReadError> {
    let mut n = 0;
    for (at, line) in bytes.split(|b| *b == b'\n').enumerate() {
        // stl_io keeps the words of a line separately, and each takes far more than its characters.
        if line.len() > LINE_BYTES_MAX {
            let expected = format!("lines of at most {LINE_BYTES_MAX} bytes");
            return Err(unexpected(FilePlace::Line(at + 1), &expected, Some(line)));
        }
        n += u64::from(line.trim_ascii_start().starts_with(b"facet"));
    }
    Ok(n)
}

/// Reads `bytes`, a copy of a file of at most `n` triangles.
fn collect(bytes: &[u8], n: u64) -> Result<MeshData, MeshReadError> {
    // stl_io reports no lines; a user can count to the number of the facet.
    let damaged = |facet: usize, e: io::Error| MeshReadError::Reader {
        place: FilePlace::Facet(facet),
        message: one_line(&e.to_string()),
    };
    let mut room = ReadRoom::of(bytes);
    // The copy counts towards the reader's memory.
    room.take(bytes.len() as u64, n, "facets", FilePlace::Facet(0))?;
    let mut corners: Vec<Vec3> = room.vec(n.saturating_mul(3), "corners", FilePlace::Facet(0))?;
    let mut source = Cursor::new(bytes);
    let facets = stl_io::create_stl_reader(&mut source).map_err(|e| damaged(0, e))?;
    for (at, facet) in facets.enumerate() {
        // Adding 0 turns -0 into 0: equal points get equal bits.
        let point = |corner: stl_io::Vertex| Vec3::from_array(corner.0) + Vec3::ZERO;
        corners.extend(facet.map_err(|e| damaged(at, e))?.vertices.map(point));
    }
    join(corners, &mut room)
}

/// Gives equal corners one number, in the order of their first appearance. `corners`: three for each triangle.
fn join(mut corners: Vec<Vec3>, room: &mut ReadRoom) -> Result<MeshData, MeshReadError> {
    let (n, whole) = (corners.len() as u32, FilePlace::Facet(0));
    // Corners are compared by the bits of their coordinates: an STL file has no vertex numbers, and only equal bits are
    // surely one vertex. Sorted and not hashed: a table takes up to five times the memory of a list of numbers.
    let mut order: Vec<u32> = room.vec(n.into(), "corners", whole)?;
    order.extend(0..n);
    let bits = |corner: u32| corners[corner as usize].to_array().map(f32::to_bits);
    order.sort_unstable_by_key(|corner| (bits(*corner), *corner));
    let mut triangles: Vec<[u32; 3]> = room.vec(u64::from(n) / 3, "triangles", whole)?;
    triangles.resize(n as usize / 3, [0; 3]);
    // The first pass stores for each corner the first corner that equals it; equal corners are adjacent in `order`, the
    // first one first.
    let firsts = triangles.as_flattened_mut();
    for equal in order.chunk_by(|a, b| bits(*a) == bits(*b)) {
        equal.iter().for_each(|corner| firsts[*corner as usize] = equal[0]);
    }
    // The second pass stores its vertex. A vertex has a smaller number than its corners, so its position can overwrite
    // theirs.
    let (mut numbers, mut n_vertices) = (order, 0);
    for (corner, first) in firsts.iter_mut().enumerate() {
        if *first as usize == corner {
            corners[n_vertices] = corners[corner];
            numbers[corner] = n_vertices as u32;
            n_vertices += 1;
        }
        *first = numbers[*first as usize];
    }
    corners.truncate(n_vertices);
    corners.shrink_to_fit();
    Ok(MeshData { positions: corners, triangles })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh_io::tests::{write_stl_ascii, write_stl_binary};

    fn two_triangles() -> MeshData {
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::ONE];
        MeshData { positions, triangles: vec![[0, 1, 2], [2, 1, 3]] }
    }

    #[test]
    fn joins_equal_corners_whatever_the_sign_of_zero() {
        let mut bytes = write_stl_binary(&two_triangles());
        assert_eq!(read(&bytes), Ok(two_triangles()));
        let x_of_second_triangle = HEADER_BYTES + 50 + 12;
        bytes[x_of_second_triangle..][..4].copy_from_slice(&(-0.0f32).to_le_bytes());
        assert_eq!(read(&bytes), Ok(two_triangles()));
    }

    #[test]
    fn a_binary_file_may_begin_with_solid() {
        let mut bytes = write_stl_binary(&two_triangles());
        bytes[..12].copy_from_slice(b"solid facet\n");
        assert_eq!(read(&bytes), Ok(two_triangles()));
    }

    #[test]
    fn padding_behind_a_binary_file_is_passed_over() {
        let mut bytes = write_stl_binary(&two_triangles());
        for padding in [&b"\r\n"[..], b"end", &[0; 49]] {
            assert_eq!(read(&[&bytes[..], padding].concat()), Ok(two_triangles()));
        }
        bytes[..5].copy_from_slice(b"solid");
        assert_eq!(read(&[&bytes[..], b"\n"].concat()), Ok(two_triangles()));
    }

    #[test]
    fn normals_need_not_be_numbers() {
        let text = String::from_utf8(write_stl_ascii(&two_triangles())).expect("ASCII");
        for normal in
            ["nan nan nan", "-nan(ind) -nan(ind) 0", "1.#QNAN -1.#IND 1.#INF", "NaN inf -1"]
        {
            let text = text.replace("normal 0 0 0", &format!("normal {normal}"));
            assert_eq!(read(text.as_bytes()), Ok(two_triangles()), "{normal}");
        }
        let text = text.replacen("vertex 0", "vertex nan", 1);
        let read = read(text.as_bytes()).map(|data| data.positions.iter().all(|p| p.is_finite()));
        assert_ne!(read, Ok(true), "of a corner it is no number");
    }

    #[test]
    fn an_ascii_file_needs_no_name() {
        let text = String::from_utf8(write_stl_ascii(&two_triangles())).expect("ASCII");
        assert!(text.starts_with("solid test\n"));
        for first_line in ["solid", "  solid x y", "solid\r"] {
            let text = text.replacen("solid test", first_line, 1);
            assert_eq!(read(text.as_bytes()), Ok(two_triangles()), "{first_line:?}");
        }
    }

    #[test]
    fn an_ascii_file_may_end_as_programs_end_it() {
        let text = String::from_utf8(write_stl_ascii(&two_triangles())).expect("ASCII");
        let ends =
            ["end solid", "end solid test", "ENDSOLID test", "EndSolid\r\n\n", "end", "  endsolid"];
        for last_line in ends {
            let text = text.replacen("endsolid test", last_line, 1);
            assert_eq!(read(text.as_bytes()), Ok(two_triangles()), "{last_line:?}");
        }
        assert_eq!(read(text.to_ascii_uppercase().as_bytes()), Ok(two_triangles()));
        let cut_short = text.replacen("endsolid test", "", 1);
        read(cut_short.as_bytes()).expect_err("no end");
    }

    #[test]
    fn all_solids_of_a_file_are_read() {
        let one = |at: usize| {
            let MeshData { positions, triangles } = two_triangles();
            write_stl_ascii(&MeshData { positions, triangles: vec![triangles[at]] })
        };
        let both = [one(0), one(1)].concat();
        assert_eq!(read(&both), Ok(two_triangles()));
        let cut_short = &both[..both.len() - 20];
        read(cut_short).expect_err("the second has no end");
    }

    #[test]
    fn refuses_a_length_that_is_not_the_counts() {
        let bytes = write_stl_binary(&two_triangles());
        assert_eq!(
            read(&bytes[..183]).expect_err("short").to_string(),
            "byte 84: 2 triangles need at least 100 bytes, 99 bytes are left"
        );
        assert_eq!(
            read(&[&bytes[..], &[0; 120]].concat()).expect_err("long").to_string(),
            "byte 184: expected the end of the file after the 2 triangles of its header, got 120 bytes more, as of 2 \
             triangles that it does not count"
        );
        let mut lying = bytes.clone();
        lying[80..84].copy_from_slice(&[255; 4]);
        assert!(
            read(&lying)
                .expect_err("lies")
                .to_string()
                .contains("need at least 214748364750 bytes")
        );
        assert!(read(b"").expect_err("empty").to_string().contains("binary header of 84 bytes"));
    }
}
