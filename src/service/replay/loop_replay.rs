//! A loop that is being replayed: the engine receives the recorded input of each tick.

use super::{
    difference::{Difference, difference},
    replayed_scene::{ReplayedScene, SceneHistory},
};
use crate::{
    proto::{Flag, RecordedTick, RenderState, Tick, TickOutcome, TrackResponse},
    scene::Limits,
    service::{
        catch_panic::catch_panic,
        clock::now_ns,
        convert,
        loops::loop_engine::LoopEngine,
        recording::{
            clock_readings::ReplayedClock,
            recorded::{RecordedLoop, TickMessages},
            timeless,
        },
        refused::Refused,
    },
    time_left::TimeLeft,
};

/// A loop, its engine and its scene, between two ticks.
pub struct LoopReplay<'a> {
    /// Engine of the loop.
    pub engine: LoopEngine,
    /// Scene as the loop sees it.
    pub scene: ReplayedScene<'a>,
}

/// Reason why a replay stopped.
#[derive(Debug)]
pub enum ReplayStop {
    /// The answer differs from the recorded one.
    Differs(Difference),
    /// The recording lacks something that the next tick needs.
    Lacks(String),
}

impl LoopReplay<'_> {
    /// Returns a loop before its first tick.
    ///
    /// # Errors
    /// Names the missing part of the recording.
    pub fn begin<'a>(
        recorded: &RecordedLoop,
        history: &'a SceneHistory,
        limits: &Limits,
    ) -> Result<LoopReplay<'a>, String> {
        let start = recorded.start.as_ref().ok_or_else(|| "its first message".to_owned())?;
        let mut scene = history.begin();
        scene.add_tools(&start.tool_ids).map_err(|error| error.to_string())?;
        let read = convert::tick::start(start, limits).map_err(|error| error.to_string())?;
        let engine = LoopEngine::new(&scene.scene, read, start);
        let engine = engine.map_err(|refused| refused.message().to_owned())?;
        Ok(LoopReplay { engine, scene })
    }

    /// Plays a tick. Returns its answer; `None` if it had no answer of its own.
    ///
    /// # Errors
    /// Names the missing part of the recording.
    pub fn tick(
        &mut self,
        note: &RecordedTick,
        tick: &Tick,
        recorded: &TrackResponse,
    ) -> Result<Option<TrackResponse>, ReplayStop> {
        match note.outcome() {
            TickOutcome::Coalesced => {
                self.engine.coalesce(tick);
                return Ok(None);
            }
            TickOutcome::NotServed => return Ok(None),
            TickOutcome::Answered => {
                let seen = self.scene.advance(&recorded.tissues);
                seen.map_err(|error| ReplayStop::Lacks(error.to_string()))?;
            }
            TickOutcome::Refused | TickOutcome::Panicked => {
                self.scene.remove_tools(&note.removed_tools);
            }
            TickOutcome::Unspecified => {
                return Err(ReplayStop::Lacks("what became of it".to_owned()));
            }
        }
        Ok(Some(self.answer(note, tick)))
    }

    fn answer(&mut self, note: &RecordedTick, tick: &Tick) -> TrackResponse {
        let (sequence, client_time_ns) = (tick.sequence, tick.client_time_ns);
        let mut got = TrackResponse { sequence, client_time_ns, ..TrackResponse::default() };
        let clock = ReplayedClock::new(note.started_ns, &note.clock_ns);
        let clock = || clock.read();
        // The time of an hour, from a clock that has run for years, is far below the largest number.
        let time = TimeLeft::until(&clock, note.started_ns.saturating_add(note.time_ns));
        let engine = &mut self.engine;
        let answered = catch_panic(|| {
            engine.read(tick)?;
            engine.answer(sequence, note.started_ns, &time, now_ns, &mut got)?;
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

/// Decodes the messages of a tick.
///
/// # Errors
/// Names the missing or damaged part.
pub fn decoded(messages: &TickMessages) -> Result<(RecordedTick, Tick, TrackResponse), String> {
    use prost::Message;
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

/// Compares a replayed answer with the recorded one.
///
/// # Errors
/// Returns the first difference.
pub fn compare(
    note: &RecordedTick,
    mut got: TrackResponse,
    mut expected: TrackResponse,
) -> Result<(), ReplayStop> {
    timeless::tick(&mut got);
    timeless::tick(&mut expected);
    match difference(&got, &expected) {
        None => Ok(()),
        Some(_) if note.clock_is_partial => {
            Err(ReplayStop::Lacks("all that the clock said of it".to_owned()))
        }
        Some(difference) => Err(ReplayStop::Differs(difference)),
    }
}

/// Returns an error if ticks are missing between number `before` and `number`.
///
/// # Errors
/// Names the number of missing ticks.
pub fn check_gap(before: u32, number: u32, note: &RecordedTick) -> Result<(), ReplayStop> {
    let lost = u64::from(number.saturating_sub(before.saturating_add(1))).max(note.dropped_before);
    if lost == 0 { Ok(()) } else { Err(ReplayStop::Lacks(format!("{lost} ticks before it"))) }
}

/// Returns true if the clock cut the answer short.
pub fn is_cut_short(answer: &TrackResponse) -> bool {
    let is_late = answer.renderings.iter().any(|r| r.state() == RenderState::Late);
    is_late || answer.flags & 1 << Flag::Degraded as u32 != 0
}
