//! Properties of every format: a mesh comes back as written, and no bytes do harm.

use std::fs;

use glam::Vec3;

use super::*;
use crate::{
    geometry::{LoadOptions, LoadedMesh, mesh::load::load},
    oracle::{Random, shapes, shared_data},
};

const FORMATS: [MeshFormat; 9] = [
    MeshFormat::Obj,
    MeshFormat::Stl,
    MeshFormat::Ply,
    MeshFormat::Off,
    MeshFormat::Vtk,
    MeshFormat::Vtu,
    MeshFormat::Vtp,
    MeshFormat::Msh,
    MeshFormat::Glb,
];

fn lines<T>(items: &[T], line: impl Fn(&T) -> String) -> String {
    items.iter().map(|item| line(item) + "\n").collect()
}

fn point(p: &Vec3) -> String {
    format!("{} {} {}", p.x, p.y, p.z)
}

fn numbers(t: &[u32; 3]) -> String {
    format!("{} {} {}", t[0], t[1], t[2])
}

fn write_obj(m: &MeshData) -> Vec<u8> {
    let vertices = lines(&m.positions, |p| format!("v {}", point(p)));
    (vertices + &lines(&m.triangles, |t| format!("f {}", numbers(&t.map(|v| v + 1))))).into_bytes()
}

fn write_off(m: &MeshData) -> Vec<u8> {
    let header = format!("OFF\n{} {} 0\n", m.positions.len(), m.triangles.len());
    let faces = lines(&m.triangles, |t| format!("3 {}", numbers(t)));
    (header + &lines(&m.positions, point) + &faces).into_bytes()
}

pub(super) fn write_stl_ascii(m: &MeshData) -> Vec<u8> {
    let facet = |t: &[u32; 3]| {
        let corners = t.map(|v| format!("vertex {}\n", point(&m.positions[v as usize]))).concat();
        format!("facet normal 0 0 0\nouter loop\n{corners}endloop\nendfacet")
    };
    format!("solid test\n{}endsolid test\n", lines(&m.triangles, facet)).into_bytes()
}

pub(super) fn write_stl_binary(m: &MeshData) -> Vec<u8> {
    let mut bytes = vec![b' '; 80];
    bytes.extend((m.triangles.len() as u32).to_le_bytes());
    for t in &m.triangles {
        bytes.extend([0; 12]);
        let corners = t.map(|v| m.positions[v as usize].to_array().map(f32::to_le_bytes));
        bytes.extend(corners.as_flattened().as_flattened());
        bytes.extend([0; 2]);
    }
    bytes
}

fn ply_header(m: &MeshData, encoding: &str) -> String {
    format!(
        "ply\nformat {encoding} 1.0\nelement vertex {}\nproperty float x\nproperty float y\n\
         property float z\nelement face {}\nproperty list uchar int vertex_indices\nend_header\n",
        m.positions.len(),
        m.triangles.len()
    )
}

fn write_ply_ascii(m: &MeshData) -> Vec<u8> {
    let faces = lines(&m.triangles, |t| format!("3 {}", numbers(t)));
    (ply_header(m, "ascii") + &lines(&m.positions, point) + &faces).into_bytes()
}

fn write_ply_binary(m: &MeshData, big_endian: bool) -> Vec<u8> {
    let encoding = if big_endian { "binary_big_endian" } else { "binary_little_endian" };
    let word = |bits: u32| if big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() };
    let mut bytes = ply_header(m, encoding).into_bytes();
    for p in &m.positions {
        bytes.extend(p.to_array().map(|x| word(x.to_bits())).as_flattened());
    }
    for t in &m.triangles {
        bytes.push(3);
        bytes.extend(t.map(word).as_flattened());
    }
    bytes
}

fn write_vtk_ascii(m: &MeshData) -> Vec<u8> {
    let (n, k) = (m.positions.len(), m.triangles.len());
    let header = "# vtk DataFile Version 3.0\ntest\nASCII\nDATASET POLYDATA\n";
    let faces = lines(&m.triangles, |t| format!("3 {}", numbers(t)));
    let points = lines(&m.positions, point);
    format!("{header}POINTS {n} float\n{points}POLYGONS {k} {}\n{faces}", 4 * k).into_bytes()
}

