//! State of a haptic loop between ticks, and the answer to each tick.

#[cfg(test)]
pub(super) mod tests;

use std::{mem, sync::Arc, time::Duration};

use tokio::task::block_in_place;
use tonic::Status;

use super::loop_engine::{EngineTimes, LoopEngine};
use crate::{
    os::thread_clock,
    proto::{self, TickOutcome, TrackRequest, TrackResponse, track_request::Message},
    scene::{Scene, Tool},
    service::{
        access::caller::Caller,
        catch_panic::catch_panic,
        clock::now_ns,
        convert::{self, Problem, tick::Mode},
        host::{
            live_view::last_tick::{AnsweredTick, TickShower, last_tick},
            quota::{Reservation, Share},
            scene_life::SceneLife,
            scene_registry::SceneRegistry,
            stream_table::{StreamMetrics, StreamTable},
            tick_budget::StreamBudget,
        },
        metrics::{Metrics, TickTimes},
        recording::tick_recorder::{RING_BYTES, TickRecorder},
        refused::Refused,
    },
    time_left::TimeLeft,
};

/// Maximum ticks that one answer may coalesce: a client that sends without end cannot prevent its answer. A stream's
/// receive window holds this many of the smallest ticks (64 bytes).
const COALESCED_MAX: u32 = 1_024;

/// A loop that has started.
pub struct HapticLoop {
    scene: Arc<Scene>,
    /// State of its scene: whether it is still served.
    pub life: SceneLife,
    metrics: Arc<Metrics>,
    streams: Arc<StreamTable>,
    stream_metrics: Arc<StreamMetrics>,
    /// Shows ticks to watchers.
    shower: TickShower,
    /// Tools of the session.
    tools: Vec<Arc<Tool>>,
    engine: LoopEngine,
    /// Records the loop, if its scene is recorded.
    recorder: Option<TickRecorder>,
    /// Memory reserved for the session.
    _room: Reservation,
    mode: Mode,
    /// Maximum time in the engine for one tick.
    time_max: Duration,
    /// Budget of thread time, shared with other streams.
    budget: StreamBudget,
    /// The tick to answer next.
    pub waiting: Option<Waiting>,
    /// A tick that the waiting one must not be coalesced into, because it will be refused.
    held: Option<Waiting>,
    /// Time without a pose after which the session is stale.
    stale_after: Duration,
    last_received_ns: Option<u64>,
    /// The next answer reports that no pose came for too long before it.
    was_stale: bool,
    /// The client asked for a notice if no pose comes for too long.
    notify_stale: bool,
    /// The notice was sent, and no pose has come since.
    stale_told: bool,
    /// The client asked for the duration of each stage.
    report_stages: bool,
}

/// A tick that is to be answered.
pub struct Waiting {
    tick: proto::Tick,
    received_ns: u64,
    coalesced: u32,
}

impl Drop for HapticLoop {
    fn drop(&mut self) {
        self.streams.loop_ends(&self.stream_metrics);
    }
}

impl HapticLoop {
    /// Starts a loop as its first message asks for.
    pub fn start(
        registry: &SceneRegistry,
        stale_after: Duration,
        caller: &Caller,
        sent: &proto::TrackStart,
    ) -> Result<HapticLoop, Refused> {
        let host = registry.served(&sent.scene_id).map_err(|e| e.within("start"))?;
        let start = convert::tick::start(sent, registry.limits()).map_err(|e| e.within("start"))?;
        let mode = start.mode;
        let tools = start.tools.iter().map(|id| host.scene.tool(*id));
        let tools: Vec<Arc<Tool>> = tools.collect::<Result<_, _>>()?;
        let n_links = tools.iter().map(|tool| tool.links.len()).sum();
        let mut room = Share::of_session(n_links);
        room.add(Share::of_bytes(host.recorder().map_or(0, |_| RING_BYTES)));
        // Reserved before the loop is created.
        let room = registry.reserve(caller, room)?;
        let engine = LoopEngine::new(&host.scene, start, sent)?;
        let (shower, last_tick) = last_tick(&tools);
        Ok(HapticLoop {
            scene: Arc::clone(&host.scene),
            life: host.life(),
            _room: room,
            engine,
            stream_metrics: registry.streams().loop_begins(&sent.scene_id, caller, last_tick)?,
            streams: Arc::clone(registry.streams()),
            recorder: host.recorder().and_then(|recorder| recorder.session(sent, now_ns())),
            shower,
            tools,
            metrics: Arc::clone(registry.metrics()),
            mode,
            time_max: registry.tick_time_max(),
            budget: registry.tick_budgets().of(caller),
            waiting: None,
            held: None,
            stale_after,
            last_received_ns: None,
            was_stale: false,
            notify_stale: sent.notify_stale,
            stale_told: false,
            report_stages: sent.report.is_some_and(|report| report.report_stages),
        })
    }

