use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, read::ZlibEncoder};
use glam::Vec3;
use std::io::Read;

use super::*;

const POINTS: [[f32; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// A tetrahedron and a line, with the arrays that `array` writes, in an element with these attributes.
fn grid(
    head: &str,
    array: &mut dyn FnMut(&str, &[u8]) -> String,
    appended: &dyn Fn() -> Vec<u8>,
) -> Vec<u8> {
    let points = POINTS.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let text = format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" {head}>\n<UnstructuredGrid>\n\
         <FieldData><DataArray type=\"String\" Name=\"offsets\" format=\"ascii\">1 2</DataArray></FieldData>\n\
         <Piece NumberOfPoints=\"4\" NumberOfCells=\"2\">\n<PointData></PointData>\n<Points>\n\
         <DataArray type=\"Float32\" Name=\"Points\" NumberOfComponents=\"3\" {}</DataArray>\n</Points>\n<Cells>\n\
         <DataArray type=\"Int64\" Name=\"connectivity\" {}</DataArray>\n\
         <DataArray type=\"Int64\" Name=\"offsets\" {}</DataArray>\n\
         <DataArray type=\"UInt8\" Name=\"types\" {}</DataArray>\n</Cells>\n</Piece>\n</UnstructuredGrid>\n",
        // Elements with information may follow the numbers.
        array("Float32", &points)
            + "<InformationKey name=\"x\"><Value index=\"0\">7</Value></InformationKey>",
        array("Int64", &longs(&[0, 1, 2, 3, 0, 1])),
        array("Int64", &longs(&[4, 6])),
        array("UInt8", &[10, 3]),
    );
    [text.as_bytes(), &appended(), b"</VTKFile>\n"].concat()
}

fn longs(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn ascii() -> String {
    let array = &mut |kind: &str, bytes: &[u8]| {
        let kind = NumberKind::named(kind).expect("a kind");
        let numbers = bytes
            .chunks(kind.n_bytes())
            .map(|n| kind.coordinate(n, ByteOrder::Little).to_string() + " ");
        format!("format=\"ascii\">\n{}\n", numbers.collect::<String>())
    };
    String::from_utf8(grid("byte_order=\"BigEndian\"", array, &Vec::new)).expect("text")
}

/// Header and content of an array, in blocks of 16 bytes if compressed.
fn encoded(bytes: &[u8], is_wide: bool, is_compressed: bool) -> [Vec<u8>; 2] {
    let word = |n: usize| {
        if is_wide { (n as u64).to_le_bytes().to_vec() } else { (n as u32).to_le_bytes().to_vec() }
    };
    if !is_compressed {
        return [word(bytes.len()), bytes.to_vec()];
    }
    let blocks: Vec<Vec<u8>> = bytes
        .chunks(16)
        .map(|block| {
            let mut compressed = Vec::new();
            ZlibEncoder::new(block, Compression::default())
                .read_to_end(&mut compressed)
                .expect("memory");
            compressed
        })
        .collect();
    let header =
        [vec![blocks.len(), 16, bytes.len() % 16], blocks.iter().map(Vec::len).collect()].concat();
    [header.into_iter().flat_map(word).collect(), blocks.concat()]
}

fn assert_is_the_tetrahedron(bytes: &[u8], what: &str) {
    let file = read(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(file.mesh.positions, POINTS.map(Vec3::from_array), "{what}");
    assert_eq!(file.mesh.triangles, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], "{what}");
}

#[test]
fn arrays_of_every_encoding() {
    assert_is_the_tetrahedron(ascii().as_bytes(), "ascii");
    for (is_wide, is_compressed) in [(false, false), (true, false), (false, true), (true, true)] {
        let head = format!(
            "byte_order=\"LittleEndian\" header_type=\"{}\"{}",
            if is_wide { "UInt64" } else { "UInt32" },
            if is_compressed { " compressor=\"vtkZLibDataCompressor\"" } else { "" },
        );
        // Header and content in one text, or each in its own.
        for is_joined in [false, true] {
            let text = |bytes: &[u8]| {
                let [header, content] = encoded(bytes, is_wide, is_compressed);
                if is_joined && !is_compressed {
                    return STANDARD.encode([header, content].concat());
                }
                STANDARD.encode(header) + &STANDARD.encode(content)
            };
            let array =
                &mut |_: &str, bytes: &[u8]| format!("format=\"binary\">\n  {}\n", text(bytes));
            assert_is_the_tetrahedron(&grid(&head, array, &Vec::new), &head);
            let appended = std::cell::RefCell::new(String::new());
            let array = &mut |_: &str, bytes: &[u8]| {
                let offset = appended.borrow().len();
                *appended.borrow_mut() += &text(bytes);
                format!("format=\"appended\" offset=\"{offset}\">")
            };
            let end = || {
                format!("<AppendedData encoding=\"base64\">\n_{}</AppendedData>", appended.borrow())
                    .into_bytes()
            };
            assert_is_the_tetrahedron(&grid(&head, array, &end), &head);
        }
        let appended = std::cell::RefCell::new(Vec::new());
        let array = &mut |_: &str, bytes: &[u8]| {
            let offset = appended.borrow().len();
            appended.borrow_mut().extend(encoded(bytes, is_wide, is_compressed).concat());
            format!("format=\"appended\" offset=\"{offset}\">")
        };
        let end = || {
            [b"<AppendedData encoding=\"raw\">\n _", &appended.borrow()[..], b"</AppendedData>"]
                .concat()
        };
        let bytes = grid(&head, array, &end);
        assert_is_the_tetrahedron(&bytes, &head);
        // Every shorter file is damaged.
        for n in 0..bytes.len() - 40 {
            assert!(read(&bytes[..n]).is_err(), "{head}, {n} bytes");
        }
    }
}

#[test]
fn surfaces_of_polygons_and_strips() {
    let text = "<VTKFile type=\"PolyData\"><PolyData><Piece NumberOfPoints=\"4\" NumberOfPolys=\"1\" NumberOfStrips=\"1\" \
                NumberOfLines=\"0\"><Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">\
                0 0 0 1 0 0 1 1 0 0 1 0</DataArray></Points><Lines/><Polys><DataArray type=\"Int32\" \
                Name=\"connectivity\" format=\"ascii\">0 1 2 3</DataArray><DataArray type=\"Int32\" Name=\"offsets\" \
                format=\"ascii\">4</DataArray></Polys><Strips><DataArray type=\"Int32\" Name=\"connectivity\" \
                format=\"ascii\">0 1 2 3</DataArray><DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">4\
                </DataArray></Strips></Piece></PolyData></VTKFile>";
    let file = read(text.as_bytes()).expect("readable");
    assert_eq!(file.mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2], [2, 1, 3]]);
    assert_eq!(file.cells, None);
}

