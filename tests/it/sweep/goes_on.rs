//! Sweeps that take longer than one tick: nothing is dropped, by brute force over the whole motion.

use std::collections::BTreeSet;

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{Aabb, MeshData, Pose, TriangleId, TriangleMesh, triangle_triangle::meet},
    oracle::{Random, shapes},
    scene::{
        Contact, TickAnswer,
        tick::{TickOptions, answer::UnsweptReason},
        tissue::deform::Deformation,
    },
};

use super::{between, to};
use crate::{
    seed::{Seed, scaled},
    support::bench::Bench,
};

const INSTANTS: usize = 100;

fn options() -> TickOptions {
    TickOptions { contact_margin_m: 1e-4, max_contacts: 1_024, ..TickOptions::default() }
}

/// Returns the tissue triangles that the link crosses at some instant while link and tissue move: `states` are
/// successive positions of the tissue, each lasting as long as the others.
fn crossed(
    link: &MeshData,
    tissue: &MeshData,
    ends: [&Pose; 2],
    states: &[Vec<Vec3>],
) -> BTreeSet<u32> {
    let mut crossed = BTreeSet::new();
    for k in 0..=INSTANTS {
        let s = k as f64 / INSTANTS as f64;
        let pose = between(ends[0], ends[1], s);
        let n = (states.len() - 1).max(1);
        let stage = ((s * n as f64) as usize).min(n - 1);
        let (from, to) = (&states[stage], &states[(stage + 1).min(states.len() - 1)]);
        let share = s * n as f64 - stage as f64;
        let at = |v: u32| from[v as usize].as_dvec3().lerp(to[v as usize].as_dvec3(), share);
        let own: Vec<[DVec3; 3]> = link
            .triangles
            .iter()
            .map(|t| t.map(|v| pose.point(link.positions[v as usize].as_dvec3())))
            .collect();
        let around = Aabb::around(own.iter().flatten().copied());
        for (t, vertices) in tissue.triangles.iter().enumerate() {
            let triangle = vertices.map(at);
            if Aabb::around(triangle).overlaps(&around) && own.iter().any(|o| meet(&triangle, o)) {
                crossed.insert(t as u32);
            }
        }
    }
    crossed
}

/// Contacts that the answers of a motion reported.
#[derive(Default)]
struct Told {
    met: BTreeSet<u32>,
    n_ticks: usize,
    /// Contacts that were only counted, because an answer returns no more than were requested.
    n_counted: usize,
}

impl Told {
    fn take(&mut self, answer: &TickAnswer) {
        // A triangle already touched when the sweep reaches it was reported by the answer that found it touched.
        let is_met = |c: &&Contact| c.toi.is_some() || c.signed_distance_m <= 0.0;
        let met = answer.links[0].contacts.iter().filter(is_met);
        self.met.extend(met.map(|c| c.on_tissue.triangle.0));
        let link = &answer.links[0];
        let n_counted = link.contacts_total - link.contacts.len();
        assert_eq!(answer.flags.truncated, n_counted > 0);
        self.n_counted += n_counted;
        self.n_ticks += 1;
        let expected = (!answer.flags.swept).then_some(UnsweptReason::GoingOn);
        assert_eq!(answer.flags.unswept_reason, expected);
        assert!(answer.flags.swept || answer.flags.degraded);
    }
}

/// The tool leaps along a dense sheet and through it: more than 20,000 pairs of triangles in one tick.
#[test]
fn a_leap_through_fine_tissue_is_told_in_many_ticks() {
    let tissue = shapes::sheet(100, 100, 3e-4);
    let link = shapes::capsule(0.004, 0.012, 24);
    let middle = DVec3::new(0.015, 0.015, 0.0);
    let start = to(middle.x - 0.008, middle.y, 0.03);
    let turn = DQuat::from_rotation_x(0.6);
    let end = Pose::new(turn, middle + DVec3::new(0.008, 0.0, -0.03)).expect("a rotation");
    let rest = TriangleMesh::new(tissue.clone()).positions().to_vec();
    let truth = crossed(&link, &tissue, [&start, &end], &[rest]);
    assert!(truth.len() > 500, "{} triangles are crossed", truth.len());
    for readings in [200, 2_000, u64::MAX] {
        let mut bench = Bench::new(tissue.clone(), link.clone(), options());
        bench.tick(start);
        let mut told = Told::default();
        loop {
            let answer = bench.tick_of(readings, end);
            told.take(&answer);
            if answer.flags.swept {
                break;
            }
            assert!(told.n_ticks < 20_000, "{} of {} are told", told.met.len(), truth.len());
        }
        let missed: Vec<&u32> = truth.difference(&told.met).collect();
        let n_missed = missed.len();
        // A tick that meets more contacts than it may return counts the others, and no later tick reports them.
        let (n_counted, n) = (told.n_counted, truth.len());
        assert!(n_missed <= n_counted, "{readings}: {n_missed} of {n} missed, {n_counted} counted");
        assert!(readings > 200 || n_counted == 0, "{n_counted} are counted only");
        assert!(told.n_ticks > 10 || readings > 200, "{}", told.n_ticks);
        println!(
            "{readings} readings a tick: {} met, {} in truth, {n_missed} missed, in {} ticks",
            told.met.len(),
            truth.len(),
            told.n_ticks
        );
        let (after, swept) = bench.tick(end);
        assert!(swept && after.contacts.iter().all(|c| c.toi.is_none()), "all was told");
    }
}