fn write_vtk_binary(m: &MeshData) -> Vec<u8> {
    let (n, k) = (m.positions.len(), m.triangles.len());
    let header = "# vtk DataFile Version 3.0\ntest\nBINARY\nDATASET POLYDATA\n";
    let mut bytes = format!("{header}POINTS {n} float\n").into_bytes();
    bytes.extend(m.positions.iter().flat_map(|p| p.to_array()).flat_map(f32::to_be_bytes));
    bytes.extend(format!("\nPOLYGONS {k} {}\n", 4 * k).bytes());
    bytes.extend(m.triangles.iter().flat_map(|t| [3, t[0], t[1], t[2]]).flat_map(u32::to_be_bytes));
    bytes
}

fn write_vtp(m: &MeshData) -> Vec<u8> {
    let array = |name: &str, kind: &str, numbers: String| {
        format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" format=\"ascii\">\n{numbers}</DataArray>\n"
        )
    };
    let ends: Vec<usize> = (1..=m.triangles.len()).map(|t| 3 * t).collect();
    let polygons = array("connectivity", "Int64", lines(&m.triangles, numbers))
        + &array("offsets", "Int64", lines(&ends, usize::to_string));
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" byte_order=\"LittleEndian\">\n<PolyData>\n\
         <Piece NumberOfPoints=\"{}\" NumberOfPolys=\"{}\">\n<Points>\n{}</Points>\n<Polys>\n{polygons}</Polys>\n\
         </Piece>\n</PolyData>\n</VTKFile>\n",
        m.positions.len(),
        m.triangles.len(),
        array("Points", "Float32", lines(&m.positions, point)),
    )
    .into_bytes()
}

/// The appended bytes of a file with a header of four bytes for each array.
fn write_vtp_appended(m: &MeshData) -> Vec<u8> {
    let arrays = [
        m.positions
            .iter()
            .flat_map(|p| p.to_array())
            .flat_map(f32::to_le_bytes)
            .collect::<Vec<u8>>(),
        m.triangles.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect(),
        (1..=m.triangles.len() as u32).flat_map(|t| (3 * t).to_le_bytes()).collect(),
    ];
    let mut appended = Vec::new();
    let mut array = |name: &str, kind: &str, bytes: &[u8]| {
        let offset = appended.len();
        appended.extend((bytes.len() as u32).to_le_bytes());
        appended.extend(bytes);
        format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" format=\"appended\" offset=\"{offset}\"/>"
        )
    };
    let text = format!(
        "<VTKFile type=\"PolyData\" byte_order=\"LittleEndian\"><PolyData><Piece NumberOfPoints=\"{}\" \
         NumberOfPolys=\"{}\"><Points>{}</Points><Polys>{}{}</Polys></Piece></PolyData><AppendedData encoding=\"raw\">_",
        m.positions.len(),
        m.triangles.len(),
        array("Points", "Float32", &arrays[0]),
        array("connectivity", "UInt32", &arrays[1]),
        array("offsets", "UInt32", &arrays[2]),
    );
    [text.as_bytes(), &appended, b"</AppendedData></VTKFile>"].concat()
}

fn write_msh(m: &MeshData) -> Vec<u8> {
    let (n, k) = (m.positions.len(), m.triangles.len());
    let numbered = |lines: String| -> String {
        lines.lines().enumerate().map(|(i, line)| format!("{} {line}\n", i + 1)).collect()
    };
    let nodes = numbered(lines(&m.positions, point));
    let elements = numbered(lines(&m.triangles, |t| format!("2 0 {}", numbers(&t.map(|v| v + 1)))));
    format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{n}\n{nodes}$EndNodes\n$Elements\n{k}\n{elements}$EndElements\n"
    )
    .into_bytes()
}

