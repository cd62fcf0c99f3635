//! What bounds a search, and what stops it.

use std::cell::Cell;

use glam::{Quat, Vec2};
use palpate::{
    geometry::MeshData,
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
    let asked = Cell::new(0);
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

/// Triangles through one point that turn in their common plane: each pair takes a thousand times as long as one that is
/// apart, and the search asks whether to stop after a few of them.
#[test]
fn a_search_asks_often_where_pairs_take_long() {
    const PAIRS: usize = 800;
    let fan = |i: usize| [0.0, 2.1, 4.2].map(|a| Vec2::from_angle(a + 0.05 * i as f32).extend(0.0));
    let positions = (0..60).flat_map(fan).collect();
    let triangles = (0..60).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    let stage = Stage::of([MeshData { positions, triangles }]);
    stage.move_all(0, |v, p| {
        let turn = Quat::from_rotation_z(0.01 * (v / 3 % 7) as f32);
        turn * p
    });
    let asked = Cell::new(0);
    let options = SelfCollisionOptions { max_pairs: PAIRS, ..ALL };
    let outcome = self_collisions(&stage.scene, &stage.last_steps(), &options, &|| {
        asked.set(asked.get() + 1);
        false
    });
    assert!(matches!(outcome, Err(SelfCollisionError::TooManyPairs { .. })), "{outcome:?}");
    assert!(asked.get() >= PAIRS / 16, "asked {} times in {PAIRS} pairs", asked.get());
}
