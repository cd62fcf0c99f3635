//! A replayed loop, shown to watchers.

use std::{sync::Arc, time::Duration};

use crate::{
    proto::TrackStart,
    scene::{Scene, Tool, ToolId},
    service::{
        access::caller::Caller,
        host::{
            live_view::last_tick::{AnsweredTick, TickShower, last_tick},
            scene_registry::SceneRegistry,
            stream_table::{StreamMetrics, StreamTable},
        },
        loops::loop_engine::LoopEngine,
        metrics::TickTimes,
        refused::Refused,
    },
};

/// While this exists, its scene is in the registry, and the loop is one of the registry's streams.
pub struct ShownLoop {
    objective: Duration,
    streams: Arc<StreamTable>,
    stream: Arc<StreamMetrics>,
    shower: TickShower,
    tools: Vec<Arc<Tool>>,
}

impl ShownLoop {
    /// Shows a scene, replacing one of the same id, and a loop that began with `start`.
    ///
    /// # Errors
    /// Returns an error if there is no thread for it, or a tool is unknown.
    pub fn begin(
        registry: &SceneRegistry,
        scene: &Arc<Scene>,
        start: &TrackStart,
    ) -> Result<ShownLoop, Refused> {
        let tools = start.tool_ids.iter().map(|id| scene.tool(ToolId(*id)));
        let tools: Vec<Arc<Tool>> = tools.collect::<Result<_, _>>()?;
        registry.insert_shown(Arc::clone(scene))?;
        let (shower, last_tick) = last_tick(&tools);
        let (objective, streams) = (registry.metrics().objective, Arc::clone(registry.streams()));
        let stream = streams.loop_begins(scene.id(), &Caller::ANYBODY, last_tick)?;
        Ok(ShownLoop { objective, streams, stream, shower, tools })
    }

    /// Shows a tick that was answered. `times` are those of the replay.
    pub fn show(&mut self, sequence: u64, times: &TickTimes, engine: &LoopEngine) {
        self.stream.ticks.note(times, self.objective);
        self.shower.show(&AnsweredTick {
            sequence,
            times,
            tools: &self.tools,
            poses: engine.poses(),
            session: engine.session(),
        });
    }
}

impl Drop for ShownLoop {
    fn drop(&mut self) {
        self.streams.loop_ends(&self.stream);
    }
}
