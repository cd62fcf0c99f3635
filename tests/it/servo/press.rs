//! The force of a model's planes.

use glam::{DQuat, DVec3};
use palpate::{
    coupling::{
        local_model::{LocalModel, LocalRow},
        posture::Posture,
        screw::Screw,
        spring::Spring,
        wrench::WrenchLimits,
    },
    geometry::Pose,
    servo::{DevicePose, ServoOptions, ServoState, device_servo},
};

use super::models::{STAND_OFF, at, over_plane, plane};

const DT_S: f64 = 2.5e-4;

fn options() -> ServoOptions {
    let spring = Spring { stiffness_n_per_m: 800.0, ..Spring::DESKTOP };
    ServoOptions { spring, ..ServoOptions::of(1) }
}

/// Steps until rate and damping have no effect any more.
fn settle(servo: &mut ServoState, device: &Posture) -> palpate::servo::ServoSample {
    let mut last = servo.step(device, DT_S);
    for _ in 0..200 {
        last = servo.step(device, DT_S);
    }
    last
}

#[test]
fn a_press_is_answered_by_the_spring_at_its_depth() {
    let mut servo = ServoState::new(options()).expect("options");
    servo.take(&over_plane(1, STAND_OFF), 0.0).expect("a model");
    let got = settle(&mut servo, &at(DVec3::new(1e-4, 0.0, -1e-3)));
    let expected = DVec3::Z * 800.0 * (1e-3 + STAND_OFF);
    assert!((got.force_n - expected).length() < 1e-9, "{got:?}");
    assert!(!got.limited && !got.is_fading && !got.is_beyond_radius, "{got:?}");
    let free = settle(&mut servo, &at(DVec3::Z * 1e-3));
    assert_eq!((free.force_n, free.torque_nm), (DVec3::ZERO, DVec3::ZERO));
}

/// A plane off the hold point turns the hand too.
#[test]
fn a_press_off_the_hold_point_turns_the_hand() {
    let mut model = over_plane(1, STAND_OFF);
    model.clear();
    model.push(plane(1, DVec3::new(0.01, 0.0, STAND_OFF), STAND_OFF)).expect("room");
    let mut servo = ServoState::new(options()).expect("options");
    servo.take(&model, 0.0).expect("a model");
    let got = settle(&mut servo, &at(DVec3::Z * -1e-3));
    let moment = DVec3::new(0.01, 0.0, 0.0).cross(got.force_n);
    assert!(got.force_n.z > 0.1 && (got.torque_nm - moment).length() < 1e-9, "{got:?}");
    // A unit of force gives way by 1/k at the hold point and by r^2/k_r through the turn.
    let expected = (1e-3 + STAND_OFF) / (1.0 / 800.0 + 1e-4 / 1.0);
    assert!((got.force_n.z - expected).abs() < 1e-9 * expected, "{got:?}, {expected} N");
}

/// Approaching tissue presses the more, the older the model is.
#[test]
fn tissue_is_moved_on_by_its_speed() {
    let mut model = over_plane(1, STAND_OFF);
    model.rows_mut()[0].normal_velocity_m_s = 0.01;
    model.tissue_speed_m_s = 0.01;
    let mut servo = ServoState::new(options()).expect("options");
    servo.take(&model, 0.01).expect("a model");
    let device = at(DVec3::Z * -1e-3);
    let got = settle(&mut servo, &device);
    let age = 0.01 + 200.0 * DT_S;
    let expected = 800.0 * (1e-3 + STAND_OFF + 0.01 * age);
    assert!((got.force_n.z - expected).abs() < 1e-9, "{got:?}, {expected} N");
    assert!((got.model_age_s - age).abs() < 1e-12);
}

/// A revision that lifts the tissue by 0.5 mm takes effect over some samples, and completely in the end.
#[test]
fn a_newer_model_does_not_jump() {
    let mut servo = ServoState::new(options()).expect("options");
    let device = at(DVec3::Z * -1e-3);
    servo.take(&over_plane(1, STAND_OFF), 0.0).expect("a model");
    let before = settle(&mut servo, &device).force_n.z;
    let mut lifted = over_plane(2, STAND_OFF);
    lifted.reference = at(DVec3::Z * (5e-4 + STAND_OFF));
    lifted.rows_mut()[0].on_tool = lifted.reference.scene_from_tool.translation;
    servo.take(&lifted, 0.0).expect("newer");
    let (mut last, mut step) = (before, 0.0f64);
    for _ in 0..200 {
        let got = servo.step(&device, DT_S).force_n.z;
        step = step.max((got - last).abs());
        last = got;
    }
    // All of it at once would be 0.4 N; with a time constant of 6.7 ms a sample has 3.7 % of that.
    assert!(step < 0.016, "a step of {step} N");
    assert!((last - before - 0.4).abs() < 0.001, "{before} N, then {last} N");
}

