//! Revisions that can be requested.

use glam::Vec3;
use palpate::{
    geometry::TriangleId,
    oracle::shapes,
    scene::{
        Limits, TissueId,
        limits::HELD_MAX,
        self_collision::{
            Interval, IntervalEnd, IntervalError, SelfCollisionError, SelfCollisions, TissueMotion,
        },
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
};

use super::{
    brute_force::assert_is_all,
    stage::{ALL, Stage, bent, gut},
};

fn refused(outcome: Result<SelfCollisions, SelfCollisionError>) -> (usize, IntervalError) {
    match outcome.expect_err("refused") {
        SelfCollisionError::Interval { at, source } => (at, source),
        other => panic!("{other}"),
    }
}

fn interval(from: Option<u64>, to: Option<u64>) -> Interval {
    Interval { tissue: TissueId(1), from, to }
}

#[test]
fn the_oldest_of_too_many_is_let_go() {
    let stage = Stage::of([shapes::sheet(4, 4, 0.01)]);
    let n_held = HELD_MAX as u64 + 2;
    for _ in 1..n_held {
        stage.move_all(0, |_, p| p + Vec3::Z * 0.01);
    }
    let held: Vec<u64> = stage.tissues[0].held().iter().map(|h| h.geometry_revision).collect();
    assert_eq!(held, (3..=n_held).collect::<Vec<_>>());
    stage.ask(&[interval(Some(3), Some(n_held))], &ALL).expect("both are held");
    let (at, error) = refused(stage.ask(&[interval(Some(2), None)], &ALL));
    let expected = IntervalError::NotHeld { end: IntervalEnd::From, got: 2, held, current: n_held };
    assert_eq!((at, error), (0, expected));
}

#[test]
fn only_what_is_held_or_the_newest_can_be_asked_for() {
    let stage = Stage::of([shapes::sheet(4, 4, 0.01)]);
    let tissue = &stage.tissues[0];
    for _ in 0..2 {
        let nothing = Deformation::Sparse { vertices: vec![], positions: vec![] };
        tissue.deform(nothing, 0).expect("accepted");
    }
    let not_held = |end, got| IntervalError::NotHeld { end, got, held: vec![1], current: 3 };
    for (from, to, expected) in [
        (Some(0), None, not_held(IntervalEnd::From, 0)),
        (Some(2), None, not_held(IntervalEnd::From, 2)),
        (Some(1), Some(2), not_held(IntervalEnd::To, 2)),
        (None, Some(4), not_held(IntervalEnd::To, 4)),
        (Some(3), Some(1), IntervalError::Backwards { from: 3, to: 1 }),
    ] {
        assert_eq!(refused(stage.ask(&[interval(from, to)], &ALL)), (0, expected));
    }
    let motion = |from, to| TissueMotion { tissue: TissueId(1), from, to, topology_revision: 0 };
    for (from, to, expected) in [
        (Some(1), None, motion(1, 3)),
        (Some(3), Some(3), motion(3, 3)),
        (None, None, motion(3, 3)),
        (None, Some(1), motion(1, 1)),
    ] {
        let found = stage.ask(&[interval(from, to)], &ALL).expect("an answer");
        assert_eq!(found.motions, [expected]);
    }
    let unknown = Interval { tissue: TissueId(7), from: None, to: None };
    let outcome = stage.ask(&[interval(None, None), unknown], &ALL);
    assert!(matches!(outcome, Err(SelfCollisionError::Scene(_))));
}

/// Revisions held before a cut have other triangles; holding restarts after it.
#[test]
fn a_cut_begins_anew() {
    let straight = gut();
    let stage = Stage::of([straight.clone()]);
    let before = stage.move_all(0, |_, p| bent(p, 0.9));
    let tissue = &stage.tissues[0];
    let edit = TopologyEdit {
        removed: (0..40).map(|n| TriangleId(9 * n)).collect(),
        added_positions: vec![bent(Vec3::ZERO, 0.9)],
        added: vec![[0, 1, straight.positions.len() as u32]],
        ..TopologyEdit::default()
    };
    tissue.edit(edit, &Limits::default(), 0).expect("cut");
    let cut = |end, revision| IntervalError::Cut { end, revision, got: 0, current: 1 };
    let intervals = [interval(Some(1), None), interval(Some(before), Some(1))];
    let expected = [cut(IntervalEnd::From, 1), cut(IntervalEnd::To, 1)];
    for (interval, expected) in intervals.into_iter().zip(expected) {
        assert_eq!(refused(stage.ask(&[interval], &ALL)), (0, expected));
    }
    tissue.hold();
    assert_eq!(tissue.held().len(), 1, "those from before the cut are let go");
    let bend = |v: usize, p| straight.positions.get(v).map_or(p, |p| bent(*p, 1.15));
    stage.move_all(0, bend);
    let found = stage.detect(&ALL);
    assert_is_all(&found, &stage, &stage.last_steps(), &ALL);
    assert!(found.contacts.len() > 100 && found.motions[0].topology_revision == 1);
    let is_there = |t: TriangleId| tissue.current().surface.mesh().get(t).is_some();
    assert!(found.contacts.iter().flat_map(|c| c.on).all(|p| is_there(p.triangle)));
}

/// An answer does not depend on later changes of the tissue, and a search keeps no revision from its writer.
#[test]
fn held_revisions_outlive_what_comes_after() {
    let straight = gut();
    let stage = Stage::of([straight.clone()]);
    let from = stage.move_all(0, |_, p| bent(p, 0.9));
    let to = stage.move_all(0, |v, _| bent(straight.positions[v], 1.15));
    let asked = [interval(Some(from), Some(to))];
    let found = stage.ask(&asked, &ALL).expect("an answer");
    assert!(!found.contacts.is_empty());
    for n in 0..20 {
        let moved = straight.positions.iter().map(|p| *p * (1.0 + 0.01 * n as f32)).collect();
        stage.tissues[0].deform(Deformation::Dense(moved), 0).expect("accepted");
        stage.tissues[0].catch_up();
    }
    assert_eq!(stage.ask(&asked, &ALL).expect("an answer"), found);
}
