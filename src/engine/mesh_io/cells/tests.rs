use std::collections::HashMap;

use super::*;
use crate::oracle::Random;

fn room() -> ReadRoom {
    ReadRoom::of(&[0; 1 << 20])
}

fn boundary(
    cells: &[(CellKind, Vec<u32>)],
    positions: &[Vec3],
) -> Result<(Vec<[u32; 3]>, CellCounts), MeshReadError> {
    let mut all = Cells::default();
    cells.iter().for_each(|(kind, corners)| all.push(*kind, corners));
    all.boundary(positions, &mut room())
}

fn volume(triangles: &[[u32; 3]], positions: &[Vec3]) -> f64 {
    let triple = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| positions[v as usize].as_dvec3());
        a.dot(b.cross(c))
    };
    triangles.iter().map(triple).sum::<f64>() / 6.0
}

/// Asserts that each edge is passed as often forwards as backwards.
fn assert_closed(triangles: &[[u32; 3]]) {
    let mut balance: HashMap<(u32, u32), i32> = HashMap::new();
    for t in triangles {
        for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
            *balance.entry((a.min(b), a.max(b))).or_default() += if a < b { 1 } else { -1 };
        }
    }
    assert!(balance.values().all(|n| *n == 0), "not closed");
}

#[test]
fn faces_of_two_cells_are_inside() {
    let positions = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, -Vec3::Z];
    let upper = (CellKind::Tetrahedron, vec![0, 1, 2, 3]);
    let lower = (CellKind::Tetrahedron, vec![0, 1, 2, 4]);
    let (triangles, counts) = boundary(&[upper.clone(), lower], &positions).expect("cells");
    assert_eq!(triangles.len(), 6);
    assert_closed(&triangles);
    assert!((volume(&triangles, &positions) - 1.0 / 3.0).abs() < 1e-12);
    assert_eq!((counts.tetrahedra, counts.inverted, counts.overfull_faces), (2, 1, 0));
    // A face of three cells is inside, and counted.
    let (triangles, counts) =
        boundary(&[upper.clone(), upper.clone(), upper], &positions).expect("cells");
    assert_eq!((triangles.len(), counts.overfull_faces), (0, 4));
}

#[test]
fn a_cell_of_every_kind_faces_outwards() {
    let positions: Vec<Vec3> = [
        [0., 0., 0.],
        [1., 0., 0.],
        [1., 1., 0.],
        [0., 1., 0.],
        [0., 0., 1.],
        [1., 0., 1.],
        [1., 1., 1.],
        [0., 1., 1.],
    ]
    .map(Vec3::from_array)
    .to_vec();
    for (kind, corners, size) in [
        (CellKind::Tetrahedron, vec![0, 1, 2, 4], 1.0 / 6.0),
        (CellKind::Pyramid, vec![0, 1, 2, 3, 4], 1.0 / 3.0),
        (CellKind::Wedge, vec![0, 1, 2, 4, 5, 6], 0.5),
        (CellKind::Hexahedron, vec![0, 1, 2, 3, 4, 5, 6, 7], 1.0),
        // Two edges are collapsed: a wedge that is stored as a hexahedron.
        (CellKind::Hexahedron, vec![0, 1, 2, 2, 4, 5, 6, 6], 0.5),
    ] {
        // The mirror image of the order is the same cell.
        let n = corners.len() / 2;
        let turned = match kind {
            CellKind::Tetrahedron => vec![1, 0, 2, 4],
            CellKind::Pyramid => vec![3, 2, 1, 0, 4],
            _ => [&corners[n..], &corners[..n]].concat(),
        };
        for (corners, inverted) in [(corners, 0), (turned, 1)] {
            let (triangles, counts) = boundary(&[(kind, corners)], &positions).expect("a cell");
            assert_closed(&triangles);
            assert!((volume(&triangles, &positions) - size).abs() < 1e-12, "{kind:?}");
            let inverted = if kind == CellKind::Wedge { 0 } else { inverted };
            assert_eq!(counts.inverted, inverted, "{kind:?}");
        }
    }
}