fn write_msh_binary(m: &MeshData) -> Vec<u8> {
    let sizes =
        |sizes: &[usize]| sizes.iter().flat_map(|n| (*n as u64).to_be_bytes()).collect::<Vec<u8>>();
    let ints = |ints: [u32; 3]| ints.map(u32::to_be_bytes).concat();
    let (n, k) = (m.positions.len(), m.triangles.len());
    let mut bytes = b"$MeshFormat\n4.1 1 8\n\0\0\0\x01\n$EndMeshFormat\n$Nodes\n".to_vec();
    bytes.extend([sizes(&[1, n, 1, n]), ints([2, 1, 0]), sizes(&[n])].concat());
    bytes.extend(sizes(&(1..=n).collect::<Vec<_>>()));
    bytes.extend(
        m.positions.iter().flat_map(|p| p.as_dvec3().to_array()).flat_map(f64::to_be_bytes),
    );
    bytes.extend(b"\n$EndNodes\n$Elements\n");
    bytes.extend([sizes(&[1, k, 1, k]), ints([2, 1, 2]), sizes(&[k])].concat());
    for (i, t) in m.triangles.iter().enumerate() {
        bytes.extend(sizes(&[i + 1, t[0] as usize + 1, t[1] as usize + 1, t[2] as usize + 1]));
    }
    [bytes, b"\n$EndElements\n".to_vec()].concat()
}

fn write_glb(m: &MeshData) -> Vec<u8> {
    let (n, k) = (m.positions.len(), m.triangles.len());
    let json = format!(
        "{{\"scenes\":[{{\"nodes\":[0]}}],\"nodes\":[{{\"mesh\":0}}],\"meshes\":[{{\"primitives\":[\
         {{\"attributes\":{{\"POSITION\":0}},\"indices\":1}}]}}],\"accessors\":[{{\"bufferView\":0,\
         \"componentType\":5126,\"count\":{n},\"type\":\"VEC3\"}},{{\"bufferView\":1,\"componentType\":5125,\
         \"count\":{},\"type\":\"SCALAR\"}}],\"bufferViews\":[{{\"buffer\":0,\"byteLength\":{}}},\
         {{\"buffer\":0,\"byteOffset\":{},\"byteLength\":{}}}]}}",
        3 * k,
        12 * n,
        12 * n,
        12 * k,
    );
    let positions = m.positions.iter().flat_map(|p| p.to_array()).flat_map(f32::to_le_bytes);
    let corners = m.triangles.as_flattened().iter().flat_map(|v| v.to_le_bytes());
    let data: Vec<u8> = positions.chain(corners).collect();
    let word = |n: usize| (n as u32).to_le_bytes();
    let head = [*b"glTF", word(2), word(28 + json.len() + data.len()), word(json.len()), *b"JSON"]
        .concat();
    [head, json.into_bytes(), word(data.len()).to_vec(), b"BIN\0".to_vec(), data].concat()
}

/// Writes the mesh in every format and encoding.
fn written(m: &MeshData) -> Vec<(MeshFormat, Vec<u8>)> {
    vec![
        (MeshFormat::Obj, write_obj(m)),
        (MeshFormat::Off, write_off(m)),
        (MeshFormat::Stl, write_stl_ascii(m)),
        (MeshFormat::Stl, write_stl_binary(m)),
        (MeshFormat::Ply, write_ply_ascii(m)),
        (MeshFormat::Ply, write_ply_binary(m, false)),
        (MeshFormat::Ply, write_ply_binary(m, true)),
        (MeshFormat::Vtk, write_vtk_ascii(m)),
        (MeshFormat::Vtk, write_vtk_binary(m)),
        (MeshFormat::Vtp, write_vtp(m)),
        (MeshFormat::Vtp, write_vtp_appended(m)),
        (MeshFormat::Msh, write_msh(m)),
        (MeshFormat::Msh, write_msh_binary(m)),
        (MeshFormat::Glb, write_glb(m)),
    ]
}

/// A small closed mesh with vertices in the order of first use, as STL numbers them.
fn small_mesh() -> MeshData {
    let stl = write_stl_binary(&shapes::torus(0.1, 0.03, 4, 3));
    read(&stl, MeshFormat::Stl).expect("readable")
}

