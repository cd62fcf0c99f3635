//! A replayed loop, shown to viewers.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;

use crate::{
    proto::{RecordedTick, TrackResponse},
    scene::Tool,
    service::{
        host::{
            live_view::last_tick::{AnsweredTick, TickShower, last_tick},
            stream_table::StreamMetrics,
        },
        loops::loop_engine::LoopEngine,
        metrics::{TickMetrics, TickTimes, recent::RecentTicks},
    },
};

/// A loop of a replay, as a stream of the server that shows it.
pub struct ShownLoop {
    /// Figures and newest tick of the loop, by the recording's times.
    pub stream: Arc<StreamMetrics>,
    shower: TickShower,
    tools: Vec<Arc<Tool>>,
}

impl ShownLoop {
    /// Creates a loop that has these tools.
    pub fn new(scene: &str, session: u32, tools: Vec<Arc<Tool>>) -> ShownLoop {
        let (shower, last_tick) = last_tick(&tools);
        let ticks = TickMetrics::default();
        let recorded = Some(Mutex::new(RecentTicks::since(&ticks, 0)));
        let (scene, number) = (scene.to_owned(), session.into());
        let stream = StreamMetrics { scene, key: None, number, ticks, last_tick, recorded };
        ShownLoop { stream: Arc::new(stream), shower, tools }
    }

    /// Shows a tick that `engine` has answered, with the times of the recorded answer.
    pub fn show(
        &mut self,
        times: &TickTimes,
        sequence: u64,
        objective: Duration,
        engine: &LoopEngine,
    ) {
        let StreamMetrics { ticks, recorded, .. } = &*self.stream;
        ticks.note(times, objective);
        if let Some(recorded) = recorded {
            recorded.lock().roll(ticks, times.done_ns);
        }
        self.stream.last_tick.ask();
        self.shower.show(&AnsweredTick {
            sequence,
            times,
            tools: &self.tools,
            poses: engine.poses(),
            session: engine.session(),
        });
    }
}

/// Returns the times of a recorded tick, up to the end of its computation.
pub fn recorded_times(note: &RecordedTick, answer: &TrackResponse) -> TickTimes {
    let started_ns = note.started_ns;
    let received_ns = answer.received_ns.min(started_ns);
    // A message may hold any number: a cast saturates.
    let computed_ns = started_ns.saturating_add((answer.compute_us * 1e3) as u64);
    // A recording does not say how long the thread had a processor.
    TickTimes {
        received_ns,
        started_ns,
        drawn_ns: None,
        computed_ns,
        done_ns: computed_ns,
        stopped_ns: 0,
    }
}
