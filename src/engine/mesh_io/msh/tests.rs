use super::*;

const TETRAHEDRON: [&str; 2] = [
    // Tags with gaps and out of order; a triangle that marks a part of the boundary; a line and a point.
    "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n3 1 \"$Nodes\"\n$EndPhysicalNames\n\
     $Nodes\n4\n7 0 0 0\n3 1 0 0\n900 0 1 0\n5 0 0 1\n$EndNodes\n\
     $Elements\n4\n1 15 2 0 1 7\n2 1 2 0 1 7 3\n3 2 2 0 1 7 3 900\n4 4 2 0 1 7 3 900 5\n$EndElements\n",
    "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 0 0\n$EndEntities\n\
     $Nodes\n2 4 3 900\n2 1 1 3\n7\n3\n900\n0 0 0 .5 .5\n1 0 0 .5 .5\n0 1 0 .5 .5\n3 1 0 1\n5\n0 0 1\n$EndNodes\n\
     $Elements\n2 2 3 4\n2 1 2 1\n3 7 3 900\n3 1 4 1\n4 7 3 900 5\n$EndElements\n",
];

#[test]
fn the_boundary_of_a_tetrahedron_in_both_versions() {
    for text in TETRAHEDRON {
        let file = read(text.as_bytes()).expect("readable");
        assert_eq!(file.mesh.positions, [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]);
        assert_eq!(file.mesh.triangles, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]);
        assert_eq!(file.cells.map(|cells| cells.tetrahedra), Some(1));
    }
}

#[test]
fn faces_are_the_surface_if_there_are_no_cells() {
    let text =
        TETRAHEDRON[0].replace("$Elements\n4", "$Elements\n3").replace("4 4 2 0 1 7 3 900 5\n", "");
    let file = read(text.as_bytes()).expect("readable");
    assert_eq!((file.mesh.triangles, file.cells), (vec![[0, 1, 2]], None));
}

#[test]
fn binary_files_of_both_byte_orders() {
    for is_big in [false, true] {
        let int = |n: i32| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
        let size = |n: u64| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
        let real = |x: f64| size(x.to_bits());
        let points = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let mut old =
            [b"$MeshFormat\n2.2 1 8\n", &int(1)[..], b"\n$EndMeshFormat\n$Nodes\n4\n"].concat();
        for (i, point) in points.iter().enumerate() {
            old.extend(int(10 + i as i32));
            point.iter().for_each(|x| old.extend(real(*x)));
        }
        old.extend(b"\n$EndNodes\n$Elements\n1\n");
        [4, 1, 2, 77, 0, 1, 10, 11, 12, 13].iter().for_each(|n| old.extend(int(*n)));
        old.extend(b"\n$EndElements\n");
        let mut new =
            [b"$MeshFormat\n4.1 1 8\n", &int(1)[..], b"\n$EndMeshFormat\n$Nodes\n"].concat();
        [1, 4, 10, 13].iter().for_each(|n| new.extend(size(*n)));
        [3, 1, 0].iter().for_each(|n| new.extend(int(*n)));
        [4, 10, 11, 12, 13].iter().for_each(|n| new.extend(size(*n)));
        points.as_flattened().iter().for_each(|x| new.extend(real(*x)));
        new.extend(b"\n$EndNodes\n$Elements\n");
        [1, 1, 77, 77].iter().for_each(|n| new.extend(size(*n)));
        [3, 1, 4].iter().for_each(|n| new.extend(int(*n)));
        [1, 77, 10, 11, 12, 13].iter().for_each(|n| new.extend(size(*n)));
        new.extend(b"\n$EndElements\n");
        for bytes in [old, new] {
            let file = read(&bytes).expect("readable");
            assert_eq!(file.mesh.positions, [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]);
            assert_eq!(file.mesh.triangles, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]);
        }
    }
}

#[test]
fn names_the_place() {
    let [old, new] = TETRAHEDRON;
    for (text, said) in [
        ("", "line 1: expected $MeshFormat, got nothing"),
        (&old.replace("2.2 0", "4 0"), "line 2: expected version 2.2 or 4.1, got \"4\""),
        (&old.replace("0 8", "0 7"), "line 2: expected sizes of 4 or 8 bytes, got \"7\""),
        (&old.replace("$Elements", "$Others"), "line 22: expected a section Elements, got nothing"),
        (&old.replace("3 1 0 0", "3 1 0 x"), "line 11: expected a coordinate, got \"x\""),
        (
            &old.replace("3 1 0 0", "7 1 0 0"),
            "line 9: expected nodes of different tags, got \"7 twice\"",
        ),
        (
            &old.replace("4 4 2 0 1 7 3 900 5", "4 4 2 0 1 7 3 900 8"),
            "line 20: expected the tag of a node, got \"8\"",
        ),
        (
            &old.replace("4 4 2", "4 11 2"),
            "line 20: expected triangles, quadrilaterals, tetrahedra, hexahedra, prisms or pyramids, got an element of \
             second order (type 11)",
        ),
        (
            &old.replace("$Nodes\n4", "$Nodes\n4000000000"),
            "line 10: 4000000000 nodes need at least 31999999999 bytes",
        ),
        (&new.replace("$Nodes\n2 4", "$Nodes\n2 5"), "line 18: expected 5 nodes, got \"4\""),
        (
            &new.replace("2 1 1 3\n", "2 1 1 9\n"),
            "line 9: expected at most 4 more nodes, got \"9\"",
        ),
        (&new.replace("2 2 3 4\n", "2 3 3 4\n"), "line 25: expected 3 elements, got \"2\""),
        (
            &new.replace("3 1 4 1\n", "3 1 4 2\n"),
            "line 24: expected at most 1 more elements, got \"2\"",
        ),
        (
            &new.replace("$EndElements", "$EndOthers"),
            "line 26: expected $EndElements, got \"$EndOthers\"",
        ),
    ] {
        let found = read(text.as_bytes()).expect_err("damaged").to_string();
        assert!(found.starts_with(said), "{found}\n{said}");
    }
}

#[test]
fn an_element_of_two_groups_is_read_once() {
    let tetrahedron = "4 4 2 0 1 7 3 900 5\n";
    let twice = TETRAHEDRON[0]
        .replace("$Elements\n4", "$Elements\n5")
        .replace(tetrahedron, &format!("{tetrahedron}5 4 2 9 1 7 3 900 5\n"));
    assert_eq!(read(twice.as_bytes()), read(TETRAHEDRON[0].as_bytes()));
}
