use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use palpate::{
    geometry::MeshData,
    oracle::{Random, shapes},
    scene::self_collision::{FeatureKind, Scope, SelfCollisionOptions},
};

use super::{
    brute_force::assert_is_all,
    stage::{ALL, Stage, all_features, bent, gut},
};
use crate::seed::{Seed, scaled};

/// Bound on the mean of both points' errors, metres.
const SLACK_M: f64 = 1e-8;

fn lifted(data: &MeshData, by: Vec3) -> MeshData {
    let positions = data.positions.iter().map(|p| *p + by).collect();
    MeshData { positions, triangles: data.triangles.clone() }
}

/// A random small displacement for each vertex.
fn noise(random: &mut Random, n: usize, most: f64) -> Vec<Vec3> {
    (0..n).map(|_| (random.unit_vector() * most).as_vec3()).collect()
}

/// A gut is bent until its ends intersect.
#[test]
fn a_gut_that_is_bent_onto_itself() {
    let straight = gut();
    let stage = Stage::of([straight.clone()]);
    let mut met = 0;
    for turns in [0.6, 0.9, 1.0, 1.15] {
        stage.move_all(0, |v, _| bent(straight.positions[v], turns));
        let found = stage.detect(&ALL);
        assert_is_all(&found, &stage, &stage.last_steps(), &ALL);
        println!("turns={turns} contacts={:?} pairs={}", found.totals, found.triangle_pairs);
        met += found.contacts.len();
    }
    assert!(met > 100, "{met} contacts");
}

/// A cloth is folded over until one half passes through the other.
#[test]
fn a_cloth_that_is_folded() {
    let seed = Seed::or(140);
    let flat = shapes::sheet(17, 9, 0.01);
    for n in 0..scaled(3) {
        let mut random = seed.random(n as u64);
        let stage = Stage::of([flat.clone()]);
        let rough = noise(&mut random, flat.positions.len(), 1e-3);
        let crease = random.range(0.065, 0.085) as f32;
        let mut met = 0;
        for degrees in [100.0_f32, 160.0, 178.0, 186.0] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            stage.move_all(0, |v, _| {
                let p = flat.positions[v];
                let over = (p.x - crease).max(0.0);
                Vec3::new(p.x.min(crease) + over * cos, p.y, over * sin) + rough[v]
            });
            let found = stage.detect(&ALL);
            assert_is_all(&found, &stage, &stage.last_steps(), &ALL);
            met += found.contacts.len();
        }
        assert!(met > 100, "{met} contacts");
    }
}

/// Two organs are pushed into each other and deformed, with a third in between.
#[test]
fn tissues_that_move_into_each_other() {
    let seed = Seed::or(141);
    let mut random = seed.random(0);
    let organ = shapes::sphere(0.05, 5);
    let n_vertices = organ.positions.len();
    let places = [Vec3::ZERO, Vec3::X * 0.11, Vec3::Y * 0.108];
    let stage = Stage::of(places.map(|at| lifted(&organ, at)));
    let rough = noise(&mut random, n_vertices, 2e-3);
    stage.move_all(0, |v, p| p + Vec3::new(0.008, 0.012, 0.0) + rough[v]);
    stage.move_all(1, |v, p| p - Vec3::X * 0.01 + rough[(7 * v) % n_vertices]);
    let still = stage.tissues[2].current().geometry_revision;
    let mut steps = stage.last_steps();
    assert_eq!(steps[2].from, Some(still));
    steps[2].from = None;
    let found = stage.ask(&steps, &ALL).expect("an answer");
    assert_is_all(&found, &stage, &stage.last_steps(), &ALL);
    let pairs: BTreeMap<_, usize> = found.contacts.iter().fold(BTreeMap::new(), |mut n, c| {
        *n.entry(c.tissues.map(|t| t.0)).or_default() += 1;
        n
    });
    println!("contacts of {pairs:?}");
    assert!(pairs.contains_key(&[1, 2]) && pairs.contains_key(&[3, 1]), "{pairs:?}");
    steps.reverse();
    assert_eq!(stage.ask(&steps, &ALL).expect("an answer"), found, "in another order");
    let within = SelfCollisionOptions { scope: Scope::WithinEach, ..ALL };
    let within_each = stage.detect(&within);
    assert_is_all(&within_each, &stage, &stage.last_steps(), &within);
    assert!(within_each.contacts.iter().all(|c| c.tissues[0] == c.tissues[1]));
}