/// Asserts that the result is a mesh or an error of the reader or of the validator.
fn must_do_no_harm(bytes: &[u8], format: MeshFormat) {
    if let Ok(data) = read(bytes, format) {
        assert!(data.positions.len() + data.triangles.len() <= bytes.len());
        if let Ok(loaded) = load(data, &LoadOptions::default()) {
            loaded.mesh.assert_well_formed();
        }
    }
}

#[test]
fn formats_have_their_extensions() {
    assert_eq!(MeshFormat::from_path(Path::new("a/b.OBJ")), Ok(MeshFormat::Obj));
    assert_eq!(MeshFormat::from_extension("vtk"), Ok(MeshFormat::Vtk));
    for path in ["a/b", "a.obj/b", "b.gltf"] {
        assert!(MeshFormat::from_path(Path::new(path)).is_err(), "{path}");
    }
}

#[test]
fn a_mesh_comes_back_as_written() {
    for (format, bytes) in written(&small_mesh()) {
        assert_eq!(read(&bytes, format), Ok(small_mesh()), "{format:?}");
    }
}

#[test]
fn a_byte_order_mark_moves_no_vertex() {
    let mesh = small_mesh();
    for (format, bytes) in written(&mesh) {
        let marked = [b"\xEF\xBB\xBF", &bytes[..]].concat();
        let is_binary_stl = format == MeshFormat::Stl && !bytes.starts_with(b"solid");
        if !is_binary_stl {
            assert_eq!(read(&marked, format), read(&bytes, format), "{format:?}");
        }
    }
    let mut named_so = write_stl_binary(&mesh);
    named_so[..3].copy_from_slice(b"\xEF\xBB\xBF");
    assert_eq!(read(&named_so, MeshFormat::Stl), read(&write_stl_binary(&mesh), MeshFormat::Stl));
}

#[test]
fn vertices_keep_their_numbers_and_the_unused_stay() {
    let mut mesh = small_mesh();
    mesh.positions.reverse();
    mesh.positions.push(Vec3::ONE);
    for (format, bytes) in written(&mesh) {
        if format != MeshFormat::Stl {
            assert_eq!(read(&bytes, format), Ok(mesh.clone()), "{format:?}");
        }
    }
}

#[test]
fn truncated_at_every_byte() {
    for (format, bytes) in written(&small_mesh()) {
        for n in 0..bytes.len() {
            must_do_no_harm(&bytes[..n], format);
        }
        assert!(read(&bytes[..bytes.len() / 2], format).is_err() || format == MeshFormat::Obj);
        let nothing = read(b"", format).map(|data| load(data, &LoadOptions::default()).is_err());
        assert!(nothing.unwrap_or(true), "{format:?} of no bytes");
    }
}

#[test]
fn a_number_that_is_none_is_refused_in_every_format() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut mesh = small_mesh();
        mesh.positions[2].y = value;
        for (format, bytes) in written(&mesh) {
            let found = read(&bytes, format).map(|data| load(data, &LoadOptions::default()));
            match found {
                // stl_io and ply-rs-bw reject such text themselves.
                Err(e) => assert!(matches!(e, MeshReadError::Reader { .. }), "{format:?}: {e}"),
                Ok(Err(e)) => assert!(e.to_string().starts_with("positions[2].y is "), "{e}"),
                Ok(Ok(_)) => panic!("{format:?} let {value} through"),
            }
        }
    }
}

