use std::fs;

use super::*;
use crate::{geometry::MeshData, oracle::shared_data};

const HEADER: &str = "# vtk DataFile Version 3.0\na title\n";

fn read_surface(bytes: &[u8]) -> Result<MeshData, MeshReadError> {
    read(bytes).map(|file| file.mesh)
}

fn ascii(body: &str) -> Result<MeshData, MeshReadError> {
    read_surface(format!("{HEADER}ASCII\nDATASET POLYDATA\n{body}").as_bytes())
}

fn error(body: &str) -> String {
    ascii(body).expect_err("damaged").to_string()
}

#[test]
fn reads_polygons_strips_and_passes_over_the_rest() {
    let data = ascii(
        "FIELD FieldData 2\nTIME 1 1 double\n0.5\nids 2 3 vtkIdType\n1 2 3 4 5 6\n\
         POINTS 5 double\n0 0 0 1 0 0 1 1 0\n0 1 0 2 2 2\nMETADATA\nINFORMATION 0\n\n\
         VERTICES 1 2\n1 0\nLINES 1 3\n2 0 1\nPOLYGONS 2 9\n4 0 1 2 3\n3 0 1 4\n\
         TRIANGLE_STRIPS 1 6\n5 0 1 2 3 4\nPOINT_DATA 5\nSCALARS anything\n",
    )
    .expect("readable");
    assert_eq!(data.positions.len(), 5);
    let fans = [[0, 1, 2], [0, 2, 3], [0, 1, 4]];
    let strip = [[0, 1, 2], [2, 1, 3], [2, 3, 4]];
    assert_eq!(data.triangles, [fans, strip].concat());
}

#[test]
fn reads_offsets_and_connectivity() {
    let body = "POINTS 4 float\n0 0 0 1 0 0 1 1 0 0 1 0\n\
                POLYGONS 3 7\nOFFSETS vtktypeint64\n0 4 7\nCONNECTIVITY vtktypeint64\n0 1 2 3 0 1 3\n";
    let head = HEADER.replace("3.0", "5.1");
    let file =
        |body: &str| read_surface(format!("{head}ASCII\nDATASET POLYDATA\n{body}").as_bytes());
    let data = file(body).expect("readable");
    assert_eq!(data.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 3]]);
    for (from, to) in [("0 4 7", "0 9 7"), ("0 4 7", "4 0 7"), ("0 4 7", "0 2 7"), ("OFF", "OF")] {
        let damaged = file(&body.replacen(from, to, 1));
        assert!(damaged.is_err(), "{to}");
    }
}

#[test]
fn passes_over_values_of_every_kind() {
    let surface = "POINTS 3 int\n0 0 0 -1 0 0 1 1 0\nPOLYGONS 1 4\n3 0 1 2\n";
    let fields = "FIELD FieldData 4\nSPACE 1 2 string\nLPS 3\n\nMETADATA\nINFORMATION 1\nNAME x\n\nflags 1 9 bit\n\
                  1 0 1 0 1 0 1 0 1\nids 1 1 VTKTYPEUINT64\n7\nt 1 1 vtktypefloat64\n0.5\n";
    let data = ascii(&format!("{fields}{surface}")).expect("readable");
    assert_eq!((data.positions[1], data.triangles), (-Vec3::X, vec![[0, 1, 2]]));
    let mut bytes =
        format!("{HEADER}BINARY\nDATASET POLYDATA\nFIELD FieldData 2\nSPACE 1 3 string\n")
            .into_bytes();
    // Lengths in one, two and eight bytes.
    bytes
        .extend([&[0xC3][..], b"LPS", &[0x80, 2], b"ab", &[0, 0, 0, 0, 0, 0, 0, 1], b"c"].concat());
    bytes.extend(b"\nflags 1 9 bit\n\xAA\x80\nPOINTS 3 unsigned_char\n");
    bytes.extend([0, 0, 0, 200, 0, 0, 0, 1, 0]);
    bytes.extend(b"\nPOLYGONS 1 4\n");
    bytes.extend([3i32, 0, 1, 2].iter().flat_map(|i| i.to_be_bytes()));
    let data = read_surface(&bytes).expect("readable");
    assert_eq!((data.positions[1], data.triangles), (200.0 * Vec3::X, vec![[0, 1, 2]]));
    for (kind, value) in
        [("char", &[0xFE][..]), ("short", &[0xFF, 0xFE]), ("long", &(-2i64).to_be_bytes())]
    {
        let points = [value.repeat(9), b"\nPOLYGONS 0 0\n".to_vec()].concat();
        let head = format!("{HEADER}BINARY\nDATASET POLYDATA\nPOINTS 3 {kind}\n");
        let data = read_surface(&[head.as_bytes(), &points].concat()).expect("readable");
        assert_eq!(data.positions, [Vec3::splat(-2.0); 3], "{kind}");
    }
    // A length beyond the end of the file.
    let lying =
        format!("{HEADER}BINARY\nDATASET POLYDATA\nFIELD FieldData 1\nSPACE 1 1 string\n\u{1}");
    assert!(
        read_surface(lying.as_bytes())
            .expect_err("short")
            .to_string()
            .contains("1 strings of FIELD array")
    );
}

