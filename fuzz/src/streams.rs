//! Streams of haptic loops and the sessions behind them: begun, fed, broken off, resumed and taken from one another,
//! while scenes, tools and tissues change and go.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};

use arbitrary::{Arbitrary, Unstructured};
use palpate::{
    config::{self, Config},
    proto::{
        Flag, Pose, Tick, ToolPose, TrackMode, TrackRequest, TrackResponse, TrackStart, Vec3,
        track_request::Message,
    },
    scene::{Scene, TissueId, ToolId, tissue::deform::Deformation},
    service::{Caller, SceneRegistry, SessionRegistry, Track, clock::now_ns},
};
use tokio_stream::Stream;
use tonic::{Code, Status};

use crate::{stage, until_end};

/// Steps of one sequence; more are left out.
const STEPS_MAX: usize = 64;
/// Streams at a time.
const STREAMS: usize = 3;
/// Fewer than there are streams, so that sessions have to make room.
const SESSIONS_MAX: usize = 4;
/// Polls that a stream may need until it waits for its client.
const POLLS_MAX: usize = 1_000;
const SCENE: &str = "s";
const TOOL: ToolId = ToolId(1);
const TISSUE: TissueId = TissueId(1);

/// What clients and the world do, in order.
#[derive(Arbitrary, Debug)]
pub struct Sequence {
    keeps_sessions: bool,
    #[arbitrary(with = |bytes: &mut Unstructured| until_end(bytes, STEPS_MAX))]
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// A new stream in the place of an old one, which breaks off.
    Open {
        stream: u8,
    },
    Start {
        stream: u8,
        every: bool,
        notify: bool,
        tools: u8,
        scene: u8,
        token: Token,
    },
    Tick {
        stream: u8,
        number: Number,
        x: i8,
        late: bool,
    },
    NoPlace {
        stream: u8,
        number: u8,
    },
    Empty {
        stream: u8,
    },
    BreakOff {
        stream: u8,
    },
    Finish {
        stream: u8,
    },
    /// Whether or not it was woken.
    Poll {
        stream: u8,
    },
    /// All that were woken.
    Run,
    Check {
        after_ms: u16,
    },
    Deform {
        x: i8,
    },
    RemoveTool,
    Quarantine {
        on: bool,
    },
    /// And make it anew.
    Delete,
}

