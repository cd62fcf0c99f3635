//! What journal and recorder cost a tick. The figures count in a full run, of a release build on a quiet machine:
//! `PALPATE_TEST_SCALE=20 cargo test --release --test it -- --nocapture recordings::cost`.

use std::time::{Duration, Instant};

use super::performance::{Instrument, at, dent, furnish, rendered};
use crate::seed::{is_full, scaled};
use crate::support::{
    folder::Folder,
    messages::{SCENE, start_message, tick_message},
    process::Process,
    server::{HandFed, TestServer},
};

const ROUNDS: usize = 4;
const TICKS_PER_ROUND: u64 = 400;
/// Of the slowest hundredth.
const RATIO_MAX: f64 = 1.05;
const PERIOD: Duration = Duration::from_millis(1);
/// A dent at 60 Hz.
const TICKS_PER_DENT: u64 = 16;

struct Side {
    server: TestServer,
    track: HandFed,
    sequence: u64,
    round_trips: Vec<Duration>,
    _process: Process,
    _folder: Folder,
}

impl Side {
    async fn begin(is_kept: bool) -> Side {
        let folder = Folder::new("cost");
        let record = folder.0.join("recordings");
        let record = if is_kept { record.to_str().expect("UTF-8") } else { "" };
        let kept = if is_kept { "true" } else { "false" };
        let variables = [("PALPATE_RECORD_DIR", record), ("PALPATE_STORE_SCENES", kept)];
        let mut process = Process::serve_keeping(&folder.0, &[], &variables);
        let mut server = TestServer::connect(process.address()).await;
        server.create(SCENE).await.expect("a new scene");
        furnish(&mut server, Instrument::Grasper).await;
        let track = server.hand_fed(start_message(rendered())).await;
        let round_trips = Vec::new();
        Side { server, track, sequence: 0, round_trips, _process: process, _folder: folder }
    }

    async fn round(&mut self) {
        let mut due = Instant::now();
        for _ in 0..TICKS_PER_ROUND {
            self.sequence += 1;
            let t = self.sequence as f64 * 0.005;
            if self.sequence.is_multiple_of(TICKS_PER_DENT) {
                let dent = dent(self.sequence, 0.002 * t.sin().abs() as f32);
                assert!(self.server.deform(vec![dent]).await[0].is_ok());
            }
            due += PERIOD;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let tick = tick_message(at(self.sequence, 0.003 * t.cos()));
            let sent = Instant::now();
            self.track.ask(tick).await.expect("answered");
            self.round_trips.push(sent.elapsed());
        }
    }

    fn percentile(&mut self, share: f64) -> f64 {
        self.round_trips.sort_unstable();
        let at = (share * (self.round_trips.len() - 1) as f64) as usize;
        1e6 * self.round_trips[at].as_secs_f64()
    }
}

/// Two servers, the same path in turn: what disturbs the machine disturbs both.
#[tokio::test]
async fn journal_and_recorder_cost_a_tick_little() {
    let (mut with, mut without) = (Side::begin(true).await, Side::begin(false).await);
    for round in 0..scaled(ROUNDS) {
        let [first, second] =
            if round % 2 == 0 { [&mut with, &mut without] } else { [&mut without, &mut with] };
        first.round().await;
        second.round().await;
    }
    for share in [0.5, 0.9, 0.99] {
        let (with, without) = (with.percentile(share), without.percentile(share));
        let ratio = with / without;
        println!(
            "p{}: {with:.0} us with journal and recorder, {without:.0} us without, ratio {ratio:.3}",
            100.0 * share,
        );
        assert!(share < 0.99 || !is_full() || ratio <= RATIO_MAX, "{ratio}, at most {RATIO_MAX}");
    }
}
