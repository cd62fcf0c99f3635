//! The Rust client's haptic loop: the force on the hand while its server stops, ends, is cut off or refuses.

use std::{fs, path::PathBuf, time::Duration};

use glam::DVec3;
use palpate::{
    client::{Client, ClientError, Device, LoopOptions, LoopStatus, ServerAddress, TrackLoop},
    geometry::Pose,
    proto::{self, RenderOptions, ToolPose, TrackStart},
    servo::{FADE_S, ServoSample},
};
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;

use crate::support::{
    folder::Folder,
    keys::{ADMIN, SURGEON, key},
    process::Process,
    relay::Relay,
    server::free_address,
    slab::slab_and_ball,
};

const SCENE: &str = "theatre";
const SOON: Duration = Duration::from_secs(60);
const DT_S: f64 = 1e-3;
/// Force of 500 N/m over 3 mm and the stand-off.
const PRESSED_N: f64 = 500.0 * 0.003_02;

/// A server that knows one surgeon, and the surgeon's key.
struct Theatre {
    process: Process,
    server: ServerAddress,
    keys: PathBuf,
    folder: Folder,
}

impl Theatre {
    fn open(name: &str) -> Theatre {
        let folder = Folder::new(&format!("client-{name}"));
        let all = key("surgeon", "full", SURGEON, "") + &key("admin", "admin", ADMIN, "");
        let keys = folder.write("keys.toml", &all);
        folder.write("key", SURGEON);
        let file = format!("access.keys_file={}", keys.display());
        let more = ["--set", &file, "--set", "access.reload_interval=10ms"];
        let mut process = Process::serve("127.0.0.1:0", &more);
        let server = ServerAddress::new(&process.address().to_string());
        let server = server.with_key_file(&folder.0.join("key")).expect("a key");
        Theatre { process, server, keys, folder }
    }

    /// Returns the address of this server if it is reached through `address`, with the surgeon's key.
    fn through(&self, address: &str) -> ServerAddress {
        ServerAddress::new(address).with_key_file(&self.folder.0.join("key")).expect("a key")
    }

    async fn furnish(&self) -> Client {
        slab_and_ball(&self.server, SCENE).await
    }
}

/// A hand with a ball, which presses 3 mm into the slab.
struct Hand {
    haptics: TrackLoop,
    device: Device,
}

impl Hand {
    async fn hold(client: &Client) -> Hand {
        let render = RenderOptions { tool_id: 1, ..RenderOptions::default() };
        let (haptics, device) = client.hold(SCENE, render).await.expect("a loop");
        let mut hand = Hand { haptics, device };
        hand.lower().await;
        hand.feels(PRESSED_N).await;
        hand
    }

    /// Lowers the ball from 1 mm above the slab, as fast as a hand moves.
    async fn lower(&mut self) {
        for step in 0..20 {
            self.sample(0.001 - 2e-4 * f64::from(step)).await;
        }
    }

    async fn sample(&mut self, height_m: f64) -> ServoSample {
        let at = DVec3::new(0.02, 0.035, 0.01 + height_m);
        let felt = self.device.servo(&Pose { translation: at, ..Pose::IDENTITY }, DT_S);
        sleep(Duration::from_millis(1)).await;
        felt
    }

    /// Presses until the force is `newtons`.
    async fn feels(&mut self, newtons: f64) {
        let until = Instant::now() + SOON;
        let mut felt = ServoSample::default();
        while Instant::now() < until {
            felt = self.sample(-0.003).await;
            if (felt.force_n.length() - newtons).abs() < 0.02 * PRESSED_N && !felt.is_fading {
                return;
            }
        }
        panic!("{felt:?} is felt, expected {newtons} N; {:?}", self.haptics.status());
    }

    /// Presses until no force is left: the force falls from the start of its fade, and is gone in time.
    async fn fades(&mut self) {
        let (mut last, mut fading_s) = (f64::INFINITY, 0.0);
        while last > 0.0 {
            let felt = self.sample(-0.003).await;
            let force = felt.force_n.length();
            if felt.is_fading {
                fading_s += DT_S;
                assert!(force <= last, "{force} N after {last} N");
                assert!(force == 0.0 || fading_s < FADE_S + DT_S, "{felt:?}");
            }
            last = force;
        }
    }

    /// Reconnects, still pressing, to a server that has the scene but not the session: the proxy is where it was.
    async fn goes_on(&mut self) {
        let comes_back = async {
            while self.haptics.status().reconnected == 0 {
                self.sample(-0.003).await;
            }
        };
        timeout(SOON, comes_back).await.expect("a server is there");
        self.feels(PRESSED_N).await;
    }

