//! Replays a recording through the engine, and compares every answer with the recorded one.
//!
//! The engine receives its recorded input: each tick's message, the revisions that it saw, its time, and each reading
//! of the clock. An answer that a deadline cut short is therefore cut short at the same point.

pub mod difference;
mod replayed_scene;
mod shown_loop;

use std::{
    convert::Infallible,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use prost::Message;

use self::{
    difference::{Difference, difference},
    replayed_scene::{HistoryError, ReplayedScene, SceneHistory},
    shown_loop::ShownLoop,
};
use super::loops::loop_engine::{EngineTimes, LoopEngine};
use super::recording::{
    clock_readings::ReplayedClock,
    recorded::{RecordedLoop, Recording, RecordingError, TickMessages},
    timeless,
};
use crate::{
    proto::{Flag, RecordedTick, RenderState, Tick, TickOutcome, TrackResponse, TrackStart},
    scene::{Limits, tool::field::field_of},
    sdf::FieldOptions,
    service::{
        catch_panic::catch_panic, clock::now_ns, convert, host::scene_registry::SceneRegistry,
        metrics::TickTimes, refused::Refused,
    },
    store::FieldCache,
    surface::Surface,
    time_left::TimeLeft,
};

/// Options of a replay.
#[derive(Clone)]
pub struct ReplayOptions {
    /// Ticks of a greater sequence number are left out.
    pub until: Option<u64>,
    /// Sequence number of the tick that is printed in full.
    pub dump: Option<u64>,
    /// Recorded seconds per second; `None` is as many as the machine can.
    pub speed: Option<f64>,
    /// Loops that are replayed at a time, at least 1.
    pub threads: usize,
    /// Registry in which the loop with the most ticks is shown; `None` shows nothing.
    pub show_in: Option<Arc<SceneRegistry>>,
}

/// Result of a replay.
#[derive(Debug)]
pub struct ReplayReport {
    /// Version of the server that recorded.
    pub version: String,
    /// Scene id.
    pub scene: String,
    /// Number of deformations, cuts and holds in the recording.
    pub n_changes: usize,
    /// Number of these changes with an equal answer.
    pub equal_changes: usize,
    /// The first change that differed, or could not be made.
    pub changes_stopped: Option<ReplayStop>,
    /// Results of the loops.
    pub sessions: Vec<SessionReplay>,
    /// Number of ticks that the recording lacks.
    pub dropped_ticks: u64,
    /// Reason why the recording ended, if not with its scene or server.
    pub broken_off: Option<String>,
}

/// Result of replaying a loop.
#[derive(Debug, Default)]
pub struct SessionReplay {
    /// Number of the session in the recording, from 1.
    pub session: u32,
    /// Number of answers that were equal bit for bit.
    pub equal: u64,
    /// Number of these answers that the clock had cut short.
    pub cut_short: u64,
    /// Number of ticks without an answer of their own.
    pub coalesced: u64,
    /// Number of ticks that came while the scene was not served: the engine has not seen them.
    pub not_served: u64,
    /// Number of answers that could not be compared, since something before them is missing or differs.
    pub not_comparable: u64,
    /// Sequence number and reason of the stop.
    pub stopped: Option<(u64, ReplayStop)>,
    /// The tick that was to be printed.
    pub dump: Option<String>,
}

/// Reason why a replay stopped.
#[derive(Debug)]
pub enum ReplayStop {
    /// The answer differs from the recorded one.
    Differs(Difference),
    /// The recording lacks something that the next tick needs.
    Lacks(String),
}

/// Reason why a file cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file is no recording, or a damaged one.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The recorded changes are not valid.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl ReplayReport {
    /// Returns true if no answer differed.
    pub fn is_equal(&self) -> bool {
        let differs = |stop: &ReplayStop| matches!(stop, ReplayStop::Differs(_));
        let of_sessions =
            self.sessions.iter().filter_map(|s| s.stopped.as_ref().map(|(_, stop)| stop));
        !of_sessions.chain(&self.changes_stopped).any(differs)
    }
}

