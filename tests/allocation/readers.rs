//! Readers allocate at most a multiple of the bytes of their file, for any file: three, twelve if it may be compressed, and for glTF 16 MiB more.

use palpate::mesh_io::{MeshFormat, read};

use crate::counting::peak_during;

/// Size of the items in each file, bytes; a header comes on top.
const FILE_BYTES: usize = 8 << 20;
/// Allowance for the words of one record, its numbers, and buffers.
const BESIDE_BYTES: usize = 2 << 20;

/// `header`, then `item` until the file is long enough; `declare` returns the header for a number of items.
fn repeated(item: &[u8], declare: impl Fn(usize) -> String) -> Vec<u8> {
    let n = FILE_BYTES / item.len();
    let mut bytes = declare(n).into_bytes();
    (0..n).for_each(|_| bytes.extend(item));
    bytes
}

fn ply(encoding: &str, vertices: usize, faces: usize, list: &str) -> String {
    format!(
        "ply\nformat {encoding} 1.0\nelement vertex {vertices}\nproperty float x\nproperty float y\n\
         property float z\nelement face {faces}\nproperty list {list} vertex_indices\nend_header\n"
    )
}

/// Files as dense as their formats allow; no tool would write most of them.
fn dense_files() -> Vec<(&'static str, MeshFormat, Vec<u8>)> {
    use MeshFormat::{Glb, Msh, Obj, Off, Ply, Stl, Vtk, Vtp, Vtu};
    let vtk = |encoding: &str, version: u32| {
        format!("# vtk DataFile Version {version}.0\ndense\n{encoding}\nDATASET POLYDATA\n")
    };
    let facet = "facet normal 0 0 0\nouter loop\nvertex 0 1 2\nvertex 1 2 3\nvertex 2 3 4\nendloop\nendfacet\n";
    let mut distinct = vec![0; 80];
    let n = FILE_BYTES / 50;
    distinct.extend((n as u32).to_le_bytes());
    for t in 0..n as u32 {
        distinct.extend([0; 12]);
        // All corners differ.
        (0..9).for_each(|i| distinct.extend(((9 * t + i) as f32).to_le_bytes()));
        distinct.extend([0; 2]);
    }
    let polygon = [&[255][..], &[0; 255]].concat();
    let mut binary_cells = Vec::new();
    (0..3).for_each(|_| binary_cells.extend(0u32.to_be_bytes()));
    vec![
        ("vertices", Obj, repeated(b"v 0 0 0\n", |_| String::new())),
        ("triangles", Obj, repeated(b"f 1 1 1\n", |_| "v 0 0 0\n".to_owned())),
        ("one polygon", Obj, repeated(b" 1", |_| "v 0 0 0\nf".to_owned())),
        ("one polygon over lines", Obj, repeated(b" 1\\\n", |_| "v 0 0 0\nf".to_owned())),
        ("vertices", Off, repeated(b"0 0 0\n", |n| format!("OFF\n{n} 0 0\n"))),
        ("triangles", Off, repeated(b"3 0 0 0\n", |n| format!("OFF\n1 {n} 0\n0 0 0\n"))),
        ("one polygon", Off, repeated(b" 0", |n| format!("OFF\n1 1 0\n0 0 0\n{n}"))),
        ("facets", Stl, repeated(facet.as_bytes(), |_| "solid dense\n".to_owned())),
        ("words", Stl, repeated(b"a ", |_| "solid dense\n".to_owned())),
        ("distinct corners", Stl, distinct),
        ("triangles", Ply, repeated(b"3 0 0 0\n", |n| ply("ascii", 1, n, "uchar int") + "0 0 0\n")),
        (
            "one polygon",
            Ply,
            repeated(b" 0", |n| ply("ascii", 1, 1, "int int") + &format!("0 0 0\n{n}")),
        ),
        (
            "polygons of bytes",
            Ply,
            repeated(&polygon, |n| {
                ply("binary_little_endian", 1, n, "uchar uchar") + &"\0".repeat(12)
            }),
        ),
        (
            "one polygon of bytes",
            Ply,
            repeated(&[0], |n| {
                ply("binary_little_endian", 1, 1, "int uchar")
                    + &"\0".repeat(12)
                    + std::str::from_utf8(&(n as u32 & 0x7f7f_7f7f).to_le_bytes()).expect("ASCII")
            }),
        ),
        ("points", Vtk, repeated(b"0 0 0\n", |n| vtk("ASCII", 3) + &format!("POINTS {n} float\n"))),
        (
            "one polygon",
            Vtk,
            repeated(b"0 ", |n| vtk("ASCII", 3) + &format!("POLYGONS 1 {}\n{n} ", n + 1)),
        ),
        (
            "strips",
            Vtk,
            repeated(b"4 0 0 0 0 ", |n| {
                vtk("ASCII", 3) + &format!("TRIANGLE_STRIPS {n} {}\n", 5 * n)
            }),
        ),
        (
            "connectivity",
            Vtk,
            repeated(b"0 ", |n| {
                vtk("ASCII", 5) + &format!("POLYGONS 2 {n}\nOFFSETS int\n0 {n}\nCONNECTIVITY int\n")
            }),
        ),
        (
            "points",
            Vtk,
            repeated(&binary_cells, |n| vtk("BINARY", 3) + &format!("POINTS {n} float\n")),
        ),
        (
            "cells that share nothing",
            Vtk,
            grid_of_cells(|i| [4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3]),
        ),
        ("cells about an edge", Vtk, grid_of_cells(|i| [0, 1, 2 + i, 3 + i])),
        (
            "nodes",
            Msh,
            repeated(b"0 0 0 0\n", |n| {
                format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{n}\n")
            }),
        ),
        ("empty elements", Vtu, repeated(b"<a/>", |_| "<VTKFile type=\"PolyData\">".to_owned())),
        ("open elements", Vtu, repeated(b"<a>", |_| "<VTKFile type=\"PolyData\">".to_owned())),
        ("empty blocks", Vtp, empty_blocks()),
        ("attributes", Vtp, repeated(b"x=\"\" ", |_| "<VTKFile type=\"PolyData\"><a ".to_owned())),
        (
            "nodes as arrays",
            Glb,
            glb(&format!("{{\"nodes\":[{}[]]}}", "[],".repeat(FILE_BYTES / 3))),
        ),
        (
            "extensions",
            Glb,
            glb(&format!("{{\"extensionsRequired\":[{}\"\"]}}", "\"\",".repeat(FILE_BYTES / 3))),
        ),
        ("nodes", Glb, glb(&format!("{{\"nodes\":[{}{{}}]}}", "{},".repeat(FILE_BYTES / 3)))),
        (
            "children",
            Glb,
            glb(&format!("{{\"nodes\":[{{\"children\":[{}0]}}]}}", "0,".repeat(FILE_BYTES / 2))),
        ),
    ]
}

