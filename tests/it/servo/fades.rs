//! When answers stop the force goes, and never rises on its way.

use glam::DVec3;
use palpate::{
    coupling::local_model::LocalModel,
    servo::{FADE_S, ServoOptions, ServoState},
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

/// Whatever the device does meanwhile.
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
        // A new model is felt again.
        servo.take(&over_plane(2, STAND_OFF), 0.0).expect("newer");
        let got = servo.step(&at(DVec3::Z * -5e-3), DT_S);
        assert!(!got.is_fading && got.force_n.length() > 0.0, "{got:?}");
        assert!(got.force_n.length() <= 300.0 * DT_S + 1e-12, "{got:?}");
    }
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
