//! The haptic loop: a stream of answers that computes each tick where its bytes arrived.
//!
//! There is no task, channel or queue of poses per tick. Polling for an answer takes all that is ready,
//! keeps the newest tick (each one in `Mode::Every`) and computes it on the spot.

use std::{
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio_stream::Stream;
use tonic::Status;

use super::{
    access::Caller,
    bell::Bell,
    clock::now_ns,
    contain::contain,
    convert::{
        self, Problem,
        tick::{Mode, Start},
    },
    metrics::{Metrics, StreamFigures, TickTimes},
    proto::{self, TrackRequest, TrackResponse, track_request::Message},
    status::Refused,
    table::{SceneLife, SceneTable},
};
use crate::scene::{
    Scene,
    tick::{Session, TickError, ToolPose},
};

/// Ticks that one answer may swallow: a client that sends without end cannot keep it from being given.
/// As many of the smallest ticks (64 bytes) as a stream's receive window holds.
const SWALLOWED_MAX: u32 = 4_096;

/// The answers of one haptic loop. `S` brings its requests.
pub struct Track<S> {
    table: Arc<SceneTable>,
    caller: Caller,
    requests: S,
    haptic_loop: Option<Loop>,
    /// The last poll gave an answer that tonic has not handed to the transport yet.
    gathered: bool,
}

/// A loop that has started.
struct Loop {
    scene: Arc<Scene>,
    life: SceneLife,
    bell: Arc<Bell>,
    metrics: Arc<Metrics>,
    figures: Arc<StreamFigures>,
    session: Session,
    mode: Mode,
    /// Of the newest tick that was answered or swallowed.
    last_sequence: Option<u64>,
    /// The tick to answer next.
    waiting: Option<Waiting>,
    /// A tick that must not swallow the waiting one, because it will be refused.
    held: Option<Waiting>,
    poses: Vec<ToolPose>,
}

struct Waiting {
    tick: proto::Tick,
    received_ns: u64,
    coalesced: u32,
}

impl<S> Track<S> {
    /// A loop that starts with the first request.
    pub fn new(table: Arc<SceneTable>, caller: Caller, requests: S) -> Track<S> {
        Track { table, caller, requests, haptic_loop: None, gathered: false }
    }
}

impl<S> Stream for Track<S>
where
    S: Stream<Item = Result<TrackRequest, Status>> + Unpin,
{
    type Item = Result<TrackResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Track { table, caller, requests, haptic_loop, gathered } = self.get_mut();
        let running = match haptic_loop {
            Some(running) => running,
            None => match ready!(Pin::new(&mut *requests).poll_next(cx)) {
                Some(first) => haptic_loop.insert(Loop::start(table, caller, first?)?),
                None => return Poll::Ready(None),
            },
        };
        if running.waiting.is_none() {
            running.waiting = running.held.take();
        }
        while !running.must_answer() {
            match Pin::new(&mut *requests).poll_next(cx) {
                Poll::Ready(Some(request)) => running.take(request?)?,
                Poll::Pending if running.waiting.is_none() => {
                    *gathered = false;
                    running.bell.wakes(cx.waker());
                    running.life.check_lasting(&running.scene)?;
                    return Poll::Pending;
                }
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        let Some(waiting) = running.waiting.take() else { return Poll::Ready(None) };
        // tonic gathers answers, up to 32 KiB of them, until a poll is pending. Were the next tick computed
        // at once, a client that sends without pause would get answers that are many ticks old.
        if mem::take(gathered) {
            running.waiting = Some(waiting);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        *gathered = true;
        Poll::Ready(Some(Ok(running.answer(waiting))))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.metrics.stream_ends(&self.figures);
    }
}

impl Loop {
    fn start(table: &SceneTable, caller: &Caller, first: TrackRequest) -> Result<Loop, Refused> {
        let Some(Message::Start(sent)) = first.message else {
            return Err(Problem::Missing.of("start").into());
        };
        let host = table.served(&sent.scene_id).map_err(|e| e.within("start"))?;
        let start = convert::tick::start(&sent, table.limits()).map_err(|e| e.within("start"))?;
        let Start { tools, mode, options } = start;
        Ok(Loop {
            scene: Arc::clone(&host.scene),
            life: host.life(),
            bell: host.life().bell(),
            session: Session::new(Arc::clone(&host.scene), &tools, options)?,
            figures: table.metrics().stream_begins(&sent.scene_id, caller)?,
            metrics: Arc::clone(table.metrics()),
            mode,
            last_sequence: None,
            waiting: None,
            held: None,
            poses: Vec::new(),
        })
    }

    /// Takes one message in; a tick becomes the waiting one.
    fn take(&mut self, request: TrackRequest) -> Result<(), Status> {
        self.life.check_lasting(&self.scene)?;
        let tick = match request.message {
            Some(Message::Tick(tick)) => tick,
            Some(Message::Start(_)) => return Err(Problem::Repeated.of("start").into()),
            None => return Err(Problem::Missing.of("tick").into()),
        };
        let mut taken = Waiting { tick, received_ns: now_ns(), coalesced: 0 };
        match &self.waiting {
            Some(older) if taken.tick.sequence <= older.tick.sequence => self.held = Some(taken),
            Some(older) => {
                taken.coalesced = older.coalesced + 1;
                self.last_sequence = Some(older.tick.sequence);
                let swallowed = self.waiting.replace(taken).expect("it was waiting");
                if contain(|| self.pass(&swallowed.tick)).is_err() {
                    self.session = self.session.restarted();
                }
            }
            None => self.waiting = Some(taken),
        }
        Ok(())
    }

    /// The sweep of the next answer goes through a swallowed tick's poses. A bad tick has none.
    fn pass(&mut self, tick: &proto::Tick) {
        if convert::tick::poses(tick, self.scene.limits(), &mut self.poses).is_ok() {
            // What is refused changes nothing, and a swallowed tick has no answer to say so.
            let _ = self.session.pass(tick.sequence, &self.poses);
        }
    }

    /// Whether the waiting tick may not be swallowed by another.
    fn must_answer(&self) -> bool {
        let is_due = |waiting: &Waiting| {
            self.mode == Mode::Every
                || self.held.is_some()
                || waiting.coalesced >= SWALLOWED_MAX
                || self.check_rising(&waiting.tick).is_err()
        };
        self.waiting.as_ref().is_some_and(is_due)
    }

    fn check_rising(&self, tick: &proto::Tick) -> Result<(), TickError> {
        match self.last_sequence {
            Some(last) if tick.sequence <= last => {
                Err(TickError::Sequence { got: tick.sequence, last })
            }
            _ => Ok(()),
        }
    }

    /// What is refused, or panics, costs this answer only.
    fn answer(&mut self, waiting: Waiting) -> TrackResponse {
        let Waiting { tick, received_ns, coalesced } = waiting;
        self.figures.ticks.coalesced.add(coalesced.into());
        let mut answer = TrackResponse {
            sequence: tick.sequence,
            coalesced,
            client_time_ns: tick.client_time_ns,
            received_ns,
            ..Default::default()
        };
        match contain(|| self.compute(&tick, received_ns, &mut answer)) {
            Ok(Ok(())) => self.last_sequence = Some(tick.sequence),
            Ok(Err(refused)) => {
                self.figures.ticks.refused.add(1);
                answer.refusal = Some(refused.into());
            }
            Err(panicked) => {
                self.figures.ticks.panicked.add(1);
                self.session = self.session.restarted();
                answer.refusal = Some(Refused::from(panicked).into());
            }
        }
        answer
    }

    fn compute(
        &mut self,
        tick: &proto::Tick,
        received_ns: u64,
        into: &mut TrackResponse,
    ) -> Result<(), Refused> {
        self.life.check_served(&self.scene)?;
        self.check_rising(tick)?;
        convert::tick::poses(tick, self.scene.limits(), &mut self.poses)?;
        let deadline_ns = match tick.deadline_us {
            0 => None,
            us => Some(received_ns + 1000 * u64::from(us)),
        };
        let late = || deadline_ns.is_some_and(|deadline_ns| now_ns() >= deadline_ns);
        let started_ns = now_ns();
        let answer = self.session.tick(tick.sequence, &self.poses, started_ns, &late)?;
        let computed_ns = now_ns();
        into.compute_us = (computed_ns - started_ns) as f64 / 1e3;
        into.flags = convert::answer::flags(&answer.flags);
        into.tissues = convert::answer::tissue_states(&answer.tissues);
        into.links = convert::answer::links(answer);
        into.link_pairs = convert::pairs::of_links(answer);
        into.probes = convert::answer::probes(answer);
        let ticks = &self.figures.ticks;
        ticks.degraded.add(u64::from(answer.flags.degraded));
        let done_ns = now_ns();
        let times = TickTimes { received_ns, started_ns, computed_ns, done_ns };
        ticks.note(&times, self.metrics.objective);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;
    use tokio_stream::StreamExt;

    use super::*;
    use crate::{
        config::Config,
        geometry::{
            MeshData, Pose,
            mesh_load::{self, Basis, LoadOptions, LoadedMesh},
        },
        index::Surface,
        scene::{Link, TissueOptions, ToolParts, field::field_of},
        sdf::FieldOptions,
        service::contain::injected,
    };

    #[tokio::test]
    async fn all_that_is_ready_is_one_answer_in_latest_mode() {
        let ready = [1, 2, 3, 7].map(|sequence| tick(sequence, 1.0));
        let answers = answers_to(proto::TrackMode::Latest, &ready).await;
        assert_eq!(answers, [(7, 3, None)]);
    }

    #[tokio::test]
    async fn a_tick_that_goes_back_swallows_nothing() {
        let ready = [1, 2, 2, 1, 3].map(|sequence| tick(sequence, 1.0));
        let refused = Some("sequence".to_owned());
        let answers = answers_to(proto::TrackMode::Latest, &ready).await;
        let expected = [(2, 1, None), (2, 0, refused.clone()), (1, 0, refused), (3, 0, None)];
        assert_eq!(answers, expected);
    }

    #[tokio::test]
    async fn a_refused_tick_leaves_its_sequence_free() {
        let field = Some("tools[0].pose.position_m.x".to_owned());
        let ready = [tick(5, f64::NAN), tick(5, 1.0), tick(6, 1.0)];
        let latest = answers_to(proto::TrackMode::Latest, &ready).await;
        assert_eq!(latest, [(5, 0, field.clone()), (6, 1, None)]);
        let every = answers_to(proto::TrackMode::Every, &ready).await;
        assert_eq!(every, [(5, 0, field), (5, 0, None), (6, 0, None)]);
    }

    /// Start and end are on one side of a sheet, the swallowed pose on the other.
    #[tokio::test]
    async fn the_sweep_goes_through_a_swallowed_pose() {
        let ways = [(&[-0.05, 0.05, -0.05][..], true), (&[-0.05, -0.06, -0.05], false)];
        for (way, crossed) in ways {
            let (_table, mut running) = needle_and_sheet();
            let message = |x: &f64, sequence| TrackRequest {
                message: Some(Message::Tick(tick(sequence, *x))),
            };
            running.take(message(&way[0], 1)).expect("good");
            let waiting = running.waiting.take().expect("a tick");
            running.answer(waiting);
            for (x, sequence) in way[1..].iter().zip(2..) {
                running.take(message(x, sequence)).expect("good");
            }
            let waiting = running.waiting.take().expect("a tick");
            let answer = running.answer(waiting);
            assert_eq!((answer.sequence, answer.coalesced), (3, 1));
            assert_ne!(answer.flags & 1 << proto::Flag::Swept as u32, 0);
            let contacts = answer.links[0].contacts.as_ref();
            let met = contacts.is_some_and(|c| c.toi.iter().any(|toi| *toi > 0.0));
            assert_eq!(met, crossed, "{answer:?}");
        }
    }

    fn needle_and_sheet() -> (Arc<SceneTable>, Loop) {
        let table = Arc::new(SceneTable::new(&Config::default()));
        let scene = Arc::clone(&table.create("s", &Caller::ANYBODY).expect("room").scene);
        scene.add_tool(needle()).expect("room");
        scene.add_tissue("sheet", sheet(), TissueOptions::default(), 0).expect("room");
        let (scene_id, tool_ids) = ("s".to_owned(), vec![1]);
        let start = proto::TrackStart { scene_id, tool_ids, ..Default::default() };
        let first = TrackRequest { message: Some(Message::Start(start)) };
        let running = Loop::start(&table, &Caller::ANYBODY, first).expect("a good start");
        (table, running)
    }

    fn ask(running: &mut Loop, sequence: u64) -> TrackResponse {
        let message = Some(Message::Tick(tick(sequence, 0.0)));
        running.take(TrackRequest { message }).expect("good");
        let waiting = running.waiting.take().expect("a tick");
        running.answer(waiting)
    }

    #[tokio::test]
    async fn a_panic_costs_its_answer_and_no_contact_id_comes_twice() {
        let (_table, mut running) = needle_and_sheet();
        let ids = |answer: &TrackResponse| {
            answer.links[0].contacts.as_ref().expect("they touch").contact_ids.clone()
        };
        let before = ids(&ask(&mut running, 1));
        assert_eq!(ids(&ask(&mut running, 2)), before);
        injected::panics(1);
        let refusal = ask(&mut running, 3).refusal.expect("it panicked");
        assert_eq!(refusal.code, tonic::Code::Internal as u32);
        let after = ids(&ask(&mut running, 3));
        assert!(after.iter().all(|id| !before.contains(id)), "{before:?}, {after:?}");
    }

    #[tokio::test]
    async fn a_quarantined_scene_refuses_ticks_until_it_is_served_again() {
        let (table, mut running) = needle_and_sheet();
        let life = table.get("s").expect("there").life();
        assert_eq!(ask(&mut running, 1).refusal, None);
        life.set_quarantined(true);
        let refusal = ask(&mut running, 2).refusal.expect("not served");
        assert_eq!(refusal.code, tonic::Code::FailedPrecondition as u32);
        assert!(refusal.message.contains("quarantined"), "{refusal:?}");
        life.set_quarantined(false);
        assert_eq!(ask(&mut running, 3).refusal, None);
    }

    /// Across x, 20 mm wide.
    fn sheet() -> LoadedMesh {
        let corners = [[0.0, -1.0, -1.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0]];
        let positions = corners.map(|c| Vec3::from(c) * 0.01).to_vec();
        let mesh = MeshData { positions, triangles: vec![[0, 1, 2], [0, 2, 3]] };
        mesh_load::load(mesh, &LoadOptions::default()).expect("a sheet")
    }

    fn tick(sequence: u64, x: f64) -> proto::Tick {
        let position_m = Some(proto::Vec3 { x, y: 0.0, z: 0.0 });
        let pose = Some(proto::Pose { position_m, orientation: None });
        let tool = proto::ToolPose { tool_id: 1, pose, ..Default::default() };
        proto::Tick { sequence, tools: vec![tool], ..Default::default() }
    }

    /// Sequence, coalesced and refused field of each answer to ticks that are all there at once.
    async fn answers_to(
        mode: proto::TrackMode,
        ready: &[proto::Tick],
    ) -> Vec<(u64, u32, Option<String>)> {
        let table = Arc::new(SceneTable::new(&Config::default()));
        let scene = Arc::clone(&table.create("s", &Caller::ANYBODY).expect("room").scene);
        scene.add_tool(needle()).expect("room");
        let (scene_id, tool_ids) = ("s".to_owned(), vec![1]);
        let start = proto::TrackStart { scene_id, tool_ids, mode: mode as i32, report: None };
        let messages = [Message::Start(start)].into_iter();
        let messages = messages.chain(ready.iter().cloned().map(Message::Tick));
        let requests = messages.map(|message| Ok(TrackRequest { message: Some(message) }));
        let requests: Vec<_> = requests.collect();
        let answers = Track::new(table, Caller::ANYBODY, tokio_stream::iter(requests))
            .collect::<Vec<_>>()
            .await;
        let answers = answers.into_iter().map(|a| a.expect("an answer"));
        answers.map(|a| (a.sequence, a.coalesced, a.refusal.map(|r| r.field))).collect()
    }

    fn needle() -> ToolParts {
        let positions = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let options = LoadOptions {
            scale_to_m: 0.01,
            basis: Basis::RightHanded,
            max_vertices: 9,
            max_triangles: 9,
        };
        let mesh = mesh_load::load(MeshData { positions, triangles }, &options);
        let field = |s: &Surface| field_of(s, &FieldOptions::default(), &|_, _| {});
        let link = Link::new("tip".to_owned(), mesh.expect("closed"), Pose::IDENTITY, field);
        ToolParts { name: "needle".to_owned(), links: vec![link], probes: Vec::new() }
    }
}
