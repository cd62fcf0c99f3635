//! What a haptic loop computes with: the engine's session, from messages to messages. It knows no stream, key or clock:
//! a server answers by it, and a recording is replayed by it.

use std::sync::Arc;

use crate::{
    proto::{self, TrackResponse},
    proxy::RenderedSession,
    scene::{
        Scene, ToolId,
        tick::{TickError, ToolPose},
    },
    service::{
        catch_panic::catch_panic,
        convert::{self, tick::Start},
        refused::Refused,
    },
    time_left::TimeLeft,
};

/// The session of a loop, and how its ticks are read and answered.
pub struct LoopEngine {
    scene: Arc<Scene>,
    session: RenderedSession,
    /// Rendered tools whose tissues' loads are wanted.
    with_loads: Vec<ToolId>,
    /// Of the newest tick that was answered or coalesced.
    last_sequence: Option<u64>,
    /// Of the newest tick that was read.
    poses: Vec<ToolPose>,
}

/// When the parts of a tick were done: nanoseconds of the caller's clock.
pub struct EngineTimes {
    /// Proxies were drawn; `None` without any.
    pub drawn_ns: Option<u64>,
    /// All was computed.
    pub computed_ns: u64,
}

impl LoopEngine {
    /// A loop as its first message, which `start` was read from, asks for.
    ///
    /// # Errors
    /// When a tool is unknown, cannot be rendered so, or was where it cannot have been.
    pub fn new(
        scene: &Arc<Scene>,
        start: Start,
        sent: &proto::TrackStart,
    ) -> Result<LoopEngine, Refused> {
        let Start { tools: ids, mut options, render, .. } = start;
        let tools = ids.iter().map(|id| scene.tool(*id)).collect::<Result<Vec<_>, _>>()?;
        convert::tick::fit_margin(&mut options, &sent.report.unwrap_or_default(), &tools);
        let mut session = RenderedSession::new(Arc::clone(scene), &ids, options, &render)?;
        let last = convert::tick::last_poses(sent, &tools, scene.limits());
        if let Some(last) = last.map_err(|e| e.within("start"))? {
            session.go_on_from(&last.devices, &last.proxies);
        }
        let with_loads = sent.render.iter().filter(|r| r.tissue_loads).map(|r| ToolId(r.tool_id));
        let (scene, with_loads) = (Arc::clone(scene), with_loads.collect());
        Ok(LoopEngine { scene, session, with_loads, last_sequence: None, poses: Vec::new() })
    }

    /// With its last answer.
    pub fn session(&self) -> &RenderedSession {
        &self.session
    }

    /// Of the newest tick that was read, as the client sent them.
    pub fn poses(&self) -> &[ToolPose] {
        &self.poses
    }

    /// Of the newest tick that was answered or coalesced.
    pub fn last_sequence(&self) -> Option<u64> {
        self.last_sequence
    }

    /// Whether a tick may come after those before.
    pub fn check_rising(&self, tick: &proto::Tick) -> Result<(), TickError> {
        match self.last_sequence {
            Some(last) if tick.sequence <= last => {
                Err(TickError::Sequence { got: tick.sequence, last })
            }
            _ => Ok(()),
        }
    }

    /// The sweep and the proxies of the next answer go through this tick's poses. A bad tick has none.
    pub fn coalesce(&mut self, tick: &proto::Tick) {
        self.last_sequence = Some(tick.sequence);
        let taken = catch_panic(|| {
            if convert::tick::poses(tick, self.scene.limits(), &mut self.poses).is_ok() {
                // What is refused changes nothing, and a coalesced tick has no answer to say so.
                let _ = self.session.coalesce(tick.sequence, &self.poses);
            }
        });
        if taken.is_err() {
            self.restart();
        }
    }

    /// Reads a tick that is to be answered.
    ///
    /// # Errors
    /// When there is something wrong with it.
    pub fn read(&mut self, tick: &proto::Tick) -> Result<(), Refused> {
        self.check_rising(tick)?;
        Ok(convert::tick::poses(tick, self.scene.limits(), &mut self.poses)?)
    }

    /// Answers the tick that was read. `started_ns`: the caller's monotonic clock now; `clock`: the same, asked when a
    /// part is done.
    ///
    /// # Errors
    /// The session is as it was before the tick.
    pub fn answer(
        &mut self,
        sequence: u64,
        started_ns: u64,
        time: &TimeLeft,
        clock: fn() -> u64,
        into: &mut TrackResponse,
    ) -> Result<EngineTimes, Refused> {
        self.session.draw(sequence, &self.poses, started_ns, time)?;
        let drawn_ns = self.session.renders().then(clock);
        self.session.answer(time);
        let (answer, computed_ns) = (self.session.last_answer(), clock());
        into.flags = convert::answer::flags(&answer.flags);
        into.unswept_reason = convert::answer::unswept_reason(&answer.flags) as i32;
        into.tissues = convert::answer::tissue_states(&answer.tissues);
        into.links = convert::answer::links(answer, self.session.forbidden());
        into.link_pairs = convert::pairs::of_links(answer);
        into.probes = convert::answer::probes(answer);
        for rendering in self.session.renderings() {
            let (tool, at_device) = (rendering.tool, self.session.at_device(rendering.tool));
            let with_loads = self.with_loads.contains(&tool);
            into.renderings.push(convert::rendering::rendering(rendering, with_loads, at_device));
        }
        self.last_sequence = Some(sequence);
        Ok(EngineTimes { drawn_ns, computed_ns })
    }

    /// After a panic, which may have left the session half changed. Ids of contacts go on from where they were.
    pub fn restart(&mut self) {
        self.session = self.session.restarted();
    }
}
