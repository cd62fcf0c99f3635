//! Cost of journal and recorder for a tick. The figures count in a full run, of a release build on a quiet machine:
//! `PALPATE_TEST_SCALE=20 cargo test --release --test it -- --nocapture recordings::cost`.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use palpate::proto::{EditTopologyRequest, ExportTissueChunk, export_tissue_response::Message};
use tokio::task::JoinHandle;

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
/// Largest ratio of the slowest hundredth of ticks.
const RATIO_MAX: f64 = 1.05;
const PERIOD: Duration = Duration::from_millis(1);
/// Ticks per dent: 60 Hz.
const TICKS_PER_DENT: u64 = 16;
/// Ticks per cut: ten cuts a second, each awaited by its client until it is on disk.
const TICKS_PER_CUT: u64 = 100;

struct Side {
    server: TestServer,
    track: HandFed,
    editor: Editor,
    sequence: u64,
    round_trips: Vec<Duration>,
    _process: Process,
    _folder: Folder,
}

/// A client that cuts. It replaces each triangle that it removes by an equal one, so that ticks meet an unchanged
/// surface.
struct Editor {
    server: TestServer,
    triangle: u32,
    corners: Vec<u32>,
    under_way: Option<JoinHandle<u32>>,
}

impl Editor {
    async fn new(address: SocketAddr) -> Editor {
        let mut server = TestServer::connect(address).await;
        let exported = server.export(1).await.expect("there");
        let mut chunks = exported.into_iter().filter_map(|message| match message.message {
            Some(Message::Chunk(chunk)) => Some(chunk),
            _ => None,
        });
        let of_first = |chunk: &ExportTissueChunk| !chunk.triangles.is_empty();
        let chunk = chunks.find(of_first).expect("it has triangles");
        let (triangle, corners) = (chunk.triangle_ids[0], chunk.triangles[..3].to_vec());
        Editor { server, triangle, corners, under_way: None }
    }

    /// Cuts once the cut before is acknowledged.
    async fn cut(&mut self) {
        self.done().await;
        let edit = EditTopologyRequest {
            scene_id: SCENE.to_owned(),
            tissue_id: 1,
            removed_triangles: vec![self.triangle],
            added_triangles: self.corners.clone(),
            ..Default::default()
        };
        let mut scenes = self.server.scenes.clone();
        self.under_way = Some(tokio::spawn(async move {
            scenes.edit_topology(edit).await.expect("a cut").into_inner().first_triangle
        }));
    }

    async fn done(&mut self) {
        if let Some(cut) = self.under_way.take() {
            self.triangle = cut.await.expect("no panic");
        }
    }
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
        let editor = Editor::new(server.address).await;
        let (sequence, round_trips) = (0, Vec::new());
        Side { server, track, editor, sequence, round_trips, _process: process, _folder: folder }
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
            if self.sequence.is_multiple_of(TICKS_PER_CUT) {
                self.editor.cut().await;
            }
            due += PERIOD;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let tick = tick_message(at(self.sequence, 0.003 * t.cos()));
            let sent = Instant::now();
            self.track.ask(tick).await.expect("answered");
            self.round_trips.push(sent.elapsed());
        }
        self.editor.done().await;
    }

    fn percentile(&mut self, share: f64) -> f64 {
        self.round_trips.sort_unstable();
        let at = (share * (self.round_trips.len() - 1) as f64) as usize;
        1e6 * self.round_trips[at].as_secs_f64()
    }
}

/// Two servers answer equal paths in turn: disturbances of the machine affect both.
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
