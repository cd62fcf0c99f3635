//! The index after cuts: triangles removed, put back, and split.

use glam::Vec3;
use palpate::{
    geometry::{MeshData, SignRule, TriangleId, TriangleMesh},
    index::LatLonOptions,
    oracle::{Random, shapes},
    surface::Surface,
};

use super::{
    check::{Sides, Tally, check_points},
    inputs,
    motion::Motion,
    overlaps::check_overlaps,
};
use crate::seed::{Seed, scaled};

const POINTS: usize = 60;
const BOXES: usize = 40;

/// Removes `n` random triangles; returns their vertices.
fn cut(surface: &mut Surface, n: usize, random: &mut Random) -> Vec<[u32; 3]> {
    let mut left: Vec<TriangleId> = surface.mesh().triangle_ids().collect();
    let removed: Vec<TriangleId> =
        (0..n.min(left.len())).map(|_| left.swap_remove(random.below(left.len()))).collect();
    let vertices = removed.iter().map(|t| surface.mesh().vertices(*t)).collect();
    let end = surface.mesh().triangle_id_end();
    assert_eq!(surface.edit(&removed, &[], &[]), TriangleId(end));
    assert!(removed.iter().all(|t| surface.mesh().get(*t).is_none()));
    vertices
}

/// Splits `n` random triangles in three at their centres.
fn split(surface: &mut Surface, n: usize, random: &mut Random) {
    let mut left: Vec<TriangleId> = surface.mesh().triangle_ids().collect();
    let (mut removed, mut centres, mut added) = (Vec::new(), Vec::new(), Vec::new());
    let n_vertices = surface.mesh().positions().len() as u32;
    for _ in 0..n.min(left.len()) {
        let t = left.swap_remove(random.below(left.len()));
        let ([a, b, c], [p, q, r]) = (surface.mesh().vertices(t), surface.mesh().triangle(t));
        let centre = n_vertices + centres.len() as u32;
        removed.push(t);
        centres.push(((p + q + r) / 3.0).as_vec3());
        added.extend([[a, b, centre], [b, c, centre], [c, a, centre]]);
    }
    surface.edit(&removed, &centres, &added);
}

fn check(surface: &Surface, sides: Sides, random: &mut Random, about: &str) -> Tally {
    surface.assert_well_formed();
    check_overlaps(surface, scaled(BOXES), random, about);
    check_points(surface, scaled(POINTS), sides, random, about)
}

/// Triangles are removed, put back, split, and moved in between; a closed surface is closed again at the end.
#[test]
fn removed_put_back_and_split() {
    let seed = Seed::or(6);
    let mut total = Tally::default();
    let inputs = inputs::shapes().into_iter().chain(inputs::improper());
    for (i, input) in inputs.enumerate().filter(|(_, input)| input.data.triangles.len() > 1) {
        let mut random = seed.random(i as u64);
        let mut surface = input.surface();
        let rule = surface.sign_rule();
        for step in 0..6 {
            let about = format!("{}, step {step}", input.name);
            let n = surface.mesh().n_triangles();
            let share = [1, 5, n / 4, n / 2, n - 1, n / 10][step].max(1);
            let removed = cut(&mut surface, share, &mut random);
            total.add(check(&surface, Sides::Crossing, &mut random, &format!("{about}, cut")));
            let moved =
                Motion::Tremble.apply(surface.mesh().positions(), surface.mesh(), &mut random);
            surface.move_all(moved.clone());
            surface.edit(&[], &[], &removed);
            let sides = if input.name == "soup" { Sides::Crossing } else { Sides::Two };
            total.add(check(&surface, sides, &mut random, &format!("{about}, put back")));
            split(&mut surface, 1 + n / 20, &mut random);
            total.add(check(&surface, sides, &mut random, &format!("{about}, split")));
        }
        assert_eq!(surface.sign_rule(), rule, "{}", input.name);
    }
    println!("{total:?}");
    assert!(total.signs_skipped * 3 < total.signs, "too few signs were compared: {total:?}");
}

#[test]
fn a_surface_without_triangles_answers_nothing_and_can_be_filled() {
    let seed = Seed::or(7);
    let mut random = seed.random(0);
    let data = shapes::sphere(0.1, 3);
    let mut surface = Surface::new(TriangleMesh::new(data.clone()), LatLonOptions::default());
    for round in 0..3 {
        let n = surface.mesh().n_triangles();
        cut(&mut surface, n, &mut random);
        surface.assert_well_formed();
        let none = |s: &Surface| {
            assert_eq!(s.nearest(glam::DVec3::ZERO, f64::INFINITY, None), None);
            assert_eq!(s.signed_distance(glam::DVec3::ZERO, 1.0, Some(TriangleId(0))), None);
            assert_eq!(s.contains(glam::DVec3::ZERO), (false, 0.0));
            s.overlap(&s.mesh().used_box(), |t| -> () { panic!("gives {t:?}") });
            s.overlap(&|_: &_| true, |t| -> () { panic!("gives {t:?}") });
        };
        none(&surface);
        surface.move_all(vec![Vec3::splat(0.5 * round as f32); data.positions.len()]);
        surface.assert_well_formed();
        surface.rebuild();
        surface.assert_well_formed();
        none(&surface);
        surface.move_all(data.positions.clone());
        surface.edit(&[], &[], &data.triangles);
        assert_eq!(surface.sign_rule(), SignRule::Pseudonormal);
        check(&surface, Sides::Two, &mut random, &format!("filled again, round {round}"));
    }
}

/// A surface that begins with one triangle far from where the rest is added.
#[test]
fn grown_from_one_triangle() {
    let seed = Seed::or(8);
    let mut random = seed.random(0);
    let seed_triangle = MeshData {
        positions: vec![Vec3::X, Vec3::new(1.0, 1e-3, 0.0), Vec3::new(1.0, 0.0, 1e-3)],
        triangles: vec![[0, 1, 2]],
    };
    let mut surface = Surface::new(TriangleMesh::new(seed_triangle), LatLonOptions::default());
    let organ = shapes::organ(500, 4);
    let first = surface.edit(&[TriangleId(0)], &organ.positions, &[]);
    assert_eq!(first, TriangleId(1));
    for (i, portion) in organ.triangles.chunks(60).enumerate() {
        let added: Vec<[u32; 3]> = portion.iter().map(|t| t.map(|v| v + 3)).collect();
        surface.edit(&[], &[], &added);
        check(&surface, Sides::Crossing, &mut random, &format!("grown by portion {i}"));
    }
    assert_eq!(surface.sign_rule(), SignRule::Pseudonormal);
    surface.rebuild();
    check(&surface, Sides::Two, &mut random, "grown and rebuilt");
}