/// A contact vanishes and another, inclined by a tenth, replaces it: the force turns over some samples, as over a
/// ridge, and is the new plane's in the end. A hand that leaves meanwhile gets no force.
#[test]
fn a_contact_that_turns_does_not_jump() {
    // No rate limit hides a step.
    let limits = WrenchLimits {
        max_force_rate_n_per_s: 1e5,
        max_torque_rate_nm_per_s: 1e5,
        ..options().limits
    };
    for leaves in [false, true] {
        let mut servo = ServoState::new(ServoOptions { limits, ..options() }).expect("options");
        let device = at(DVec3::Z * -1e-3);
        servo.take(&over_plane(1, STAND_OFF), 0.0).expect("a model");
        let before = settle(&mut servo, &device).force_n;
        let mut leaning = over_plane(2, STAND_OFF);
        let row = &mut leaning.rows_mut()[0];
        let (sin, cos) = 0.1f64.sin_cos();
        (row.contact_id, row.normal) = (2, DVec3::new(sin, 0.0, cos));
        servo.take(&leaning, 0.0).expect("newer");
        if leaves {
            let free = servo.step(&at(DVec3::Z * 1e-3), DT_S);
            assert_eq!((free.force_n, free.torque_nm), (DVec3::ZERO, DVec3::ZERO));
            continue;
        }
        let (mut last, mut step) = (before, 0.0f64);
        // Less than the 0.1 s until the model expires.
        for _ in 0..300 {
            let got = servo.step(&device, DT_S).force_n;
            step = step.max(got.distance(last));
            assert!(got.dot(last) > 0.0, "{got} after {last}");
            last = got;
        }
        // All of it at once would be 0.08 N.
        assert!(step < 0.005, "a step of {step} N");
        let expected = DVec3::new(sin, 0.0, cos) * 800.0 * cos * (1e-3 + STAND_OFF);
        assert!((last - expected).length() < 1e-3, "{last}, {expected}");
    }
}

/// An edge gives way and the proxy slips to another position: the force changes from that of the old contact to that of
/// the new one, and never falls below both.
#[test]
fn a_proxy_that_slips_far_is_felt_all_the_way() {
    let mut first = over_plane(1, STAND_OFF);
    first.complete_radius_m = 0.001;
    let mut servo = ServoState::new(options()).expect("options");
    servo.take(&first, 0.0).expect("a model");
    let device = at(DVec3::Z * -3.5e-3);
    let old = settle(&mut servo, &device).force_n.length();
    // Behind the edge a wall is pressed aside; by its plane the old position was as deep as the device is.
    let (normal, reference) = (DVec3::X, DVec3::new(1.25e-3, 0.0, -3.5e-3));
    let mut slipped = LocalModel { sequence: 2, reference: at(reference), ..first.clone() };
    slipped.clear();
    let row = LocalRow { normal, ..plane(2, reference, STAND_OFF) };
    slipped.push(row).expect("room");
    let mut fresh = ServoState::new(options()).expect("options");
    fresh.take(&slipped, 0.0).expect("a model");
    let due = settle(&mut fresh, &device).force_n.length();
    assert!(due > 0.5 && old > due, "{old} N, then {due} N");
    servo.take(&slipped, 0.0).expect("newer");
    let forces = [0; 400].map(|_| servo.step(&device, DT_S).force_n.length());
    let least = forces.into_iter().fold(f64::INFINITY, f64::min);
    assert!(least > 0.9 * due, "{least} N between {old} N and {due} N");
    assert!((forces[399] - due).abs() < 1e-3 * due, "{} N, not {due} N", forces[399]);
}

/// The given age is that at the next sample; each sample adds to it.
#[test]
fn a_model_is_as_old_as_it_was_said_to_be() {
    let mut servo = ServoState::new(options()).expect("options");
    servo.take(&over_plane(1, STAND_OFF), 0.003).expect("a model");
    let ages = [0; 3].map(|_| servo.step(&at(DVec3::Z), 0.001).model_age_s);
    assert_eq!(ages, [0.003, 0.003 + 0.001, 0.003 + 0.001 + 0.001]);
}

/// A model ages by the clock, whatever interval a device assumes between its samples.
#[test]
fn at_a_device_a_model_ages_by_the_clock() {
    let (mut servo, mut feed) = device_servo(options()).expect("options");
    feed.give(&over_plane(1, STAND_OFF), 5_000_000);
    for (at_ms, dt_s) in [(6, 0.001), (7, 0.0), (30, 0.001), (110, 0.001)] {
        let pose =
            DevicePose { posture: at(DVec3::Z * -1e-3), n_links: 0, at_ns: at_ms * 1_000_000 };
        let got = servo.step(&pose, dt_s);
        assert_eq!(got.model_age_s, (at_ms - 5) as f64 * 1e-3, "{at_ms} ms");
        assert_eq!(got.is_fading, at_ms == 110, "{at_ms} ms");
    }
}

