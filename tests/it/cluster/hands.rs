//! Forces on a hand that holds an instrument while its scene moves, or while its server is killed or stopped.

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
/// Force of 500 N/m over 3 mm and the stand-off.
const PRESSED_N: f64 = 500.0 * 0.003_02;
/// Tolerance for the rounding of force times time in a sample.
const ROUNDED_N: f64 = 1e-9;

/// Maximum force on a hand that does not move, whatever happens to its scene.
const FELT_MAX_N: f64 = 1.02 * PRESSED_N;
/// Samples until a press is at rest: a servo's rate and blend take some 100 ms.
const RESTS: usize = 200;

/// A hand with a ball of 1 cm, above a slab whose top is at 0.
struct Hand {
    haptics: TrackLoop,
    device: Device,
    last: DVec3,
    rate_n_per_s: f64,
    /// Number of samples given while the force faded.
    n_faded: usize,
}

impl Hand {
    async fn hold(client: &Client) -> Hand {
        let render = RenderOptions { tool_id: 1, ..RenderOptions::default() };
        let (haptics, device) = client.hold(SCENE, render).await.expect("a loop");
        let rate_n_per_s = ServoOptions::of(1).limits.max_force_rate_n_per_s;
        Hand { haptics, device, last: DVec3::ZERO, rate_n_per_s, n_faded: 0 }
    }

    /// Takes one sample; no force steps by more than its rate allows, and no force rises while it fades.
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

    /// Starts 1 mm above the slab and presses until the hand is held and at rest.
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

    /// Keeps pressing until the force is that of the proxy's position before any disturbance.
    async fn is_held(&mut self) {
        let until = Instant::now() + SOON;
        while (self.sample(-0.003).await - PRESSED_N).abs() > 0.02 * PRESSED_N {
            assert!(Instant::now() < until, "{:?} {:?}", self.last, self.haptics.status());
        }
    }

    /// Waits as [`Hand::is_held`], for a hand that was at rest before: its force never exceeds the earlier one, on the
    /// way back either.
    async fn is_held_again(&mut self) {
        let until = Instant::now() + SOON;
        let mut n_held = 0;
        while n_held < RESTS {
            assert!(Instant::now() < until, "{:?} {:?}", self.last, self.haptics.status());
            n_held += usize::from((self.rests().await - PRESSED_N).abs() <= 0.02 * PRESSED_N);
        }
    }

    /// Takes one sample of a hand that presses and rests.
    async fn rests(&mut self) -> f64 {
        let felt = self.sample(-0.003).await;
        assert!(felt <= FELT_MAX_N, "{felt} N of a hand at rest, expected {FELT_MAX_N} N at most");
        felt
    }

    /// Keeps pressing until the loop has reconnected once more; returns the time without an answer.
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

/// Moves the scene with the `scenes move` command, as an operator does.
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
    // The client knows only the first server, which redirects it to the others.
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

/// A client that knows both servers finds the scene at the other one after the lease ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_feels_a_gap_and_no_step_when_its_server_stops_or_dies() {
    let theatre = Theatre::open("hands-stopped", 2);
    let client = slab_and_ball(&ServerAddress::new(&theatre.addresses.text()), SCENE).await;
    let mut hand = Hand::hold(&client).await;
    hand.press().await;
    // The scene was made by the server that answered first.
    theatre.servers[0].process.signal("STOP");
    let gap = hand.comes_back(1).await;
    println!("stopped: n = 1, no answer for {gap:?}");
    hand.is_held_again().await;
    // The server resumes without the scene, so no client returns to it.
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

/// The store is unreachable first for the hand's own server, which refuses each tick, and then for both servers, for
/// longer than a loop looks for a server that is gone.
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
    // The scene was made by the server that answered first.
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

/// The store is slow, or a field takes long to build: longer than a loop looks for a server that does not answer.
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
    // The dead server is named as the owner until its lease ends.
    let reconnect_max = 2 * LEASE;
    let options = palpate::client::LoopOptions { reconnect_max, ..Default::default() };
    let haptics = client.haptics_with(start, options).await.expect("it is not refused");
    tokio::time::sleep(reconnect_max + LEASE).await;
    haptics.check().expect("whoever takes the scene in is there");
    wire.set(WireState::Up);
    let touched = haptics.tick(&[(1, ball_at(0.005))]).await.expect("an answer");
    assert!(n_contacts(&touched) > 0, "it touches the slab's top");
}

/// The ball is above the slab in the last answer, and below it when its loop has reconnected to another server.
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
    // The slab is 4 cm thick: the ball is 2 cm below it and touches nothing.
    let mut below = haptics.tick(&[(1, ball_at(-0.07))]).await.expect("an answer of the other");
    let status = haptics.status();
    assert_eq!((status.reconnected, status.sessions_lost), (1, 1), "{status:?}");
    // The sweep reports the first touch, at 2 cm of 10. On a busy machine a tick's time may end before the touch is
    // known, and the tick reports only that the touch was not later; or the sweep takes several ticks.
    let (in_time, until) = (!is_degraded(&below), Instant::now() + SOON);
    let mut first = first_toi(&below);
    while goes_on(&below) {
        assert!(Instant::now() < until, "{below:?}");
        below = haptics.tick(&[(1, ball_at(-0.07))]).await.expect("an answer");
        first = first.min(first_toi(&below));
    }
    assert!(first <= 0.21 && (first >= 0.15 || !in_time), "{first}, in time: {in_time}");
    // The ball has arrived, and nothing else is on its path.
    let still = haptics.tick(&[(1, ball_at(-0.07))]).await.expect("an answer");
    assert_eq!(n_contacts(&still), 0, "{still:?}");
}

fn ball_at(height_m: f64) -> proto::Pose {
    let position = Vec3 { x: 0.02, y: 0.035, z: height_m };
    proto::Pose { position_m: Some(position), orientation: None }
}

/// Returns whether the deadline ended before all contacts were found.
fn is_degraded(answer: &TrackResponse) -> bool {
    answer.flags & FlagMask::Degraded as u32 != 0
}

/// Returns whether the next tick continues the sweep.
fn goes_on(answer: &TrackResponse) -> bool {
    answer.unswept_reason() == UnsweptReason::GoingOn
}

/// Returns the first time of impact, or infinity if nothing was met.
fn first_toi(answer: &TrackResponse) -> f32 {
    let contacts = answer.links[0].contacts.iter().flat_map(|contacts| &contacts.toi);
    contacts.copied().fold(f32::INFINITY, f32::min)
}

fn n_contacts(answer: &TrackResponse) -> usize {
    answer.links[0].contacts.as_ref().map_or(0, |contacts| contacts.triangle_ids.len())
}