/// Bursts of deformations while the tool moves, more than are remembered, and others while the sweep continues.
#[test]
fn bursts_of_deformations_drop_nothing() {
    let seed = Seed::or(733);
    let (mut n_met, mut n_ticks, mut n_motions) = (0, 0, 0);
    for i in 0..scaled(40) {
        let mut random = seed.random(i as u64);
        let tissue = shapes::organ(600, 3);
        let link = shapes::capsule(0.004, 0.01, 6);
        let mut bench = Bench::new(tissue.clone(), link.clone(), options());
        let start = super::near_surface(&bench, 0.02, &mut random);
        bench.tick(start);
        let displacement = random.unit_vector() * random.range(0.0, 0.03);
        let turn = DQuat::from_axis_angle(random.unit_vector(), random.range(0.0, 1.0));
        let end = turn * DQuat::from_mat3(&start.rotation);
        let end = Pose::new(end, start.translation + displacement).expect("a rotation");
        let touched: BTreeSet<u32> = touched_now(&mut bench, start);
        let n_burst = [0, 1, 4, 5, 12][i % 5];
        let mut states = vec![positions(&bench)];
        for _ in 0..n_burst {
            push(&mut bench, &mut random);
            states.push(positions(&bench));
        }
        let truth = crossed(&link, &tissue, [&start, &end], &states);
        let readings = [60, 300, u64::MAX][i % 3];
        let mut told = Told::default();
        loop {
            let answer = bench.tick_of(readings, end);
            told.take(&answer);
            if answer.flags.swept {
                break;
            }
            if told.n_ticks % 7 == 3 && told.n_ticks < 60 {
                push(&mut bench, &mut random);
            }
            assert!(told.n_ticks < 5_000, "motion {i} does not end");
        }
        let missed: Vec<&u32> =
            truth.difference(&told.met).filter(|t| !touched.contains(t)).collect();
        assert!(missed.is_empty(), "motion {i}, {n_burst} deformations: {missed:?} missed");
        n_met += truth.len();
        n_ticks += told.n_ticks;
        n_motions += 1;
    }
    println!("{n_met} met in {n_motions} motions, {n_ticks} ticks");
    assert!(n_met >= scaled(40) / 2 && n_ticks > n_motions, "{n_met} met, {n_ticks} ticks");
}

/// A tool moves on while its sweep is behind: contacts on the way are reported once it rests.
#[test]
fn a_sweep_that_is_behind_follows_the_whole_way() {
    let tissue = shapes::sheet(40, 40, 5e-4);
    let link = shapes::capsule(0.002, 0.006, 8);
    let mut bench = Bench::new(tissue.clone(), link.clone(), options());
    let way = |i: usize| {
        let s = i as f64 / 200.0;
        // Through the sheet and back, again and again, while crossing it.
        to(0.002 + 0.016 * s, 0.01, 0.006 * (40.0 * s).cos())
    };
    let rest = positions(&bench);
    bench.tick(way(0));
    let (mut truth, mut told) = (BTreeSet::new(), Told::default());
    for i in 1..=200 {
        let states = std::slice::from_ref(&rest);
        // Few instants per leg are enough, because legs are short.
        truth.append(&mut crossed(&link, &tissue, [&way(i - 1), &way(i)], states));
        told.take(&bench.tick_of(60, way(i)));
    }
    let n_behind = told.n_ticks;
    loop {
        let answer = bench.tick_of(60, way(200));
        told.take(&answer);
        if answer.flags.swept {
            break;
        }
        assert!(told.n_ticks < 5_000, "it does not catch up");
    }
    assert!(told.n_ticks > n_behind + 10, "{} ticks", told.n_ticks);
    let missed: Vec<&u32> = truth.difference(&told.met).collect();
    assert!(missed.is_empty(), "{} of {} missed", missed.len(), truth.len());
}

fn positions(bench: &Bench) -> Vec<Vec3> {
    bench.tissue.current().surface.mesh().positions().to_vec()
}

/// Moves some vertices about a point by up to 4 mm.
fn push(bench: &mut Bench, random: &mut Random) {
    let mut positions = positions(bench);
    let (at, by) =
        (positions[random.below(positions.len())], random.unit_vector().as_vec3() * 0.004);
    for p in &mut positions {
        *p += by * (1.0 - p.distance(at) / 0.03).max(0.0);
    }
    bench.tissue.deform(Deformation::Dense(positions), 0).expect("a good deformation");
}

/// Returns the triangles in contact at a pose, from a tick in time.
fn touched_now(bench: &mut Bench, pose: Pose) -> BTreeSet<u32> {
    let of = |t: TriangleId| t.0;
    bench.tick(pose).0.contacts.iter().map(|c| of(c.on_tissue.triangle)).collect()
}
