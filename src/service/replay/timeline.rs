//! The ticks of all loops of a recording, ordered by time.

use std::{collections::BTreeMap, time::Duration};

use prost::Message;

use super::{loop_replay::is_cut_short, shown_loop::recorded_times};
use crate::{
    proto::{RecordedTick, RenderState, TickOutcome, TrackResponse},
    service::{
        host::live_view::playback::{TickMark, TickTimeline},
        recording::recorded::{RecordedLoop, TickMessages},
    },
};

/// A tick that was answered or refused.
#[derive(Clone, Copy)]
pub struct TimedTick {
    /// Session of the tick.
    pub session: u32,
    /// Number of the tick in its session.
    pub number: u32,
    /// Time of its start, nanoseconds of the clock of the server that recorded.
    pub at_ns: u64,
}

/// Ticks by time, and the known marks by index.
pub struct RecordedTimeline {
    /// Ticks by time; those of a session also by number.
    pub ticks: Vec<TimedTick>,
    /// Late and refused ticks.
    pub marks: BTreeMap<usize, TickMark>,
}

impl RecordedTimeline {
    /// Orders the ticks up to sequence `until`. An answer slower than `objective` is late.
    pub fn new(
        sessions: &BTreeMap<u32, RecordedLoop>,
        until: u64,
        objective: Duration,
    ) -> RecordedTimeline {
        let mut ticks = Vec::new();
        for (session, recorded) in sessions {
            let notes = recorded.ticks.iter().filter_map(|(number, messages)| {
                Some((*number, messages, RecordedTick::decode(&*messages.note).ok()?))
            });
            let notes = notes.take_while(|(.., note)| note.sequence <= until);
            let mut of_session: Vec<(TimedTick, Option<TickMark>)> = notes
                .filter(|(.., note)| has_answer(note))
                .map(|(number, messages, note)| {
                    let tick = TimedTick { session: *session, number, at_ns: note.started_ns };
                    (tick, mark(&note, messages, objective))
                })
                .collect();
            // A tick that the engine has not seen has no time: it takes that of its neighbour.
            let timed = of_session.iter().map(|(tick, _)| tick.at_ns).find(|ns| *ns > 0);
            let mut last_ns = timed.unwrap_or(0);
            for (tick, _) in &mut of_session {
                tick.at_ns = tick.at_ns.max(last_ns);
                last_ns = tick.at_ns;
            }
            ticks.extend(of_session);
        }
        ticks.sort_by_key(|(tick, _)| tick.at_ns);
        let marks = ticks.iter().enumerate().filter_map(|(at, (_, mark))| Some((at, (*mark)?)));
        let marks = marks.collect();
        RecordedTimeline { ticks: ticks.into_iter().map(|(tick, _)| tick).collect(), marks }
    }

    /// Returns the times of the ticks.
    pub fn times(&self) -> TickTimeline {
        let began_ns = self.ticks.first().map_or(0, |tick| tick.at_ns);
        let at_ns = self.ticks.iter().map(|tick| tick.at_ns - began_ns).collect();
        TickTimeline { began_ns, at_ns }
    }
}

/// Returns false for a tick that was coalesced into a later one, or not served.
fn has_answer(note: &RecordedTick) -> bool {
    matches!(note.outcome(), TickOutcome::Answered | TickOutcome::Refused | TickOutcome::Panicked)
}

fn mark(note: &RecordedTick, messages: &TickMessages, objective: Duration) -> Option<TickMark> {
    if note.outcome() != TickOutcome::Answered {
        return Some(TickMark::Refused);
    }
    let answer = TrackResponse::decode(&*messages.answer).ok()?;
    let times = recorded_times(note, &answer);
    let is_slow = u128::from(times.done_ns - times.received_ns) > objective.as_nanos();
    // An answer whose local model was cut short has its force in time.
    let is_late = match answer.renderings.iter().any(|r| r.local_model.is_some()) {
        true => answer.renderings.iter().any(|r| r.state() == RenderState::Late),
        false => is_cut_short(&answer),
    };
    (is_slow || is_late).then_some(TickMark::Late)
}
