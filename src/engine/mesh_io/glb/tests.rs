use super::*;

/// A file of this JSON and data.
fn file(json: &str, data: &[u8]) -> Vec<u8> {
    let json = json.to_owned() + &" ".repeat(json.len().next_multiple_of(4) - json.len());
    let word = |n: usize| (n as u32).to_le_bytes();
    let n = 28 + json.len() + data.len();
    [
        b"glTF",
        &word(2)[..],
        &word(n),
        &word(json.len()),
        b"JSON",
        json.as_bytes(),
        &word(data.len()),
        b"BIN\0",
        data,
    ]
    .concat()
}

/// Four points, 16 bytes apart, and the corners of two triangles, of a strip and of a fan.
fn data() -> Vec<u8> {
    let points = [[0.0f32; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let mut data: Vec<u8> = points
        .iter()
        .flat_map(|p| [p[0], p[1], p[2], f32::NAN].map(f32::to_le_bytes).concat())
        .collect();
    data.extend([0, 1, 2, 0, 2, 3].iter().flat_map(|n: &u16| n.to_le_bytes()));
    data.extend([0, 1, 3, 2]);
    data
}

const JSON: &str = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],
    "nodes":[{"name":"root","translation":[0,0,5],"children":[1,2]},{"mesh":0,"scale":[2,2,2]},{"mesh":1,"scale":[-1,1,1]}],
    "meshes":[{"primitives":[{"attributes":{"POSITION":0,"NORMAL":9},"indices":1},{"attributes":{"POSITION":0},"mode":1}]},
              {"primitives":[{"attributes":{"POSITION":0},"indices":2,"mode":5},{"attributes":{"POSITION":0},"mode":6}]}],
    "accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3","min":[0,0,0]},
                 {"bufferView":1,"componentType":5123,"count":6,"type":"SCALAR"},
                 {"bufferView":1,"byteOffset":12,"componentType":5121,"count":4,"type":"SCALAR"}],
    "bufferViews":[{"buffer":0,"byteLength":64,"byteStride":16},{"buffer":0,"byteOffset":64,"byteLength":16}],
    "buffers":[{"byteLength":80}],"materials":[{"doubleSided":true}]}"#;

#[test]
fn nodes_move_triangles_strips_and_fans() {
    let mesh = read(&file(JSON, &data())).expect("readable");
    let at = |x: f32, y: f32| Vec3::new(x, y, 5.0);
    let doubled = [at(0.0, 0.0), at(2.0, 0.0), at(2.0, 2.0), at(0.0, 2.0)];
    let mirrored = [at(0.0, 0.0), at(-1.0, 0.0), at(-1.0, 1.0), at(0.0, 1.0)];
    assert_eq!(mesh.positions, [doubled, mirrored].concat());
    // A mirror image is wound the other way; the parts of a mesh share their vertices.
    let triangles = [[0, 1, 2], [0, 2, 3], [5, 4, 7], [5, 7, 6], [5, 4, 6], [6, 4, 7]];
    let turned = |t: [u32; 3]| [t[1], t[2], t[0]];
    let is_same = |a: [u32; 3], b: [u32; 3]| a == b || turned(a) == b || turned(turned(a)) == b;
    assert_eq!(mesh.triangles.len(), triangles.len());
    for (found, expected) in mesh.triangles.iter().zip(triangles) {
        assert!(is_same(*found, expected), "{:?}", mesh.triangles);
    }
}

