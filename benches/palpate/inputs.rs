//! The meshes that the measures use.

use std::path::PathBuf;

use glam::Vec3;
use palpate::{
    geometry::{Aabb, LoadOptions, LoadedMesh, MeshData, TriangleMesh, mesh::load::load},
    mesh_io::{self, MeshFormat},
    oracle::{shapes, shared_data},
};
use parry3d::shape::{TriMesh, TriMeshFlags};

use crate::turns::Effort;

/// Name of parry3d in the lines.
pub const PARRY: &str = "parry3d-0.31";

/// A tool of the shared data, or a generated one of about equal size and shape if the shared data is missing.
pub struct Tool {
    pub name: &'static str,
    file: &'static str,
    scale_to_m: f64,
    fill_holes_m: f64,
    instead: fn() -> MeshData,
}

/// An open dental probe of 784 triangles, and pliers of eight bodies and 10,712 triangles.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "probe",
        file: "dental_instrument_light.obj",
        scale_to_m: 0.01,
        fill_holes_m: 0.0,
        instead: tube,
    },
    Tool {
        name: "pliers",
        file: "pliers_binary.stl",
        scale_to_m: 0.001,
        fill_holes_m: 0.0,
        instead: || shapes::jaw(0.009, 48),
    },
];

/// The probe with the hole at its tip filled, as a user who considers it closed would upload it.
pub const FILLED_PROBE: Tool = Tool {
    name: "filled-probe",
    file: "dental_instrument_light.obj",
    scale_to_m: 0.01,
    fill_holes_m: 2e-3,
    instead: tube,
};

fn tube() -> MeshData {
    shapes::tube(0.0005, 0.07, 14, 28)
}

impl Tool {
    /// Returns the case's name and the mesh, metres.
    pub fn load(&self, effort: Effort) -> (String, LoadedMesh) {
        match file(effort, self.file) {
            Some(data) => (self.name.to_owned(), self.loaded(data, self.scale_to_m)),
            None => (format!("{}-generated", self.name), self.loaded((self.instead)(), 1.0)),
        }
    }

    fn loaded(&self, data: MeshData, scale_to_m: f64) -> LoadedMesh {
        let fill_holes_m = self.fill_holes_m;
        let options = LoadOptions { scale_to_m, fill_holes_m, ..LoadOptions::default() };
        load(data, &options).expect("a mesh")
    }
}

/// Returns the liver of the shared data, each triangle split into sixteen, 0.2 m on its longest side; a generated organ
/// of as many triangles if the shared data is missing.
pub fn liver(effort: Effort) -> (String, LoadedMesh) {
    let Some(mut data) = file(effort, "liver-smooth.obj") else {
        return organ(effort.of(70_144, 20_000));
    };
    data = shapes::subdivide(&shapes::subdivide(&data));
    let bounds = Aabb::of_points(data.positions.iter().copied());
    ("liver70k".to_owned(), loaded(data, 0.2 / bounds.size().max_element()))
}

/// Returns a generated organ of about `n_triangles`, 0.2 m on its longest side.
pub fn organ(n_triangles: u32) -> (String, LoadedMesh) {
    (format!("organ{}k", n_triangles / 1000), loaded(shapes::organ(n_triangles, 7), 1.0))
}

/// Returns the triangles of `mesh` for the peer; with [`TriMeshFlags::ORIENTED`] its pseudonormals too.
pub fn parry(mesh: &TriangleMesh, flags: TriMeshFlags) -> TriMesh {
    let vertices = mesh.positions().iter().map(vector).collect();
    let triangles = mesh.triangle_ids().map(|t| mesh.vertices(t)).collect();
    TriMesh::with_flags(vertices, triangles, flags).expect("a mesh")
}

/// Converts a point for the peer.
pub fn vector(p: &Vec3) -> parry3d::math::Vector {
    p.to_array().into()
}

fn file(effort: Effort, name: &str) -> Option<MeshData> {
    let found = match effort {
        Effort::Full => shared_data(),
        Effort::Smoke => None,
    };
    let path: PathBuf = match found {
        Some(folder) => folder.join("meshes").join(name),
        None => {
            eprintln!("a generated mesh stands in for {name}");
            return None;
        }
    };
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let format = MeshFormat::from_path(&path).expect("a known format");
    Some(mesh_io::read(&bytes, format).expect("readable"))
}

fn loaded(data: MeshData, scale_to_m: f64) -> LoadedMesh {
    let options = LoadOptions { scale_to_m, ..LoadOptions::default() };
    load(data, &options).expect("a mesh")
}
