//! How stiff a spring may be: a server's force shakes the hand as the rule says, a local model does not.

use std::collections::VecDeque;

use glam::DVec3;
use palpate::{
    client::local_model::fill,
    coupling::local_model::LocalModel,
    geometry::Pose,
    oracle::shapes,
    proto::{self, RenderOptions, TrackMode, TrackStart},
    proxy,
    servo::{ServoOptions, ServoState},
};

use super::{
    device::{Simulated, hand},
    models::at,
};
use crate::{
    proxy::stage::{ProxyStage, slab},
    seed::{Seed, scaled},
    support::{
        meshes::wire,
        messages::{
            SCENE, start, start_message, tick_message, tissue_head, tissue_header, tissue_piece,
            tool_head, tool_header, tool_piece, vec3,
        },
        server::TestServer,
    },
};

const RADIUS_M: f64 = 0.005;
const STIFFNESSES: [f64; 3] = [300.0, 800.0, 1500.0];
const SAMPLES_S: [f64; 2] = [1e-3, 2.5e-4];
/// So deep does the hand want to press.
const DEPTH_M: f64 = 0.008;
const START: DVec3 = DVec3::new(0.002, 0.003, 0.007);
/// On the hand, about its mean.
const RMS_N_MAX: f64 = 0.02;

/// Eighteen cells in simulated time: the force of each tick comes `delay` later and is held until the next.
#[test]
fn a_force_of_the_server_shakes_the_hand_as_the_rule_says() {
    let mut agree = 0;
    for stiffness in STIFFNESSES {
        for sample_s in SAMPLES_S {
            for delay_s in [0.0, 0.002, 0.02] {
                let options = |o: proxy::RenderOptions| proxy::RenderOptions {
                    stiffness_n_per_m: stiffness,
                    ..o
                };
                let ball = shapes::sphere(RADIUS_M, 3);
                let mut stage = ProxyStage::new(&[slab(2, 0.04, 0.02)], &[ball], options);
                stage.dt_s = sample_s;
                let mut simulated = Simulated::at(START);
                let late = (delay_s / sample_s).round() as usize;
                let mut sent = VecDeque::from(vec![DVec3::ZERO; late]);
                let n = (2.4 / sample_s) as usize;
                let mut rms = [0.0; 3];
                for step in 0..n {
                    let pose = Pose { translation: simulated.motion.position, ..Pose::IDENTITY };
                    sent.push_back(stage.tick(pose).force_n);
                    let force = sent.pop_front().expect("it was just pushed");
                    let seconds = step as f64 * sample_s;
                    simulated.feel(force, hand(START, DEPTH_M, seconds), sample_s);
                    if (step + 1) % (n / 3) == 0 {
                        rms[(step + 1) / (n / 3) - 1] = simulated.rms().0;
                    }
                }
                let device = simulated.device;
                let is_allowed = stiffness < device.stiffness_max(sample_s, delay_s);
                // What dies out is stable; what does not ends in a circle that leaves the tissue and comes back.
                let is_stable = rms[2] < RMS_N_MAX || rms[2] < 0.5 * rms[1];
                println!(
                    "{stiffness} N/m, {:.2} ms, {:.0} ms late: {:.3} N, then {:.3} N; the rule allows \
                     {:.0} N/m",
                    1e3 * sample_s,
                    1e3 * delay_s,
                    rms[1],
                    rms[2],
                    device.stiffness_max(sample_s, delay_s)
                );
                agree += usize::from(is_stable == is_allowed);
            }
        }
    }
    assert_eq!(agree, 18, "cells as the rule says");
}

/// The model of one tick, on its way.
struct OnItsWay {
    sent_s: f64,
    model: LocalModel,
}