#[test]
fn reads_binary_of_both_widths() {
    let mut bytes = format!("{HEADER}BINARY\nDATASET POLYDATA\nPOINTS 3 double\n").into_bytes();
    let coordinates = [0.0f64, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.1, f64::NAN];
    bytes.extend(coordinates.iter().flat_map(|x| x.to_be_bytes()));
    bytes.extend(b"\nPOLYGONS 1 4\n");
    bytes.extend([3i32, 0, 1, 2].iter().flat_map(|i| i.to_be_bytes()));
    let data = read_surface(&bytes).expect("readable");
    assert_eq!((data.positions[1].x, data.positions[2].y), (1.5, 0.1));
    assert!(data.positions[2].z.is_nan());
    assert_eq!(data.triangles, [[0, 1, 2]]);
    let n = bytes.len();
    bytes[n - 4..].copy_from_slice(&(-2i32).to_be_bytes());
    let said = read_surface(&bytes).expect_err("negative").to_string();
    assert_eq!(said, format!("byte {}: expected a number from 0 to 4294967295, got \"-2\"", n - 4));
}

#[test]
fn names_the_place() {
    for (body, said) in [
        (
            "POINTS 3 float\n0 0 x",
            "line 5: 9 numbers of POINTS 3 need at least 17 bytes, 6 bytes are left",
        ),
        ("POINTS 1 float\n0 0 x", "line 6: expected a coordinate, got \"x\""),
        ("POINTS -1 float", "line 5: expected the number of points, got \"-1\""),
        ("POINTS 1 string\n", "line 5: expected a kind of numbers, got \"string\""),
        ("POINTS 1 text\n", "line 5: expected a kind of values such as float, got \"text\""),
        (
            "POLYGONS 1 3\n2 0 1",
            "line 5: expected cell 0 of POLYGONS 1 3 to be one, got one of 2 corners",
        ),
        (
            "POLYGONS 1 4\n4 0 1 2",
            "line 5: expected cell 0 of POLYGONS 1 4 to be one, got one of 4 corners, 3 of them there",
        ),
        (
            "POLYGONS 1 5\n3 0 1 2 9",
            "line 5: expected cell 1 of POLYGONS 1 5 to be one, got the end of the cells and 1 numbers more",
        ),
        (
            "POLYGONS 2 4\n3 0 1 2",
            "line 5: expected cell 1 of POLYGONS 2 4 to be one, got the end of the section",
        ),
        (
            "FIELD FieldData 1\nids 1 2 string\none",
            "line 7: expected 2 strings of FIELD array \"ids\", got nothing",
        ),
        ("CORNERS 1\n", "line 5: expected a section such as POLYGONS, got \"CORNERS 1\\n\""),
    ] {
        assert_eq!(error(body), said);
    }
    for (file, said) in [
        ("", "line 1: expected \"# vtk DataFile Version x.y\", got \"\""),
        (
            "# vtk DataFile Version 3.0\n\nBINARY\nDATASET STRUCTURED_GRID",
            "line 4: expected POLYDATA or UNSTRUCTURED_GRID",
        ),
        ("# vtk DataFile Version 3.0\n\nXML\n", "line 3: expected ASCII or BINARY, got \"XML\""),
    ] {
        let found = read_surface(file.as_bytes()).expect_err("damaged").to_string();
        assert!(found.contains(said), "{found}");
    }
}

#[test]
fn a_hundred_bytes_that_claim_four_billion_points_are_refused() {
    for encoding in ["ASCII", "BINARY"] {
        for count in ["4000000000", "18446744073709551615"] {
            let file =
                format!("{HEADER}{encoding}\nDATASET POLYDATA\nPOINTS {count} float\n0 0 0\n");
            let said = read_surface(file.as_bytes()).expect_err("lies").to_string();
            assert!(said.contains(&format!("numbers of POINTS {count} need at least")), "{said}");
        }
    }
}

#[test]
fn says_exactly_what_is_damaged_in_the_shared_file() {
    let Some(folder) = shared_data() else { return };
    let bytes = fs::read(folder.join("meshes/liver_for_test_broken.vtk")).expect("readable");
    assert_eq!(
        read_surface(&bytes).expect_err("damaged").to_string(),
        "byte 79: POINTS 508 declares 6096 bytes, but the next section, POLYGONS, begins after 100371; \
         20149 bytes in it were replaced by text such as \\E3, as by a text conversion"
    );
    let whole = fs::read(folder.join("meshes/liver.vtk")).expect("readable");
    let data = read_surface(&whole).expect("readable");
    assert_eq!((data.positions.len(), data.triangles.len()), (5008, 10_000));
}

