//! Layout of a field: equal in every build, and with answers for regions of which it keeps nothing.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use glam::DVec3;
use palpate::{
    geometry::{LoadOptions, MeshData, mesh::load::load},
    index::LatLonOptions,
    oracle::shapes,
    scene::tool::field::{build_field, field_of},
    sdf::{BuildProgress, BuildStage, BuildStopped, Field, FieldOptions, Reading},
    surface::Surface,
};

use super::{
    points,
    truth::{probe, small},
};
use crate::seed::Seed;

fn surface(data: MeshData) -> Surface {
    let loaded = load(data, &LoadOptions::default()).expect("a mesh");
    Surface::new(loaded.mesh, LatLonOptions::default())
}

fn build(surface: &Surface, threads: usize) -> Field {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| field_of(surface, &FieldOptions::default()))
}

#[test]
fn a_field_does_not_depend_on_threads() {
    for case in small() {
        for threads in [1, 2] {
            assert!(build(&case.surface, threads) == case.field, "{}: {threads}", case.name);
        }
    }
}

#[test]
fn empty_space_outside_costs_nothing_and_the_surface_is_kept() {
    for case in small().iter().chain(probe()) {
        let mesh = case.mesh();
        for t in mesh.triangle_ids() {
            let [a, b, c] = mesh.triangle(t);
            for p in [a, b, c, (a + b) * 0.5, (a + b + c) / 3.0] {
                let kept = |(min, max): (DVec3, DVec3)| min.cmple(p).all() && p.cmple(max).all();
                assert!(case.field.subspaces().any(kept), "{}: {p:?} is deleted", case.name);
            }
        }
    }
    let torus = small().iter().find(|c| c.name == "torus").expect("it is there");
    assert!(torus.field.report().deleted_leaves > 0);
}

/// A build that is stopped, at whatever stage, ends without asking much more.
#[test]
fn a_build_is_told_how_far_it_is_and_stops_when_told() {
    let torus = small().iter().find(|c| c.name == "torus").expect("it is there");
    let asked = Mutex::new(Vec::new());
    let watch = |p: BuildProgress| {
        asked.lock().expect("no panic").push(p);
        true
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let build = |watch: &(dyn Fn(BuildProgress) -> bool + Sync)| {
        pool.install(|| build_field(&torus.surface, &FieldOptions::default(), watch))
    };
    assert!(build(&watch).expect("goes on") == torus.field);
    let asked = asked.into_inner().expect("no panic");
    assert!(asked.windows(2).all(|p| p[0].share <= p[1].share || p[0].stage != p[1].stage));
    assert!(asked.windows(2).all(|p| p[0].bytes <= p[1].bytes));
    let last = asked.last().expect("asked");
    assert_eq!((last.stage, last.share), (BuildStage::Sampling, 1.0));
    let nearly = asked.iter().rfind(|p| p.stage == BuildStage::Splitting).expect("it splits");
    assert!(nearly.share > 0.9, "{nearly:?}");
    for n in [0, asked.len() / 2, asked.len() - 1] {
        let left = AtomicUsize::new(n);
        let stop = |_| left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok();
        assert_eq!(build(&stop).expect_err("stopped"), BuildStopped, "after {n}");
    }
}

/// Points next to each other, inside and outside the root, some of them repeated.
#[test]
fn wide_reads_answer_as_single_ones() {
    let mut random = Seed::or(17).random(0);
    for case in small().iter().chain(probe()) {
        let points: Vec<DVec3> = (0..2_011).map(|_| points::any(case, &mut random)).collect();
        let mut readings = vec![Reading::BEYOND];
        case.field.read_many(case.mesh(), &points, &mut readings);
        assert_eq!(readings.len(), points.len());
        for (p, reading) in points.iter().zip(&readings) {
            assert_eq!(*reading, case.field.read(case.mesh(), *p), "{} at {p:?}", case.name);
        }
        for four in points.as_chunks::<4>().0 {
            let single = four.map(|p| case.field.lower_bound(p));
            assert_eq!(case.field.lower_bounds(four), single, "{} at {four:?}", case.name);
        }
    }
}

/// A box whose faces are parallel to the axes: its field is about as large as that of the same box turned.
#[test]
fn flat_faces_along_the_axes_do_not_multiply_the_field() {
    let straight =
        shapes::subdivide(&shapes::subdivide(&shapes::cuboid(DVec3::new(0.01, 0.01, 0.02))));
    let mut turned = straight.clone();
    let turn = glam::Quat::from_euler(glam::EulerRot::XYZ, 0.3, 0.0, 0.3);
    turned.positions.iter_mut().for_each(|p| *p = turn * *p);
    let options = FieldOptions { tolerance_m: Some(5e-5), ..FieldOptions::default() };
    let [straight, turned] =
        [straight, turned].map(|data| field_of(&surface(data), &options).report().bytes);
    assert!(straight < 2 * turned, "{straight} bytes, {turned} when turned");
}

/// A plate of twelve triangles, a fraction of a cell thick: the field distinguishes both sides and the inside.
#[test]
fn a_thin_plate_has_two_sides() {
    let surface = surface(shapes::cuboid(DVec3::new(0.03, 0.02, 0.0002)));
    let field = build(&surface, 1);
    for i in 0..=20 {
        let x = 0.0149 * (f64::from(i) / 10.0 - 1.0);
        for (z, expected) in [(0.0003, 2e-4), (-0.0003, 2e-4), (0.0, -1e-4), (0.00005, -5e-5)] {
            let got = field.read(surface.mesh(), DVec3::new(x * 0.9, x * 0.6, z));
            assert!((got.value - expected).abs() < 1e-9, "{got:?} at {x}, {z}");
        }
    }
}

/// A body without volume, or all in one point, is still a surface.
#[test]
fn degenerate_surfaces_have_fields() {
    let p = glam::Vec3::new(0.3, -0.2, 0.1);
    let (dx, dy) = (glam::Vec3::X * 0.01, glam::Vec3::Y * 0.01);
    let one = |positions| MeshData { positions, triangles: vec![[0, 1, 2]] };
    let inputs = [vec![p, p, p], vec![p, p + dx, p + dx * 0.5], vec![p, p + dx, p + dy]];
    for positions in inputs {
        let surface = surface(one(positions));
        let field = build(&surface, 1);
        for away in [0.0, 1e-9, 1e-6, 1e-3, 0.1] {
            let at = p.as_dvec3() + DVec3::Z * away;
            let r = field.read(surface.mesh(), at);
            assert!(r.value.is_finite() && r.gradient.is_finite(), "{r:?} at {away}");
            let within = |s: f64| r.lower - 1e-12 <= s && s <= r.upper + 1e-12;
            assert!(within(away) || within(-away), "{r:?} at {away}");
        }
    }
}