#[test]
fn a_matrix_moves() {
    let matrix = r#"{"mesh":0,"matrix":[0,1,0,0,-1,0,0,0,0,0,1,0,0,0,0,1]}"#;
    let json = JSON.replace(r#"{"mesh":0,"scale":[2,2,2]}"#, matrix);
    let mesh = read(&file(&json, &data())).expect("readable");
    assert_eq!(mesh.positions[1..3], [Vec3::new(0.0, 1.0, 5.0), Vec3::new(-1.0, 1.0, 5.0)]);
}

#[test]
fn says_what_is_wrong() {
    for (from, to, said) in [
        ("\"children\":[1,2]", "\"children\":[1,0]", "expected each of 3 nodes once, got \"0\""),
        ("\"children\":[1,2]", "\"children\":[1,7]", "expected each of 3 nodes once, got \"7\""),
        ("\"mesh\":1", "\"mesh\":2", "expected a mesh below 2, got \"2\""),
        ("\"mesh\":1", "\"mesh\":1,\"skin\":0", "expected meshes without a skin"),
        (
            "\"scene\":0",
            "\"scene\":3",
            "expected a scene (export one, not a library of meshes), got nothing",
        ),
        ("\"indices\":1", "\"indices\":4", "expected an accessor below 3, got \"4\""),
        (
            "\"indices\":1",
            "\"indices\":0",
            "expected accessor 0 of vectors of floats, or of whole numbers, got component type 5126",
        ),
        (
            "\"count\":4,\"type\":\"VEC3\"",
            "\"count\":5,\"type\":\"VEC3\"",
            "expected accessor 0 to end within 64 bytes",
        ),
        (
            "\"count\":4,\"type\":\"VEC3\"",
            "\"count\":4294967296000000,\"type\":\"VEC3\"",
            "vertices take",
        ),
        (
            "\"byteStride\":16",
            "\"byteStride\":0",
            "of items that do not overlap, got 12 bytes, one every 0",
        ),
        ("\"byteLength\":16}", "\"byteLength\":4}", "expected accessor 1 to end within 68 bytes"),
        (
            "\"buffer\":0,\"byteLength\"",
            "\"buffer\":1,\"byteLength\"",
            "expected accessor 0 in the file's own buffer, got none",
        ),
        (
            "\"type\":\"VEC3\",",
            "\"type\":\"VEC3\",\"sparse\":{\"count\":1},",
            "expected accessor 0 in full, got a sparse one",
        ),
        (
            "{\"asset\"",
            "{\"extensionsRequired\":[\"KHR_draco_mesh_compression\"],\"asset\"",
            "(export without compression), got \"KHR_draco",
        ),
        ("\"nodes\":[0]", "\"nodes\":[0,]", "byte 20: trailing comma at line 1"),
    ] {
        assert!(JSON.contains(from), "{from}");
        let found = read(&file(&JSON.replacen(from, to, 1), &data())).expect_err(said).to_string();
        assert!(found.contains(said), "{found}\n{said}");
    }
    let mut beyond = data();
    beyond[64] = 4;
    let found = read(&file(JSON, &beyond)).expect_err("beyond").to_string();
    assert!(found.contains("expected a vertex number below 4, got \"4\""), "{found}");
    let whole = file(JSON, &data());
    for (bytes, said) in [
        (&whole[..3], "byte 0: expected \"glTF\", got \"glT\""),
        (&whole[..8], "byte 12: expected a chunk of JSON, got nothing"),
        (&whole[..30], "byte 12: expected a chunk of JSON of "),
        (&whole[..whole.len() - 1], "expected a chunk of binary data of 80 bytes, got 79 bytes"),
    ] {
        let found = read(bytes).expect_err(said).to_string();
        assert!(found.starts_with(said) || found.contains(said), "{found}");
    }
}

/// Lines and points take no room and no time, and counts that no file holds are refused.
#[test]
fn counts_and_parts_are_bounded() {
    let most = u64::MAX.to_string();
    let shared = JSON
        .replace("\"mesh\":1", "\"mesh\":0")
        .replace("\"count\":4,\"type\":\"VEC3\"", &format!("\"count\":{most},\"type\":\"VEC3\""));
    let said = read(&file(&shared, &data())).expect_err("two meshes of 2^64 vertices").to_string();
    assert!(said.contains("18446744073709551615 vertices take"), "{said}");
    // A hundred thousand nodes with a mesh of a thousand parts.
    let part = r#"{"attributes":{"POSITION":0},"mode":1},"#;
    let node = r#"{"mesh":0},"#;
    let (n_parts, n_nodes) = (1000, 5000);
    let children: Vec<String> = (1..=n_nodes).map(|i| i.to_string()).collect();
    let json = format!(
        r#"{{"scenes":[{{"nodes":[0]}}],"nodes":[{{"children":[{}]}},{}{{}}],"meshes":[{{"primitives":[{}{{"attributes":{{}}}}]}}],
           "accessors":[{{"componentType":5126,"count":0,"type":"VEC3"}}]}}"#,
        children.join(","),
        node.repeat(n_nodes),
        part.repeat(n_parts),
    );
    let said = read(&file(&json, &[])).expect_err("too many parts").to_string();
    assert!(said.contains("1001 parts of meshes take"), "{said}");
    let json = json.replace(&node.repeat(n_nodes), &"{},".repeat(n_nodes));
    assert_eq!(read(&file(&json, &[])).expect("readable"), MeshData::default());
}
