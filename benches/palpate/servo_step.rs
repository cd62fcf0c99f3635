//! P15: a sample of the servo, over a local model of sixteen rows that a device presses into, friction included, and the
//! taking of each newer model. What has no peer is held to a target.

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
/// Of a device at 4 kHz, seconds; a model comes with every fourth.
const SAMPLE_S: f64 = 250e-6;
const SAMPLES_A_MODEL: u64 = 4;
/// Microseconds.
const TARGET_P99_US: f64 = 5.0;
/// Of the tool, metres.
const REACH_M: f64 = 0.01;
/// Presses a second, and how far they go, metres.
const PRESS_HZ: f64 = 2.0;
const PRESS_M: f64 = 1.5e-3;

/// Prints its line.
pub fn run(run: &mut Run) {
    let mut servo = ServoState::new(ServoOptions::of(TOOL)).expect("good options");
    let mut random = Random::new(15);
    let models: Vec<LocalModel> = (0..16).map(|_| model(&mut random)).collect();
    let n = run.effort.of(200_000, 4_000);
    let (mut step_us, mut take_us) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (mut force_n, mut n_pressing) = (0.0, 0);
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
            step_us.push(before.elapsed().as_nanos() as f64 * 1e-3);
            force_n += sample.force_n.length();
            n_pressing += usize::from(sample.force_n.length() > 0.1);
        }
    });
    let [step, take] = [&mut step_us, &mut take_us].map(|times| {
        times.sort_by(f64::total_cmp);
        [times[times.len() / 2], times[times.len() * 99 / 100]]
    });
    assert!(n_pressing > n / 4, "{n_pressing} of {n} samples press");
    let is_met = if step[1] <= TARGET_P99_US { "yes" } else { "no" };
    let text = format!(
        "ours_us={} p99_us={} take_us={} take_p99_us={} target_p99_us={TARGET_P99_US} met={is_met} \
         pressing={n_pressing}/{n} allocator_calls={calls}",
        Figures(step[0]),
        Figures(step[1]),
        Figures(take[0]),
        Figures(take[1]),
    );
    run.line("P15", "sixteen-rows", force_n, text);
}

/// A pit about the tool: rows that push it up and inwards, no two alike.
fn model(random: &mut Random) -> LocalModel {
    let mut model = LocalModel {
        tool: TOOL,
        reach_m: REACH_M,
        complete_radius_m: 4e-3,
        expires_s: 0.1,
        friction: 0.3,
        ..LocalModel::EMPTY
    };
    for contact_id in 1..=ROWS_MAX as u64 {
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
        };
        model.push(row).expect("room");
    }
    model
}
