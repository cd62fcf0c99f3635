//! Limits of a search, and conditions that stop it.

use std::cell::Cell;

use glam::{Quat, Vec2};
use palpate::{
    geometry::MeshData,
    oracle::shapes,
    scene::self_collision::{SelfCollisionError, SelfCollisionOptions, self_collisions},
};

use super::stage::{ALL, Stage, bent, gut};

fn looped() -> Stage {
    let straight = gut();
    let stage = Stage::of([straight.clone()]);
    for turns in [0.9, 1.15] {
        stage.move_all(0, |v, _| bent(straight.positions[v], turns));
    }
    stage
}

#[test]
fn the_earliest_are_given_and_all_are_counted() {
    let stage = looped();
    let all = stage.detect(&ALL);
    for max_contacts in [1, 2, 17, 100, all.contacts.len() - 1, all.contacts.len()] {
        let found = stage.detect(&SelfCollisionOptions { max_contacts, ..ALL });
        assert_eq!(found.contacts, all.contacts[..max_contacts]);
        assert_eq!((found.totals, found.triangle_pairs), (all.totals, all.triangle_pairs));
    }
}

#[test]
fn too_many_pairs_are_refused() {
    let stage = looped();
    let n_pairs = stage.detect(&ALL).triangle_pairs as usize;
    let most = |max_pairs| SelfCollisionOptions { max_pairs, ..ALL };
    let outcome = stage.ask(&stage.last_steps(), &most(n_pairs - 1));
    assert!(
        matches!(outcome, Err(SelfCollisionError::TooManyPairs { limit }) if limit == n_pairs - 1)
    );
    stage.ask(&stage.last_steps(), &most(n_pairs)).expect("just as many");
}

#[test]
fn a_search_ends_when_told_wherever_it_is() {
    let stage = looped();
    let asked = Cell::new(0usize);
    let steps = stage.last_steps();
    let until = |n: usize| {
        asked.set(0);
        self_collisions(&stage.scene, &steps, &ALL, &|| {
            asked.set(asked.get() + 1);
            asked.get() > n
        })
    };
    until(usize::MAX).expect("never told");
    let n_asked = asked.get();
    assert!(n_asked > 10, "{n_asked} asked");
    for n in (0..n_asked).step_by((n_asked / 20).max(1)) {
        assert!(matches!(until(n), Err(SelfCollisionError::Stopped)));
        assert_eq!(asked.get(), n + 1, "it goes no further");
    }
}

/// Triangles through one point that turn in their common plane: a pair takes a thousand times as long as one that is
/// apart, and the search checks whether to stop after a few of them.
#[test]
fn a_search_asks_often_where_pairs_take_long() {
    let fan = |i: usize| [0.0, 2.1, 4.2].map(|a| Vec2::from_angle(a + 0.05 * i as f32).extend(0.0));
    let positions = (0..60).flat_map(fan).collect();
    let triangles = (0..60).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    let stage = Stage::of([MeshData { positions, triangles }]);
    stage.move_all(0, |v, p| {
        let turn = Quat::from_rotation_z(0.01 * (v / 3 % 7) as f32);
        turn * p
    });
    let asked = Cell::new(0usize);
    let outcome = self_collisions(&stage.scene, &stage.last_steps(), &ALL, &|| {
        asked.set(asked.get() + 1);
        false
    });
    let n_pairs = outcome.expect("an answer").triangle_pairs;
    assert!(
        n_pairs > 800 && asked.get() as u64 >= n_pairs / 16,
        "{} times in {n_pairs} pairs",
        asked.get()
    );
}

/// Twenty thousand triangles about each of two vertices: all pairs at a tip come near each other. The search detects
/// the excess before it tests a pair; tests would check for a stop every 16 pairs.
#[test]
fn what_is_too_much_is_refused_before_anything_is_tested() {
    const PAIRS: usize = 200_000;
    let stage = Stage::of([shapes::spindle(20_000, 0.1, 0.1)]);
    stage.move_all(0, |_, p| p * 1.01);
    let asked = Cell::new(0usize);
    let options = SelfCollisionOptions { max_pairs: PAIRS, ..ALL };
    let outcome = self_collisions(&stage.scene, &stage.last_steps(), &options, &|| {
        asked.set(asked.get() + 1);
        false
    });
    assert!(matches!(outcome, Err(SelfCollisionError::TooManyPairs { .. })), "{outcome:?}");
    assert!(asked.get() < PAIRS / 1_000, "asked {} times in {PAIRS} pairs", asked.get());
}

/// More pairs than the count keeps: the search finds them again, and tests none twice and omits none.
#[test]
fn many_pairs_are_all_tested() {
    let stage = Stage::of([shapes::spindle(600, 0.1, 0.1)]);
    stage.move_all(0, |_, p| p * 1.01);
    let found = stage.detect(&ALL);
    assert!(found.triangle_pairs > 1 << 18, "{} pairs", found.triangle_pairs);
    assert_eq!(found.totals, [0; 2], "features of a spindle share a vertex or stay apart");
}
