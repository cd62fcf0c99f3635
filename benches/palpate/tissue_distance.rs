//! P2: the exact signed distance of a point to a tissue of 70 k triangles, compared with parry3d's projection with
//! pseudonormals: cold at random points, coherent along the way of an instrument's tip, where both use their last
//! answer.
//!
//! The floor is `floor_us`: the exact distance and the sign at the nearest triangle, known in advance. The time above
//! it excludes all other triangles: a cold point looks at nine runs of links and six leaves.

use std::{f64::consts::TAU, hint::black_box};

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{
        TriangleId, TriangleMesh, distance::point_triangle::closest_point,
        mesh::pseudonormal::pseudonormal,
    },
    index::LatLonOptions,
    oracle::{Random, brute_force::nearest, solid_angle::winding_number},
    surface::{Surface, TrackedPoint},
    time_left::TimeLeft,
};
use parry3d::{
    query::PointQueryWithLocation,
    shape::{TriMesh, TriMeshFlags},
};

use crate::{
    inputs::{PARRY, liver, parry, vector},
    run::{Case, Figures, Run},
    turns::by_turns,
};

/// Step of a tip at 1 kHz, metres: 80 mm/s.
const STEP_M: f64 = 8e-5;
/// Amplitude of the tip in and out, metres, and the steps that it takes.
const HEIGHT_M: f64 = 4e-3;
const HEIGHT_STEPS: f64 = 1_250.0;
/// Largest difference of a distance in `f32` coordinates, metres: 0.2 m times a few roundings.
const SINGLE_ROUNDING_M: f64 = 4e-7;
/// Largest distance of cold points, metres: the range that a haptic loop queries.
const NEAR_M: f64 = 0.01;
/// Near the surface and anywhere about it in no order, and along a tip's way.
pub const WAYS: [&str; 3] = ["cold", "cold-anywhere", "coherent"];
/// Points that are compared with brute force.
const BRUTE: usize = 20;

/// Prints a line for each kind of way through space.
pub fn run(run: &mut Run) {
    let (name, loaded) = liver(run.effort);
    let stage = Stage::new(loaded.mesh);
    stage.compare_all(run, "P2", &name);
    stage.compare_unsearched(run, "P2", &name);
}

/// A tissue, ours and the peer's.
pub struct Stage {
    surface: Surface,
    peer: TriMesh,
}

impl Stage {
    pub fn new(mesh: TriangleMesh) -> Stage {
        let peer = parry(&mesh, TriMeshFlags::ORIENTED);
        Stage { surface: Surface::new(mesh, LatLonOptions::default()), peer }
    }

    /// Returns our microseconds for each of [`WAYS`].
    pub fn compare_all(&self, run: &mut Run, measure: &'static str, name: &str) -> [f64; 3] {
        let n = run.effort.of(20_000, 300);
        let points = [self.near(n), self.anywhere(n), self.along_the_surface(n)];
        std::array::from_fn(|i| {
            let case = format!("{name}/{}", WAYS[i]);
            let case = Case { measure, case: &case, peer: PARRY, items: n };
            self.compare(run, &case, &points[i], WAYS[i] == "coherent")
        })
    }

    /// As [`Stage::compare_all`], while the tissue's self-crossings are unknown, as at each revision of a large tissue
    /// that deforms at 60 Hz. Winding numbers then decide the sides, with equal results.
    fn compare_unsearched(mut self, run: &mut Run, measure: &'static str, name: &str) {
        let n = run.effort.of(20_000, 300);
        let points = [self.near(n), self.along_the_surface(n)].into_iter().zip([false, true]);
        let answers = |stage: &Stage, points: &[Vec3], is_coherent| {
            let mut answers = Vec::new();
            stage.measure(points, is_coherent, |d| answers.push(d));
            answers
        };
        let searched: Vec<_> = points.map(|(p, way)| (answers(&self, &p, way), p, way)).collect();
        let positions = self.surface.mesh().positions().to_vec();
        self.surface.move_all(positions);
        assert!(self.surface.is_by_winding(), "{name}: no certificate survives a deformation");
        for (expected, points, is_coherent) in &searched {
            let way = if *is_coherent { "coherent" } else { "cold" };
            let case = format!("{name}/{way}/unsearched");
            assert_eq!(*expected, answers(&self, points, *is_coherent), "{case}");
            let case = Case { measure, case: &case, peer: PARRY, items: n };
            self.compare(run, &case, points, *is_coherent);
        }
    }

