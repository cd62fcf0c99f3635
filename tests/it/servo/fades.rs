//! When answers stop, the force fades away and never rises meanwhile.

use glam::DVec3;
use palpate::{
    coupling::{force_ramp::RAMP_S, local_model::LocalModel},
    servo::{FADE_S, ServoOptions, ServoSample, ServoState},
};

use super::models::{STAND_OFF, at, over_plane};
use crate::seed::{Seed, scaled};

const DT_S: f64 = 2.5e-4;

/// A servo that presses with some newtons.
fn pressed(model: &LocalModel) -> ServoState {
    let mut servo = ServoState::new(ServoOptions::of(1)).expect("options");
    servo.take(model, 0.0).expect("a model");
    for _ in 0..80 {
        servo.step(&at(DVec3::Z * -5e-3), DT_S);
    }
    servo
}

/// The device moves at random meanwhile.
#[test]
fn a_model_that_is_too_old_fades_to_nothing_and_never_rises() {
    let seed = Seed::or(31);
    for run in 0..scaled(50) {
        let mut random = seed.random(run as u64);
        let mut servo = pressed(&over_plane(1, STAND_OFF));
        let mut before = servo.step(&at(DVec3::Z * -5e-3), DT_S);
        assert!(before.force_n.length() > 2.0, "{before:?}");
        let (mut faded_s, mut device) = (0.0, DVec3::Z * -5e-3);
        while faded_s < FADE_S + DT_S {
            device += random.unit_vector() * 2e-5;
            let got = servo.step(&at(device), DT_S);
            if got.is_fading {
                faded_s += DT_S;
                let (force, last) = (got.force_n.length(), before.force_n.length());
                assert!(force <= last * (1.0 + 1e-12), "{force} N after {last} N");
                let step = (got.force_n - before.force_n).length();
                assert!(step <= 300.0 * DT_S + 1e-12, "a step of {step} N");
            }
            assert_eq!(got.is_fading, got.model_age_s > 0.1, "{got:?}");
            before = got;
        }
        assert_eq!((before.force_n, before.torque_nm), (DVec3::ZERO, DVec3::ZERO));
    }
}

/// The force returns slowly enough for a hand to follow: to the cap within [`RAMP_S`], however far it has fallen, and
/// no slower than that.
#[test]
fn after_a_fade_the_force_comes_back_in_a_ramp() {
    const CAP_N: f64 = 3.3;
    let mut servo = pressed(&over_plane(1, STAND_OFF));
    let mut last = ServoSample::default();
    while !last.is_fading || last.force_n != DVec3::ZERO {
        last = servo.step(&at(DVec3::Z * -20e-3), DT_S);
    }
    let mut since_s = 0.0;
    for sequence in 2..2_000 {
        servo.take(&over_plane(sequence, STAND_OFF), 0.0).expect("newer");
        let got = servo.step(&at(DVec3::Z * -20e-3), DT_S);
        since_s += DT_S;
        let (force, due) = (got.force_n.length(), (CAP_N * since_s / RAMP_S).min(CAP_N));
        assert!(!got.is_fading && (force - due).abs() < 1e-9, "{force} N, {due} in {since_s} s");
    }
    assert!(since_s > RAMP_S);
}

/// Models as of fast tissue: each is valid for less than a round trip. The force does not vanish between two of them.
#[test]
fn models_that_expire_before_the_next_one_comes_leave_most_of_the_force() {
    let mut servo = pressed(&over_plane(1, STAND_OFF));
    let due = servo.step(&at(DVec3::Z * -5e-3), DT_S).force_n.length();
    let (mut least, mut n_fading) = (f64::INFINITY, 0);
    for sequence in 2..500 {
        let mut model = over_plane(sequence, STAND_OFF);
        model.expires_s = 1.6e-3;
        servo.take(&model, 1e-3).expect("newer");
        for _ in 0..4 {
            let got = servo.step(&at(DVec3::Z * -5e-3), DT_S);
            least = least.min(got.force_n.length());
            n_fading += u32::from(got.is_fading);
        }
    }
    assert!(least > 0.95 * due && n_fading > 400, "{least} N of {due} N, {n_fading} fading");
}

#[test]
fn a_device_that_has_no_pose_any_more_is_let_go() {
    let mut servo = pressed(&over_plane(1, STAND_OFF));
    let mut last = f64::INFINITY;
    for _ in 0..200 {
        let got = servo.step(&at(DVec3::splat(f64::NAN)), DT_S);
        assert!(got.is_fading && got.force_n.length() <= last, "{got:?}");
        last = got.force_n.length();
    }
    assert_eq!(last, 0.0);
}
