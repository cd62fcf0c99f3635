//! The haptic loop: a stream of answers that computes each tick where its bytes arrived.
//!
//! There is no task, channel or queue of poses per tick. Polling for an answer takes all that is ready,
//! keeps the newest tick (each one in `Mode::Every`) and computes it on the spot.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio_stream::Stream;
use tonic::Status;

use super::{
    clock::now_ns,
    contain::contain,
    convert::{
        self, Problem,
        tick::{Mode, Start},
    },
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
    requests: S,
    haptic_loop: Option<Loop>,
}

/// A loop that has started.
struct Loop {
    scene: Arc<Scene>,
    life: SceneLife,
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
    pub fn new(table: Arc<SceneTable>, requests: S) -> Track<S> {
        Track { table, requests, haptic_loop: None }
    }
}

impl<S> Stream for Track<S>
where
    S: Stream<Item = Result<TrackRequest, Status>> + Unpin,
{
    type Item = Result<TrackResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Track { table, requests, haptic_loop } = self.get_mut();
        let running = match haptic_loop {
            Some(running) => running,
            None => match ready!(Pin::new(&mut *requests).poll_next(cx)) {
                Some(first) => haptic_loop.insert(Loop::start(table, first?)?),
                None => return Poll::Ready(None),
            },
        };
        running.waiting = running.held.take();
        while !running.must_answer() {
            match Pin::new(&mut *requests).poll_next(cx) {
                Poll::Ready(Some(request)) => running.take(request?)?,
                Poll::Pending if running.waiting.is_none() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        Poll::Ready(running.waiting.take().map(|waiting| running.answer(waiting)))
    }
}

impl Loop {
    fn start(table: &SceneTable, first: TrackRequest) -> Result<Loop, Refused> {
        let Some(Message::Start(sent)) = first.message else {
            return Err(Problem::Missing.of("start").into());
        };
        let host = table.get(&sent.scene_id).map_err(|e| e.within("start"))?;
        let start = convert::tick::start(&sent, table.limits()).map_err(|e| e.within("start"))?;
        let Start { tools, mode, options } = start;
        Ok(Loop {
            scene: Arc::clone(&host.scene),
            life: host.life(),
            session: Session::new(Arc::clone(&host.scene), &tools, options)?,
            mode,
            last_sequence: None,
            waiting: None,
            held: None,
            poses: Vec::new(),
        })
    }

    /// Takes one message in; a tick becomes the waiting one.
    fn take(&mut self, request: TrackRequest) -> Result<(), Status> {
        self.life.check_served(&self.scene)?;
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
                self.waiting = Some(taken);
            }
            None => self.waiting = Some(taken),
        }
        Ok(())
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

    /// An error ends the stream; a refusal is an answer.
    fn answer(&mut self, waiting: Waiting) -> Result<TrackResponse, Status> {
        let Waiting { tick, received_ns, coalesced } = waiting;
        let mut answer = TrackResponse {
            sequence: tick.sequence,
            coalesced,
            client_time_ns: tick.client_time_ns,
            received_ns,
            ..Default::default()
        };
        match contain(|| self.compute(&tick, received_ns, &mut answer))? {
            Ok(()) => self.last_sequence = Some(tick.sequence),
            Err(refused) => answer.refusal = Some(refused.into()),
        }
        Ok(answer)
    }

    fn compute(
        &mut self,
        tick: &proto::Tick,
        received_ns: u64,
        into: &mut TrackResponse,
    ) -> Result<(), Refused> {
        self.check_rising(tick)?;
        convert::tick::poses(tick, self.scene.limits(), &mut self.poses)?;
        let deadline_ns = match tick.deadline_us {
            0 => None,
            us => Some(received_ns + 1000 * u64::from(us)),
        };
        let late = || deadline_ns.is_some_and(|deadline_ns| now_ns() >= deadline_ns);
        let started_ns = now_ns();
        let answer = self.session.tick(tick.sequence, &self.poses, started_ns, &late)?;
        into.compute_us = (now_ns() - started_ns) as f64 / 1e3;
        into.flags = convert::answer::flags(&answer.flags);
        into.tissues = convert::answer::tissue_states(&answer.tissues);
        into.links = convert::answer::links(answer);
        into.probes = convert::answer::probes(answer);
        Ok(())
    }
}
