//! STL: a face on stl_io.
//!
//! stl_io takes a file for ASCII when it begins with "solid ". Many binary files do, so the length
//! decides first: binary is 84 bytes and 50 for each triangle, exactly.

use std::{
    collections::HashMap,
    io::{self, Cursor},
};

use glam::Vec3;

use super::read_error::{FilePlace, MeshReadError, check_fits, one_line, unexpected};
use crate::geometry::MeshData;

/// The comment and the count.
const HEADER_BYTES: usize = 84;
const COMMENT_BYTES: usize = 80;
/// The normal, three corners and two bytes without meaning.
const TRIANGLE_BYTES: u64 = 50;

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    // Leading space is allowed before it.
    let says_solid = bytes.trim_ascii_start().starts_with(b"solid");
    match declared_triangles(bytes) {
        Some(n) if bytes.len() as u64 == HEADER_BYTES as u64 + TRIANGLE_BYTES * n => {
            // Without its comment, so that it cannot be taken for ASCII.
            collect(&[&[0; COMMENT_BYTES], &bytes[COMMENT_BYTES..]].concat())
        }
        _ if says_solid => {
            let first_line_end = bytes.iter().position(|b| *b == b'\n').unwrap_or(bytes.len());
            // With a first line that stl_io knows: it wants a name after "solid".
            collect(&[b"solid ", &bytes[first_line_end..]].concat())
        }
        // Neither length nor first word fits: what is wrong is the count or a file cut short.
        Some(n) => {
            let left = bytes.len() - HEADER_BYTES;
            check_fits(FilePlace::Byte(HEADER_BYTES), n, "triangles", TRIANGLE_BYTES, left)?;
            let surplus = left as u64 - TRIANGLE_BYTES * n;
            let got = format!("{surplus} bytes more");
            let place = FilePlace::Byte(bytes.len() - surplus as usize);
            let expected = format!("the end of the file after {n} triangles");
            Err(MeshReadError::Unexpected { place, expected, got })
        }
        None => {
            let expected = "\"solid\" or a binary header of 84 bytes";
            Err(unexpected(FilePlace::Byte(0), expected, Some(bytes)))
        }
    }
}

fn declared_triangles(bytes: &[u8]) -> Option<u64> {
    let count = bytes.get(COMMENT_BYTES..HEADER_BYTES)?;
    Some(u64::from(u32::from_le_bytes(count.try_into().ok()?)))
}

fn collect(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    // The crate knows no lines; the number of the facet is what a user can count to.
    let damaged = |facet: usize, e: io::Error| MeshReadError::Reader {
        place: FilePlace::Facet(facet),
        message: one_line(&e.to_string()),
    };
    let mut source = Cursor::new(bytes);
    let facets = stl_io::create_stl_reader(&mut source).map_err(|e| damaged(0, e))?;
    let mut data = MeshData::default();
    // By the bits of the coordinates: an STL file has no vertex numbers, and only equal bits are surely one vertex.
    let mut numbers: HashMap<[u32; 3], u32> = HashMap::new();
    for (n, facet) in facets.enumerate() {
        let corners = facet.map_err(|e| damaged(n, e))?.vertices;
        data.triangles.push(corners.map(|corner| {
            // Adding 0 turns -0 into 0: the same point, so the same bits.
            let position = Vec3::from_array(corner.0) + Vec3::ZERO;
            *numbers.entry(position.to_array().map(f32::to_bits)).or_insert_with(|| {
                data.positions.push(position);
                data.positions.len() as u32 - 1
            })
        }));
    }
    Ok(data)
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
    fn an_ascii_file_needs_no_name() {
        let text = String::from_utf8(write_stl_ascii(&two_triangles())).expect("ASCII");
        assert!(text.starts_with("solid test\n"));
        for first_line in ["solid", "  solid x y", "solid\r"] {
            let text = text.replacen("solid test", first_line, 1);
            assert_eq!(read(text.as_bytes()), Ok(two_triangles()), "{first_line:?}");
        }
    }

    #[test]
    fn refuses_a_length_that_is_not_the_counts() {
        let bytes = write_stl_binary(&two_triangles());
        assert_eq!(
            read(&bytes[..183]).expect_err("short").to_string(),
            "byte 84: 2 triangles need at least 100 bytes, 99 are left"
        );
        assert_eq!(
            read(&[&bytes[..], b"end"].concat()).expect_err("long").to_string(),
            "byte 184: expected the end of the file after 2 triangles, got 3 bytes more"
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