/// A grid of tetrahedra with the corners that `cell` gives.
fn grid_of_cells(cell: impl Fn(u32) -> [u32; 4]) -> Vec<u8> {
    let n = FILE_BYTES as u32 / 80;
    let mut text =
        "# vtk DataFile Version 3.0\ndense\nASCII\nDATASET UNSTRUCTURED_GRID\n".to_owned();
    text += &format!("POINTS {} float\n", 4 * n);
    (0..4 * n).for_each(|i| text += &format!("{} {} {}\n", i % 7, i % 11, i % 13));
    text += &format!("CELLS {n} {}\n", 5 * n);
    (0..n).map(cell).for_each(|[a, b, c, d]| text += &format!("4 {a} {b} {c} {d}\n"));
    text += &format!("CELL_TYPES {n}\n");
    (text + &"10\n".repeat(n as usize)).into_bytes()
}

/// Points whose compressed blocks have no bytes: a long header, and nothing behind it.
fn empty_blocks() -> Vec<u8> {
    let n_blocks = 3 * (FILE_BYTES as u32 / 12);
    let mut bytes = format!(
        "<VTKFile type=\"PolyData\" compressor=\"vtkZLibDataCompressor\"><PolyData><Piece NumberOfPoints=\"{}\">\
         <Points><DataArray type=\"UInt8\" format=\"appended\" offset=\"0\"/></Points></Piece></PolyData>\
         <AppendedData encoding=\"raw\">_",
        n_blocks / 3
    )
    .into_bytes();
    [n_blocks, 1, 0].iter().for_each(|n| bytes.extend(n.to_le_bytes()));
    bytes.extend(vec![0; 4 * n_blocks as usize]);
    bytes
}

fn glb(json: &str) -> Vec<u8> {
    let n = (json.len() as u32).to_le_bytes();
    [b"glTF\x02\0\0\0\0\0\0\0", &n[..], b"JSON", json.as_bytes()].concat()
}

#[test]
fn a_reader_takes_at_most_a_multiple_of_its_file() {
    for (what, format, bytes) in dense_files() {
        let (data, peak) = peak_during(|| read(&bytes, format));
        let allowed = format.read_bytes_max(bytes.len() as u64) as usize + BESIDE_BYTES;
        let outcome = match data {
            Ok(data) => {
                format!("{} vertices, {} triangles", data.positions.len(), data.triangles.len())
            }
            Err(error) => error.to_string(),
        };
        println!(
            "{format:?}, {what}: {:.2} times the file; {outcome}",
            peak as f64 / bytes.len() as f64
        );
        assert!(
            peak <= allowed as i64,
            "{format:?}, {what}: {peak} bytes, expected at most {allowed}"
        );
    }
}
