//! A tissue through random deformations, cuts and refusals, with readers that hold old revisions.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use glam::Vec3;
use palpate::{
    geometry::{LoadOptions, MeshData, TriangleId, mesh::load::load},
    oracle::{Random, shapes},
    scene::{
        Limits, RevisionGuard, Scene, Tissue, TissueOptions,
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
};

use super::model::{Cut, Model, start};
use crate::seed::{Seed, scaled};

/// Operations on one tissue.
const OPERATIONS: usize = 500;

/// Largest number of revisions that readers hold at once.
const HELD_MAX: usize = 12;

fn tissue(data: &MeshData) -> Arc<Tissue> {
    let scene = Scene::new("sequence".to_owned(), Limits::default());
    let mesh = load(data.clone(), &LoadOptions::default()).expect("a mesh");
    scene.add_tissue("tissue", mesh, TissueOptions::default(), 0).expect("added")
}

/// Expected state of a tissue.
#[derive(Clone)]
struct Expected {
    model: Model,
    geometry_revision: u64,
    topology_revision: u64,
}

impl Expected {
    fn of(tissue: &Tissue) -> Expected {
        let current = tissue.current();
        let mesh = current.surface.mesh();
        let data = MeshData {
            positions: mesh.positions().to_vec(),
            triangles: mesh.triangle_ids().map(|t| mesh.vertices(t)).collect(),
        };
        Expected { model: Model::new(&data), geometry_revision: 0, topology_revision: 0 }
    }

    fn assert_is(&self, held: &RevisionGuard) {
        self.model.assert_same(&held.surface);
        assert_eq!(held.geometry_revision, self.geometry_revision);
        assert_eq!(held.topology_revision, self.topology_revision);
    }
}

fn deform(tissue: &Tissue, expected: &mut Expected, now: u64, random: &mut Random) {
    let deformation = if random.below(3) == 0 {
        let positions = expected.model.random_dense(random);
        expected.model.positions.clone_from(&positions);
        Deformation::Dense(positions)
    } else {
        let (vertices, positions) = expected.model.random_move(random);
        expected.model.apply_move(&vertices, &positions);
        Deformation::Sparse { vertices, positions }
    };
    expected.geometry_revision += 1;
    let done = tissue.deform(deformation, now).expect("accepted");
    assert_eq!(done.geometry_revision, expected.geometry_revision);
    assert_eq!(tissue.current().published_ns, now);
}

fn cut(tissue: &Tissue, expected: &mut Expected, now: u64, random: &mut Random) {
    let Cut { removed, added_positions, added } = expected.model.random_cut(random);
    let base = (random.below(2) == 0).then_some(expected.topology_revision);
    let first_vertex = expected.model.positions.len() as u32;
    let edit = TopologyEdit {
        base_revision: base,
        removed: removed.clone(),
        added_positions: added_positions.clone(),
        added: added.clone(),
        parents: vec![],
        ..TopologyEdit::default()
    };
    let first = expected.model.apply_cut(&Cut { removed, added_positions, added });
    expected.topology_revision += 1;
    let done = tissue.edit(edit, &Limits::default(), now).expect("accepted");
    assert_eq!((done.first_triangle, done.first_vertex), (first, first_vertex));
    assert_eq!(done.topology_revision, expected.topology_revision);
    assert_eq!(done.sign_rule, tissue.current().surface.sign_rule());
}

/// Checks that a change with one error is refused.
fn refused(tissue: &Tissue, expected: &Expected, now: u64, random: &mut Random) {
    let model = &expected.model;
    let end = model.positions.len() as u32;
    let (mut vertices, mut positions) = (vec![0, end - 1], vec![Vec3::ONE; 2]);
    match random.below(5) {
        0 => vertices[1] = 0,
        1 => vertices[1] = end,
        2 => positions[1].y = f32::NAN,
        3 => positions.push(Vec3::ZERO),
        _ => positions[0].z = 2e4,
    }
    tissue.deform(Deformation::Sparse { vertices, positions }, now).expect_err("refused");
    let short = vec![Vec3::ZERO; model.positions.len() - 1];
    tissue.deform(Deformation::Dense(short), now).expect_err("refused");

    let mut edit = TopologyEdit { added: vec![[0, 1, 2]], ..TopologyEdit::default() };
    edit.removed.extend(model.triangles.keys().next().map(|t| TriangleId(*t)));
    match random.below(5) {
        0 => edit.base_revision = Some(expected.topology_revision + 1),
        1 => edit.removed.push(TriangleId(model.next_id)),
        2 => edit.added.push([0, 1, end]),
        3 => edit.added_positions = vec![Vec3::new(0.0, f32::INFINITY, 0.0)],
        _ => edit.parents = vec![TriangleId(model.next_id)],
    }
    tissue.edit(edit, &Limits::default(), now).expect_err("refused");
}

/// 20,000 operations in all. Revisions under a `RevisionGuard` never change, whichever copy the writer works on.
#[test]
fn random_changes_with_readers_holding_on() {
    let seed = Seed::or(60);
    for run in 0..scaled(40) {
        let mut random = seed.random(run as u64);
        let tissue = tissue(&start(&mut random));
        let mut expected = Expected::of(&tissue);
        let mut held: Vec<(RevisionGuard, Expected)> = Vec::new();
        for now in 1..=OPERATIONS as u64 {
            match random.below(20) {
                0..8 => deform(&tissue, &mut expected, now, &mut random),
                8..12 => cut(&tissue, &mut expected, now, &mut random),
                12..16 => tissue.catch_up(),
                16 => refused(&tissue, &expected, now, &mut random),
                17 => held.push((tissue.current(), expected.clone())),
                18 if !held.is_empty() => drop(held.swap_remove(random.below(held.len()))),
                _ => expected.model.assert_answers(&tissue.current().surface, &mut random),
            }
            held.truncate(HELD_MAX);
            let current = tissue.current();
            current.surface.assert_well_formed();
            expected.assert_is(&current);
            if let Some((old, then)) = held.get(random.below(HELD_MAX)) {
                old.surface.assert_well_formed();
                then.assert_is(old);
                then.model.assert_answers(&old.surface, &mut random);
            }
        }
    }
}

/// Each revision that a reader obtains is whole while another thread deforms without pause.
#[test]
fn readers_see_whole_revisions_while_a_writer_works() {
    let data = shapes::organ(500, 3);
    let tissue = tissue(&data);
    let done = AtomicBool::new(false);
    // At revision r everything has moved by r millimetres.
    let moved = |p: &Vec3, revision: u64| *p + Vec3::X * (revision as f32 * 1e-3);
    std::thread::scope(|scope| {
        let reader = || {
            let mut last = 0;
            let mut seen = 0;
            while !done.load(Ordering::Relaxed) {
                let held = tissue.current();
                let revision = held.geometry_revision;
                assert!(revision >= last, "revision {revision} after {last}");
                seen += u64::from(revision > last);
                last = revision;
                let expected = data.positions.iter().map(|p| moved(p, revision));
                assert!(held.surface.mesh().positions().iter().copied().eq(expected));
                let vertex = data.positions[revision as usize % data.positions.len()];
                let at = moved(&vertex, revision).as_dvec3();
                let found = held.surface.nearest(at, 1e-12, None);
                assert!(found.is_some(), "revision {revision} is not indexed at its vertex");
            }
            seen
        };
        let readers: Vec<_> = (0..2).map(|_| scope.spawn(reader)).collect();
        for revision in 1..=scaled(2000) as u64 {
            let positions: Vec<Vec3> = data.positions.iter().map(|p| moved(p, revision)).collect();
            tissue.deform(Deformation::Dense(positions), revision).expect("accepted");
            if revision % 3 == 0 {
                tissue.catch_up();
            }
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            let seen = reader.join().expect("the reader found whole revisions");
            println!("a reader saw {seen} revisions");
        }
    });
    assert_eq!(tissue.current().geometry_revision, scaled(2000) as u64);
}
