//! A recording in the live view: viewers see the recorded scene and answers at any time that they seek.

use std::{collections::BTreeMap, sync::Arc, thread};

use palpate::{
    config::Config,
    proto::{
        ControlReplayRequest, MoveDeviceRequest, RecordedTick, ReplayMark, ReplayState,
        TrackResponse, WatchRequest, WatchResponse, WatchedSession,
        control_replay_request::Position, watch_service_client::WatchServiceClient,
    },
    service::{
        Listeners, SceneRegistry,
        recording::recorded::Recording,
        replay::{
            ReplayStop,
            player::{Player, StoppedLoop},
        },
        serve_registry,
    },
};
use prost::Message;
use tokio::{sync::oneshot, task::JoinHandle};
use tonic::{Code, Status, transport::Channel};

use super::{
    equal::recorded,
    performance::{Instrument, TICKS},
};
use crate::support::{
    folder::Folder, messages::SCENE, refusal::assert_refused, server::TestServer, viewer::Viewer,
};

/// Sequence of the tick that is late, and of the one that differs.
const LATE: u64 = 20;
const DIFFERS: u64 = 30;

/// A recording in which the times are made up: only tick [`LATE`] of session 2 is late, only [`DIFFERS`] differs.
async fn marked_recording() -> Recording {
    let folder = Folder::new("timeline");
    let mut recording = recorded(&folder.0, Instrument::Probe).await;
    for (session, of_loop) in &mut recording.sessions {
        for messages in of_loop.ticks.values_mut() {
            let note = RecordedTick::decode(&*messages.note).expect("whole");
            let mut answer = TrackResponse::decode(&*messages.answer).expect("whole");
            let is = |sequence| *session == 2 && note.sequence == sequence;
            answer.received_ns = note.started_ns;
            answer.compute_us = if is(LATE) { 1_500.0 } else { 100.0 };
            if is(DIFFERS) {
                answer.links[0].signed_distance_m += 1.0;
            }
            messages.answer = answer.encode_to_vec();
        }
    }
    recording
}

/// Recorded answers of session 2 by sequence.
fn answers(recording: &Recording) -> BTreeMap<u64, TrackResponse> {
    let ticks = recording.sessions[&2].ticks.values();
    let answers = ticks.map(|tick| TrackResponse::decode(&*tick.answer).expect("whole"));
    answers.map(|answer| (answer.sequence, answer)).collect()
}

/// A server that plays a recording, and a viewer of it.
struct Cinema {
    server: TestServer,
    viewer: Viewer,
    client: WatchServiceClient<Channel>,
    player: thread::JoinHandle<Vec<StoppedLoop>>,
    end: oneshot::Sender<()>,
    served: JoinHandle<()>,
    end_playback: Box<dyn FnOnce()>,
}

impl Cinema {
    async fn open(recording: Recording) -> Cinema {
        let config = Config { listen: "127.0.0.1:0".parse().expect("good"), ..Config::default() };
        let registry = Arc::new(SceneRegistry::new(&config));
        let player = Player::new(recording, u64::MAX, 1.0, Arc::clone(&registry));
        let playback = Arc::clone(player.playback());
        let listeners = Listeners::bind(&config).await.expect("a free port");
        let address = listeners.address().expect("bound");
        let (end, ended) = oneshot::channel::<()>();
        let served = tokio::spawn(async move {
            let until = async { drop(ended.await) };
            serve_registry(listeners, &config, registry, until).await.expect("a good end");
        });
        let player = thread::spawn(move || {
            let stopped = std::cell::RefCell::new(Vec::new());
            let note = |found: &StoppedLoop| {
                let ReplayStop::Differs(difference) = &found.stop else { panic!("{found:?}") };
                let stop = ReplayStop::Differs(difference.clone());
                let StoppedLoop { session, sequence, .. } = *found;
                stopped.borrow_mut().push(StoppedLoop { session, sequence, stop });
            };
            player.run(None, note).expect("a recording");
            stopped.into_inner()
        });
        let server = TestServer::connect(address).await;
        let request = WatchRequest { rate_hz: 60.0, ..WatchRequest::default() };
        let viewer = Viewer::open(&server, "", request).await.expect("a stream");
        let client = WatchServiceClient::new(server.channel.clone());
        let end_playback = Box::new(move || playback.end());
        Cinema { server, viewer, client, player, end, served, end_playback }
    }

    async fn control(&mut self, request: ControlReplayRequest) -> Result<ReplayState, Status> {
        let answer = self.client.control_replay(request).await?.into_inner();
        Ok(answer.replay.expect("a recording is played"))
    }

    /// Moves, and returns the frame that shows the new position.
    async fn go(&mut self, position: Position) -> WatchResponse {
        let request = ControlReplayRequest { position: Some(position), ..Default::default() };
        let wanted = self.control(request).await.expect("in range");
        let is_there = |state: &ReplayState| !state.seeking && state.tick == wanted.tick;
        self.viewer.until(|_, frame| frame.replay.as_ref().is_some_and(is_there)).await
    }

