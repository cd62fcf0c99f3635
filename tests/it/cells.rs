//! Vertices bound to the cells of a volume mesh, against a search through all cells.

use glam::{DMat3, DVec3, Vec3};
use palpate::{
    geometry::tolerance::SINGLE_COORDINATE_ROUNDING,
    oracle::{Random, triangle::closest_on_triangle},
    scene::tissue::{
        binding::BindingError,
        cells::{CellTree, VolumeBinding, tetrahedra_of},
    },
};

use crate::seed::Seed;

/// Nodes and hexahedra of a cube of 0.1 m about the origin, with the nodes off their places by up to `off_m`.
pub fn grid(n: usize, off_m: f64, random: &mut Random) -> (Vec<Vec3>, Vec<[u32; 8]>) {
    let places =
        (0..(n + 1).pow(3)).map(|i| [i % (n + 1), i / (n + 1) % (n + 1), i / (n + 1).pow(2)]);
    let at = |place: [usize; 3]| DVec3::from(place.map(|k| 0.1 * k as f64 / n as f64 - 0.05));
    let nodes = places.map(|p| (at(p) + random.unit_vector() * random.range(0.0, off_m)).as_vec3());
    let nodes = nodes.collect();
    let node = |x: usize, y: usize, z: usize| (x + (n + 1) * (y + (n + 1) * z)) as u32;
    let cells = (0..n.pow(3)).map(|i| {
        let (x, y, z) = (i % n, i / n % n, i / n / n);
        let of = |z| [node(x, y, z), node(x + 1, y, z), node(x + 1, y + 1, z), node(x, y + 1, z)];
        let ([a, b, c, d], [e, f, g, h]) = (of(z), of(z + 1));
        [a, b, c, d, e, f, g, h]
    });
    (nodes, cells.collect())
}

/// Weights by the inverse of the matrix of a cell's edges.
fn weights_in(corners: &[DVec3; 4], p: DVec3) -> [f64; 4] {
    let [a, b, c, d] = *corners;
    let of_three = DMat3::from_cols(b - a, c - a, d - a).inverse() * (p - a);
    [1.0 - of_three.element_sum(), of_three.x, of_three.y, of_three.z]
}

fn distance(corners: &[DVec3; 4], p: DVec3) -> f64 {
    if weights_in(corners, p).iter().all(|w| *w >= 0.0) {
        return 0.0;
    }
    let faces = (0..4).map(|k| [corners[(k + 1) % 4], corners[(k + 2) % 4], corners[(k + 3) % 4]]);
    let distances = faces.map(|face| closest_on_triangle(p, &face).distance(p));
    distances.fold(f64::INFINITY, f64::min)
}

#[test]
fn each_vertex_is_bound_to_the_cell_around_it_or_the_nearest() {
    let seed = Seed::or(46);
    let mut random = seed.random(0);
    let (nodes, hexahedra) = grid(5, 0.004, &mut random);
    let mut cells: Vec<[u32; 4]> = tetrahedra_of(&hexahedra).collect();
    // Some are of the other orientation, and some have no volume.
    cells.iter_mut().step_by(3).for_each(|c| c.swap(0, 1));
    cells.extend((0..50).map(|i| [i, i + 1, i + 2, i + 1]));
    let tree = CellTree::build(&nodes, cells.clone()).expect("cells");
    let has_volume = |c: &&[u32; 4]| c[1] != c[3];
    let all: Vec<[DVec3; 4]> =
        cells.iter().filter(has_volume).map(|c| c.map(|n| nodes[n as usize].as_dvec3())).collect();
    let mut n_outside = 0;
    for k in 0..2_000 {
        let range = DVec3::splat(if k % 2 == 0 { 0.05 } else { 0.12 });
        let position = random.point(-range, range).as_vec3();
        let point = position.as_dvec3();
        let bound = VolumeBinding::of(&[position], &tree, || Ok::<_, ()>(())).expect("wanted");
        let nearest = all.iter().map(|c| distance(c, point)).fold(f64::INFINITY, f64::min);
        let is_outside = nearest > SINGLE_COORDINATE_ROUNDING * point.abs().max_element();
        assert_eq!(bound.n_outside == 1, is_outside, "{point}: {nearest} m");
        let row: Vec<(u32, f64)> = bound.weights.of(0).collect();
        let carried: DVec3 = row.iter().map(|(c, w)| nodes[*c as usize].as_dvec3() * *w).sum();
        assert!(carried.distance(point) < 1e-12, "{carried} for {point}");
        assert!((row.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
        if is_outside {
            n_outside += 1;
            assert!((bound.outside_max_m - nearest).abs() < 1e-12, "{point}: {nearest} m");
            let least = row.iter().map(|(_, w)| *w).fold(0.0, f64::min);
            assert!((bound.weight_min - least).abs() < 1e-12 && least < 0.0, "{row:?}");
        } else {
            assert_eq!((bound.outside_max_m, bound.weight_min), (0.0, 0.0));
            assert!(row.iter().all(|(_, w)| *w > -1e-5), "{row:?}");
            let own = |c: &[u32; 4]| row.iter().all(|(node, _)| c.contains(node));
            assert!(cells.iter().any(own), "{row:?}");
        }
    }
    assert!((300..1_500).contains(&n_outside), "{n_outside} outside");
}

#[test]
fn a_node_is_carried_by_itself_alone() {
    let (nodes, hexahedra) = grid(4, 0.003, &mut Random::new(5));
    let tree = CellTree::build(&nodes, tetrahedra_of(&hexahedra).collect()).expect("cells");
    let bound = VolumeBinding::of(&nodes, &tree, || Ok::<_, ()>(())).expect("wanted");
    assert_eq!((bound.n_outside, bound.weights.n_weights()), (0, nodes.len()));
    for v in 0..nodes.len() {
        assert_eq!(bound.weights.of(v).collect::<Vec<_>>(), [(v as u32, 1.0)]);
    }
}

#[test]
fn cells_that_carry_nothing_are_refused_and_work_can_be_stopped() {
    let (nodes, hexahedra) = grid(2, 0.0, &mut Random::new(5));
    let flat = CellTree::build(&nodes, vec![[0, 1, 2, 1], [3, 3, 3, 3]]).err();
    assert_eq!(flat, Some(BindingError::NoVolume));
    let unknown = CellTree::build(&nodes, vec![[0, 1, 3, 9], [0, 1, 3, 27]]).err();
    assert_eq!(unknown, Some(BindingError::UnknownNode { cell: 1, node: 27, n_nodes: 27 }));
    let tree = CellTree::build(&nodes, tetrahedra_of(&hexahedra).collect()).expect("cells");
    assert_eq!(VolumeBinding::of(&nodes, &tree, || Err("gone")).err(), Some("gone"));
}