    /// Returns an error if the stream must end.
    pub fn check_lasting(&self) -> Result<(), Status> {
        Ok(self.life.check_lasting(&self.scene)?)
    }

    /// Number of rendered tools of the loop.
    pub fn n_rendered(&self) -> usize {
        self.engine.session().renderings().len()
    }

    /// Makes the held tick the one to answer, if there is no other.
    pub fn release_held(&mut self) {
        if self.waiting.is_none() {
            self.waiting = self.held.take();
        }
    }

    /// Takes in one message, received at `received_ns`; a tick becomes the waiting one.
    pub fn take(&mut self, request: TrackRequest, received_ns: u64) -> Result<(), Status> {
        self.check_lasting()?;
        let tick = match request.message {
            Some(Message::Tick(tick)) => tick,
            Some(Message::Start(_)) => return Err(Problem::Repeated.of("start").into()),
            None => return Err(Problem::Missing.of("tick").into()),
        };
        let since_ns =
            received_ns - self.last_received_ns.replace(received_ns).unwrap_or(received_ns);
        self.was_stale |= u128::from(since_ns) > self.stale_after.as_nanos();
        self.stale_told = false;
        let mut taken = Waiting { tick, received_ns, coalesced: 0 };
        match &self.waiting {
            // The new tick will be refused, and a refusal must not cost the older tick its answer.
            Some(older) if taken.tick.sequence <= older.tick.sequence => self.held = Some(taken),
            Some(older) => {
                taken.coalesced = older.coalesced + 1;
                let coalesced = self.waiting.replace(taken).expect("it was waiting");
                self.engine.coalesce(&coalesced.tick);
                if let Some(recorder) = &mut self.recorder {
                    recorder.coalesced(&coalesced.tick, received_ns);
                }
            }
            None => self.waiting = Some(taken),
        }
        Ok(())
    }

    /// Returns the greatest sequence number taken: another tick must be above it.
    pub fn last_taken(&self) -> Option<u64> {
        self.waiting.as_ref().map(|waiting| waiting.tick.sequence).max(self.engine.last_sequence())
    }

    /// Returns true if the waiting tick must be answered before another is taken.
    pub fn must_answer(&self) -> bool {
        let is_due = |waiting: &Waiting| {
            self.mode == Mode::Every
                || self.held.is_some()
                || waiting.coalesced >= COALESCED_MAX
                || self.engine.check_rising(&waiting.tick).is_err()
        };
        self.waiting.as_ref().is_some_and(is_due)
    }

    /// Answers a tick. A tick that is refused or panics costs only this answer.
    ///
    /// # Errors
    /// Returns the time that the tick, which stays waiting, must wait so that other keys have their turn.
    pub fn answer(&mut self, waiting: Waiting) -> Result<TrackResponse, Duration> {
        let turn = match self.budget.turn(now_ns()) {
            Ok(turn) => turn,
            Err(wait) => {
                self.waiting = Some(waiting);
                return Err(wait);
            }
        };
        let answer = if turn.is_long() {
            // A worker of the runtime that computes polls no sockets, and the other workers may all be asleep. Another
            // thread replaces it meanwhile.
            block_in_place(|| self.answer_now(waiting))
        } else {
            self.answer_now(waiting)
        };
        self.budget.end(turn, now_ns());
        Ok(answer)
    }

