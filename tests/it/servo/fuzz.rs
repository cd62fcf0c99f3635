//! A servo's force keeps to cap and rate, whatever its input.

use glam::{DQuat, DVec3};
use palpate::{
    coupling::{
        contact_law::{ContactLaw, Friction},
        local_model::LocalModel,
        posture::Posture,
        screw::Screw,
    },
    geometry::Pose,
    oracle::Random,
    servo::{ServoOptions, ServoState},
};

use super::models::plane;
use crate::seed::{Seed, scaled};

/// Usually a number of magnitude `size`; else one that no sensor should give.
fn hostile(random: &mut Random, size: f64) -> f64 {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, f64::MIN_POSITIVE, 0.0];
    match random.below(600) {
        0 => odd[random.below(odd.len())],
        1 | 2 => random.range(-1e3, 1e3) * size,
        _ => random.range(-size, size),
    }
}

fn vector(random: &mut Random, size: f64) -> DVec3 {
    DVec3::from_array([(); 3].map(|()| hostile(random, size)))
}

fn posture(random: &mut Random) -> Posture {
    let turn = DQuat::from_scaled_axis(random.unit_vector() * random.range(0.0, 3.0));
    let pose = Pose::new(turn, DVec3::ZERO).expect("a rotation");
    let mut posture = Posture {
        scene_from_tool: Pose { translation: vector(random, 0.01), ..pose },
        ..Posture::AT_ORIGIN
    };
    if random.below(3) == 0 {
        posture.tool_from_link[1].translation = vector(random, 0.01);
    }
    if random.below(100) == 0 {
        posture.scene_from_tool.rotation.x_axis = vector(random, 1.0);
    }
    posture
}

fn model(random: &mut Random, sequence: u64) -> LocalModel {
    let mut model = LocalModel {
        tool: if random.below(20) == 0 { 7 } else { 1 },
        sequence,
        reference: posture(random),
        hold_m: vector(random, 0.01),
        reach_m: hostile(random, 0.05).abs(),
        complete_radius_m: hostile(random, 0.01).abs(),
        tissue_speed_m_s: hostile(random, 0.01).abs(),
        expires_s: hostile(random, 0.05).abs() + 0.05,
        friction: if random.below(2) == 0 { 0.0 } else { hostile(random, 1.0).abs() },
        ..LocalModel::EMPTY
    };
    if random.below(3) == 0 {
        model.screws[1] = Some(Screw { turn: vector(random, 30.0), along: vector(random, 1.0) });
    }
    for _ in 0..random.below(70) {
        let mut row = plane(random.below(90) as u64, vector(random, 0.02), hostile(random, 0.005));
        row.normal = random.unit_vector();
        row.link = random.below(2);
        row.normal_velocity_m_s = hostile(random, 0.1);
        row.law = (random.below(2) == 0).then(|| ContactLaw {
            compliance_m_per_n: hostile(random, 0.05).abs(),
            damping_n_s_per_m: hostile(random, 4.0).abs(),
            friction: Friction {
                sticking: hostile(random, 1.0).abs(),
                slipping: hostile(random, 1.0).abs(),
                stribeck_m_s: hostile(random, 0.01).abs(),
            },
        });
        if random.below(200) == 0 {
            row.normal = vector(random, 1.0);
        }
        if model.push(row).is_err() {
            break;
        }
    }
    model
}

#[test]
fn nothing_makes_a_servo_exceed_its_cap_and_rate() {
    let seed = Seed::or(33);
    let (mut n_taken, mut n_refused, mut strongest) = (0, 0, 0.0f64);
    for run in 0..scaled(40) {
        let mut random = seed.random(run as u64);
        let observes_passivity = random.below(2) == 0;
        let options = ServoOptions { observes_passivity, ..ServoOptions::of(1) };
        let limits = options.limits;
        let mut servo = ServoState::new(options).expect("options");
        let mut before = servo.step(&Posture::AT_ORIGIN, 0.0);
        for k in 0..500u64 {
            if random.below(8) == 0 {
                // Some models are late.
                let sequence = k.saturating_sub(random.below(4) as u64);
                let age_s = hostile(&mut random, 0.05).abs();
                match servo.take(&model(&mut random, sequence), age_s) {
                    Ok(()) => n_taken += 1,
                    Err(_) => n_refused += 1,
                }
            }
            let dt_s = hostile(&mut random, 0.001);
            let got = servo.step(&posture(&mut random), dt_s);
            let real_s = if dt_s.is_finite() { dt_s.max(0.0) } else { 0.0 };
            let at = format!("run {run}, sample {k}: {got:?}");
            assert!(got.force_n.is_finite() && got.torque_nm.is_finite(), "{at}");
            assert!(got.force_n.length() <= limits.max_force_n * (1.0 + 1e-12), "{at}");
            assert!(got.torque_nm.length() <= limits.max_torque_nm * (1.0 + 1e-12), "{at}");
            let step = (got.force_n - before.force_n).length();
            assert!(step <= limits.max_force_rate_n_per_s * real_s + 1e-9, "{step} N, {at}");
            let step = (got.torque_nm - before.torque_nm).length();
            assert!(step <= limits.max_torque_rate_nm_per_s * real_s + 1e-9, "{step} N m, {at}");
            strongest = strongest.max(got.force_n.length());
            before = got;
        }
    }
    println!("{n_taken} models taken, {n_refused} refused, {strongest:.2} N at most");
    assert!(n_taken > 500 && n_refused > 500 && strongest > 1.0);
}
