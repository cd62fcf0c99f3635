//! The single validator: builds a mesh from the data of a client or a file, or reports the error in it.
//!
//! Meaningless input (no triangles, coordinates that are not numbers, vertices that do not exist) and oversized input
//! is rejected; any unusual mesh that is still a surface is accepted, repaired if the repair is decidable, and
//! reported.

#[cfg(test)]
pub(super) mod tests;

use std::fmt;

use glam::{DVec3, Vec3};

use super::{
    holes,
    orientation::{Orientation, triangles_to_turn},
    seam_search::note_seams,
    weld::welded,
};
use crate::geometry::{
    MeshData, MeshReport, TriangleMesh, short_number::ShortNumber, tolerance::COORDINATE_MAX_M,
};

/// The handedness of uploaded coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// Right-handed, counter-clockwise from outside: unchanged.
    #[default]
    RightHanded,
    /// Left-handed: z is negated and the winding reversed.
    LeftHanded,
}

/// Conversion and size limits of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadOptions {
    /// Factor from coordinates to metres. Finite, > 0.
    pub scale_to_m: f64,
    /// Handedness of the coordinates as sent.
    pub basis: Basis,
    /// Side of the surface that is inside.
    pub orientation: Orientation,
    /// Maximum diagonal of the box of a hole's open edges, metres: holes up to it are filled with triangles. Finite; 0
    /// fills none.
    pub fill_holes_m: f64,
    /// Maximum distance between the ends of open edges that are joined, metres. Finite; 0 joins only edges at equal
    /// positions.
    pub weld_m: f64,
    /// Maximum number of vertices, unreferenced ones included.
    pub max_vertices: u32,
    /// Maximum number of triangles.
    pub max_triangles: u32,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions {
            scale_to_m: 1.0,
            basis: Basis::RightHanded,
            orientation: Orientation::Auto,
            fill_holes_m: 0.0,
            weld_m: 0.0,
            max_vertices: 1 << 20,
            max_triangles: 1 << 21,
        }
    }
}

/// A mesh in metres, right-handed, with its report.
#[derive(Clone, Debug)]
pub struct LoadedMesh {
    /// Vertices and triangles are numbered as sent; those that fill holes come after them.
    pub mesh: TriangleMesh,
    /// Report of the mesh as stored.
    pub report: MeshReport,
}

/// Reason for which a mesh is rejected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// The scale is not a finite length > 0.
    #[error("scale_to_m is {}, expected a finite number > 0", ShortNumber(*got))]
    Scale {
        /// Scale as sent.
        got: f64,
    },
    /// No vertices or no triangles.
    #[error("the mesh has no {what}, expected at least 1")]
    Empty {
        /// "vertices" or "triangles".
        what: &'static str,
    },
    /// Larger than the limit.
    #[error("the mesh has {got} {what}, expected at most {max}")]
    TooLarge {
        /// "vertices" or "triangles".
        what: &'static str,
        /// Number as sent.
        got: usize,
        /// The limit.
        max: u32,
    },
    /// A coordinate that is NaN or infinite as sent.
    #[error("{place} is {got}, expected a finite number")]
    NotFinite {
        /// The rejected coordinate.
        place: Coordinate,
        /// Value as sent.
        got: f32,
    },
    /// A coordinate that is too far out after scaling.
    #[error("{place} is {} m after scaling, expected at most {max_m} m from 0", ShortNumber(*got_m))]
    TooFar {
        /// The rejected coordinate.
        place: Coordinate,
        /// Value in metres.
        got_m: f64,
        /// [`COORDINATE_MAX_M`].
        max_m: f64,
    },
    /// Too many open edges may be one edge.
    #[error("weld_m is {}, expected less: too many open edges are that near each other", ShortNumber(*got_m))]
    Weld {
        /// Weld distance as sent, metres.
        got_m: f64,
    },
    /// A triangle that names a vertex that does not exist.
    #[error("triangles[{triangle}][{corner}] = {got}, expected < {n_vertices}")]
    Index {
        /// Triangle, counted from 0.
        triangle: usize,
        /// Corner of the triangle: 0, 1 or 2.
        corner: usize,
        /// Vertex number named.
        got: u32,
        /// Number of vertices in the mesh.
        n_vertices: usize,
    },
}

/// Identifies one coordinate of one vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinate {
    /// Vertex, counted from 0.
    pub vertex: usize,
    /// 0, 1 or 2: x, y or z.
    pub axis: usize,
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "positions[{}].{}", self.vertex, ["x", "y", "z"][self.axis])
    }
}

