//! Largest stable stiffness of a spring: a server's force shakes the hand as the rule says, a local model does not.

use std::collections::VecDeque;

use glam::DVec3;
use palpate::{
    client::local_model::fill,
    coupling::{local_model::LocalModel, spring::Spring},
    geometry::Pose,
    oracle::{Random, shapes},
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
    seed::{Seed, is_full, scaled},
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
/// Depth to which the hand wants to press, metres.
const DEPTH_M: f64 = 0.008;
const START: DVec3 = DVec3::new(0.002, 0.003, 0.007);
/// Largest RMS of the force on the hand about its mean, newtons.
const RMS_N_MAX: f64 = 0.02;

/// Eighteen cells in simulated time: the force of each tick arrives `delay` later and is held until the next.
#[test]
fn a_force_of_the_server_shakes_the_hand_as_the_rule_says() {
    let mut agree = 0;
    for stiffness in STIFFNESSES {
        for sample_s in SAMPLES_S {
            for delay_s in [0.0, 0.002, 0.02] {
                let spring = Spring { stiffness_n_per_m: stiffness, ..Spring::DESKTOP };
                let options = |o: proxy::RenderOptions| proxy::RenderOptions { spring, ..o };
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
                // A vibration that dies out is stable; any other ends in a limit cycle that leaves the tissue and
                // returns.
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

/// The model of one tick, in transit.
struct OnItsWay {
    sent_s: f64,
    model: LocalModel,
}

/// Conditions between proxy and hand.
#[derive(Clone, Copy, Debug)]
struct Cell {
    stiffness: f64,
    sample_s: f64,
    /// B as a multiple of K T.
    damping_samples: f64,
    delay_s: f64,
    /// Share of the answers that never arrive.
    loss: f64,
}

impl Cell {
    fn spring(&self) -> Spring {
        Spring { stiffness_n_per_m: self.stiffness, ..Spring::DESKTOP }
    }

    fn grid(damping_samples: f64, delays_s: &[f64], losses: &[f64]) -> Vec<Cell> {
        let mut cells = Vec::new();
        for stiffness in STIFFNESSES {
            for sample_s in SAMPLES_S {
                for &delay_s in delays_s {
                    let cell = |&loss| Cell { stiffness, sample_s, damping_samples, delay_s, loss };
                    cells.extend(losses.iter().map(cell));
                }
            }
        }
        cells
    }
}

/// A hand on a local model, in ticks of one millisecond.
struct HeldHand {
    cell: Cell,
    servo: ServoState,
    simulated: Simulated,
    on_its_way: VecDeque<OnItsWay>,
    random: Random,
    age_s_max: f64,
    /// Tick from which the force counts.
    steady_from: u64,
}

impl HeldHand {
    fn new(cell: Cell, random: Random, steady_from: u64) -> HeldHand {
        let options = ServoOptions {
            spring: cell.spring(),
            damping_samples: cell.damping_samples,
            ..ServoOptions::of(1)
        };
        HeldHand {
            cell,
            servo: ServoState::new(options).expect("options"),
            simulated: Simulated::at(START),
            on_its_way: VecDeque::new(),
            random,
            age_s_max: 0.0,
            steady_from,
        }
    }

    fn place(&self) -> DVec3 {
        self.simulated.motion.position
    }

    /// Runs the samples of one millisecond; `answered` is the answer to its tick.
    fn feel(&mut self, tick: u64, answered: Option<LocalModel>) {
        let sent_s = tick as f64 * 1e-3;
        let model = answered.filter(|_| self.random.f64() >= self.cell.loss);
        self.on_its_way.extend(model.map(|model| OnItsWay { sent_s, model }));
        if tick == self.steady_from {
            self.simulated.rms();
        }
        for step in 0..(1e-3 / self.cell.sample_s).round() as u32 {
            let now_s = sent_s + f64::from(step) * self.cell.sample_s;
            let is_due = |way: &OnItsWay| way.sent_s + self.cell.delay_s <= now_s;
            while let Some(OnItsWay { sent_s, model }) = self.on_its_way.pop_front_if(|w| is_due(w))
            {
                self.servo.take(&model, now_s - sent_s).expect("newer");
            }
            let got = self.servo.step(&at(self.place()), self.cell.sample_s);
            self.age_s_max = self.age_s_max.max(got.model_age_s);
            let wanted = hand(START, DEPTH_M, now_s);
            self.simulated.feel(got.force_n, wanted, self.cell.sample_s);
        }
    }

    /// Returns the force since `steady_from` in a line; with B = K T, checks that it was steady.
    fn check(mut self) -> String {
        let Cell { stiffness, sample_s, damping_samples, delay_s, loss } = self.cell;
        let (rms, mean) = self.simulated.rms();
        if damping_samples == 1.0 {
            assert!(rms < RMS_N_MAX, "{rms} N: {:?}", self.cell);
            // Springs of hand and coupling in series; the ball's lowest facet is 20 um above the slab.
            let depth = DEPTH_M - (START.z - RADIUS_M);
            let expected = depth / (1.0 / 150.0 + 1.0 / stiffness);
            assert!((mean.z / expected - 1.0).abs() < 0.05, "{mean}, {expected} N");
        }
        format!(
            "{stiffness} N/m, {:.2} ms, {:.0} ms late, {:.0} % lost, B = {damping_samples} K T: {rms:.5} N RMS about \
             {:.3} N, models up to {:.1} ms old",
            1e3 * sample_s,
            1e3 * delay_s,
            100.0 * loss,
            mean.z,
            1e3 * self.age_s_max
        )
    }
}

/// Holds for five seconds and more in simulated time, with the engine's answers late and lost in every way of the grid;
/// also with B = 0, for which the rule of a sampled spring forbids most.
#[test]
fn after_five_seconds_a_local_model_holds_still_in_every_cell() {
    let seed = Seed::or(52);
    let n_ticks = 5_000 + scaled(400) as u64;
    let (delays, losses) = ([0.0, 0.02], [0.0, 0.05, 0.2]);
    let mut cells = Cell::grid(1.0, &delays, &losses);
    let undamped: &[f64] = if is_full() { &losses } else { &losses[1..2] };
    cells.extend(Cell::grid(0.0, &delays, undamped));
    for (part, cell) in cells.into_iter().enumerate() {
        let options = |o: proxy::RenderOptions| proxy::RenderOptions {
            spring: cell.spring(),
            local_model: true,
            ..o
        };
        let ball = shapes::sphere(RADIUS_M, 3);
        let mut stage = ProxyStage::new(&[slab(2, 0.04, 0.02)], &[ball], options);
        let mut held = HeldHand::new(cell, seed.random(part as u64), 5_000);
        for tick in 0..n_ticks {
            let answer = stage.tick(Pose { translation: held.place(), ..Pose::IDENTITY });
            held.feel(tick, answer.local_model.map(|model| *model));
        }
        println!("{}", held.check());
    }
}

/// As [`after_five_seconds_a_local_model_holds_still_in_every_cell`], over a connection: 20 ms late, one in twenty
/// lost; every cell of the grid at full length.
#[tokio::test]
async fn a_local_model_holds_still_however_stiff_and_late() {
    let seed = Seed::or(51);
    let mut server = TestServer::configured(palpate::config::Config::default()).await;
    server.create(SCENE).await.expect("a new scene");
    let slab = wire(&slab(2, 0.04, 0.02));
    let upload = vec![tissue_head(tissue_header("slab", &slab)), tissue_piece(slab.chunk())];
    server.add_tissue(upload).await.expect("a slab");
    let ball = wire(&shapes::sphere(RADIUS_M, 3));
    let upload = vec![tool_head(tool_header("ball", &ball)), tool_piece(ball.chunk())];
    server.add_tool(upload).await.expect("a ball");
    let (steady_from, n_ticks) = if is_full() { (5_000, 6_000) } else { (600, 900) };
    let (delays, losses): (&[f64], &[f64]) =
        if is_full() { (&[0.0, 0.02], &[0.0, 0.05, 0.2]) } else { (&[0.02], &[0.05]) };
    let cells = Cell::grid(1.0, delays, losses);
    for (part, cell) in cells.into_iter().chain(Cell::grid(0.0, &[0.02], &[0.05])).enumerate() {
        let render = RenderOptions {
            tool_id: 1,
            stiffness_n_per_m: cell.stiffness,
            local_model: true,
            ..Default::default()
        };
        let start = TrackStart { render: vec![render], ..start(TrackMode::Every) };
        let mut stream = server.hand_fed(start_message(start)).await;
        let mut held = HeldHand::new(cell, seed.random(part as u64), steady_from);
        for tick in 0..n_ticks {
            let DVec3 { x, y, z } = held.place();
            let pose = proto::Pose { position_m: Some(vec3(x, y, z)), orientation: None };
            let tool = proto::ToolPose { tool_id: 1, pose: Some(pose), ..Default::default() };
            let message =
                proto::Tick { sequence: tick + 1, tools: vec![tool], ..Default::default() };
            let answer = stream.ask(tick_message(message)).await.expect("answered");
            let rendering = answer.renderings.first().expect("one tool");
            let sent = rendering.local_model.as_ref().map(|sent| {
                let mut model = LocalModel::EMPTY;
                fill(&mut model, sent).expect("a model");
                model
            });
            held.feel(tick, sent);
        }
        println!("{}", held.check());
    }
}