/// Random blocks of hexahedra and wedges, with inner holes and edges that touch, against a count of faces.
#[test]
fn random_blocks_have_the_faces_that_occur_once() {
    let mut random = Random::new(7);
    const N: usize = 5;
    let node = |x: usize, y: usize, z: usize| (x + (N + 1) * (y + (N + 1) * z)) as u32;
    for _ in 0..40 {
        let positions: Vec<Vec3> = (0..(N + 1).pow(3))
            .map(|i| {
                let at = |k: usize| (i / (N + 1).pow(k as u32) % (N + 1)) as f32;
                let off = Vec3::from_array([0, 1, 2].map(|_| random.range(-0.2, 0.2) as f32));
                Vec3::new(at(0), at(1), at(2)) + off
            })
            .collect();
        let mut cells = Vec::new();
        for (x, y) in (0..N * N).map(|i| (i % N, i / N)) {
            let is_split = random.below(2) == 0;
            for z in 0..N {
                if random.below(10) < 3 {
                    continue;
                }
                let at = |z| {
                    [node(x, y, z), node(x + 1, y, z), node(x + 1, y + 1, z), node(x, y + 1, z)]
                };
                let (low, high) = match random.below(2) {
                    0 => (at(z), at(z + 1)),
                    _ => (at(z + 1), at(z)),
                };
                if is_split {
                    for [a, b, c] in [[0, 1, 2], [0, 2, 3]] {
                        let wedge = [low[a], low[b], low[c], high[a], high[b], high[c]];
                        cells.push((CellKind::Wedge, wedge.to_vec()));
                    }
                } else {
                    cells.push((CellKind::Hexahedron, [low, high].concat()));
                }
            }
        }
        let mut faces: HashMap<Vec<u32>, u32> = HashMap::new();
        for (kind, corners) in &cells {
            for face in kind.faces() {
                let mut key: Vec<u32> = face.iter().map(|c| corners[*c as usize]).collect();
                key.sort_unstable();
                *faces.entry(key).or_default() += 1;
            }
        }
        let once = || faces.iter().filter(|(_, n)| **n == 1).map(|(face, _)| face);
        let (triangles, counts) = boundary(&cells, &positions).expect("cells");
        assert_eq!(triangles.len(), once().map(|face| face.len() - 2).sum::<usize>());
        for t in &triangles {
            assert!(once().any(|face| t.iter().all(|v| face.contains(v))), "{t:?} is no face");
        }
        assert_eq!((counts.hexahedra + counts.wedges) as usize, cells.len());
        assert_closed_by_faces(&cells, &triangles, &positions);
    }
}

/// Asserts that the boundary encloses the sum of the cells' volumes. A hexahedron's face is bent: its volume is known
/// up to the two ways to cut each face.
fn assert_closed_by_faces(
    cells: &[(CellKind, Vec<u32>)],
    triangles: &[[u32; 3]],
    positions: &[Vec3],
) {
    let of_cell = |cell: &(CellKind, Vec<u32>)| {
        let (triangles, _) = boundary(std::slice::from_ref(cell), positions).expect("a cell");
        volume(&triangles, positions)
    };
    let sum: f64 = cells.iter().map(of_cell).sum();
    let whole = volume(triangles, positions);
    assert!((whole - sum).abs() < 0.1 * sum, "{whole} of {sum}");
}

#[test]
fn a_corner_that_is_not_there_is_named() {
    let cells =
        [(CellKind::Tetrahedron, vec![0, 1, 2, 3]), (CellKind::Tetrahedron, vec![0, 1, 2, 4])];
    let said = boundary(&cells, &[Vec3::ZERO; 4]).expect_err("damaged").to_string();
    assert_eq!(said, "cell 1: expected a corner among 4 points, got \"4\"");
}
