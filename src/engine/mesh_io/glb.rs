//! Binary glTF 2.0 (`.glb`): the triangles of a scene's meshes, moved by their nodes.
//!
//! Own structures for serde: the crate gltf (1.4.1) subtracts from unchecked lengths, and stores a message for each
//! wrong number of a file. Skinned meshes are refused: their joints place them.

mod document;

use glam::{DMat4, Vec3};

use super::{
    read_error::{FilePlace, MeshReadError, unexpected},
    read_room::{self, ReadRoom},
};
use crate::geometry::MeshData;
use document::{Document, TriangleMode};

/// Bytes of the file's header, and of a chunk's.
const HEADER_BYTES: usize = 12;
const CHUNK_HEADER_BYTES: usize = 8;

pub(super) fn read(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    let mut room = ReadRoom::new(bytes, read_room::of_glb);
    let (json, data) = chunks(bytes)?;
    let document =
        Document::read(json, FilePlace::Byte(HEADER_BYTES + CHUNK_HEADER_BYTES), &mut room)?;
    // Two passes, so that the arrays are allocated once.
    let (mut n_vertices, mut n_triangles) = (0u64, 0u64);
    document.for_each_mesh(&mut room, |parts, _| {
        let mut last = None;
        for part in parts {
            // Counts are any numbers: the sums only have to exceed every room.
            if last != Some(part.positions) {
                n_vertices = n_vertices.saturating_add(document.n_vertices(&part)?);
                last = Some(part.positions);
            }
            let n = part.n_triangles(document.n_corners(&part)?);
            n_triangles = n_triangles.saturating_add(n);
        }
        Ok(())
    })?;
    let place = FilePlace::Byte(bytes.len() - data.len());
    let mut mesh = MeshData {
        positions: room.vec(n_vertices, "vertices", place)?,
        triangles: room.vec(n_triangles, "triangles", place)?,
    };
    document.for_each_mesh(&mut room, |parts, scene_from_mesh| {
        let mut last = None;
        let mut first_vertex = 0;
        for part in parts {
            // The parts of a mesh often share their vertices.
            if last != Some(part.positions) {
                first_vertex = mesh.positions.len();
                last = Some(part.positions);
                let points = document.points(&part, data, place)?;
                mesh.positions.extend(points.map(|p| moved(p, scene_from_mesh)));
            }
            let corners = document.corners(&part, data, place)?;
            push_triangles(&mut mesh, first_vertex, part.mode, corners, scene_from_mesh, place)?;
        }
        Ok(())
    })?;
    Ok(mesh)
}

fn moved(p: Vec3, scene_from_mesh: &DMat4) -> Vec3 {
    // A coordinate that is no number stays where it is, for the validator to name.
    if *scene_from_mesh == DMat4::IDENTITY {
        return p;
    }
    scene_from_mesh.transform_point3(p.as_dvec3()).as_vec3()
}

/// Adds the triangles of a primitive, whose vertices begin at `first_vertex`.
fn push_triangles(
    mesh: &mut MeshData,
    first_vertex: usize,
    mode: TriangleMode,
    corners: impl Iterator<Item = u32>,
    scene_from_mesh: &DMat4,
    place: FilePlace,
) -> Result<(), MeshReadError> {
    let n_vertices = mesh.positions.len() - first_vertex;
    // A reflection turns the winding.
    let is_reflected = scene_from_mesh.determinant() < 0.0;
    // Corners of the triangle before, oldest first.
    let (mut a, mut b) = (0, 0);
    for (i, corner) in corners.enumerate() {
        // A larger number would be a vertex of the next mesh.
        if corner as usize >= n_vertices {
            let expected = format!("a vertex number below {n_vertices}");
            return Err(unexpected(place, &expected, Some(corner.to_string().as_bytes())));
        }
        let c = first_vertex as u32 + corner;
        let (is_complete, is_turned) = match mode {
            TriangleMode::Triangles => (i % 3 == 2, false),
            TriangleMode::Strip => (i >= 2, i % 2 == 1),
            TriangleMode::Fan => (i >= 2, false),
        };
        if is_complete {
            mesh.triangles.push(if is_turned != is_reflected { [b, a, c] } else { [a, b, c] });
        }
        match mode {
            // The first corner stays.
            TriangleMode::Fan if i == 0 => (a, b) = (c, c),
            TriangleMode::Fan => b = c,
            _ => (a, b) = (b, c),
        }
    }
    Ok(())
}

/// Splits a file into its JSON and its binary data, which may be empty.
fn chunks(bytes: &[u8]) -> Result<(&[u8], &[u8]), MeshReadError> {
    let word = |at: usize| bytes.get(at..at + 4)?.first_chunk().map(|w| u32::from_le_bytes(*w));
    if !bytes.starts_with(b"glTF") {
        return Err(unexpected(FilePlace::Byte(0), "\"glTF\"", Some(bytes)));
    }
    if word(4) != Some(2) {
        return Err(unexpected(FilePlace::Byte(4), "version 2", bytes.get(4..8)));
    }
    let chunk = |at: usize, kind: &[u8], name: &str| {
        let content = at + CHUNK_HEADER_BYTES;
        let place = FilePlace::Byte(at);
        if bytes.get(at + 4..content) != Some(kind) {
            return Err(unexpected(place, name, bytes.get(at + 4..content)));
        }
        let n = word(at).unwrap_or_default() as usize;
        let rest = &bytes[content..];
        rest.get(..n).ok_or_else(|| {
            let expected = format!("{name} of {n} bytes");
            let got = format!("{} bytes", rest.len());
            MeshReadError::Unexpected { place, expected, got }
        })
    };
    let json = chunk(HEADER_BYTES, b"JSON", "a chunk of JSON")?;
    let at = HEADER_BYTES + CHUNK_HEADER_BYTES + json.len();
    if bytes.len() <= at {
        return Ok((json, &[]));
    }
    Ok((json, chunk(at, b"BIN\0", "a chunk of binary data")?))
}

#[cfg(test)]
mod tests;