#[test]
fn says_what_is_wrong() {
    for (from, to, said) in [
        (
            "UnstructuredGrid\" v",
            "ImageData\" v",
            "expected type UnstructuredGrid or PolyData, got \"ImageData\"",
        ),
        ("BigEndian", "Middle", "expected byte_order LittleEndian or BigEndian, got \"Middle\""),
        (
            "byte_order",
            "compressor=\"vtkLZ4DataCompressor\" byte_order",
            "expected compressor vtkZLibDataCompressor, got \"vtkLZ4DataCompressor\"",
        ),
        (
            "NumberOfPoints=\"4\"",
            "NumberOfPoints=\"x\"",
            "expected a number as NumberOfPoints, got \"x\"",
        ),
        (
            "NumberOfPoints=\"4\"",
            "NumberOfPoints=\"4000000000\"",
            "12000000000 numbers need at least 23999999999 bytes",
        ),
        ("type=\"UInt8\"", "type=\"Text\"", "expected a type of numbers, got \"Text\""),
        ("Name=\"types\"", "Name=\"kinds\"", "expected an array \"types\", got nothing"),
        (
            "Name=\"connectivity\"",
            "Name=\"corners\"",
            "expected an array \"connectivity\" in Cells, got nothing",
        ),
        (
            "10 3",
            "71 3",
            "cell 0: expected a polygon, triangle strip, tetrahedron, hexahedron, wedge or pyramid, got a Lagrange",
        ),
        ("4 6", "4 7", "expected a number from 0 to 4294967295, got nothing"),
        (
            "</Piece>",
            "</Piece><Piece>",
            "expected one piece (merge pieces before saving), got nothing",
        ),
        ("</Cells>", "</Cell>", "expected `</Cells>`, but `</Cell>` was found"),
        ("<VTKFile", "<Other", "expected VTKFile, got \"Other"),
    ] {
        let text = ascii();
        assert!(text.contains(from), "{from}");
        let found = read(text.replacen(from, to, 1).as_bytes()).expect_err(said).to_string();
        assert!(found.contains(said), "{found}\n{said}");
    }
    let deep = format!("<VTKFile type=\"PolyData\">{}", "<a>".repeat(1000));
    assert!(read(deep.as_bytes()).expect_err("deep").to_string().contains("nested less deeply"));
}

