//! What a hand feels that holds an instrument while its scene moves, or its server is killed or stopped.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use glam::DVec3;
use palpate::{
    client::{Client, Device, ServerAddress, TrackLoop},
    geometry::Pose,
    proto::RenderOptions,
    servo::ServoOptions,
};

use super::theatre::Theatre;
use crate::{
    seed::scaled,
    support::{messages::SCENE, slab::slab_and_ball},
};

const DT: Duration = Duration::from_millis(1);
const SOON: Duration = Duration::from_secs(120);
/// 500 N/m over 3 mm and the stand-off.
const PRESSED_N: f64 = 500.0 * 0.003_02;
/// A sample is off by as much as force times time is rounded.
const ROUNDED_N: f64 = 1e-9;

/// A ball of 1 cm in a hand, above a slab whose top is at 0.
struct Hand {
    haptics: TrackLoop,
    device: Device,
    last: DVec3,
    rate_n_per_s: f64,
}

impl Hand {
    async fn hold(client: &Client) -> Hand {
        let render = RenderOptions { tool_id: 1, ..RenderOptions::default() };
        let (haptics, device) = client.hold(SCENE, render).await.expect("a loop");
        let rate_n_per_s = ServoOptions::of(1).limits.max_force_rate_n_per_s;
        Hand { haptics, device, last: DVec3::ZERO, rate_n_per_s }
    }

    /// One sample; no force steps by more than its rate allows.
    async fn sample(&mut self, height_m: f64) -> f64 {
        let at = DVec3::new(0.02, 0.035, 0.01 + height_m);
        let pose = Pose { translation: at, ..Pose::IDENTITY };
        let felt = self.device.servo(&pose, DT.as_secs_f64()).force_n;
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
    }

    /// Waits, pressing on, for the force of where the proxy was before anything happened.
    async fn is_held(&mut self) {
        let until = Instant::now() + SOON;
        while (self.sample(-0.003).await - PRESSED_N).abs() > 0.02 * PRESSED_N {
            assert!(Instant::now() < until, "{:?} {:?}", self.last, self.haptics.status());
        }
    }

    /// Goes on pressing until its loop has come back once more; the time without an answer.
    async fn comes_back(&mut self, reconnected: u64) -> Duration {
        let until = Instant::now() + SOON;
        let mut gap = Duration::ZERO;
        while self.haptics.status().reconnected < reconnected {
            self.sample(-0.003).await;
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_palpate"));
    command.args(["scenes", "move", SCENE, "--to", to, "--server", asked]);
    let done = command.env("RUST_LOG", "off").output().expect("it was built");
    let said = String::from_utf8_lossy(&done.stdout);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains(&format!("served at {to}")), "{said} {errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_feels_a_gap_and_no_step_when_its_scene_moves_or_its_server_dies() {
    let theatre = Theatre::open("hands", 2);
    // Of the first alone: it is led to the others.
    let first = ServerAddress::new(&theatre.servers[0].address.to_string());
    let client = slab_and_ball(&first, SCENE).await;
    let mut hand = Hand::hold(&client).await;
    let addresses: Vec<String> =
        theatre.servers.iter().map(|server| server.address.to_string()).collect();
    let mut gaps = Vec::new();
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
        hand.is_held().await;
        hand.lift().await;
    }
    gaps.sort();
    let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share).round() as usize];
    println!("{} moves: no answer for p50 {:?}, p99 {:?}", gaps.len(), at(0.5), at(0.99));
    drop(hand);

    // A client that knows both finds the scene at the other once the lease is over.
    let mut client =
        Client::connect(&ServerAddress::new(&theatre.addresses.text())).await.expect("there");
    client.scene(SCENE).await.expect("it is somewhere");
    let mut hand = Hand::hold(&client).await;
    hand.press().await;
    let before = hand.haptics.status().reconnected;
    let last = scaled(6) % 2;
    theatre.servers[last].process.signal("KILL");
    let gap = hand.comes_back(before + 1).await;
    println!("killed: no answer for {gap:?}");
    hand.is_held().await;
    hand.lift().await;
    hand.press().await;
}
