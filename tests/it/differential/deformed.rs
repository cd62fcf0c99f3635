//! Nearest and sign on every input, before and after every kind of motion.

use palpate::{oracle::Random, surface::Surface};

use super::{
    check::{Sides, Tally, check_points},
    inputs::{self, Input},
    motion::Motion,
};
use crate::seed::{Seed, scaled};

/// Random points for each state of each input: with twelve shapes, eight improper inputs and nine states
/// of each, 72,000 in all.
const POINTS: usize = 400;

/// Checks an input as built and after each motion, alternately given densely and sparsely.
fn check_all_states(
    input: &Input,
    n_points: usize,
    sides: impl Fn(Motion) -> Sides,
    random: &mut Random,
) -> Tally {
    let mut surface = input.surface();
    let rest = surface.mesh().positions().to_vec();
    let mut tally = check_points(&surface, n_points, sides(Motion::Back), random, &input.name);
    for (i, motion) in Motion::ALL.into_iter().enumerate() {
        let positions = motion.apply(&rest, surface.mesh(), random);
        if i % 2 == 0 {
            surface.move_all(positions);
        } else {
            move_in_portions(&mut surface, &positions, random);
        }
        surface.assert_well_formed();
        let about = format!("{} after {motion:?}", input.name);
        tally.add(check_points(&surface, n_points, sides(motion), random, &about));
    }
    tally
}

fn sides(motion: Motion) -> Sides {
    if motion.keeps_sides() { Sides::Two } else { Sides::Crossing }
}

/// Moves all vertices, a few at a time.
fn move_in_portions(surface: &mut Surface, positions: &[glam::Vec3], random: &mut Random) {
    let mut order: Vec<u32> = (0..positions.len() as u32).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let portion = 1 + random.below(order.len());
    for vertices in order.chunks(portion) {
        let to: Vec<_> = vertices.iter().map(|v| positions[*v as usize]).collect();
        surface.move_vertices(vertices, &to);
    }
}

#[test]
fn shapes_before_and_after_motion() {
    let seed = Seed::or(1);
    let mut total = Tally::default();
    for (i, input) in inputs::shapes().iter().enumerate() {
        let tally = check_all_states(input, scaled(POINTS), sides, &mut seed.random(i as u64));
        println!("{}: {tally:?}", input.name);
        total.add(tally);
    }
    assert!(total.signs_skipped * 5 < total.signs, "too few signs were compared: {total:?}");
}

#[test]
fn improper_inputs_before_and_after_motion() {
    let seed = Seed::or(2);
    for (i, input) in inputs::improper().iter().enumerate() {
        let tally = check_all_states(
            input,
            scaled(POINTS),
            |_| Sides::Crossing,
            &mut seed.random(i as u64),
        );
        println!("{}: {tally:?}", input.name);
    }
}

#[test]
fn shared_meshes_before_and_after_motion() {
    let seed = Seed::or(3);
    for (i, (file, scale_to_m)) in inputs::SHARED.into_iter().enumerate() {
        let Some(input) = inputs::shared(file, scale_to_m) else { return };
        let mut random = seed.random(i as u64);
        let mut surface = input.surface();
        let rest = surface.mesh().positions().to_vec();
        let mut tally = Tally::default();
        for motion in [Motion::Back, Motion::Tremble, Motion::Rigid, Motion::Twist] {
            surface.move_all(motion.apply(&rest, surface.mesh(), &mut random));
            surface.assert_well_formed();
            let about = format!("{file} after {motion:?}");
            let n = scaled(100);
            tally.add(check_points(&surface, n, Sides::Two, &mut random, &about));
        }
        println!("{file}: {tally:?}");
        assert!(tally.signs_skipped * 3 < tally.signs, "{file}: {tally:?}");
    }
}
