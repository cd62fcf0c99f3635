//! What a hand feels that holds an instrument while its scene moves, or its server is killed or stopped.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use glam::DVec3;
use palpate::{
    client::{Client, Device, ServerAddress, TrackLoop},
    geometry::Pose,
    proto::{self, FlagMask, RenderOptions, TrackResponse, UnsweptReason, Vec3},
    servo::ServoOptions,
};

use super::theatre::{LEASE, Theatre};
use crate::{
    seed::scaled,
    support::{
        bucket::{Wire, WireState},
        keeping::Keeping,
        messages::SCENE,
        program::under_test,
        slab::slab_and_ball,
    },
};

const DT: Duration = Duration::from_millis(1);
const SOON: Duration = Duration::from_secs(120);
/// 500 N/m over 3 mm and the stand-off.
const PRESSED_N: f64 = 500.0 * 0.003_02;
/// A sample is off by as much as force times time is rounded.
const ROUNDED_N: f64 = 1e-9;

/// What a hand that does not move is given at most, whatever becomes of its scene.
const FELT_MAX_N: f64 = 1.02 * PRESSED_N;
/// Until a press is at rest: a servo's rate and blend take some 100 ms.
const RESTS: usize = 200;

/// A ball of 1 cm in a hand, above a slab whose top is at 0.
struct Hand {
    haptics: TrackLoop,
    device: Device,
    last: DVec3,
    rate_n_per_s: f64,
    /// Of samples that were given while the force faded.
    n_faded: usize,
}

impl Hand {
    async fn hold(client: &Client) -> Hand {
        let render = RenderOptions { tool_id: 1, ..RenderOptions::default() };
        let (haptics, device) = client.hold(SCENE, render).await.expect("a loop");
        let rate_n_per_s = ServoOptions::of(1).limits.max_force_rate_n_per_s;
        Hand { haptics, device, last: DVec3::ZERO, rate_n_per_s, n_faded: 0 }
    }

    /// One sample; no force steps by more than its rate allows, and none rises while it fades.
    async fn sample(&mut self, height_m: f64) -> f64 {
        let at = DVec3::new(0.02, 0.035, 0.01 + height_m);
        let pose = Pose { translation: at, ..Pose::IDENTITY };
        let sample = self.device.servo(&pose, DT.as_secs_f64());
        let felt = sample.force_n;
        if sample.is_fading {
            let (now, before) = (felt.length(), self.last.length());
            assert!(now <= before + ROUNDED_N, "{now} N after {before} N in a fade");
            self.n_faded += 1;
        }
        let step = (felt - self.last).length();
        let most = self.rate_n_per_s * DT.as_secs_f64() + ROUNDED_N;
        assert!(step <= most, "{} after {}: a step of {step} N, expected {most}", felt, self.last);
        self.last = felt;
        tokio::time::sleep(DT).await;
        felt.length()
    }

    /// From 1 mm above, then pressed until that is felt.
    async fn press(&mut self) {
        for step in 0..20 {
            self.sample(0.001 - 2e-4 * f64::from(step)).await;
        }
        self.is_held().await;
        for _ in 0..RESTS {
            self.sample(-0.003).await;
        }
        self.n_faded = 0;
    }

    /// Waits, pressing on, for the force of where the proxy was before anything happened.
    async fn is_held(&mut self) {
        let until = Instant::now() + SOON;
        while (self.sample(-0.003).await - PRESSED_N).abs() > 0.02 * PRESSED_N {
            assert!(Instant::now() < until, "{:?} {:?}", self.last, self.haptics.status());
        }
    }

    /// The same of a hand that was at rest before: it is not pushed by more than it was, on the way back either.
    async fn is_held_again(&mut self) {
        let until = Instant::now() + SOON;
        let mut n_held = 0;
        while n_held < RESTS {
            assert!(Instant::now() < until, "{:?} {:?}", self.last, self.haptics.status());
            n_held += usize::from((self.rests().await - PRESSED_N).abs() <= 0.02 * PRESSED_N);
        }
    }

    /// One sample of a hand that presses and rests.
    async fn rests(&mut self) -> f64 {
        let felt = self.sample(-0.003).await;
        assert!(felt <= FELT_MAX_N, "{felt} N of a hand at rest, expected {FELT_MAX_N} N at most");
        felt
    }

    /// Goes on pressing until its loop has come back once more; the time without an answer.
    async fn comes_back(&mut self, reconnected: u64) -> Duration {
        let until = Instant::now() + SOON;
        let mut gap = Duration::ZERO;
        while self.haptics.status().reconnected < reconnected {
            self.rests().await;
            gap = gap.max(self.haptics.status().age);
            self.haptics.check().expect("it goes on");
            assert!(Instant::now() < until, "{:?}", self.haptics.status());
        }
        gap
    }

