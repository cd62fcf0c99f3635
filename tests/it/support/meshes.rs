//! Small meshes whose distances are known by hand.

use palpate::geometry::MeshData;
use palpate::proto::{MeshChunk, MeshHeader, RawMeshSize, mesh_header::Source};

/// A mesh in flat arrays, as on the wire.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    pub positions: Vec<f32>,
    pub triangles: Vec<u32>,
}

/// A closed octahedron around the origin: vertices 0 to 5 at +x, -x, +y, -y, +z, -z.
pub fn octahedron(radius: f32) -> Mesh {
    let r = radius;
    #[rustfmt::skip]
    let positions = vec![
        r, 0.0, 0.0,  -r, 0.0, 0.0,  0.0, r, 0.0,  0.0, -r, 0.0,  0.0, 0.0, r,  0.0, 0.0, -r,
    ];
    #[rustfmt::skip]
    let triangles = vec![
        0, 2, 4,  2, 1, 4,  1, 3, 4,  3, 0, 4,  2, 0, 5,  1, 2, 5,  3, 1, 5,  0, 3, 5,
    ];
    Mesh { positions, triangles }
}

/// Converts a generated shape to flat arrays.
pub fn wire(data: &MeshData) -> Mesh {
    Mesh {
        positions: data.positions.iter().flat_map(|p| p.to_array()).collect(),
        triangles: data.triangles.as_flattened().to_vec(),
    }
}

impl Mesh {
    /// Header that declares the mesh's sizes.
    pub fn header(&self) -> MeshHeader {
        let (vertices, triangles) =
            (self.positions.len() as u32 / 3, self.triangles.len() as u32 / 3);
        let source = Some(Source::Raw(RawMeshSize { vertices, triangles }));
        MeshHeader { source, ..Default::default() }
    }

    /// The whole mesh in one chunk.
    pub fn chunk(&self) -> MeshChunk {
        MeshChunk {
            positions: self.positions.clone(),
            triangles: self.triangles.clone(),
            ..Default::default()
        }
    }

    /// The mesh as an OBJ file.
    pub fn obj(&self) -> Vec<u8> {
        let vertices = self.positions.chunks(3).map(|p| format!("v {} {} {}\n", p[0], p[1], p[2]));
        let faces =
            self.triangles.chunks(3).map(|t| format!("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1));
        vertices.chain(faces).collect::<String>().into_bytes()
    }
}
