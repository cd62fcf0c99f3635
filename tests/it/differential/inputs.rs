//! Surfaces that the index is tested on.

use std::path::Path;

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{LoadOptions, MeshData, TriangleMesh, mesh::load::load},
    index::LatLonOptions,
    mesh_io::{self, MeshFormat},
    oracle::{Random, shapes, shared_data},
    surface::Surface,
};

/// A named surface.
pub struct Input {
    pub name: String,
    pub data: MeshData,
    pub options: LatLonOptions,
}

impl Input {
    pub fn new(name: &str, data: MeshData) -> Input {
        Input { name: name.to_owned(), data, options: LatLonOptions::default() }
    }

    pub fn surface(&self) -> Surface {
        Surface::new(TriangleMesh::new(self.data.clone()), self.options)
    }
}

/// Shapes with area that do not cross themselves.
pub fn shapes() -> Vec<Input> {
    let up = LatLonOptions { latitude_axis: Some(DVec3::Z), band_edges: None };
    let sheet = || shapes::sheet(14, 12, 0.01);
    vec![
        Input::new("sphere", shapes::sphere(0.1, 5)),
        Input::new("organ", shapes::organ(500, 3)),
        Input::new("torus", shapes::torus(0.1, 0.03, 20, 10)),
        Input::new("sheet, axis in its plane", sheet()),
        Input { options: up, ..Input::new("sheet, axis along its normal: one band", sheet()) },
        Input::new("tube", shapes::tube(0.02, 0.1, 12, 12)),
        Input::new("capsule", shapes::capsule(0.02, 0.05, 16)),
        Input::new("jaw", shapes::jaw(0.03, 8)),
        Input::new("cuboid", shapes::cuboid(DVec3::new(0.1, 0.2, 0.05))),
        Input::new("two bodies", joined(&[shapes::sphere(0.1, 3), apart(0.25)])),
        Input::new("a cavity", joined(&[shapes::sphere(0.1, 3), turned(shapes::sphere(0.05, 3))])),
        Input::new("one triangle", one_triangle()),
    ]
}

/// Inputs that make no proper surface.
pub fn improper() -> Vec<Input> {
    let mut random = Random::new(5);
    vec![
        Input::new("all in one plane, crossing", soup(&mut random, 120, |p| p.with_z(0.03))),
        Input::new("all in one band", soup(&mut random, 120, |p| p * Vec3::new(1.0, 1.0, 1e-4))),
        Input::new("soup", soup(&mut random, 150, |p| p)),
        Input::new("all at one point", soup(&mut random, 40, |_| Vec3::new(0.1, -0.2, 0.3))),
        Input::new("all on one line", soup(&mut random, 40, |p| Vec3::splat(p.x))),
        Input::new("every triangle three times", thrice(&shapes::sphere(0.1, 3))),
        Input::new("degenerate ones among good ones", with_degenerate(shapes::sphere(0.1, 4))),
        Input::new("slivers", slivers(&mut random, 60)),
    ]
}

/// Meshes of the shared data and the length of their unit.
pub const SHARED: [(&str, f64); 5] = [
    ("liver-smooth.obj", 0.01),
    ("tongue.obj", 0.01),
    ("liver.vtk", 0.01),
    ("dental_instrument_light.obj", 0.01),
    ("pliers_binary.stl", 0.001),
];

/// Loads a mesh file of the shared data, in metres; returns `None` with a printed note if the file is missing.
pub fn shared(file: &str, scale_to_m: f64) -> Option<Input> {
    let path = shared_data()?.join("meshes").join(file);
    let format = MeshFormat::from_path(Path::new(file)).expect("a known format");
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let data = mesh_io::read(&bytes, format).expect("readable");
    let options = LoadOptions { scale_to_m, ..LoadOptions::default() };
    let mesh = load(data, &options).expect("accepted").mesh;
    let triangles = mesh.triangle_ids().map(|t| mesh.vertices(t)).collect();
    Some(Input::new(file, MeshData { positions: mesh.positions().to_vec(), triangles }))
}

/// Joins meshes into one and renumbers their vertices.
pub fn joined(parts: &[MeshData]) -> MeshData {
    let mut whole = MeshData::default();
    for part in parts {
        let first = whole.positions.len() as u32;
        whole.positions.extend(&part.positions);
        whole.triangles.extend(part.triangles.iter().map(|t| t.map(|v| v + first)));
    }
    whole
}

/// Reverses the orientation of all triangles.
pub fn turned(mut data: MeshData) -> MeshData {
    data.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    data
}

pub fn one_triangle() -> MeshData {
    let positions = vec![Vec3::ZERO, Vec3::new(0.1, 0.0, 0.01), Vec3::new(0.02, 0.07, 0.0)];
    MeshData { positions, triangles: vec![[0, 1, 2]] }
}

fn apart(by: f32) -> MeshData {
    let mut data = shapes::sphere(0.08, 3);
    data.positions.iter_mut().for_each(|p| p.x += by);
    data
}

/// Returns random triangles in a cube of 0.2 m, each with its own vertices, then mapped.
fn soup(random: &mut Random, n: u32, map: impl Fn(Vec3) -> Vec3) -> MeshData {
    let mut positions = Vec::new();
    for _ in 0..n {
        let centre = random.point(DVec3::splat(-0.1), DVec3::splat(0.1));
        positions.extend((0..3).map(|_| map((centre + random.unit_vector() * 0.02).as_vec3())));
    }
    MeshData { positions, triangles: (0..n).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect() }
}

fn thrice(data: &MeshData) -> MeshData {
    let rotated = data.triangles.iter().map(|[a, b, c]| [*b, *c, *a]);
    let triangles = data.triangles.iter().copied().chain(rotated).chain(data.triangles.clone());
    MeshData { positions: data.positions.clone(), triangles: triangles.collect() }
}

/// Adds points, segments named by two vertices, and three vertices in line.
fn with_degenerate(mut data: MeshData) -> MeshData {
    let n = data.positions.len() as u32;
    data.positions.extend([-0.05f32, 0.0, 0.05].map(|x| Vec3::new(x, 0.02, 0.15)));
    data.triangles.splice(7..7, [[0, 0, 0], [1, 2, 1], [n, n + 1, n + 2]]);
    data.triangles.extend([[5, 5, 9], [n, n, n], [n + 2, n, n + 1]]);
    data
}

/// Returns slivers with heights from a thousandth down to 1e-9 of the longest edge.
fn slivers(random: &mut Random, n: u32) -> MeshData {
    let mut positions = Vec::new();
    for i in 0..n {
        let height = 10f64.powf(-3.0 - 6.0 * f64::from(i) / f64::from(n));
        let start = random.point(DVec3::splat(-0.1), DVec3::splat(0.1));
        let along = random.unit_vector() * 0.05;
        let across = along.cross(random.unit_vector()).normalize_or_zero() * 0.05 * height;
        let tip = start + along * random.range(0.1, 0.9) + across;
        positions.extend([start, start + along, tip].map(|p| p.as_vec3()));
    }
    MeshData { positions, triangles: (0..n).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect() }
}

#[test]
fn shared_data_beside_the_checkout_is_found() {
    let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    if std::env::var_os("PALPATE_DATA").is_none() && beside.is_dir() {
        let found = shared_data().expect("found").canonicalize().expect("a folder");
        assert_eq!(found, beside.canonicalize().expect("a folder"));
    }
}
