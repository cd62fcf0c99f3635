//! A replayed loop, shown to watchers.

use std::sync::Arc;

use crate::service::{
    access::caller::Caller,
    host::{
        live_view::last_tick::{AnsweredTick, TickShower, last_tick},
        scene_registry::SceneRegistry,
    },
    metrics::{Metrics, StreamMetrics, TickTimes},
    refused::Refused,
    rpc::loop_engine::LoopEngine,
};
use crate::{
    proto::TrackStart,
    scene::{Scene, Tool, ToolId},
};

/// While this exists, its scene is in the registry, and the loop is one of the registry's streams.
pub struct ShownLoop {
    metrics: Arc<Metrics>,
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
        let metrics = Arc::clone(registry.metrics());
        let stream = metrics.stream_begins(scene.id(), &Caller::ANYBODY, last_tick)?;
        Ok(ShownLoop { metrics, stream, shower, tools })
    }

    /// Shows a tick that was answered. `times` are those of the replay.
    pub fn show(&mut self, sequence: u64, times: &TickTimes, engine: &LoopEngine) {
        self.stream.ticks.note(times, self.metrics.objective);
        self.shower.show(&AnsweredTick {
            sequence,
            at_ns: times.done_ns,
            compute_ns: times.computed_ns - times.started_ns,
            tools: &self.tools,
            poses: engine.poses(),
            session: engine.session(),
        });
    }
}

impl Drop for ShownLoop {
    fn drop(&mut self) {
        self.metrics.stream_ends(&self.stream);
    }
}