    fn compare(&self, run: &mut Run, case: &Case, points: &[Vec3], is_coherent: bool) -> f64 {
        let name = case.case;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        self.measure(points, is_coherent, |d| ours.push(d));
        self.measure_peer(points, is_coherent, |d| theirs.push(d));
        for ((p, ours), theirs) in points.iter().zip(&ours).zip(&theirs) {
            // If the liver crosses itself, the peer's pseudonormal may give the wrong side.
            let theirs = if ours * theirs < 0.0 {
                let winding = winding_number(self.surface.mesh(), p.as_dvec3());
                if winding > 0.5 { -theirs.abs() } else { theirs.abs() }
            } else {
                *theirs
            };
            assert!((ours - theirs).abs() <= SINGLE_ROUNDING_M, "{name}: {ours}, {theirs} at {p}");
        }
        for (p, ours) in points.iter().zip(&ours).step_by(points.len() / BRUTE) {
            let exact = nearest(self.surface.mesh(), p.as_dvec3()).expect("a surface").distance;
            assert!((ours.abs() - exact).abs() <= 1e-12, "{name}: {ours}, {exact} at {p}");
        }
        let floor = self.floor(run, points);
        run.compare(
            case,
            ours.iter().sum(),
            format_args!("floor_us={} points={}", Figures(floor), points.len()),
            || self.measure(points, is_coherent, hide),
            || self.measure_peer(points, is_coherent, hide),
        )
    }

    /// Returns the microseconds for a point whose nearest triangle is known.
    fn floor(&self, run: &Run, points: &[Vec3]) -> f64 {
        let (mesh, from) = (self.surface.mesh(), |p: &Vec3| p.as_dvec3());
        let nearest = |p| self.surface.nearest(p, f64::INFINITY, None).expect("a surface").triangle;
        let known: Vec<_> = points.iter().map(from).map(|p| (p, nearest(p))).collect();
        let mut go = || {
            for (p, t) in &known {
                let closest = closest_point(*p, &mesh.triangle(*t));
                let side =
                    (*p - closest.point).dot(pseudonormal(mesh, *t, closest.feature).direction);
                hide(closest.distance_squared.sqrt() * side.signum());
            }
        };
        let [floor] = by_turns(run.effort, points.len(), [&mut go]);
        floor.p50
    }

    fn measure(&self, points: &[Vec3], is_coherent: bool, mut give: impl FnMut(f64)) {
        let mut last = is_coherent.then_some(TrackedPoint::NEW);
        for p in points {
            let (p, reach) = (p.as_dvec3(), f64::INFINITY);
            let found = match &mut last {
                Some(last) => {
                    let time = &TimeLeft::endless();
                    self.surface.signed_distance_tracked(p, reach, last, time)
                }
                None => self.surface.signed_distance(p, reach, None),
            };
            give(found.expect("a surface").signed_distance);
        }
    }

    /// The last answer allows a bound: the nearest point cannot be farther than its distance plus the step.
    fn measure_peer(&self, points: &[Vec3], is_coherent: bool, mut give: impl FnMut(f64)) {
        let mut last: Option<(Vec3, f32)> = None;
        for p in points {
            let within = |(q, distance): (Vec3, f32)| distance * 1.00001 + p.distance(q) + 1e-6;
            let farthest = last.map_or(f32::MAX, within);
            let at = vector(p);
            let found =
                self.peer.project_local_point_and_get_location_with_max_dist(at, false, farthest);
            let (projection, _) = found.expect("a surface that near");
            let distance = projection.point.distance(at);
            last = is_coherent.then_some((*p, distance));
            give(f64::from(if projection.is_inside { -distance } else { distance }));
        }
    }

    /// Returns points within [`NEAR_M`] of the surface, in no order.
    fn near(&self, n: usize) -> Vec<Vec3> {
        let (mut random, mesh) = (Random::new(5), self.surface.mesh());
        let mut at = || {
            let t = TriangleId(random.below(mesh.triangle_id_end() as usize) as u32);
            let [a, b, c] = mesh.triangle(t);
            let away = random.unit_vector() * random.range(0.0, NEAR_M);
            ((a + b + c) / 3.0 + away).as_vec3()
        };
        (0..n).map(|_| at()).collect()
    }

    fn anywhere(&self, n: usize) -> Vec<Vec3> {
        let (mut random, bounds) = (Random::new(2), self.surface.bounds());
        let margin = DVec3::splat(0.1 * bounds.diagonal());
        let (low, high) = (bounds.min.as_dvec3() - margin, bounds.max.as_dvec3() + margin);
        (0..n).map(|_| random.point(low, high).as_vec3()).collect()
    }

    /// Returns points around the organ's waist as a tip goes, in and out of its surface.
    fn along_the_surface(&self, n: usize) -> Vec<Vec3> {
        let bounds = self.surface.bounds();
        let radius = 0.35 * bounds.size().max_element();
        let mut hint = None;
        let at = |i: usize| {
            let (sin, cos) = (i as f64 * STEP_M / radius).sin_cos();
            let from = bounds.centre() + DVec3::new(cos, sin, 0.3 * sin * cos) * radius;
            let near = self.surface.signed_distance(from, f64::INFINITY, hint).expect("a surface");
            hint = Some(near.triangle);
            let height = HEIGHT_M * (TAU * i as f64 / HEIGHT_STEPS).sin();
            (near.closest.point + near.normal * height).as_vec3()
        };
        (0..n).map(at).collect()
    }
}

fn hide(distance: f64) {
    black_box(distance);
}