/// Replays a file. Fields of tools come from the cache, if one is given.
///
/// # Errors
/// Returns an error if the file is no recording, or a damaged one.
pub fn replay(
    path: &Path,
    options: &ReplayOptions,
    cache: Option<&FieldCache>,
) -> Result<ReplayReport, ReplayError> {
    replay_recording(Recording::open(path)?, options, cache)
}

/// Replays a recording that was read, as [`replay`] does.
///
/// # Errors
/// Returns an error if its changes are not valid.
pub fn replay_recording(
    recording: Recording,
    options: &ReplayOptions,
    cache: Option<&FieldCache>,
) -> Result<ReplayReport, ReplayError> {
    let field = |_: &str, surface: &Surface, options: &FieldOptions| {
        let build = || Ok::<_, Infallible>(field_of(surface, options));
        // Nobody shares this process's memory.
        let reserve = |_| Ok(());
        let cached = |cache: &FieldCache| cache.get_or_build(surface, options, reserve, build);
        let field = cache.map_or_else(build, |cache| Ok(cached(cache)?.0));
        field.unwrap_or_else(|never| match never {})
    };
    let Recording { version, scene, published_ns, limits, changes, sessions, end } = recording;
    let (id, limits_of_scene) = (scene.id.clone(), limits.clone());
    let history = SceneHistory::new(scene, published_ns, limits_of_scene, changes, &field)?;
    let until = options.until.unwrap_or(u64::MAX);
    // The loops repeat a part of the changes, as far as they saw them.
    let (equal_changes, changes_stopped) = match history.replay() {
        Ok((equal, difference)) => (equal, difference.map(ReplayStop::Differs)),
        Err(error) => (0, Some(ReplayStop::Lacks(error.to_string()))),
    };
    let loops: Vec<(u32, RecordedLoop)> = sessions.into_iter().collect();
    let shown =
        loops.iter().max_by_key(|(_, recorded)| recorded.ticks.len()).map(|(number, _)| *number);
    let pace = options.speed.map(|speed| Pace::new(speed, &loops));
    let n_threads = if pace.is_some() { loops.len() } else { options.threads.min(loops.len()) };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((session, recorded)) = loops.get(next.fetch_add(1, Relaxed)) {
            let show_in = options.show_in.as_deref().filter(|_| shown == Some(*session));
            let (dump, pace) = (options.dump, pace.as_ref());
            let terms = LoopTerms { until, dump, pace, limits: &limits, show_in };
            done.push(session_replay(*session, recorded, &history, &terms));
        }
        done
    };
    let mut sessions: Vec<SessionReplay> = thread::scope(|scope| {
        let running: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|t| t.join().expect("panics are caught")).collect()
    });
    sessions.sort_by_key(|s| s.session);
    let broken_off = match &end {
        None => {
            Some("the file breaks off; this is what is in it up to its last whole chunk".to_owned())
        }
        Some(end) => (!end.reason.is_empty()).then(|| end.reason.clone()),
    };
    Ok(ReplayReport {
        version,
        scene: id,
        n_changes: history.n_changes(),
        equal_changes,
        changes_stopped,
        sessions,
        dropped_ticks: end.map_or(0, |end| end.dropped_ticks),
        broken_off,
    })
}

/// Common terms of all replayed loops.
struct LoopTerms<'a> {
    until: u64,
    dump: Option<u64>,
    pace: Option<&'a Pace>,
    limits: &'a Limits,
    show_in: Option<&'a SceneRegistry>,
}

/// Schedule of the ticks.
struct Pace {
    speed: f64,
    began: Instant,
    first_ns: u64,
}