    async fn lift(&mut self) {
        for _ in 0..200 {
            self.sample(0.001).await;
        }
    }
}

/// Through the command, as whoever runs servers does it.
fn move_scene(asked: &str, to: &str) {
    let mut command = Command::new(under_test());
    command.args(["scenes", "move", SCENE, "--to", to, "--server", asked]);
    let done = command.env("RUST_LOG", "off").output().expect("it was built");
    let said = String::from_utf8_lossy(&done.stdout);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains(&format!("served at {to}")), "{said} {errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_feels_a_gap_and_no_step_when_its_scene_moves() {
    let theatre = Theatre::open("hands", 2);
    // Of the first alone: it is led to the others.
    let first = ServerAddress::new(&theatre.servers[0].address.to_string());
    let client = slab_and_ball(&first, SCENE).await;
    let mut hand = Hand::hold(&client).await;
    let addresses: Vec<String> =
        theatre.servers.iter().map(|server| server.address.to_string()).collect();
    let (mut gaps, mut n_faded) = (Vec::new(), 0);
    for n in 1..=scaled(6) as u64 {
        hand.press().await;
        let to = addresses[n as usize % 2].clone();
        let asked = addresses[0].clone();
        let moving = tokio::task::spawn_blocking(move || move_scene(&asked, &to));
        gaps.push(hand.comes_back(n).await);
        moving.await.expect("it moves");
        let status = hand.haptics.status();
        assert_eq!(
            (status.reconnected, status.sessions_lost),
            (n, n),
            "each is another session, and says so"
        );
        hand.is_held_again().await;
        n_faded += hand.n_faded;
        hand.lift().await;
    }
    gaps.sort();
    let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share).round() as usize];
    println!(
        "n = {} moves: no answer for p50 {:?}, p99 {:?}, at most {:?}; {n_faded} samples of fades",
        gaps.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

/// A client that knows both finds the scene at the other once the lease is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_feels_a_gap_and_no_step_when_its_server_stops_or_dies() {
    let theatre = Theatre::open("hands-stopped", 2);
    let client = slab_and_ball(&ServerAddress::new(&theatre.addresses.text()), SCENE).await;
    let mut hand = Hand::hold(&client).await;
    hand.press().await;
    // It was made by the first that answered.
    theatre.servers[0].process.signal("STOP");
    let gap = hand.comes_back(1).await;
    println!("stopped: n = 1, no answer for {gap:?}");
    hand.is_held_again().await;
    // It wakes as one that has lost the scene: nobody goes back to it.
    theatre.servers[0].process.signal("CONT");
    let until = Instant::now() + 2 * LEASE;
    while Instant::now() < until {
        hand.rests().await;
    }
    let status = hand.haptics.status();
    assert_eq!((status.reconnected, status.sessions_lost), (1, 1), "{status:?}");
    hand.is_held_again().await;
    hand.lift().await;
    hand.press().await;

    theatre.servers[1].process.signal("KILL");
    let gap = hand.comes_back(2).await;
    println!("killed: n = 1, no answer for {gap:?}");
    hand.is_held_again().await;
    hand.lift().await;
    hand.press().await;
}

/// The store is out of reach of the hand's own server, which refuses each tick, and then of both for longer than a loop
/// seeks a server that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_leaves_a_server_that_alone_has_lost_the_object_store() {
    let Some(keeping) = Keeping::in_bucket("hands-store") else { return };
    let wires = [Wire::to(keeping.store()).await, Wire::to(keeping.store()).await];
    let mut theatre = Theatre::of(keeping, 0);
    for wire in &wires {
        theatre.join(&[("AWS_ENDPOINT_URL", format!("http://{}", wire.address))]);
    }
    let client = slab_and_ball(&ServerAddress::new(&theatre.addresses.text()), SCENE).await;
    let mut hand = Hand::hold(&client).await;
    hand.press().await;
    // It was made by the first that answered.
    wires[0].set(WireState::Silent);
    let gap = hand.comes_back(1).await;
    println!("its server alone without the store: n = 1, no answer for {gap:?}");
    hand.is_held_again().await;
    assert_eq!(hand.haptics.status().sessions_lost, 1, "it is at the other");

    wires[1].set(WireState::Silent);
    let until = Instant::now() + palpate::client::LoopOptions::default().reconnect_max + 2 * LEASE;
    while Instant::now() < until {
        hand.rests().await;
        hand.haptics.check().expect("whoever refuses is there");
    }
    assert!(hand.haptics.status().age > LEASE, "nobody can be sure of the scene");
}

