//! What bounds a search, and what stops it.

use std::cell::Cell;

use palpate::scene::self_collision::{SelfCollisionError, SelfCollisionOptions, self_collisions};

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
    for n in 0..n_asked {
        assert!(matches!(until(n), Err(SelfCollisionError::Stopped)));
        assert_eq!(asked.get(), n + 1, "it goes no further");
    }
}
