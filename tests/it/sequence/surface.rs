//! The index through random moves, cuts and queries, checked after each.

use palpate::{
    geometry::TriangleMesh,
    index::LatLonOptions,
    oracle::{Random, shapes},
    surface::Surface,
};

use super::model::{Model, start};
use crate::seed::{Seed, scaled};

/// Operations on one surface; ids are never reused, so a new surface begins after this many.
const OPERATIONS: usize = 1000;

fn random_options(random: &mut Random) -> LatLonOptions {
    LatLonOptions {
        latitude_axis: (random.below(2) == 0).then(|| random.unit_vector()),
        band_edges: [None, Some(0.01), Some(1.0), Some(1000.0)][random.below(4)],
    }
}

/// Applies one random operation to both.
fn step(surface: &mut Surface, model: &mut Model, random: &mut Random) {
    match random.below(100) {
        0..35 => {
            let (vertices, to) = model.random_move(random);
            surface.move_vertices(&vertices, &to);
            model.apply_move(&vertices, &to);
        }
        35..45 => {
            let to = model.random_dense(random);
            surface.move_all(to.clone());
            model.positions = to;
        }
        45..65 => {
            let cut = model.random_cut(random);
            let first = surface.edit(&cut.removed, &cut.added_positions, &cut.added);
            assert_eq!(first, model.apply_cut(&cut));
        }
        65..99 => model.assert_answers(surface, random),
        _ => surface.rebuild(),
    }
}

/// 30,000 operations in all.
#[test]
fn random_operations_on_small_surfaces() {
    let seed = Seed::or(50);
    for run in 0..scaled(30) {
        let mut random = seed.random(run as u64);
        let data = start(&mut random);
        let mut model = Model::new(&data);
        let mut surface = Surface::new(TriangleMesh::new(data), random_options(&mut random));
        for _ in 0..OPERATIONS {
            step(&mut surface, &mut model, &mut random);
            surface.assert_well_formed();
            model.assert_same(&surface);
        }
        model.assert_answers(&surface, &mut random);
    }
}

/// Enough triangles for towers of several levels.
#[test]
fn random_operations_on_a_large_surface() {
    let seed = Seed::or(51);
    let mut random = seed.random(0);
    let data = shapes::organ(8000, 7);
    let mut model = Model::new(&data);
    let options = LatLonOptions { band_edges: Some(30.0), ..LatLonOptions::default() };
    let mut surface = Surface::new(TriangleMesh::new(data), options);
    for _ in 0..scaled(300) {
        step(&mut surface, &mut model, &mut random);
        surface.assert_well_formed();
        model.assert_same(&surface);
        model.assert_answers(&surface, &mut random);
    }
}