/// A store is slow, or a field takes long to build: longer than a loop seeks a server that says nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_comes_back_for_a_scene_still_taken_in_from_an_object_store() {
    let Some(keeping) = Keeping::in_bucket("hands-taken") else { return };
    let wire = Wire::to(keeping.store()).await;
    let mut theatre = Theatre::of(keeping, 1);
    let request_max = ("PALPATE_STORE_REQUEST_MAX", "1m".to_owned());
    theatre.join(&[("AWS_ENDPOINT_URL", format!("http://{}", wire.address)), request_max]);
    let at = |n: usize| ServerAddress::new(&theatre.servers[n].address.to_string());
    slab_and_ball(&at(0), SCENE).await;
    let client = Client::connect(&at(1)).await.expect("it listens");
    theatre.servers[0].process.signal("KILL");
    wire.set(WireState::Silent);
    let start =
        proto::TrackStart { scene_id: SCENE.to_owned(), tool_ids: vec![1], ..Default::default() };
    // For as long as the lease the dead one is named.
    let reconnect_max = 2 * LEASE;
    let options = palpate::client::LoopOptions { reconnect_max, ..Default::default() };
    let haptics = client.haptics_with(start, options).await.expect("it is not refused");
    tokio::time::sleep(reconnect_max + LEASE).await;
    haptics.check().expect("whoever takes the scene in is there");
    wire.set(WireState::Up);
    let touched = haptics.tick(&[(1, ball_at(0.005))]).await.expect("an answer");
    assert!(n_contacts(&touched) > 0, "it touches the slab's top");
}

/// The ball is above the slab in the last answer, and below it when its loop is back, at another server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_instrument_passed_while_its_server_died_is_told_by_the_next() {
    let theatre = Theatre::open("hands-swept", 2);
    let client = slab_and_ball(&ServerAddress::new(&theatre.addresses.text()), SCENE).await;
    let haptics = client.haptics(SCENE, &[1]).await.expect("a loop");
    let above = haptics.tick(&[(1, ball_at(0.03))]).await.expect("an answer");
    assert_eq!(n_contacts(&above), 0, "{above:?}");
    let touched = haptics.tick(&[(1, ball_at(0.005))]).await.expect("an answer");
    assert!(n_contacts(&touched) > 0, "it touches the slab's top");
    haptics.tick(&[(1, ball_at(0.03))]).await.expect("an answer");
    theatre.servers[0].process.signal("KILL");
    // The slab is 4 cm thick: 2 cm below it, where nothing is touched.
    let mut below = haptics.tick(&[(1, ball_at(-0.07))]).await.expect("an answer of the other");
    let status = haptics.status();
    assert_eq!((status.reconnected, status.sessions_lost), (1, 1), "{status:?}");
    // Met on the way, at its first touch: 2 cm of 10. On a busy machine the time of a tick may be over before that is
    // known, and it tells no more than that it was not later; or it takes more ticks than one.
    let (in_time, until) = (!is_degraded(&below), Instant::now() + SOON);
    let mut first = first_toi(&below);
    while goes_on(&below) {
        assert!(Instant::now() < until, "{below:?}");
        below = haptics.tick(&[(1, ball_at(-0.07))]).await.expect("an answer");
        first = first.min(first_toi(&below));
    }
    assert!(first <= 0.21 && (first >= 0.15 || !in_time), "{first}, in time: {in_time}");
    // There, and nothing else is on the way.
    let still = haptics.tick(&[(1, ball_at(-0.07))]).await.expect("an answer");
    assert_eq!(n_contacts(&still), 0, "{still:?}");
}

fn ball_at(height_m: f64) -> proto::Pose {
    let position = Vec3 { x: 0.02, y: 0.035, z: height_m };
    proto::Pose { position_m: Some(position), orientation: None }
}

/// Its time was over before all was found.
fn is_degraded(answer: &TrackResponse) -> bool {
    answer.flags & FlagMask::Degraded as u32 != 0
}

/// The next tick sweeps on.
fn goes_on(answer: &TrackResponse) -> bool {
    answer.unswept_reason() == UnsweptReason::GoingOn
}

/// Infinity where nothing was met.
fn first_toi(answer: &TrackResponse) -> f32 {
    let contacts = answer.links[0].contacts.iter().flat_map(|contacts| &contacts.toi);
    contacts.copied().fold(f32::INFINITY, f32::min)
}

fn n_contacts(answer: &TrackResponse) -> usize {
    answer.links[0].contacts.as_ref().map_or(0, |contacts| contacts.triangle_ids.len())
}
