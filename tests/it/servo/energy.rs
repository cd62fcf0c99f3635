//! A servo gives out no energy: random closed motions of the device against resting tissue.

use std::collections::VecDeque;

use glam::{DQuat, DVec3};
use palpate::{
    coupling::{local_model::LocalModel, posture::Posture},
    geometry::Pose,
    oracle::{Random, shapes},
    proxy::RenderOptions,
    servo::{ServoOptions, ServoState},
};

use crate::{
    proxy::stage::{ProxyStage, slab},
    seed::{Seed, scaled},
};

const DT_S: f64 = 2.5e-4;
const PER_TICK: usize = 4;
/// Delay of a model, ticks.
const LATE: usize = 20;
const SAMPLES: usize = 8_000;

/// A closed motion that begins and ends clear of the tissue; its parameter runs from 0 to 1. No sample moves the hold
/// point by more than 20 um.
struct Closed {
    waves: [[DVec3; 2]; 2],
    turn: DVec3,
}

impl Closed {
    fn new(random: &mut Random) -> Closed {
        let mut wave = |size: f64| random.unit_vector() * size;
        Closed { waves: [[wave(0.003), wave(0.003)], [wave(0.001), wave(0.001)]], turn: wave(0.2) }
    }

    fn at(&self, s: f64) -> Pose {
        let phase = std::f64::consts::TAU * s;
        let mut at = DVec3::Z * (0.018 - 0.022 * 0.5 * (1.0 - phase.cos()));
        for (k, [sin, cos]) in self.waves.iter().enumerate() {
            let angle = (k + 1) as f64 * phase;
            at += *sin * angle.sin() + *cos * (angle.cos() - 1.0);
        }
        Pose::new(DQuat::from_scaled_axis(self.turn * phase.sin()), at).expect("a rotation")
    }
}

/// Energy that the hand put in, that it was given back, its least lead, and the largest work of one sample.
struct Energy {
    put_in_j: f64,
    given_j: f64,
    least_j: f64,
    sample_j: f64,
}

fn run(random: &mut Random, options: &ServoOptions, late: usize) -> Energy {
    let motion = Closed::new(random);
    let ball = shapes::sphere(0.004, 6);
    let model = |o: RenderOptions| RenderOptions { local_model: true, ..o };
    let mut stage = ProxyStage::new(&[slab(20, 0.004, 0.02)], &[ball], model);
    let mut servo = ServoState::new(options.clone()).expect("options");
    let mut on_its_way = VecDeque::<Box<LocalModel>>::new();
    let mut energy = Energy { put_in_j: 0.0, given_j: 0.0, least_j: 0.0, sample_j: 0.0 };
    let mut last = (motion.at(0.0), DVec3::ZERO, DVec3::ZERO);
    for k in 0..=SAMPLES {
        let pose = motion.at(k as f64 / SAMPLES as f64);
        let shift = pose.translation - last.0.translation;
        let turn = DQuat::from_mat3(&(pose.rotation * last.0.rotation.transpose()));
        let turn = if turn.w < 0.0 { -turn } else { turn }.to_scaled_axis();
        assert!(shift.length() <= 2e-5, "a step of {} m", shift.length());
        // A device holds the last force over the sample.
        let work = last.1.dot(shift) + last.2.dot(turn);
        if work < 0.0 {
            energy.put_in_j -= work
        } else {
            energy.given_j += work
        }
        energy.least_j = energy.least_j.min(energy.put_in_j - energy.given_j);
        energy.sample_j = energy.sample_j.max(work.abs());
        if k % PER_TICK == 0 {
            on_its_way.push_back(stage.tick(pose).local_model.expect("in time"));
            if on_its_way.len() > late {
                let model = on_its_way.pop_front().expect("looked");
                servo.take(&model, late as f64 * 1e-3).expect("newer");
            }
        }
        let device = Posture { scene_from_tool: pose, ..Posture::AT_ORIGIN };
        let got = servo.step(&device, DT_S);
        last = (pose, got.force_n, got.torque_nm);
    }
    assert_eq!(last.1, DVec3::ZERO, "it ends clear");
    energy
}

#[test]
fn closed_motions_get_no_energy_out_of_a_servo() {
    let seed = Seed::or(53);
    for part in 0..scaled(4) {
        let Energy { put_in_j, given_j, .. } =
            run(&mut seed.random(part as u64), &ServoOptions::of(1), 0);
        let out = given_j - put_in_j;
        println!("{:.3} mJ put in, {:.3} uJ given out beyond it", 1e3 * put_in_j, 1e6 * out);
        assert!(put_in_j > 1e-4, "nothing was touched: {put_in_j} J");
        assert!(out <= 1e-3 * put_in_j + 1e-6, "{out} J of {put_in_j} J");
    }
}

/// Late models and no damping: the excess of energy given out never exceeds one sample's work.
#[test]
fn an_undamped_servo_gives_out_one_sample_at_most() {
    let seed = Seed::or(54);
    let options = ServoOptions { damping_samples: 0.0, ..ServoOptions::of(1) };
    for part in 0..scaled(4) {
        let energy = run(&mut seed.random(part as u64), &options, LATE);
        println!(
            "{:.3} mJ put in, {:.3} uJ ahead at least, a sample's work is {:.3} uJ at most",
            1e3 * energy.put_in_j,
            1e6 * energy.least_j,
            1e6 * energy.sample_j
        );
        assert!(energy.put_in_j > 1e-4, "nothing was touched");
        assert!(energy.least_j >= -energy.sample_j, "{} J", energy.least_j);
    }
}