impl Pace {
    fn new(speed: f64, loops: &[(u32, RecordedLoop)]) -> Pace {
        let started = |tick: &TickMessages| RecordedTick::decode(&*tick.note).ok();
        let ticks = loops.iter().flat_map(|(_, recorded)| recorded.ticks.values());
        let first_ns = ticks.filter_map(started).map(|t| t.started_ns).filter(|ns| *ns > 0).min();
        Pace { speed, began: Instant::now(), first_ns: first_ns.unwrap_or(0) }
    }

    fn wait(&self, started_ns: u64) {
        let after = started_ns.saturating_sub(self.first_ns) as f64 / 1e9 / self.speed;
        let due = self.began + Duration::try_from_secs_f64(after).unwrap_or_default();
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn session_replay(
    session: u32,
    recorded: &RecordedLoop,
    history: &SceneHistory,
    terms: &LoopTerms,
) -> SessionReplay {
    let mut report = SessionReplay { session, ..SessionReplay::default() };
    let mut scene = history.begin();
    let begun = recorded.start.as_ref().ok_or_else(|| "its first message".to_owned());
    let begun = begun.and_then(|start| begin(start, &mut scene, terms.limits));
    let begun = begun.and_then(|engine| Ok((engine, show(recorded, &scene, terms)?)));
    let ((mut engine, mut shown), mut rest) = match begun {
        Ok(engine) => (engine, recorded.ticks.iter()),
        Err(lacks) => {
            report.not_comparable = recorded.ticks.len() as u64;
            report.stopped = Some((0, ReplayStop::Lacks(lacks)));
            return report;
        }
    };
    let mut expected = 1;
    while let Some((number, messages)) = rest.next() {
        let (sequence, stop) = match decoded(messages) {
            Ok((note, ..)) if note.sequence > terms.until => break,
            Ok((note, tick, answer)) => {
                let lost = u64::from(*number - expected).max(note.dropped_before);
                let sequence = note.sequence;
                let replayed = if lost == 0 {
                    LoopReplay {
                        engine: &mut engine,
                        scene: &mut scene,
                        report: &mut report,
                        shown: shown.as_mut(),
                        terms,
                    }
                    .tick(&note, &tick, answer)
                } else {
                    Err(ReplayStop::Lacks(format!("{lost} ticks before it")))
                };
                (sequence, replayed.err())
            }
            Err(reason) => (0, Some(ReplayStop::Lacks(reason))),
        };
        expected = number + 1;
        if let Some(stop) = stop {
            // A session's answer depends on all before it: later answers are not compared.
            report.not_comparable =
                rest.len() as u64 + u64::from(matches!(stop, ReplayStop::Lacks(_)));
            report.stopped = Some((sequence, stop));
            break;
        }
    }
    report
}

fn begin(
    start: &TrackStart,
    scene: &mut ReplayedScene,
    limits: &Limits,
) -> Result<LoopEngine, String> {
    scene.add_tools(&start.tool_ids).map_err(|error| error.to_string())?;
    let read = convert::tick::start(start, limits).map_err(|error| error.to_string())?;
    LoopEngine::new(&scene.scene, read, start).map_err(|refused| refused.message().to_owned())
}

/// Returns `None` if the loop is not shown.
fn show(
    recorded: &RecordedLoop,
    scene: &ReplayedScene,
    terms: &LoopTerms,
) -> Result<Option<ShownLoop>, String> {
    let (Some(registry), Some(start)) = (terms.show_in, &recorded.start) else { return Ok(None) };
    let shown = ShownLoop::begin(registry, &scene.scene, start);
    let why = |refused: Refused| convert::refusal::refusal(&refused).message;
    shown.map(Some).map_err(|refused| format!("what it can be shown with: {}", why(refused)))
}

fn decoded(messages: &TickMessages) -> Result<(RecordedTick, Tick, TrackResponse), String> {
    let TickMessages { note, tick, answer } = messages;
    if note.is_empty() {
        return Err("a part of it".to_owned());
    }
    let reason = |error: prost::DecodeError| format!("a readable message of it: {error}");
    Ok((
        RecordedTick::decode(&**note).map_err(reason)?,
        Tick::decode(&**tick).map_err(reason)?,
        TrackResponse::decode(&**answer).map_err(reason)?,
    ))
}

/// A loop that is being replayed.
struct LoopReplay<'a, 'b> {
    engine: &'a mut LoopEngine,
    scene: &'a mut ReplayedScene<'b>,
    report: &'a mut SessionReplay,
    shown: Option<&'a mut ShownLoop>,
    terms: &'a LoopTerms<'a>,
}

impl LoopReplay<'_, '_> {
    fn tick(
        &mut self,
        note: &RecordedTick,
        tick: &Tick,
        mut expected: TrackResponse,
    ) -> Result<(), ReplayStop> {
        match note.outcome() {
            TickOutcome::Coalesced => {
                self.engine.coalesce(tick);
                self.report.coalesced += 1;
                return Ok(());
            }
            TickOutcome::NotServed => {
                self.report.not_served += 1;
                return Ok(());
            }
            TickOutcome::Answered => {
                let seen = self.scene.advance(&expected.tissues);
                seen.map_err(|error| ReplayStop::Lacks(error.to_string()))?;
            }
            TickOutcome::Refused | TickOutcome::Panicked => {
                self.scene.remove_tools(&note.removed_tools);
            }
            TickOutcome::Unspecified => {
                return Err(ReplayStop::Lacks("what became of it".to_owned()));
            }
        }
        if let Some(pace) = self.terms.pace {
            pace.wait(note.started_ns);
        }
        let mut got = self.answer(note, tick);
        let dump = (self.terms.dump == Some(tick.sequence))
            .then(|| format!("{tick:#?}\nrecorded: {expected:#?}\nreplayed: {got:#?}\n"));
        self.report.dump = dump.or(self.report.dump.take());
        timeless::tick(&mut got);
        timeless::tick(&mut expected);
        match difference(&got, &expected) {
            None => {
                self.report.equal += 1;
                let is_late = expected.renderings.iter().any(|r| r.state() == RenderState::Late);
                let is_cut = is_late || expected.flags & 1 << Flag::Degraded as u32 != 0;
                self.report.cut_short += u64::from(is_cut);
                Ok(())
            }
            Some(_) if note.clock_is_partial => {
                Err(ReplayStop::Lacks("all that the clock said of it".to_owned()))
            }
            Some(difference) => Err(ReplayStop::Differs(difference)),
        }
    }

    fn answer(&mut self, note: &RecordedTick, tick: &Tick) -> TrackResponse {
        let (sequence, client_time_ns) = (tick.sequence, tick.client_time_ns);
        let mut got = TrackResponse { sequence, client_time_ns, ..TrackResponse::default() };
        let clock = ReplayedClock::new(note.started_ns, &note.clock_ns);
        let clock = || clock.read();
        // The time of an hour, from a clock that has run for years, is far below the largest number.
        let time = TimeLeft::until(&clock, note.started_ns.saturating_add(note.time_ns));
        let engine = &mut *self.engine;
        let started_ns = now_ns();
        let answered = catch_panic(|| {
            engine.read(tick)?;
            let EngineTimes { drawn_ns, computed_ns } =
                engine.answer(sequence, note.started_ns, &time, now_ns, &mut got)?;
            if let Some(shown) = &mut self.shown {
                let (received_ns, done_ns) = (started_ns, now_ns());
                let times = TickTimes { received_ns, started_ns, drawn_ns, computed_ns, done_ns };
                shown.show(sequence, &times, engine);
            }
            Ok::<_, Refused>(())
        });
        let refused = match answered {
            Ok(answered) => answered.err(),
            Err(panicked) => {
                engine.restart();
                Some(panicked.into())
            }
        };
        got.refusal = refused.as_ref().map(convert::refusal::refusal);
        got
    }
}