    async fn end(self) -> Vec<StoppedLoop> {
        (self.end_playback)();
        drop(self.end);
        self.served.await.expect("no panic");
        self.player.join().expect("no panic")
    }
}

fn replay(frame: &WatchResponse) -> &ReplayState {
    frame.replay.as_ref().expect("a recording is played")
}

/// The loops of a frame, without figures and curves, which count from the frame before.
fn poses(frame: &WatchResponse) -> Vec<WatchedSession> {
    let mut sessions = frame.sessions.clone();
    for session in &mut sessions {
        session.figures = None;
        session.tools.iter_mut().for_each(|tool| tool.felt_ticks = None);
    }
    sessions
}

/// Panics unless session 2 is shown as `answers` have it, in the tissue that it saw. Returns its sequence.
fn assert_as_recorded(
    frame: &WatchResponse,
    viewer: &Viewer,
    answers: &BTreeMap<u64, TrackResponse>,
) -> u64 {
    let session = frame.sessions.iter().find(|s| s.stream == 2).expect("it runs");
    let answer = &answers[&session.sequence];
    assert_eq!(session.tools[0].force_n, answer.renderings[0].force_n, "{}", answer.sequence);
    let of_links = answer.links.iter().filter_map(|link| link.contacts.as_ref());
    let points: Vec<f32> = of_links.flat_map(|c| c.on_tissue_xyz_m.clone()).collect();
    assert_eq!(session.contact_xyz_m, points, "tick {}", answer.sequence);
    let (tissue, seen) = (&viewer.tissues[&1], &answer.tissues[0]);
    assert_eq!(
        (tissue.geometry_revision, tissue.topology_revision),
        (seen.geometry_revision, seen.topology_revision)
    );
    session.sequence
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_is_sought_forwards_and_backwards() {
    let recording = marked_recording().await;
    let answers = answers(&recording);
    let mut cinema = Cinema::open(recording).await;
    let first = cinema.viewer.until(|_, f| !replay(f).seeking && !f.scene_id.is_empty()).await;
    let ticks = replay(&first).ticks;
    assert_eq!((replay(&first).tick, replay(&first).position_s), (0, 0.0));
    assert!(!replay(&first).playing && first.sessions.len() == 1, "the burst's loop has begun");

    // Both loops ran within half a second, or the burst's has gone.
    let last = cinema.go(Position::SeekS(replay(&first).duration_s)).await;
    assert_eq!(replay(&last).tick, ticks);
    assert_eq!(assert_as_recorded(&last, &cinema.viewer, &answers), TICKS);
    let exported = cinema.server.export(1).await.expect("it is a scene of the server");
    cinema.viewer.assert_drawn_as(&exported);

    // The two last ticks of the second loop were refused.
    let before = cinema.go(Position::Step(-2 - 7)).await;
    assert_eq!(assert_as_recorded(&before, &cinema.viewer, &answers), TICKS - 7);
    let positions = cinema.viewer.tissues[&1].positions.clone();
    for sequence in TICKS - 6..=TICKS {
        let next = cinema.go(Position::Step(1)).await;
        assert_eq!(assert_as_recorded(&next, &cinema.viewer, &answers), sequence);
    }
    assert!(cinema.viewer.tissues[&1].positions != positions, "the tissue has moved");
    let back = cinema.go(Position::SeekS(replay(&before).position_s)).await;
    assert_eq!(assert_as_recorded(&back, &cinema.viewer, &answers), TICKS - 7);
    assert!(cinema.viewer.tissues[&1].positions == positions, "and is where it was");
    assert_eq!(poses(&back), poses(&before), "as are the loops");

    let first = cinema.go(Position::Step(i32::MIN)).await;
    assert_eq!((replay(&first).tick, first.sessions.len()), (1, 1));
    cinema.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recording_is_played_paused_and_repeated() {
    let recording = marked_recording().await;
    let answers = answers(&recording);
    let mut cinema = Cinema::open(recording).await;
    // A tick a frame or so.
    let slow = ControlReplayRequest {
        playing: Some(true),
        speed: Some(0.1),
        repeat: Some(true),
        ..ControlReplayRequest::default()
    };
    assert!(cinema.control(slow).await.expect("good").playing);
    let mut seen = 0;
    while seen < 5 {
        let frame = cinema.viewer.frame().await.expect("a frame");
        let played = frame.sessions.iter().find(|s| s.stream == 2 && s.sequence > 0);
        let Some(session) = played else { continue };
        let force_n = answers[&session.sequence].renderings[0].force_n;
        assert_eq!(session.tools[0].force_n, force_n, "tick {}", session.sequence);
        seen += 1;
    }
    let pause = ControlReplayRequest { playing: Some(false), ..Default::default() };
    cinema.control(pause).await.expect("good");
    let paused = cinema.viewer.until(|_, f| !replay(f).playing && !replay(f).seeking).await;
    let later = cinema.viewer.frame().await.expect("a frame");
    assert_eq!((replay(&later).tick, poses(&later)), (replay(&paused).tick, poses(&paused)));
    assert_as_recorded(&later, &cinema.viewer, &answers);

    let fast = ControlReplayRequest { speed: Some(4.0), ..slow };
    cinema.control(fast).await.expect("good");
    let is_near_end = |f: &WatchResponse| replay(f).tick > replay(f).ticks / 2;
    for _ in 0..2 {
        cinema.viewer.until(|_, f| is_near_end(f)).await;
        cinema.viewer.until(|_, f| !is_near_end(f)).await;
    }
    let once = ControlReplayRequest { repeat: Some(false), ..Default::default() };
    cinema.control(once).await.expect("good");
    let over = cinema.viewer.until(|_, f| !replay(f).playing && !replay(f).seeking).await;
    assert_eq!(replay(&over).position_s, replay(&over).duration_s);
    let again = ControlReplayRequest { playing: Some(true), ..Default::default() };
    assert_eq!(cinema.control(again).await.expect("good").tick, 0);
    cinema.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn marked_ticks_are_listed_and_jumped_to() {
    let mut cinema = Cinema::open(marked_recording().await).await;
    let first = cinema.viewer.until(|_, f| replay(f).marks.is_some()).await;
    let marks = replay(&first).marks.as_ref().expect("in the first frame");
    let [late, refused, differs] =
        [ReplayMark::Late, ReplayMark::Refused, ReplayMark::Differs].map(|mark| mark as i32);
    assert_eq!(marks.mark[..2], [late, refused]);
    assert_eq!((marks.late, marks.refused, marks.differing), (1, 2, 0));

    let at_late = cinema.go(Position::Jump(1)).await;
    let sequence = |frame: &WatchResponse| frame.sessions.last().expect("a loop").sequence;
    assert_eq!((sequence(&at_late), replay(&at_late).mark), (LATE, late));
    assert_eq!(replay(&at_late).position_s, marks.at_s[0]);
    assert!(replay(&at_late).marks.is_none(), "they were sent");

    let end = Position::SeekS(replay(&first).duration_s);
    let request = ControlReplayRequest { position: Some(end), ..Default::default() };
    cinema.control(request).await.expect("in range");
    let found = cinema.viewer.until(|_, f| replay(f).marks.is_some()).await;
    let marks = replay(&found).marks.as_ref().expect("a difference was found");
    assert_eq!(marks.mark[..2], [late, differs]);
    assert_eq!((marks.late, marks.refused, marks.differing), (1, 2, 1));

    cinema.viewer.until(|_, f| !replay(f).seeking).await;
    let at_refused = cinema.go(Position::Jump(-1)).await;
    assert_eq!((sequence(&at_refused), replay(&at_refused).mark), (TICKS, refused));
    let at_differing = cinema.go(Position::Jump(-1)).await;
    assert_eq!((sequence(&at_differing), replay(&at_differing).mark), (DIFFERS, differs));
    let at_late = cinema.go(Position::Jump(-1)).await;
    assert_eq!((sequence(&at_late), replay(&at_late).mark), (LATE, late));
    let none = cinema.go(Position::Jump(-1)).await;
    assert_eq!(replay(&none).tick, replay(&at_late).tick);

    let [stop] = &cinema.end().await[..] else { panic!("the difference is reported once") };
    let ReplayStop::Differs(difference) = &stop.stop else { panic!("{stop:?}") };
    assert_eq!((stop.session, stop.sequence), (2, DIFFERS));
    assert_eq!(difference.field, "links[0].signed_distance_m");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_playback_refuses_what_it_cannot_do() {
    let mut cinema = Cinema::open(marked_recording().await).await;
    let duration_s = replay(&cinema.viewer.frame().await.expect("a frame")).duration_s;
    for s in [f64::NAN, f64::INFINITY, -1e-9, duration_s * 1.01] {
        let position = Some(Position::SeekS(s));
        let request = ControlReplayRequest { position, ..Default::default() };
        let refused = cinema.control(request).await.map(drop);
        assert_refused(refused, Code::InvalidArgument, "seek_s", "out of the recording");
    }
    for speed in [0.0, -1.0, f64::NAN, 1e9] {
        let request = ControlReplayRequest { speed: Some(speed), ..Default::default() };
        let refused = cinema.control(request).await.map(drop);
        assert_refused(refused, Code::InvalidArgument, "speed", "too slow or fast");
    }
    let device = MoveDeviceRequest { scene_id: SCENE.to_owned(), tool_id: 1, position_m: None };
    let refused = cinema.client.move_device(device).await.map(drop);
    assert_refused(refused, Code::FailedPrecondition, "scene_id", "no simulator reads it");
    cinema.end().await;

    let live = TestServer::furnished().await;
    let mut client = WatchServiceClient::new(live.channel.clone());
    let refused = client.control_replay(ControlReplayRequest::default()).await.map(drop);
    assert_refused(refused, Code::FailedPrecondition, "", "it is live");
    let mut viewer = Viewer::of(&live).await;
    assert_eq!(viewer.frame().await.expect("a frame").replay, None);
}