/// Missing link poses are those of a tool at rest, whatever its links' rest poses are.
#[test]
fn links_without_poses_are_at_rest() {
    let rest = Pose { translation: DVec3::X * 0.05, ..Pose::IDENTITY };
    let mut model = over_plane(1, STAND_OFF);
    model.reference.tool_from_link[0] = rest;
    model.screws[0] = Some(Screw { turn: DVec3::ZERO, along: DVec3::X });
    let (mut servo, mut feed) = device_servo(options()).expect("options");
    servo.rest_at([rest]);
    feed.give(&model, 0);
    for n in 1..40 {
        let pose = DevicePose { posture: at(DVec3::Z * -1e-3), n_links: 0, at_ns: n * 1_000_000 };
        let got = servo.step(&pose, 0.001);
        assert!(!got.is_beyond_radius && got.link_follow_m[0] < 1e-9, "{got:?}");
        let due = if n < 20 { 0.0 } else { 0.99 * 800.0 * 1e-3 };
        assert!(got.force_n.z > due, "{got:?}");
    }
}

/// Friction holds a pressed tool back, and lets it slip on its cone.
#[test]
fn friction_sticks_inside_its_cone_and_slips_on_it() {
    let mut model = over_plane(1, STAND_OFF);
    model.friction = 0.3;
    model.complete_radius_m = 0.02;
    let spring = Spring { rotational_stiffness_nm_per_rad: 100.0, ..options().spring };
    let mut servo = ServoState::new(ServoOptions { spring, ..options() }).expect("options");
    servo.take(&model, 0.0).expect("a model");
    settle(&mut servo, &at(DVec3::Z * -1e-3));
    let normal = 800.0 * (1e-3 + STAND_OFF);
    for step in 1..=100u32 {
        let aside = f64::from(step) * 1e-5;
        let mut renewed = model.clone();
        renewed.sequence = 1 + u64::from(step);
        servo.take(&renewed, 0.0).expect("newer");
        let got = settle(&mut servo, &at(DVec3::new(aside, 0.0, -1e-3)));
        let expected = (800.0 * aside).min(0.3 * normal);
        let off = (-got.force_n.x - expected).abs();
        assert!(off < 0.02 * 0.3 * normal, "{got:?} at {aside} m, {expected} N");
    }
}

/// A contact keeps its id when it moves to another corner of the tool: friction holds the tool in position.
#[test]
fn a_contact_that_hops_over_the_tool_does_not_pull_it_aside() {
    let mut model = over_plane(1, STAND_OFF);
    model.friction = 0.3;
    let mut servo = ServoState::new(options()).expect("options");
    servo.take(&model, 0.0).expect("a model");
    settle(&mut servo, &at(DVec3::Z * -1e-3));
    for sequence in 2..40 {
        let aside = DVec3::X * if sequence % 2 == 0 { 7e-4 } else { 0.0 };
        let mut hopped = model.clone();
        hopped.sequence = sequence;
        hopped.clear();
        hopped.push(plane(1, DVec3::Z * STAND_OFF + aside, STAND_OFF)).expect("room");
        servo.take(&hopped, 0.0).expect("newer");
        let got = servo.step(&at(DVec3::Z * -1e-3), 2.5e-4);
        assert!(got.force_n.truncate().length() < 0.01, "{got:?} after model {sequence}");
    }
}

/// Rows stay as they are beyond the radius in which the model is complete.
#[test]
fn beyond_the_radius_the_rows_hold() {
    let mut model = over_plane(1, STAND_OFF);
    model.complete_radius_m = 5e-4;
    let mut servo = ServoState::new(options()).expect("options");
    servo.take(&model, 0.0).expect("a model");
    let mut last = 0.0;
    for k in 1..=100 {
        let got = servo.step(&at(DVec3::new(6e-4, 0.0, -1e-5 * f64::from(k))), DT_S);
        assert!(got.is_beyond_radius, "{got:?}");
        // Damped by the travel of one sample, which goes inwards.
        let spring = 800.0 * (1e-5 * f64::from(k) + STAND_OFF + 1e-5);
        last = got.force_n.z;
        assert!(k < 10 || (last - spring).abs() < 1e-9, "{got:?}, {spring} N");
    }
    // The force on the way out is the spring's too: the hand has put in its energy.
    for k in (1..100).rev() {
        let got = servo.step(&at(DVec3::new(6e-4, 0.0, -1e-5 * f64::from(k))), DT_S);
        assert!(
            got.force_n.z <= last
                && got.force_n.z > 0.9 * 800.0 * (1e-5 * f64::from(k) + STAND_OFF - 1e-5),
            "{got:?} at {k}"
        );
        last = got.force_n.z;
    }
}

/// A tool turned in free air differs from its proxy by nothing, to the last bit: no force.
#[test]
fn the_air_gives_no_force_however_the_tool_is_turned() {
    let mut model = over_plane(1, 1.0);
    model.complete_radius_m = 1.0;
    let mut servo = ServoState::new(options()).expect("options");
    servo.take(&model, 0.0).expect("a model");
    for i in 0..200 {
        let turn = DQuat::from_scaled_axis(DVec3::new(0.01, 0.02, -0.005) * f64::from(i));
        let pose = Pose::new(turn, DVec3::Z).expect("a rotation");
        let got = servo.step(&Posture { scene_from_tool: pose, ..Posture::AT_ORIGIN }, DT_S);
        assert_eq!((got.force_n, got.torque_nm), (DVec3::ZERO, DVec3::ZERO), "{i}");
    }
}
