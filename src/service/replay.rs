//! Replays a recording through the engine, and compares every answer with the recorded one.
//!
//! The engine receives its recorded input: each tick's message, the revisions that it saw, its time, and each reading
//! of the clock. An answer that a deadline cut short is therefore cut short at the same point.

pub mod difference;
mod loop_replay;
pub mod player;
mod replayed_scene;
mod shown_loop;
mod timeline;

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

pub use self::loop_replay::ReplayStop;
use self::{
    loop_replay::{LoopReplay, check_gap, compare, decoded, is_cut_short},
    replayed_scene::{HistoryError, SceneHistory, cached_field},
};
use super::recording::recorded::{RecordedLoop, Recording, RecordingError};
use crate::{
    proto::{RecordedTick, Tick, TickOutcome, TrackResponse},
    scene::Limits,
    store::FieldCache,
};

/// Options of a replay.
#[derive(Clone)]
pub struct ReplayOptions {
    /// Ticks of a greater sequence number are left out.
    pub until: Option<u64>,
    /// Sequence number of the tick that is printed in full.
    pub dump: Option<u64>,
    /// Loops that are replayed at a time, at least 1.
    pub threads: usize,
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
    let field = cached_field(cache);
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
    let n_threads = options.threads.min(loops.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((session, recorded)) = loops.get(next.fetch_add(1, Relaxed)) {
            let terms = LoopTerms { until, dump: options.dump, limits: &limits };
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
    limits: &'a Limits,
}

fn session_replay(
    session: u32,
    recorded: &RecordedLoop,
    history: &SceneHistory,
    terms: &LoopTerms,
) -> SessionReplay {
    let mut report = SessionReplay { session, ..SessionReplay::default() };
    let mut replay = match LoopReplay::begin(recorded, history, terms.limits) {
        Ok(replay) => replay,
        Err(lacks) => {
            report.not_comparable = recorded.ticks.len() as u64;
            report.stopped = Some((0, ReplayStop::Lacks(lacks)));
            return report;
        }
    };
    let mut rest = recorded.ticks.iter();
    let mut before = 0;
    while let Some((number, messages)) = rest.next() {
        let (sequence, stop) = match decoded(messages) {
            Ok((note, ..)) if note.sequence > terms.until => break,
            Ok((note, tick, answer)) => {
                let replayed = check_gap(before, *number, &note).and_then(|()| {
                    tick_replay(&mut replay, (&note, &tick, answer), terms.dump, &mut report)
                });
                (note.sequence, replayed.err())
            }
            Err(reason) => (0, Some(ReplayStop::Lacks(reason))),
        };
        before = *number;
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

/// Replays a tick, and counts it.
fn tick_replay(
    replay: &mut LoopReplay,
    (note, tick, recorded): (&RecordedTick, &Tick, TrackResponse),
    dump: Option<u64>,
    report: &mut SessionReplay,
) -> Result<(), ReplayStop> {
    let Some(got) = replay.tick(note, tick, &recorded)? else {
        let is_coalesced = note.outcome() == TickOutcome::Coalesced;
        *if is_coalesced { &mut report.coalesced } else { &mut report.not_served } += 1;
        return Ok(());
    };
    if dump == Some(tick.sequence) {
        report.dump = Some(format!("{tick:#?}\nrecorded: {recorded:#?}\nreplayed: {got:#?}\n"));
    }
    let is_cut = is_cut_short(&recorded);
    compare(note, got, recorded)?;
    report.equal += 1;
    report.cut_short += u64::from(is_cut);
    Ok(())
}