    async fn ended(&mut self) -> ClientError {
        let ends = async {
            loop {
                self.sample(-0.003).await;
                if let Err(error) = self.haptics.check() {
                    return error;
                }
            }
        };
        timeout(SOON, ends).await.expect("it ends")
    }

    fn contact_ids(&self) -> Vec<u64> {
        self.haptics.newest().expect("answered").renderings[0].contact_ids.clone()
    }
}

fn counts(status: &LoopStatus) -> (bool, u64, u64) {
    (status.is_open, status.reconnected, status.sessions_lost)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_fades_while_its_server_is_stopped_and_goes_on_with_it() {
    let theatre = Theatre::open("stopped");
    let mut hand = Hand::hold(&theatre.furnish().await).await;
    theatre.process.signal("STOP");
    hand.fades().await;
    // The stop is too short for the loop to look for another connection.
    theatre.process.signal("CONT");
    hand.feels(PRESSED_N).await;
    assert_eq!(counts(&hand.haptics.status()), (true, 0, 0));
}

/// The server hangs for longer than the loop waits for an answer: the loop comes back by its token, though its old
/// connection was never closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_comes_back_to_a_server_that_hung() {
    let theatre = Theatre::open("hung");
    let mut hand = Hand::hold(&theatre.furnish().await).await;
    let ids = hand.contact_ids();
    theatre.process.signal("STOP");
    hand.fades().await;
    let is_open = |hand: &Hand| hand.haptics.status().is_open;
    let leaves = async {
        while is_open(&hand) {
            sleep(Duration::from_millis(10)).await
        }
    };
    timeout(SOON, leaves).await.expect("it does not wait for ever");
    theatre.process.signal("CONT");
    hand.feels(PRESSED_N).await;
    assert_eq!(counts(&hand.haptics.status()), (true, 1, 0));
    assert_eq!(hand.contact_ids(), ids, "the session went on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_whose_connection_breaks_comes_back_with_its_session() {
    let theatre = Theatre::open("cut");
    let _scene = theatre.furnish().await;
    let server = theatre.server.to_string().parse().expect("an address");
    let relay = Relay::to(server).await;
    let client = Client::connect(&theatre.through(&relay.address.to_string())).await.expect("led");
    let mut hand = Hand::hold(&client).await;
    let ids = hand.contact_ids();
    relay.cut();
    hand.fades().await;
    assert_eq!(counts(&hand.haptics.status()), (false, 0, 0));
    relay.mend(server);
    hand.feels(PRESSED_N).await;
    assert_eq!(counts(&hand.haptics.status()), (true, 1, 0));
    assert_eq!(hand.contact_ids(), ids, "the session went on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_whose_server_was_killed_goes_on_at_the_next_one() {
    let theatre = Theatre::open("killed");
    let _scene = theatre.furnish().await;
    let server = theatre.server.to_string().parse().expect("an address");
    let relay = Relay::to(server).await;
    let client = Client::connect(&theatre.through(&relay.address.to_string())).await.expect("led");
    let mut hand = Hand::hold(&client).await;
    theatre.process.signal("KILL");
    hand.fades().await;
    relay.cut();
    let next = Theatre::open("next");
    let _scene = next.furnish().await;
    relay.mend(next.server.to_string().parse().expect("an address"));
    hand.goes_on().await;
    assert_eq!(counts(&hand.haptics.status()), (true, 1, 1));
}

/// Acknowledged changes are on the disk: nobody makes the scene again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_finds_its_scene_when_its_server_is_started_again() {
    let folder = Folder::new("client-again");
    let data = folder.0.join("data").display().to_string();
    let variables = [("PALPATE_DATA_DIR", data.as_str()), ("PALPATE_STORE_SCENES", "true")];
    let listen = free_address().to_string();
    let start = || {
        let mut process = Process::serve_with(&listen, &[], &variables);
        process.address();
        process
    };
    let first = start();
    let mut hand = Hand::hold(&slab_and_ball(&ServerAddress::new(&listen), SCENE).await).await;
    first.signal("KILL");
    hand.fades().await;
    drop(first);
    let _second = start();
    hand.goes_on().await;
    assert_eq!(counts(&hand.haptics.status()), (true, 1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_says_when_nobody_is_there_any_more() {
    let theatre = Theatre::open("gone");
    let client = theatre.furnish().await;
    let start =
        TrackStart { scene_id: SCENE.to_owned(), tool_ids: vec![1], ..TrackStart::default() };
    let reconnect_max = Duration::from_millis(200);
    let options = LoopOptions { reconnect_max, ..LoopOptions::default() };
    let haptics = client.haptics_with(start, options).await.expect("a loop");
    haptics.tick(&[(1, proto::Pose::default())]).await.expect("an answer");
    theatre.process.signal("KILL");
    let error = timeout(SOON, haptics.wait(2)).await.expect("it gives up").expect_err("no answer");
    let ClientError::Over(cause) = &error else { panic!("{error}") };
    assert!(matches!(**cause, ClientError::Connect { .. }), "{error}");
    let again = haptics.tick(&[(1, proto::Pose::default())]).await.expect_err("it is over");
    assert_eq!(again.to_string(), error.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_ends_with_its_scene_and_with_its_key() {
    let theatre = Theatre::open("taken");
    let mut client = theatre.furnish().await;
    let mut hand = Hand::hold(&client).await;
    client.delete_scene(SCENE).await.expect("its own");
    hand.fades().await;
    let error = hand.ended().await;
    let ClientError::Over(cause) = &error else { panic!("{error}") };
    let is_unknown = matches!(**cause, ClientError::Refused { code: Code::NotFound, .. });
    assert!(is_unknown, "{error}");

    let client = theatre.furnish().await;
    let mut hand = Hand::hold(&client).await;
    fs::write(&theatre.keys, key("admin", "admin", ADMIN, "")).expect("written");
    hand.fades().await;
    let error = hand.ended().await;
    let ClientError::Over(cause) = &error else { panic!("{error}") };
    let is_refused = matches!(**cause, ClientError::Refused { code: Code::Unauthenticated, .. });
    assert!(is_refused, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_at_the_start_is_told_there() {
    let theatre = Theatre::open("refused");
    let client = theatre.furnish().await;
    let refused = |opened: Result<TrackLoop, ClientError>| match opened {
        Err(ClientError::Refused { code, message, .. }) => (code, message),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was opened"),
    };
    let (code, _) = refused(client.haptics("nowhere", &[1]).await);
    assert_eq!(code, Code::NotFound);
    let (code, _) = refused(client.haptics(SCENE, &[7]).await);
    assert_eq!(code, Code::NotFound);
    let wrong = theatre.folder.write("wrong", "nobody-0123456789ab");
    let wrong =
        ServerAddress::new(&theatre.server.to_string()).with_key_file(&wrong).expect("a key");
    let stranger = Client::connect(&wrong).await.expect("it listens");
    let (code, _) = refused(stranger.haptics(SCENE, &[1]).await);
    assert_eq!(code, Code::Unauthenticated);
    let stiff = RenderOptions { tool_id: 1, stiffness_n_per_m: 1e9, ..RenderOptions::default() };
    let error = client.hold(SCENE, stiff).await.err().expect("too stiff");
    assert!(error.to_string().contains("stiffness_n_per_m is 1000000000"), "{error}");
}

/// A tick without a pose is refused, the next call reports it once, and the loop is open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_tick_leaves_the_loop_open() {
    let theatre = Theatre::open("tick");
    let client = theatre.furnish().await;
    let haptics = client.haptics(SCENE, &[1]).await.expect("a loop");
    let turned = proto::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 2.0 };
    let pose = proto::Pose { position_m: None, orientation: Some(turned) };
    let error = haptics.tick(&[(1, pose)]).await.expect_err("no rotation");
    let ClientError::Refused { code: Code::InvalidArgument, message, .. } = &error else {
        panic!("{error}")
    };
    assert!(message.starts_with("tick 1: "), "{message}");
    let answer = haptics.tick(&[(1, proto::Pose::default())]).await.expect("an answer");
    assert_eq!(answer.sequence, 2);
    let away = ToolPose { tool_id: 1, pose: Some(proto::Pose::default()), ..Default::default() };
    let sequence = haptics.send(vec![away]).expect("open");
    assert_eq!(haptics.wait(sequence).await.expect("an answer").sequence, 3);
    // A call that waits for a tick returns its refusal even if another call has already reported it.
    let bad = ToolPose { tool_id: 1, pose: Some(pose), ..Default::default() };
    let sequence = haptics.send(vec![bad]).expect("open");
    while haptics.check().is_ok() {
        sleep(Duration::from_millis(1)).await;
    }
    let waited = timeout(SOON, haptics.wait(sequence)).await.expect("soon");
    let told = waited.expect_err("refused").to_string();
    assert!(told.contains("tick 4: "), "{told}");
    haptics.check().expect("told once");
}
