//! The engine side of a haptic loop: runs the engine's session, from messages to messages. It knows no stream, key or
//! clock: a server answers with it, and a recording is replayed with it.

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
        convert::{self, answer::ContactDetails, tick::Start},
        refused::Refused,
    },
    time_left::TimeLeft,
};

/// The session of a loop; reads and answers its ticks.
pub struct LoopEngine {
    scene: Arc<Scene>,
    session: RenderedSession,
    /// Rendered tools whose tissue loads the client asked for.
    with_loads: Vec<ToolId>,
    link_barycentrics: bool,
    /// Sequence number of the newest tick that was answered or coalesced.
    last_sequence: Option<u64>,
    /// Poses of the newest tick that was read.
    poses: Vec<ToolPose>,
}

/// Times at which the parts of a tick were done, nanoseconds of the caller's clock.
pub struct EngineTimes {
    /// Proxies were moved; `None` without any.
    pub drawn_ns: Option<u64>,
    /// The whole answer was computed.
    pub computed_ns: u64,
}

impl LoopEngine {
    /// Creates a loop as its first message `sent` asks for, from which `start` was read.
    ///
    /// # Errors
    /// Returns an error if a tool is unknown, cannot be rendered so, or has a last pose that is not possible.
    pub fn new(
        scene: &Arc<Scene>,
        start: Start,
        sent: &proto::TrackStart,
    ) -> Result<LoopEngine, Refused> {
        let Start { tools: ids, mut options, render, .. } = start;
        let tools = ids.iter().map(|id| scene.tool(*id)).collect::<Result<Vec<_>, _>>()?;
        if sent.report.is_none_or(|report| report.contact_margin_m == 0.0) {
            options.fit_margin(tools.iter().map(Arc::as_ref));
        }
        let mut session = RenderedSession::new(Arc::clone(scene), &ids, options, &render)?;
        let last = convert::tick::last_poses(sent, &tools, scene.limits());
        if let Some(last) = last.map_err(|e| e.within("start"))? {
            session.go_on_from(&last.devices, &last.proxies);
        }
        let with_loads = sent.render.iter().filter(|r| r.tissue_loads).map(|r| ToolId(r.tool_id));
        Ok(LoopEngine {
            scene: Arc::clone(scene),
            session,
            with_loads: with_loads.collect(),
            link_barycentrics: sent.report.is_some_and(|report| report.link_barycentrics),
            last_sequence: None,
            poses: Vec::new(),
        })
    }

    /// Returns the session, with its last answer.
    pub fn session(&self) -> &RenderedSession {
        &self.session
    }

    /// Returns the poses of the newest tick that was read, as the client sent them.
    pub fn poses(&self) -> &[ToolPose] {
        &self.poses
    }

    /// Returns the sequence number of the newest tick that was answered or coalesced.
    pub fn last_sequence(&self) -> Option<u64> {
        self.last_sequence
    }

    /// Checks that the tick's sequence number is above those before.
    pub fn check_rising(&self, tick: &proto::Tick) -> Result<(), TickError> {
        match self.last_sequence {
            Some(last) if tick.sequence <= last => {
                Err(TickError::Sequence { got: tick.sequence, last })
            }
            _ => Ok(()),
        }
    }

    /// Makes the sweep and the proxies of the next answer pass through this tick's poses. A bad tick has none.
    pub fn coalesce(&mut self, tick: &proto::Tick) {
        self.last_sequence = Some(tick.sequence);
        let taken = catch_panic(|| {
            if convert::tick::poses(tick, self.scene.limits(), &mut self.poses).is_ok() {
                // A refused tick changes nothing, and a coalesced tick has no answer that could report it.
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
    /// Returns an error if the tick is malformed.
    pub fn read(&mut self, tick: &proto::Tick) -> Result<(), Refused> {
        self.check_rising(tick)?;
        Ok(convert::tick::poses(tick, self.scene.limits(), &mut self.poses)?)
    }

    /// Answers the tick that was read. `started_ns` is the caller's monotonic clock now; `clock` reads that clock when
    /// a part is done.
    ///
    /// # Errors
    /// Returns an error with the session as it was before the tick.
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
        let forbidden = self.session.forbidden();
        let details = ContactDetails { forbidden, link_barycentrics: self.link_barycentrics };
        into.links = convert::answer::links(answer, details);
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

    /// Restarts the session after a panic, which may have left it half changed. Contact ids continue from where they
    /// were.
    pub fn restart(&mut self) {
        self.session = self.session.restarted();
    }
}
