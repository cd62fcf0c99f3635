//! The meshes that are measured.

use palpate::{
    geometry::{LoadOptions, MeshData, TriangleMesh, mesh_load::load},
    mesh_io::{self, MeshFormat},
    oracle::{shapes, shared_data},
};

/// A tool of the shared data, and one of about the same size and shape in its place when that is not
/// there.
pub struct Tool {
    pub name: &'static str,
    file: &'static str,
    scale_to_m: f64,
    instead: fn() -> MeshData,
}

/// An open dental probe of 784 triangles, and pliers of eight bodies and 10,712 triangles.
pub const TOOLS: &[Tool] = &[
    Tool {
        name: "probe",
        file: "dental_instrument_light.obj",
        scale_to_m: 0.01,
        instead: || shapes::tube(0.0005, 0.07, 14, 28),
    },
    Tool {
        name: "pliers",
        file: "pliers_binary.stl",
        scale_to_m: 0.001,
        instead: || shapes::jaw(0.009, 48),
    },
];

impl Tool {
    /// The case's name and the mesh, metres.
    pub fn load(&self) -> (String, TriangleMesh) {
        let Some(folder) = shared_data() else {
            eprintln!("{}: a generated mesh stands in for {}", self.name, self.file);
            let mesh = load((self.instead)(), &LoadOptions::default()).expect("a mesh").mesh;
            return (format!("{}-generated", self.name), mesh);
        };
        let path = folder.join("meshes").join(self.file);
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let format = MeshFormat::from_path(&path).expect("a known format");
        let data = mesh_io::read(&bytes, format).expect("readable");
        let options = LoadOptions { scale_to_m: self.scale_to_m, ..LoadOptions::default() };
        (self.name.to_owned(), load(data, &options).expect("accepted").mesh)
    }
}

/// The liver of the shared data in triangles of a sixteenth, 0.2 m on its longest side; an organ of as many
/// in its place when that is not there.
pub fn liver70k() -> (String, TriangleMesh) {
    let options = LoadOptions::default();
    let Some(folder) = shared_data() else {
        eprintln!("a generated organ stands in for the liver");
        let organ = load(shapes::organ(70_144, 7), &options).expect("a mesh").mesh;
        return ("organ70k-generated".to_owned(), organ);
    };
    let path = folder.join("meshes/liver-smooth.obj");
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut data = mesh_io::read(&bytes, MeshFormat::Obj).expect("readable");
    data = shapes::subdivide(&shapes::subdivide(&data));
    let bounds = palpate::geometry::Aabb::of_points(data.positions.iter().copied());
    let scale_to_m = 0.2 / bounds.size().max_element();
    let options = LoadOptions { scale_to_m, ..options };
    ("liver70k".to_owned(), load(data, &options).expect("accepted").mesh)
}