#[derive(Arbitrary, Debug)]
enum Token {
    None,
    /// One that was told.
    Told(u8),
    Any(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
enum Number {
    Next(u8),
    Back(u8),
    Any(u64),
}

/// Answers are in order, each session has one stream, everybody is woken, and nothing is left at the end.
pub fn check(sequence: Sequence) {
    let mut world = World::new(sequence.keeps_sessions);
    for step in sequence.steps {
        world.go_on(step);
    }
    world.end();
}

/// What a client has sent, and how it has ended.
#[derive(Default)]
struct Line {
    sent: VecDeque<Result<TrackRequest, Status>>,
    is_finished: bool,
    waker: Option<Waker>,
}

/// The server's end of it.
struct Requests(Arc<Mutex<Line>>);

impl Stream for Requests {
    type Item = Result<TrackRequest, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut line = self.0.lock().expect("nobody panics with it");
        match line.sent.pop_front() {
            None if !line.is_finished => {
                line.waker = Some(cx.waker().clone());
                Poll::Pending
            }
            next => Poll::Ready(next),
        }
    }
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// A stream, from its client's side.
struct Client {
    /// `None` once it has ended.
    track: Option<Track<Requests>>,
    line: Arc<Mutex<Line>>,
    woken: Arc<Woken>,
    /// Of its session, once it was told.
    session: Option<usize>,
    notify: bool,
}

/// What is known of a session, by any stream of it.
struct Session {
    token: Vec<u8>,
    /// Of the newest tick that was not refused.
    last_sequence: Option<u64>,
}

struct World {
    registry: Arc<SceneRegistry>,
    kept: Arc<SessionRegistry>,
    scene: Arc<Scene>,
    clients: [Client; STREAMS],
    sessions: Vec<Session>,
    /// Of the newest tick sent, in any stream.
    last_number: u64,
}

impl World {
    fn new(keeps_sessions: bool) -> World {
        let mut settings =
            config::SessionSettings { count_max: SESSIONS_MAX, ..Default::default() };
        if !keeps_sessions {
            settings.grace = Default::default();
        }
        let kept = Arc::new(SessionRegistry::new(&settings));
        let config = Config { sessions: settings, ..Config::default() };
        let registry = Arc::new(SceneRegistry::new(&config));
        let scene = furnished(&registry);
        let clients = [(); STREAMS].map(|()| Client::new(&registry, &kept));
        World { registry, kept, scene, clients, sessions: Vec::new(), last_number: 0 }
    }

    fn go_on(&mut self, step: Step) {
        let at = |stream: u8| usize::from(stream) % STREAMS;
        match step {
            Step::Open { stream } => {
                self.clients[at(stream)] = Client::new(&self.registry, &self.kept)
            }
            Step::Start { stream, every, notify, tools, scene, token } => {
                let mode = if every { TrackMode::Every } else { TrackMode::Latest };
                let start = TrackStart {
                    scene_id: [SCENE, SCENE, SCENE, "", "t"][usize::from(scene) % 5].to_owned(),
                    tool_ids: [vec![1], vec![1], vec![], vec![2], vec![1, 1]]
                        [usize::from(tools) % 5]
                        .clone(),
                    mode: mode.into(),
                    notify_stale: notify,
                    resume_token: self.token(token),
                    ..Default::default()
                };
                let client = &mut self.clients[at(stream)];
                client.notify |= notify;
                client.say(Some(Message::Start(start)));
            }
            Step::Tick { stream, number, x, late } => self.tick(at(stream), &number, x, late),
            Step::NoPlace { stream, number } => {
                let tick = tick(number.into(), f64::NAN, false);
                self.clients[at(stream)].say(Some(Message::Tick(tick)));
            }
            Step::Empty { stream } => self.clients[at(stream)].say(None),
            Step::BreakOff { stream } => {
                let status = Err(Status::cancelled("the client is gone"));
                self.clients[at(stream)].feed(|line| line.sent.push_back(status));
            }
            Step::Finish { stream } => {
                self.clients[at(stream)].feed(|line| line.is_finished = true);
            }
            Step::Poll { stream } => self.poll(at(stream)),
            Step::Run => self.run(),
            Step::Check { after_ms } => {
                self.kept.check(now_ns() + 1_000_000 * u64::from(after_ms));
                assert!(self.kept.counted().waiting <= SESSIONS_MAX);
            }
            Step::Deform { x } => self.deform(x),
            // Gone already the second time.
            Step::RemoveTool => drop(self.scene.remove_tool(TOOL)),
            Step::Quarantine { on } => {
                self.registry.get(SCENE).expect("there").life().set_quarantined(on);
            }
            Step::Delete => {
                self.registry.delete(SCENE, &Caller::ANYBODY).expect("there");
                self.scene = furnished(&self.registry);
            }
        }
    }

    fn token(&self, token: Token) -> Vec<u8> {
        match token {
            Token::None => Vec::new(),
            Token::Told(at) if self.sessions.is_empty() => vec![at; 16],
            Token::Told(at) => self.sessions[usize::from(at) % self.sessions.len()].token.clone(),
            Token::Any(bytes) => bytes,
        }
    }

    fn tick(&mut self, at: usize, number: &Number, x: i8, late: bool) {
        let sequence = match number {
            Number::Next(more) => self.last_number.saturating_add(1 + u64::from(*more)),
            Number::Back(less) => self.last_number.saturating_sub(u64::from(*less)),
            Number::Any(number) => *number,
        };
        self.last_number = sequence;
        let tick = tick(sequence, f64::from(x) * 1e-3, late);
        self.clients[at].say(Some(Message::Tick(tick)));
    }

    fn deform(&self, x: i8) {
        let tissue = self.scene.tissue(TISSUE).expect("there");
        let positions = vec![glam::Vec3::splat(f32::from(x) * 1e-3)];
        let deformation = Deformation::Sparse { vertices: vec![0], positions };
        tissue.deform(deformation, now_ns()).expect("accepted");
    }

    /// Polls each stream until it has nothing more to say, but only when it was woken.
    fn run(&mut self) {
        for at in 0..STREAMS {
            let mut n_polls = 0;
            while self.clients[at].is_woken() {
                n_polls += 1;
                assert!(n_polls < POLLS_MAX, "stream {at} does not come to rest");
                self.poll(at);
            }
        }
    }

    /// One poll; what it gives is looked at.
    fn poll(&mut self, at: usize) {
        let client = &mut self.clients[at];
        client.woken.0.store(false, Relaxed);
        let waker = Waker::from(Arc::clone(&client.woken));
        let Some(track) = &mut client.track else { return };
        match Pin::new(track).poll_next(&mut Context::from_waker(&waker)) {
            Poll::Pending => {}
            Poll::Ready(Some(Ok(answer))) => {
                // What is ready may be followed by more.
                client.woken.0.store(true, Relaxed);
                self.answered(at, &answer);
            }
            Poll::Ready(Some(Err(status))) => {
                let known = [
                    Code::Aborted,
                    Code::Cancelled,
                    Code::FailedPrecondition,
                    Code::InvalidArgument,
                    Code::NotFound,
                    Code::ResourceExhausted,
                    Code::Unavailable,
                ];
                assert!(known.contains(&status.code()), "{status:?}");
                client.track = None;
            }
            Poll::Ready(None) => client.track = None,
        }
    }

    fn answered(&mut self, at: usize, answer: &TrackResponse) {
        let keeps_sessions = !answer.session_token.is_empty();
        let client = &mut self.clients[at];
        if keeps_sessions {
            assert_eq!(client.session, None, "a stream's token is told once");
            assert_eq!(answer.session_token.len(), 16);
            let known = self.sessions.iter().position(|s| s.token == answer.session_token);
            client.session = Some(known.unwrap_or_else(|| {
                let token = answer.session_token.clone();
                self.sessions.push(Session { token, last_sequence: None });
                self.sessions.len() - 1
            }));
        }
        let is_stale = answer.flags & 1 << Flag::SessionStale as u32 != 0;
        if answer.is_notice {
            assert!(client.notify && is_stale, "{answer:?}");
            return;
        }
        let Some(session) = client.session.map(|at| &mut self.sessions[at]) else { return };
        match &answer.refusal {
            Some(refusal) => {
                assert_ne!(refusal.code, Code::Internal as u32, "{refusal:?}");
                assert!(!refusal.message.is_empty());
            }
            None => {
                let last = session.last_sequence.replace(answer.sequence);
                assert!(last.is_none_or(|last| last < answer.sequence), "{last:?}, {answer:?}");
                assert_eq!(answer.links.len(), 1);
            }
        }
    }

    /// Everybody is told that the server ends, and nothing is left of them.
    fn end(mut self) {
        self.run();
        self.registry.shut_down();
        self.run();
        for client in &self.clients {
            assert!(client.track.is_none(), "a stream was not told that the server ends");
        }
        // Those that broke off before are given up when their time is over.
        self.kept.check(u64::MAX);
        let counted = self.kept.counted();
        assert_eq!((counted.stale, counted.waiting), (0, 0), "{counted:?}");
        assert_eq!(self.registry.streams().loops().len(), 0, "a loop is left");
    }
}

impl Client {
    fn new(registry: &Arc<SceneRegistry>, kept: &Arc<SessionRegistry>) -> Client {
        let line = Arc::<Mutex<Line>>::default();
        let requests = Requests(Arc::clone(&line));
        let track = Track::new(Arc::clone(registry), Arc::clone(kept), Caller::ANYBODY, requests);
        // The transport polls a new stream once.
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        Client { track: Some(track), line, woken, session: None, notify: false }
    }

    fn say(&mut self, message: Option<Message>) {
        self.feed(|line| line.sent.push_back(Ok(TrackRequest { message })));
    }

    fn feed(&mut self, change: impl FnOnce(&mut Line)) {
        let waker = {
            let mut line = self.line.lock().expect("nobody panics with it");
            change(&mut line);
            line.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn is_woken(&self) -> bool {
        self.track.is_some() && self.woken.0.load(Relaxed)
    }
}

fn furnished(registry: &SceneRegistry) -> Arc<Scene> {
    let host = registry.create(SCENE, &Caller::ANYBODY).expect("room");
    stage::add_blade(&host.scene);
    stage::add_sheet(&host.scene);
    Arc::clone(&host.scene)
}

fn tick(sequence: u64, x: f64, late: bool) -> Tick {
    let pose = Some(Pose { position_m: Some(Vec3 { x, y: 0.0, z: 0.0 }), orientation: None });
    let tool = ToolPose { tool_id: TOOL.0, pose, ..Default::default() };
    Tick { sequence, tools: vec![tool], deadline_us: u32::from(late), ..Default::default() }
}