const GRID: &str = "POINTS 5 float\n0 0 0 1 0 0 0 1 0 0 0 1 0 0 -1\nCELLS 3 13\n4 0 1 2 3\n4 0 1 2 4\n2 0 1\n\
                    CELL_TYPES 3\n10 10 3\nCELL_DATA 3\n";

fn grid(body: &str) -> Result<MeshFile, MeshReadError> {
    read(format!("{HEADER}ASCII\nDATASET UNSTRUCTURED_GRID\n{body}").as_bytes())
}

#[test]
fn the_surface_of_a_grid_is_its_boundary() {
    let file = grid(GRID).expect("readable");
    assert_eq!((file.mesh.positions.len(), file.mesh.triangles.len()), (5, 6));
    let counts = file.cells.expect("cells");
    assert_eq!((counts.tetrahedra, counts.inverted), (2, 1));
    let offsets = "CELLS 4 10\nOFFSETS vtktypeint64\n0 4 8 10\nCONNECTIVITY vtktypeint64\n0 1 2 3 0 1 2 4 0 1\n";
    let (points, types) =
        (&GRID[..GRID.find("CELLS").unwrap()], &GRID[GRID.find("CELL_TYPES").unwrap()..]);
    let header = HEADER.replace("3.0", "5.1");
    let text = format!("{header}ASCII\nDATASET UNSTRUCTURED_GRID\n{points}{offsets}{types}");
    assert_eq!(read(text.as_bytes()), Ok(file));
    // A voxel's corners run row by row, and faces are the surface where there are no cells.
    let cube = "POINTS 8 float\n0 0 0 1 0 0 0 1 0 1 1 0 0 0 1 1 0 1 0 1 1 1 1 1\n";
    let voxel =
        grid(&format!("{cube}CELLS 1 9\n8 0 1 2 3 4 5 6 7\nCELL_TYPES 1\n11\n")).expect("readable");
    let is_flat = |t: &[u32; 3]| {
        let corners = t.map(|v| voxel.mesh.positions[v as usize]);
        (0..3).any(|axis| corners.iter().all(|p| p[axis] == corners[0][axis]))
    };
    assert!(voxel.mesh.triangles.iter().all(is_flat), "{:?}", voxel.mesh.triangles);
    assert_eq!((voxel.mesh.triangles.len(), voxel.cells.map(|c| c.inverted)), (12, Some(0)));
    let pixels = grid(&format!("{cube}CELLS 2 9\n4 0 1 2 3\n3 0 1 4\nCELL_TYPES 2\n8 5\n"))
        .expect("readable");
    assert_eq!(
        (pixels.mesh.triangles, pixels.cells),
        (vec![[0, 1, 3], [0, 3, 2], [0, 1, 4]], None)
    );
}

#[test]
fn a_damaged_grid_is_refused() {
    for (from, to, said) in [
        (
            "10 10 3",
            "10 24 3",
            "cell 1: expected a polygon, triangle strip, tetrahedron, hexahedron, wedge or pyramid, got a quadratic cell (VTK type 24)",
        ),
        ("10 10 3", "10 12 3", "cell 1: expected 8 corners of a hexahedron, got 4"),
        ("CELL_TYPES 3\n10 10 3", "CELL_TYPES 2\n10 10", "expected the types of 3 cells, got 2"),
        ("CELL_TYPES 3\n10 10 3", "", "expected CELL_TYPES, got nothing"),
        ("4 0 1 2 4", "4 0 1 2 5", "cell 1: expected a corner among 5 points, got \"5\""),
        ("CELLS 3 13", "CELLS 3 99", "99 numbers of CELLS 3 99 need"),
        ("CELLS 3 13\n4 0 1 2 3\n4 0 1 2 4\n2 0 1\n", "", "expected CELLS before, got nothing"),
    ] {
        let found = grid(&GRID.replace(from, to)).expect_err("damaged").to_string();
        assert!(found.contains(said), "{found}");
    }
}

#[test]
fn keywords_are_read_in_any_case() {
    let file = format!("{HEADER}ASCII\nDATASET UNSTRUCTURED_GRID\n{GRID}");
    let (title, rest) = file.split_at(HEADER.len());
    assert_eq!(read((title.to_owned() + &rest.to_lowercase()).as_bytes()), read(file.as_bytes()));
}

/// A search for the next section is a pass over the file, whatever its lines are.
#[test]
fn lines_without_a_space_cost_no_more_than_others() {
    let head = format!("{HEADER}BINARY\nDATASET POLYDATA\nPOINTS 0 float\nX");
    let file = head + &"\n".repeat(4 << 20);
    assert!(read(file.as_bytes()).is_err());
}