#[test]
fn a_vertex_that_is_not_there_is_refused_in_every_format() {
    let mut mesh = small_mesh();
    mesh.triangles[3][1] = 99;
    for (format, bytes) in [
        (MeshFormat::Off, write_off(&mesh)),
        (MeshFormat::Ply, write_ply_ascii(&mesh)),
        (MeshFormat::Ply, write_ply_binary(&mesh, true)),
        (MeshFormat::Vtk, write_vtk_ascii(&mesh)),
        (MeshFormat::Vtk, write_vtk_binary(&mesh)),
        (MeshFormat::Vtp, write_vtp(&mesh)),
        (MeshFormat::Vtp, write_vtp_appended(&mesh)),
    ] {
        let refused = read(&bytes, format).map(|data| load(data, &LoadOptions::default()));
        let said = refused.expect("readable").expect_err("no such vertex").to_string();
        assert_eq!(said, "triangles[3][1] = 99, expected < 12", "{format:?}");
    }
    // OBJ counts from 1. A tag of Gmsh names a node; a number beyond a mesh of glTF would be a vertex of the next.
    let beyond_12 =
        "line 16: expected a vertex number from 1 to 12, or from -1 back to -12, got \"100\"";
    for (format, bytes, said) in [
        (MeshFormat::Obj, write_obj(&mesh), beyond_12),
        (MeshFormat::Msh, write_msh(&mesh), "expected the tag of a node, got \"100\""),
        (MeshFormat::Msh, write_msh_binary(&mesh), "expected the tag of a node, got \"100\""),
        (MeshFormat::Glb, write_glb(&mesh), "expected a vertex number below 12, got \"99\""),
    ] {
        let found = read(&bytes, format).expect_err("no such vertex").to_string();
        assert!(found.ends_with(said), "{format:?}: {found}");
    }
}

#[test]
fn a_lying_count_takes_no_memory() {
    for (format, bytes) in written(&small_mesh()) {
        for (count, lie) in
            [("12", "4000000000"), ("24", "4294967295"), ("96", "9223372036854775807")]
        {
            let is_count = |at: &usize| bytes[at + 1..].starts_with(count.as_bytes());
            let mut starts = (0..bytes.len()).filter(|at| b" \n".contains(&bytes[*at]));
            let Some(at) = starts.find(is_count) else { continue };
            let lying = [&bytes[..=at], lie.as_bytes(), &bytes[at + 1 + count.len()..]].concat();
            must_do_no_harm(&lying, format);
            if matches!(format, MeshFormat::Off | MeshFormat::Vtk | MeshFormat::Ply) {
                assert!(read(&lying, format).is_err(), "{format:?} believes in {lie}");
            }
        }
    }
}

#[test]
fn random_bytes_and_mutations() {
    let seed = std::env::var("PALPATE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(20);
    println!("PALPATE_SEED={seed}");
    let mut random = Random::new(seed);
    let originals = written(&small_mesh());
    for _ in 0..600 {
        for (format, original) in &originals {
            let mut bytes = original.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len());
                match random.below(4) {
                    0 => bytes[at] = random.u64() as u8,
                    1 => bytes[at] = b"0123456789-+.e/ \n\\"[random.below(18)],
                    2 => drop(bytes.remove(at)),
                    _ => {
                        let (from, n) = (random.below(bytes.len()), random.below(40));
                        let part = bytes[from..(from + n).min(bytes.len())].to_vec();
                        bytes.splice(at..at, part);
                    }
                }
            }
            must_do_no_harm(&bytes, *format);
        }
        let noise: Vec<u8> = (0..random.below(300)).map(|_| random.u64() as u8).collect();
        for format in FORMATS {
            must_do_no_harm(&noise, format);
        }
    }
}

#[test]
fn the_shared_meshes_load() {
    let Some(folder) = shared_data() else { return };
    for (name, triangles, bodies, closed) in [
        ("liver-smooth.obj", 4384, 1, true),
        ("tongue.obj", 5084, 1, true),
        ("tooth.obj", 948, 1, true),
        ("dental_instrument_light.obj", 784, 1, false),
        ("liver.vtk", 10_000, 4, true),
        ("pliers_binary.stl", 10_712, 8, true),
    ] {
        let path = folder.join("meshes").join(name);
        let bytes = fs::read(&path).expect("readable");
        let data = read(&bytes, MeshFormat::from_path(&path).expect("known")).expect("undamaged");
        let options = LoadOptions { scale_to_m: 0.001, ..LoadOptions::default() };
        let LoadedMesh { mesh, report } = load(data, &options).expect("a mesh");
        mesh.assert_well_formed();
        println!("{name}: {report:?}");
        assert_eq!((report.triangles, report.bodies, report.closed), (triangles, bodies, closed));
    }
}