#[test]
fn a_small_file_cannot_unfold_into_a_large_one() {
    // 800 megabytes of zeros, declared and compressed a thousandfold.
    let n = 3 << 28;
    let mut compressed = Vec::new();
    ZlibEncoder::new(std::io::repeat(0).take(n), Compression::best())
        .read_to_end(&mut compressed)
        .expect("memory");
    let header: Vec<u8> =
        [1, n, 0, compressed.len() as u64].iter().flat_map(|n| n.to_le_bytes()).collect();
    let text = STANDARD.encode(header) + &STANDARD.encode(compressed);
    let file = format!(
        "<VTKFile type=\"PolyData\" header_type=\"UInt64\" compressor=\"vtkZLibDataCompressor\"><PolyData><Piece \
         NumberOfPoints=\"{}\"><Points><DataArray type=\"UInt8\" format=\"binary\">{text}</DataArray></Points></Piece>\
         </PolyData></VTKFile>",
        n / 3
    );
    let said = read(file.as_bytes()).expect_err("too dense").to_string();
    assert!(said.contains("268435456 points take"), "{said}");
}

/// One cell whose type is encoded together with its header: the padding is that of both.
#[test]
fn a_single_number_beside_its_header() {
    let array = &mut |kind: &str, bytes: &[u8]| {
        if kind == "UInt8" {
            return format!(
                "format=\"binary\">{}",
                STANDARD.encode([&[2, 0, 0, 0], bytes].concat())
            );
        }
        let header = (bytes.len() as u32).to_le_bytes();
        format!("format=\"binary\">{}", STANDARD.encode([&header, bytes].concat()))
    };
    let file =
        String::from_utf8(grid("byte_order=\"LittleEndian\"", array, &Vec::new)).expect("text");
    assert_is_the_tetrahedron(file.as_bytes(), "two types");
    let one = file
        .replace(&STANDARD.encode([2, 0, 0, 0, 10, 3]), &STANDARD.encode([1, 0, 0, 0, 10]))
        .replace("NumberOfCells=\"2\"", "NumberOfCells=\"1\"")
        .replace(
            &STANDARD.encode([&[16, 0, 0, 0][..], &longs(&[4, 6])].concat()),
            &STANDARD.encode([&[8, 0, 0, 0][..], &longs(&[4])].concat()),
        )
        .replace(
            &STANDARD.encode([&[48, 0, 0, 0][..], &longs(&[0, 1, 2, 3, 0, 1])].concat()),
            &STANDARD.encode([&[32, 0, 0, 0][..], &longs(&[0, 1, 2, 3])].concat()),
        );
    assert_is_the_tetrahedron(one.as_bytes(), "one type");
}

/// A block that gives less than its header says would let millions of blocks pass for nothing.
#[test]
fn a_block_that_ends_early_is_refused() {
    let n = 3000u32;
    let header: Vec<u8> =
        [n, 1, 0].into_iter().chain((0..n).map(|_| 0)).flat_map(u32::to_le_bytes).collect();
    let file = format!(
        "<VTKFile type=\"PolyData\" compressor=\"vtkZLibDataCompressor\"><PolyData><Piece NumberOfPoints=\"{}\">\
         <Points><DataArray type=\"UInt8\" format=\"binary\">{}</DataArray></Points></Piece></PolyData></VTKFile>",
        n / 3,
        STANDARD.encode(header),
    );
    let said = read(file.as_bytes()).expect_err("nothing").to_string();
    assert!(said.contains("the array ends early"), "{said}");
}
