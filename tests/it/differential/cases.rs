//! Hard cases for latitude and longitude, each by its name.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{Aabb, MeshData, TriangleMesh},
    index::LatLonOptions,
    oracle::{Random, shapes},
    surface::Surface,
};

use super::{
    check::{Sides, check_nearest, check_points},
    inputs::{joined, one_triangle},
    motion::Motion,
    overlaps::{check_box, check_overlaps},
};
use crate::seed::{Seed, scaled};

fn surface(data: &MeshData, latitude_axis: Option<DVec3>, band_edges: Option<f64>) -> Surface {
    let options = LatLonOptions { latitude_axis, band_edges };
    Surface::new(TriangleMesh::new(data.clone()), options)
}

fn check(surface: &Surface, random: &mut Random, about: &str) {
    surface.assert_well_formed();
    check_overlaps(surface, scaled(60), random, about);
    check_points(surface, scaled(60), Sides::Two, random, about);
}

/// Directions all around a tube, on both sides of every jump of longitude, while its triangles turn through it.
#[test]
fn the_seam_at_plus_and_minus_pi() {
    let mut random = Seed::or(10).random(0);
    let data = shapes::tube(0.02, 0.1, 24, 10);
    let mut tube = surface(&data, Some(DVec3::Z), None);
    for turn in 0..12 {
        let about = format!("turned {turn} times");
        for i in 0..48 {
            let angle = TAU * f64::from(i) / 48.0;
            for nudge in [-1e-9, 0.0, 1e-9] {
                let (sin, cos) = (angle + nudge).sin_cos();
                let out = DVec3::new(cos, sin, 0.0);
                let p = out * 0.021 + DVec3::Z * random.range(-0.05, 0.05);
                check_nearest(&tube, p, &mut random, &about);
                check_box(&tube, &Aabb::around([p]).grown(0.002), &about);
            }
        }
        let step = DQuat::from_rotation_z(0.7 * TAU / 24.0);
        let turned = tube.mesh().positions().iter().map(|p| (step * p.as_dvec3()).as_vec3());
        tube.move_all(turned.collect());
        tube.assert_well_formed();
    }
}

/// Triangles that the latitude axis passes through, at their middle, an edge and a vertex.
#[test]
fn the_axis_inside_a_triangle() {
    let mut random = Seed::or(11).random(0);
    let pyramid = |shift: Vec3| {
        let base =
            [Vec3::new(-0.1, -0.1, 0.0), Vec3::new(0.2, -0.1, 0.0), Vec3::new(-0.1, 0.2, 0.0)];
        let tip = Vec3::new(0.0, 0.0, 0.3);
        let positions = base.iter().chain([&tip]).map(|p| *p + shift).collect();
        MeshData { positions, triangles: vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]] }
    };
    for (i, shift) in
        [Vec3::ZERO, Vec3::new(0.1, 0.1, 0.0), Vec3::new(0.05, -0.05, 0.0)].into_iter().enumerate()
    {
        let data = pyramid(shift);
        for (name, data) in
            [("as it is", data.clone()), ("divided", shapes::subdivide(&shapes::subdivide(&data)))]
        {
            let s = surface(&data, Some(DVec3::Z), None);
            let about = format!("pyramid {i} {name}");
            check(&s, &mut random, &about);
            for z in [-0.1, -1e-12, 0.0, 0.1, 0.3, 0.5] {
                check_nearest(&s, shift.as_dvec3() + DVec3::Z * z, &mut random, &about);
                let on_axis = DVec3::new(0.0, 0.0, z);
                check_nearest(&s, on_axis, &mut random, &about);
                check_box(&s, &Aabb::around([on_axis]), &about);
            }
        }
    }
}

/// Two balls with empty bands between them; then one of them moves there, and back.
#[test]
fn empty_bands() {
    let mut random = Seed::or(12).random(0);
    let mut far = shapes::sphere(0.05, 3);
    far.positions.iter_mut().for_each(|p| p.z += 2.0);
    let data = joined(&[shapes::sphere(0.05, 3), far]);
    let mut balls = surface(&data, Some(DVec3::Z), Some(1.0));
    check(&balls, &mut random, "apart");
    let between = |z: f64| DVec3::new(0.01, 0.02, z);
    for i in 0..40 {
        let p = between(0.05 * f64::from(i));
        check_nearest(&balls, p, &mut random, "in the gap");
        check_box(&balls, &Aabb::around([p]).grown(0.5), "in the gap");
    }
    let n = data.positions.len();
    let second: Vec<u32> = (n as u32 / 2..n as u32).collect();
    for z in [-0.5f32, -1.0, -1.5, 1.0, 0.0] {
        let to: Vec<Vec3> =
            second.iter().map(|v| data.positions[*v as usize] + Vec3::Z * z).collect();
        balls.move_vertices(&second, &to);
        check(&balls, &mut random, &format!("moved by {z}"));
    }
}