/// Over real answers: 20 ms late, one in twenty lost.
#[tokio::test]
async fn a_local_model_holds_still_however_stiff_and_late() {
    let seed = Seed::or(51);
    let mut random = seed.random(0);
    let mut server = TestServer::configured(palpate::config::Config::default()).await;
    server.create(SCENE).await.expect("a new scene");
    let slab = wire(&slab(2, 0.04, 0.02));
    let upload = vec![tissue_head(tissue_header("slab", &slab)), tissue_piece(slab.chunk())];
    server.add_tissue(upload).await.expect("a slab");
    let ball = wire(&shapes::sphere(RADIUS_M, 3));
    let upload = vec![tool_head(tool_header("ball", &ball)), tool_piece(ball.chunk())];
    server.add_tool(upload).await.expect("a ball");
    for stiffness in STIFFNESSES {
        for sample_s in SAMPLES_S {
            let render = RenderOptions {
                tool_id: 1,
                stiffness_n_per_m: stiffness,
                local_model: true,
                ..Default::default()
            };
            let start = TrackStart { render: vec![render], ..start(TrackMode::Every) };
            let mut stream = server.hand_fed(start_message(start)).await;
            let options = ServoOptions { stiffness_n_per_m: stiffness, ..ServoOptions::of(1) };
            for damping_samples in [1.0, 0.0] {
                let options = ServoOptions { damping_samples, ..options.clone() };
                let mut servo = ServoState::new(options).expect("options");
                let mut simulated = Simulated::at(START);
                let mut on_its_way = VecDeque::<OnItsWay>::new();
                let n_ticks = scaled(900) as u64;
                let base = if damping_samples == 1.0 { 0 } else { n_ticks };
                let mut age_s = 0.0f64;
                for tick in 0..n_ticks {
                    let now_s = tick as f64 * 1e-3;
                    let p = simulated.motion.position;
                    let pose =
                        proto::Pose { position_m: Some(vec3(p.x, p.y, p.z)), orientation: None };
                    let tool = proto::ToolPose {
                        tool_id: 1,
                        pose: Some(pose),
                        teleport: tick == 0,
                        ..Default::default()
                    };
                    let message = proto::Tick {
                        sequence: base + tick + 1,
                        tools: vec![tool],
                        ..Default::default()
                    };
                    let answer = stream.ask(tick_message(message)).await.expect("answered");
                    let rendering = answer.renderings.first().expect("one tool");
                    if let Some(sent) =
                        rendering.local_model.as_ref().filter(|_| random.below(20) > 0)
                    {
                        let mut model = LocalModel::EMPTY;
                        fill(&mut model, sent).expect("a model");
                        on_its_way.push_back(OnItsWay { sent_s: now_s, model });
                    }
                    if tick * 3 == n_ticks * 2 {
                        simulated.rms();
                    }
                    for step in 0..(1e-3 / sample_s).round() as u32 {
                        let now_s = now_s + f64::from(step) * sample_s;
                        while on_its_way.front().is_some_and(|w| w.sent_s + 0.02 <= now_s) {
                            let OnItsWay { sent_s, model } =
                                on_its_way.pop_front().expect("looked");
                            servo.take(&model, now_s - sent_s).expect("newer");
                        }
                        let got = servo.step(&at(simulated.motion.position), sample_s);
                        age_s = age_s.max(got.model_age_s);
                        simulated.feel(got.force_n, hand(START, DEPTH_M, now_s), sample_s);
                    }
                }
                let (rms, mean) = simulated.rms();
                println!(
                    "{stiffness} N/m, {:.2} ms, B = {damping_samples} K T: {rms:.5} N RMS about {:.3} N, \
                     models up to {:.1} ms old",
                    1e3 * sample_s,
                    mean.z,
                    1e3 * age_s
                );
                if damping_samples == 1.0 {
                    assert!(rms < RMS_N_MAX, "{rms} N");
                    // The springs of hand and coupling in a row; the ball's lowest facet is 20 um above the slab.
                    let depth = DEPTH_M - (START.z - RADIUS_M);
                    let expected = depth / (1.0 / 150.0 + 1.0 / stiffness);
                    assert!((mean.z / expected - 1.0).abs() < 0.05, "{mean}, {expected} N");
                }
            }
        }
    }
}
