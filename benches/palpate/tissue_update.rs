//! P4: the update of a tissue of 70 k triangles after part of it moved, its sign included, compared with parry3d:
//! `refit_partial` of its tree (no pseudonormals: it has no call that updates some of them), and `set_vertices` with
//! pseudonormals if all vertices moved.
//!
//! A leaf knows the vertices of its triangles. Most of the time for all vertices goes to 24 positions that are read,
//! turned into lanes and written for each of 9 k leaves, their boxes included. Half of the time for a part goes to
//! finding the leaves: by vertex, its ring of triangles and their handles. A second thread gained nothing at this size
//! (`src/engine/index/refit.rs`).

use glam::{DVec3, Vec3};
use palpate::{
    geometry::TriangleMesh, index::LatLonOptions, oracle::brute_force::nearest, surface::Surface,
};
use parry3d::{
    math::Vector,
    query::PointQueryWithLocation,
    shape::{TriMesh, TriMeshFlags},
};

use crate::{
    inputs::{PARRY, liver, parry, vector},
    patch::{PartialPeer, Patch, probes},
    run::{Case, Run},
};

/// Largest difference of a distance in `f32` coordinates, metres.
const SINGLE_ROUNDING_M: f64 = 4e-7;
/// Points at which distances are compared after each move.
const PROBES: usize = 100;
/// Points of those that are also compared with brute force.
const BRUTE: usize = 5;
/// Largest displacement of a vertex when all move, metres.
const WAVE_M: f32 = 1e-3;

/// Prints a line for each share.
pub fn run(run: &mut Run) {
    let (name, loaded) = liver(run.effort);
    let mesh = loaded.mesh;
    for percent in [1, 10] {
        let case = format!("{name}/{percent}%");
        let patch = Patch::around(&mesh, 17, mesh.n_triangles() * percent / 100);
        let mut surface = Surface::new(mesh.clone(), LatLonOptions::default());
        compare_patch(run, "P4", &case, &patch, &mut surface);
    }
    compare_all(run, &format!("{name}/100%"), &mesh);
}

/// Moves the patch there and back, many times. Returns our microseconds.
pub fn compare_patch(
    run: &mut Run,
    measure: &'static str,
    case: &str,
    patch: &Patch,
    surface: &mut Surface,
) -> f64 {
    let mut peer = PartialPeer::new(surface.mesh());
    let mut checksum = 0.0;
    for place in [1, 0, 1] {
        patch.move_ours(surface, place);
        patch.move_peer(&mut peer, place);
        let points = probes(surface.mesh(), patch, PROBES);
        checksum += check(case, surface, &points, |p| peer.distance(p));
    }
    surface.assert_well_formed();
    let times = run.effort.of(20_000 / patch.triangles.len(), 2).max(2);
    run.compare(
        &Case { measure, case, peer: PARRY, items: 2 * times },
        checksum,
        format_args!("triangles={} moved={}", surface.mesh().n_triangles(), patch.triangles.len()),
        || (0..2 * times).for_each(|i| patch.move_ours(surface, i % 2)),
        || (0..2 * times).for_each(|i| patch.move_peer(&mut peer, i % 2)),
    )
}

fn compare_all(run: &mut Run, case: &str, mesh: &TriangleMesh) {
    let mut surface = Surface::new(mesh.clone(), LatLonOptions::default());
    let mut peer = parry(mesh, TriMeshFlags::ORIENTED);
    let wave = |p: &Vec3| *p + Vec3::new(0.0, 0.0, WAVE_M * (60.0 * p.x).sin());
    let waved: Vec<Vec3> = mesh.positions().iter().map(wave).collect();
    let places = [mesh.positions().to_vec(), waved];
    let peer_places = places.each_ref().map(|p| p.iter().map(vector).collect::<Vec<Vector>>());
    let whole = Patch::around(mesh, 17, mesh.n_triangles());
    let mut checksum = 0.0;
    for place in [1, 0, 1] {
        surface.move_all(places[place].clone());
        peer.set_vertices(&peer_places[place]);
        let points = probes(surface.mesh(), &whole, PROBES);
        checksum += check(case, &surface, &points, |p| project(&peer, p));
    }
    surface.assert_well_formed();
    let times = run.effort.of(4, 1);
    run.compare(
        &Case { measure: "P4", case, peer: PARRY, items: 2 * times },
        checksum,
        format_args!("triangles={0} moved={0}", mesh.n_triangles()),
        || {
            (0..2 * times).for_each(|i| {
                surface.move_all(places[i % 2].clone());
            });
        },
        || (0..2 * times).for_each(|i| peer.set_vertices(&peer_places[i % 2])),
    );
}

/// Checks that both distances agree, and some of them with brute force's. Returns a sum over the answers.
pub fn check(case: &str, ours: &Surface, points: &[DVec3], peer: impl Fn(DVec3) -> f64) -> f64 {
    let mut sum = 0.0;
    for (i, p) in points.iter().enumerate() {
        let found = ours.signed_distance(*p, f64::INFINITY, None).expect("a surface");
        let (distance, theirs) = (found.signed_distance.abs(), peer(*p));
        assert!((distance - theirs).abs() <= SINGLE_ROUNDING_M, "{case}: {distance}, {theirs}");
        if i % (points.len() / BRUTE).max(1) == 0 {
            let exact = nearest(ours.mesh(), *p).expect("a surface").distance;
            assert!((distance - exact).abs() <= 1e-12, "{case}: {distance}, {exact} at {p}");
        }
        sum += found.signed_distance + found.closest.point.element_sum();
    }
    sum
}

fn project(peer: &TriMesh, p: DVec3) -> f64 {
    let p = vector(&p.as_vec3());
    let (projection, _) = peer.project_local_point_and_get_location(p, false);
    f64::from(projection.point.distance(p))
}