/// Queries beyond both ends of the bands, wholly and in part.
#[test]
fn latitude_outside_the_original_range() {
    let mut random = Seed::or(13).random(0);
    let data = shapes::organ(500, 9);
    let mut organ = surface(&data, None, None);
    for by in [0.3, -0.3, 5.0, -5.0, 2000.0, 0.0] {
        for axis in Vec3::AXES {
            let to: Vec<Vec3> = data.positions.iter().map(|p| *p + axis * by).collect();
            organ.move_all(to);
            check(&organ, &mut random, &format!("moved by {by} along {axis}"));
        }
    }
    for factor in [3.0, 50.0, -2.0] {
        let half: Vec<u32> = (0..data.positions.len() as u32).filter(|v| v % 2 == 0).collect();
        let to: Vec<Vec3> = half.iter().map(|v| data.positions[*v as usize] * factor).collect();
        organ.move_vertices(&half, &to);
        organ.assert_well_formed();
        check_points(&organ, scaled(60), Sides::Crossing, &mut random, "spikes");
        check_overlaps(&organ, scaled(60), &mut random, "spikes");
    }
}

/// A sheet with its normal along the axis (one band), in the bands' plane, and between; then folded.
#[test]
fn a_flat_sheet_both_ways() {
    let mut random = Seed::or(14).random(0);
    let data = shapes::sheet(16, 16, 0.01);
    for axis in [None, Some(DVec3::Z), Some(DVec3::X), Some(DVec3::new(1.0, 0.0, 1.0))] {
        let mut sheet = surface(&data, axis, None);
        check(&sheet, &mut random, &format!("flat, axis {axis:?}"));
        let fold = |p: &Vec3| match p.x > 0.075 {
            true => Vec3::new(0.15 - p.x, p.y, 0.01),
            false => *p,
        };
        let folded: Vec<Vec3> = data.positions.iter().map(fold).collect();
        sheet.move_all(folded);
        check(&sheet, &mut random, &format!("folded, axis {axis:?}"));
    }
}

#[test]
fn a_single_triangle() {
    let mut random = Seed::or(15).random(0);
    for axis in [None, Some(DVec3::X), Some(DVec3::Z), Some(DVec3::new(0.3, -0.5, 0.2))] {
        for band_edges in [None, Some(0.01), Some(1000.0)] {
            let mut s = surface(&one_triangle(), axis, band_edges);
            check(&s, &mut random, "one triangle");
            let point = vec![Vec3::splat(0.1); 3];
            s.move_all(point);
            check(&s, &mut random, "one point");
            s.move_all(vec![Vec3::ZERO, Vec3::X, Vec3::X * 0.5]);
            check(&s, &mut random, "one segment");
            s.move_all(one_triangle().positions);
            check(&s, &mut random, "one triangle again");
        }
    }
}

/// Axes in any direction, of any length.
#[test]
fn the_axis_given() {
    let mut random = Seed::or(16).random(0);
    let data = shapes::organ(320, 2);
    for i in 0..12 {
        let length = [1.0, 1e-6, 1e6][i % 3];
        let axis = random.unit_vector() * length;
        let mut organ = surface(&data, Some(axis), None);
        check(&organ, &mut random, &format!("axis {axis:?}"));
        organ.move_all(Motion::Rigid.apply(&data.positions, organ.mesh(), &mut random));
        check(&organ, &mut random, &format!("axis {axis:?}, moved"));
    }
}

/// Band counts from many bands for each triangle to one band for all.
#[test]
fn extreme_bands() {
    let mut random = Seed::or(17).random(0);
    for band_edges in [0.01, 0.1, 1.0, 30.0, 1000.0] {
        for data in
            [shapes::organ(320, 2), shapes::sheet(12, 12, 0.01), shapes::torus(0.1, 0.02, 20, 8)]
        {
            let mut s = surface(&data, None, Some(band_edges));
            check(&s, &mut random, &format!("{band_edges} edges to a band"));
            for motion in [Motion::Twist, Motion::Stretch, Motion::Back] {
                s.move_all(motion.apply(&data.positions, s.mesh(), &mut random));
                check(&s, &mut random, &format!("{band_edges} edges to a band, {motion:?}"));
            }
        }
    }
}

/// Points so far out that the surface shrinks to a point, and beyond the range of `f32` squares: the triangle is
/// arbitrary then, the distance is not.
#[test]
fn beyond_single_precision() {
    let mut random = Seed::or(19).random(0);
    for data in [shapes::sphere(0.1, 3), shapes::sheet(5, 5, 0.1), one_triangle()] {
        let s = surface(&data, None, None);
        for exponent in [3, 6, 12] {
            let p = random.unit_vector() * 10f64.powi(exponent);
            check_nearest(&s, p, &mut random, "far");
            assert!(!s.contains(p).0, "{p:?}");
        }
        for exponent in [20, 30, 37] {
            let p = random.unit_vector() * 10f64.powi(exponent);
            let found = s.nearest(p, f64::INFINITY, None).expect("has triangles");
            let share = found.closest.distance_squared.sqrt() / p.length();
            assert!((share - 1.0).abs() < 1e-12, "{p:?}: {share}");
        }
    }
}

/// A rebuild changes the work, never an answer.
#[test]
fn rebuilt_after_wear() {
    let mut random = Seed::or(18).random(0);
    let data = shapes::organ(500, 6);
    let mut organ = surface(&data, None, None);
    for round in 0..4 {
        organ.move_all(Motion::Scatter.apply(&data.positions, organ.mesh(), &mut random));
        organ.rebuild();
        assert!(!organ.is_worn(), "just rebuilt, wear {}", organ.wear());
        check_points(&organ, scaled(60), Sides::Crossing, &mut random, "scattered, rebuilt");
        organ.move_all(data.positions.clone());
        check(&organ, &mut random, &format!("worn {} times", round));
        organ.rebuild();
        check(&organ, &mut random, &format!("rebuilt {} times", round));
    }
}