/// Normals point from the second side to the first: a sheet that falls onto another is above it.
#[test]
fn the_normal_is_towards_the_first_side() {
    let low = shapes::sheet(6, 6, 0.01);
    let stage = Stage::of([low.clone(), lifted(&low, Vec3::new(0.003, 0.002, 0.01))]);
    stage.move_all(1, |_, p| p - Vec3::Z * 0.02);
    let found = stage.detect(&ALL);
    assert!(!found.contacts.is_empty());
    for c in &found.contacts {
        let up = if c.tissues[0].0 == 2 { 1.0 } else { -1.0 };
        assert!((c.normal.z - up).abs() < 1e-9 && (c.toi - 0.5).abs() < 1e-6, "{c:?}");
        assert!(c.on.iter().all(|p| p.position.z.abs() < SLACK_M), "{c:?}");
    }
}

/// Sheets that stop a millimetre short of each other.
#[test]
fn thickness_is_kept() {
    let seed = Seed::or(142);
    let low = shapes::sheet(9, 9, 0.01);
    let rough = noise(&mut seed.random(0), low.positions.len(), 2e-4);
    let stage = Stage::of([low.clone(), lifted(&low, Vec3::new(0.003, 0.002, 0.01))]);
    stage.move_all(1, |v, p| p - Vec3::Z * 0.009 + rough[v]);
    assert!(stage.detect(&ALL).contacts.is_empty());
    let mut more = 0;
    for thickness_m in [0.5e-3, 1e-3, 2e-3] {
        let thick = SelfCollisionOptions { thickness_m, ..ALL };
        let found = stage.detect(&thick);
        assert_is_all(&found, &stage, &stage.last_steps(), &thick);
        for c in &found.contacts {
            assert!(c.on[0].position.distance(c.on[1].position) <= thickness_m + SLACK_M, "{c:?}");
        }
        assert!(found.contacts.len() >= more, "thicker is more");
        more = found.contacts.len();
        println!("thickness={thickness_m} contacts={more}");
    }
    assert!(more > 100, "{more} contacts");
}

#[test]
fn what_is_carried_along_does_not_meet_itself() {
    let seed = Seed::or(143);
    let mut random = seed.random(0);
    let shapes = [gut(), shapes::organ(1500, 3), shapes::sheet(20, 20, 0.005)];
    for data in shapes {
        let stage = Stage::of([data]);
        for _ in 0..3 {
            let by = random.point(DVec3::splat(-0.2), DVec3::splat(0.2)).as_vec3();
            stage.move_all(0, |_, p| p + by);
            let found = stage.detect(&ALL);
            assert_eq!((found.contacts.len(), found.totals), (0, [0, 0]), "moved by {by}");
            assert!(found.triangle_pairs > 0, "neighbours were tested");
        }
    }
}

/// Triangle numbers decide which triangle answers for an edge, and so how the elementary test gets it: the features do
/// not change, and their times are among those of brute force.
#[test]
fn the_order_of_triangles_changes_no_feature() {
    let seed = Seed::or(144);
    let mut random = seed.random(0);
    let straight = gut();
    let rough = noise(&mut random, straight.positions.len(), 5e-4);
    let stage_of = |data: &MeshData| {
        let stage = Stage::of([data.clone()]);
        for turns in [0.9, 1.15] {
            stage.move_all(0, |v, _| bent(straight.positions[v], turns) + rough[v]);
        }
        stage
    };
    let stage = stage_of(&straight);
    let first = stage.detect(&ALL);
    assert!(first.contacts.iter().any(|c| c.kind == FeatureKind::VertexFace));
    assert_eq!(stage.detect(&ALL), first, "twice the same");
    assert_eq!(stage_of(&straight).detect(&ALL), first, "uploaded twice");
    for _ in 0..3 {
        let mut shuffled = straight.clone();
        for i in (1..shuffled.triangles.len()).rev() {
            shuffled.triangles.swap(i, random.below(i + 1));
            shuffled.triangles[i].rotate_left(random.below(3));
        }
        let stage = stage_of(&shuffled);
        let found = stage.detect(&ALL);
        assert_is_all(&found, &stage, &stage.last_steps(), &ALL);
        assert_eq!(all_features(&found), all_features(&first));
        assert_eq!(found.totals, first.totals);
    }
}