/// Checks, scales, orients, fills and examines a mesh. O(n log n).
///
/// # Errors
/// The first error by position: see [`MeshError`].
pub fn load(mut data: MeshData, options: &LoadOptions) -> Result<LoadedMesh, MeshError> {
    check_size("vertices", data.positions.len(), options.max_vertices)?;
    // A corner is numbered 3 * triangle + k in 32 bits; the greatest number means none.
    let max_triangles = options.max_triangles.min((u32::MAX - 1) / 3);
    check_size("triangles", data.triangles.len(), max_triangles)?;
    // All rejections precede any allocation for the mesh.
    check_indices(&data)?;
    to_metres(&mut data.positions, options)?;
    if options.basis == Basis::LeftHanded {
        data.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    }
    let mut mesh = joined(data);
    if options.weld_m > 0.0 {
        let welded = welded(&mesh, options.weld_m);
        let positions = welded.ok_or(MeshError::Weld { got_m: options.weld_m })?;
        mesh = joined(MeshData { positions, ..mesh.data() });
    }
    let to_turn = |mesh: &TriangleMesh| triangles_to_turn(mesh, options.orientation);
    let mut turn = to_turn(&mesh);
    mesh = turned(mesh, &turn);
    let filling = holes::fill(&mesh, options.fill_holes_m);
    let n_added = filling.triangles.len();
    if n_added > 0 {
        check_size("triangles", mesh.n_triangles() + n_added, max_triangles)?;
        filling.triangles.iter().for_each(|t| {
            mesh.add_triangle(*t);
        });
        note_seams(&mut mesh);
        // Newly closed bodies may face inwards.
        let again = to_turn(&mesh);
        turn.iter_mut().zip(&again).for_each(|(first, again)| *first ^= again);
        mesh = turned(mesh, &again);
    }
    let n_turned = turn.iter().filter(|t| **t).count() as u32;
    let report = MeshReport {
        filled_holes: filling.n_holes,
        added_triangles: n_added as u32,
        ..MeshReport::of(&mesh, n_turned)
    };
    Ok(LoadedMesh { mesh, report })
}

fn check_size(what: &'static str, got: usize, max: u32) -> Result<(), MeshError> {
    if got == 0 {
        return Err(MeshError::Empty { what });
    }
    if got > max as usize {
        return Err(MeshError::TooLarge { what, got, max });
    }
    Ok(())
}

fn check_indices(data: &MeshData) -> Result<(), MeshError> {
    let n_vertices = data.positions.len();
    for (triangle, vertices) in data.triangles.iter().enumerate() {
        if let Some(corner) = vertices.iter().position(|v| *v as usize >= n_vertices) {
            return Err(MeshError::Index { triangle, corner, got: vertices[corner], n_vertices });
        }
    }
    Ok(())
}

fn to_metres(positions: &mut [Vec3], options: &LoadOptions) -> Result<(), MeshError> {
    let scale = options.scale_to_m;
    if !(scale.is_finite() && scale > 0.0) {
        return Err(MeshError::Scale { got: scale });
    }
    let mirror = match options.basis {
        Basis::RightHanded => DVec3::ONE,
        Basis::LeftHanded => DVec3::new(1.0, 1.0, -1.0),
    };
    for (vertex, p) in positions.iter_mut().enumerate() {
        // Computed in f64, so that a scale of 0.001 rounds once and not twice.
        let scaled = p.as_dvec3() * scale * mirror;
        for axis in 0..3 {
            let (place, got_m) = (Coordinate { vertex, axis }, scaled[axis]);
            if !p[axis].is_finite() {
                return Err(MeshError::NotFinite { place, got: p[axis] });
            }
            if got_m.abs() > COORDINATE_MAX_M {
                return Err(MeshError::TooFar { place, got_m, max_m: COORDINATE_MAX_M });
            }
        }
        // Adding 0 turns -0 into 0: each point has one bit pattern.
        *p = scaled.as_vec3() + Vec3::ZERO;
    }
    Ok(())
}

/// Rebuilds the mesh if any triangle is reversed, because the ring of a vertex names corners by their position in the
/// triangle.
fn turned(mesh: TriangleMesh, turn: &[bool]) -> TriangleMesh {
    if !turn.contains(&true) {
        return mesh;
    }
    let triangles = mesh
        .triangle_ids()
        .map(|t| {
            let [a, b, c] = mesh.vertices(t);
            if turn[t.0 as usize] { [a, c, b] } else { [a, b, c] }
        })
        .collect();
    joined(MeshData { positions: mesh.positions().to_vec(), triangles })
}

fn joined(data: MeshData) -> TriangleMesh {
    let mut mesh = TriangleMesh::new(data);
    note_seams(&mut mesh);
    mesh
}