    fn answer_now(&mut self, waiting: Waiting) -> TrackResponse {
        let Waiting { tick, received_ns, coalesced } = waiting;
        // Counted when the newest tick is answered: ticks that still wait may become part of a refused tick.
        self.stream_metrics.ticks.coalesced.add(coalesced.into());
        let mut answer = TrackResponse {
            sequence: tick.sequence,
            coalesced,
            client_time_ns: tick.client_time_ns,
            received_ns,
            ..Default::default()
        };
        // Checks before the engine is called are not results of the engine.
        let served = self.life.check_served(&self.scene).map_err(Refused::from);
        let computed = served.map_err(|refused| (TickOutcome::NotServed, refused)).and_then(|()| {
            match catch_panic(|| self.compute(&tick, received_ns, &mut answer)) {
                Ok(computed) => computed.map_err(|refused| (TickOutcome::Refused, refused)),
                Err(panicked) => Err((TickOutcome::Panicked, panicked.into())),
            }
        });
        let outcome = match computed {
            Ok(()) => TickOutcome::Answered,
            Err((outcome, refused)) => {
                if outcome == TickOutcome::Panicked {
                    self.stream_metrics.ticks.panicked.add(1);
                    self.engine.restart();
                } else {
                    self.stream_metrics.ticks.refused.add(1);
                }
                answer.refusal = Some(convert::refusal::refusal(&refused));
                outcome
            }
        };
        if mem::take(&mut self.was_stale) {
            answer.flags |= 1 << proto::Flag::SessionStale as u32;
        }
        if let Some(recorder) = &mut self.recorder {
            let is_gone = |tool: &&Arc<Tool>| self.scene.tool(tool.id).is_err();
            // An answered tick had all tools.
            let tools = if outcome == TickOutcome::Answered { &[][..] } else { &self.tools };
            let removed = tools.iter().filter(is_gone).map(|tool| tool.id.0);
            recorder.answered(outcome, &tick, &answer, removed);
        }
        answer
    }

    /// Returns the notice that no pose came for too long; once, and only if the client asked for notices.
    pub fn notice(&mut self, stale: bool) -> Option<TrackResponse> {
        if !stale || !self.notify_stale || mem::replace(&mut self.stale_told, true) {
            return None;
        }
        Some(TrackResponse {
            sequence: self.engine.last_sequence().unwrap_or(0),
            received_ns: now_ns(),
            flags: 1 << proto::Flag::SessionStale as u32,
            is_notice: true,
            ..Default::default()
        })
    }

    fn compute(
        &mut self,
        tick: &proto::Tick,
        received_ns: u64,
        into: &mut TrackResponse,
    ) -> Result<(), Refused> {
        self.engine.read(tick)?;
        // Counted from the arrival of the bytes: the tick's waiting time counts towards its client's deadline.
        let deadline_ns = match tick.deadline_us {
            0 => u64::MAX,
            us => received_ns + 1000 * u64::from(us),
        };
        let started_ns = now_ns();
        // No client takes a thread from the others for longer, whatever its tools.
        let until_ns = deadline_ns.min(started_ns + self.time_max.as_nanos() as u64);
        let recorded = self.recorder.as_mut().map(|r| r.begin(started_ns, until_ns));
        let recorded_clock = || recorded.map_or_else(now_ns, |clock| clock.read());
        let clock: &dyn Fn() -> u64 = if recorded.is_some() { &recorded_clock } else { &now_ns };
        let time = TimeLeft::until(clock, until_ns);
        let had_ns = thread_clock::now_ns();
        let EngineTimes { drawn_ns, computed_ns } =
            self.engine.answer(tick.sequence, started_ns, &time, now_ns, into)?;
        let had_ns = thread_clock::now_ns() - had_ns;
        let stopped_ns = (now_ns() - started_ns).saturating_sub(had_ns);
        into.compute_us = (computed_ns - started_ns) as f64 / 1e3;
        let (session, flags) = (self.engine.session(), self.engine.session().last_answer().flags);
        let ticks = &self.stream_metrics.ticks;
        for rendering in session.renderings() {
            ticks.renderings[rendering.state as usize].add(1);
        }
        ticks.degraded.add(u64::from(flags.degraded));
        // Encoding and the socket come later: no tick can report its own.
        let done_ns = now_ns();
        let times =
            TickTimes { received_ns, started_ns, drawn_ns, computed_ns, done_ns, stopped_ns };
        ticks.note(&times, self.metrics.objective);
        into.stages = self.report_stages.then(|| stages(&times));
        self.shower.show(&AnsweredTick {
            sequence: tick.sequence,
            times: &times,
            tools: &self.tools,
            poses: self.engine.poses(),
            session,
        });
        Ok(())
    }
}

/// Converts the times to the wire format.
fn stages(times: &TickTimes) -> proto::StageTimes {
    let TickTimes { received_ns, started_ns, drawn_ns, computed_ns, done_ns, .. } = *times;
    let us = |from_ns: u64, to_ns: u64| (to_ns - from_ns) as f64 / 1e3;
    proto::StageTimes {
        wait_us: us(received_ns, started_ns),
        engine_us: us(started_ns, computed_ns),
        convert_us: us(computed_ns, done_ns),
        render_us: drawn_ns.map_or(0.0, |drawn_ns| us(started_ns, drawn_ns)),
    }
}
