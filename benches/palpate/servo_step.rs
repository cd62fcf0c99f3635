//! P15: a sample of the servo, over local models of sixteen rows and of the most rows allowed, that a device presses
//! into, with friction and without, and the taking of each newer model. A measure without a peer has a target.

use std::time::Instant;

use glam::DVec3;
use palpate::{
    coupling::{
        local_model::{LocalModel, LocalRow},
        posture::Posture,
        quadratic_programme::ROWS_MAX,
    },
    geometry::Pose,
    oracle::Random,
    servo::{ServoOptions, ServoState},
};

use crate::{
    counting::calls_during,
    run::{Figures, Run},
};

const TOOL: u32 = 1;
/// Sample period of a device at 4 kHz, seconds; a model comes with every fourth sample.
const SAMPLE_S: f64 = 250e-6;
const SAMPLES_A_MODEL: u64 = 4;
/// Target at p50 with sixteen rows, microseconds.
const TARGET_US: f64 = 5.0;
/// A force that is felt, newtons.
const PRESSING_N: f64 = 0.1;
/// Reach of the tool, metres.
const REACH_M: f64 = 0.01;
const FRICTION: f64 = 0.3;
/// Presses a second, and their depth, metres.
const PRESS_HZ: f64 = 2.0;
const PRESS_M: f64 = 1.5e-3;

/// Prints its lines.
pub fn run(run: &mut Run) {
    run_rows(run, "sixteen-rows", 16, FRICTION);
    run_rows(run, "sixteen-rows/no-friction", 16, 0.0);
    run_rows(run, "most-rows", ROWS_MAX, FRICTION);
}

fn run_rows(run: &mut Run, case: &str, n_rows: usize, friction: f64) {
    let mut servo = ServoState::new(ServoOptions::of(TOOL)).expect("good options");
    let mut random = Random::new(15);
    let models: Vec<LocalModel> = (0..16).map(|_| model(&mut random, n_rows, friction)).collect();
    let n = run.effort.of(200_000, 4_000);
    let [mut step_us, mut pressing_us, mut take_us] = [(); 3].map(|()| Vec::with_capacity(n));
    let mut force_n = 0.0;
    let calls = calls_during(|| {
        for i in 0..n as u64 {
            if i % SAMPLES_A_MODEL == 0 {
                let sequence = 1 + i / SAMPLES_A_MODEL;
                let newer =
                    LocalModel { sequence, ..models[sequence as usize % models.len()].clone() };
                let before = Instant::now();
                servo.take(&newer, 0.0).expect("newer");
                take_us.push(before.elapsed().as_nanos() as f64 * 1e-3);
            }
            let phase = i as f64 * SAMPLE_S * PRESS_HZ * std::f64::consts::TAU;
            let at = DVec3::new(1e-3 * phase.sin(), 0.0, PRESS_M * phase.cos());
            let device = Posture {
                scene_from_tool: Pose { translation: at, ..Pose::IDENTITY },
                ..Posture::AT_ORIGIN
            };
            let before = Instant::now();
            let sample = servo.step(&device, SAMPLE_S);
            let us = before.elapsed().as_nanos() as f64 * 1e-3;
            step_us.push(us);
            force_n += sample.force_n.length();
            if sample.force_n.length() > PRESSING_N {
                pressing_us.push(us);
            }
        }
    });
    let n_pressing = pressing_us.len();
    assert!(n_pressing > n / 4, "{n_pressing} of {n} samples press");
    let [step, pressing, take] = [&mut step_us, &mut pressing_us, &mut take_us].map(|times| {
        times.sort_by(f64::total_cmp);
        [50, 99].map(|percent| Figures(times[times.len() * percent / 100]))
    });
    let is_met = if step[0].0 <= TARGET_US { "yes" } else { "no" };
    let text = format!(
        "ours_us={} p99_us={} pressing_us={} pressing_p99_us={} take_us={} take_p99_us={} \
         target_us={TARGET_US} met={is_met} pressing={n_pressing}/{n} allocator_calls={calls}",
        step[0], step[1], pressing[0], pressing[1], take[0], take[1],
    );
    run.line("P15", case, force_n, text);
}

/// Returns a pit about the tool: rows that push it up and inwards, no two alike.
fn model(random: &mut Random, n_rows: usize, friction: f64) -> LocalModel {
    let mut model = LocalModel {
        tool: TOOL,
        reach_m: REACH_M,
        complete_radius_m: 4e-3,
        expires_s: 0.1,
        friction,
        ..LocalModel::EMPTY
    };
    for contact_id in 1..=n_rows as u64 {
        let aside = DVec3::new(random.range(-0.7, 0.7), random.range(-0.7, 0.7), 1.0);
        let row = LocalRow {
            contact_id,
            tissue: 1,
            link: 0,
            on_tool: random.unit_vector() * REACH_M,
            normal: aside.normalize(),
            gap_m: random.range(0.0, 3e-4),
            normal_velocity_m_s: 0.0,
            gap_error_m: 1e-6,
            law: None,
        };
        model.push(row).expect("room");
    }
    model
}
