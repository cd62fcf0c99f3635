//! A haptic loop with rendered tools: a tick moves their proxies first, and is answered at the proxies' poses.

use std::sync::Arc;

use super::{
    options::{RenderError, RenderOptions},
    rendering::Rendering,
    tool_proxy::{ProxyTick, ToolProxy},
};
use crate::geometry::TriangleId;
use crate::scene::{
    LinkAnswer, Scene, SceneError, TickAnswer, TissueId, ToolId,
    tick::{Session, TickError, TickOptions, ToolPose, pose_knowledge::PoseKnowledge},
};
use crate::time_left::TimeLeft;

/// A haptic loop whose rendered tools have proxies. Without rendered tools it answers as a [`Session`].
pub struct RenderedSession {
    session: Session,
    scene: Arc<Scene>,
    proxies: Vec<ToolProxy>,
    /// Session at the device's poses, for distances alone.
    at_device: Option<Session>,
    device_poses: Vec<ToolPose>,
    /// Poses of the tick in progress, with proxies in place of rendered tools.
    poses: Vec<ToolPose>,
    forbidden: Vec<TissueId>,
    last_tick_ns: Option<u64>,
    /// When the last answer was ready.
    last_sent_ns: Option<u64>,
}

/// Errors that keep a loop from beginning.
#[derive(Debug, thiserror::Error)]
pub enum RenderedSessionError {
    /// An unknown tool.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// Render options that do not fit the tool.
    #[error("render[{at}]: {source}")]
    Render {
        /// Index among the tools to render.
        at: usize,
        /// Error of the options.
        source: RenderError,
    },
    /// A tool that the loop does not pose.
    #[error("render[{at}].tool_id = {tool} is not tracked by this stream")]
    NotTracked {
        /// Index among the tools to render.
        at: usize,
        /// Given tool id.
        tool: u32,
    },
    /// A tool rendered twice.
    #[error("render[{at}].tool_id = {tool} was given before")]
    Repeated {
        /// Index among the tools to render.
        at: usize,
        /// Given tool id.
        tool: u32,
    },
}

impl RenderedSession {
    /// Creates a loop that poses these tools of the scene, each once, and renders some of them.
    ///
    /// # Errors
    ///
    /// Returns an error if a tool is unknown, or cannot be rendered with its options.
    pub fn new(
        scene: Arc<Scene>,
        tools: &[ToolId],
        options: TickOptions,
        render: &[RenderOptions],
    ) -> Result<RenderedSession, RenderedSessionError> {
        let mut proxies = Vec::with_capacity(render.len());
        for (at, options) in render.iter().enumerate() {
            let tool = options.tool.0;
            if !tools.contains(&options.tool) {
                return Err(RenderedSessionError::NotTracked { at, tool });
            }
            if render[..at].iter().any(|r| r.tool == options.tool) {
                return Err(RenderedSessionError::Repeated { at, tool });
            }
            let proxy = ToolProxy::new(scene.tool(options.tool)?, options.clone())
                .map_err(|source| RenderedSessionError::Render { at, source })?;
            proxies.push(proxy);
        }
        let wanted = render.iter().filter(|r| r.device_distances).map(|r| r.tool);
        let wanted: Vec<ToolId> = wanted.collect();
        let at_device = match &wanted[..] {
            [] => None,
            tools => Some(Session::new(Arc::clone(&scene), tools, options.distances_alone())?),
        };
        let session = Session::new(Arc::clone(&scene), tools, options)?;
        Ok(RenderedSession::of(session, scene, proxies, at_device))
    }

    fn of(
        session: Session,
        scene: Arc<Scene>,
        proxies: Vec<ToolProxy>,
        at_device: Option<Session>,
    ) -> RenderedSession {
        let (poses, device_poses, forbidden, last_tick_ns, last_sent_ns) = Default::default();
        RenderedSession {
            session,
            scene,
            proxies,
            at_device,
            device_poses,
            poses,
            forbidden,
            last_tick_ns,
            last_sent_ns,
        }
    }

    /// Returns the loop from its beginning, for a tick that left it half changed: proxies begin where the next tick
    /// poses their tools, and contact ids are not used again.
    pub fn restarted(&self) -> RenderedSession {
        let proxies = self.proxies.iter().map(ToolProxy::restarted).collect();
        let at_device = self.at_device.as_ref().map(Session::restarted);
        let (session, scene) = (self.session.restarted(), Arc::clone(&self.scene));
        // A hand that got no force meanwhile has let go.
        let last_sent_ns = self.last_sent_ns;
        let fresh = RenderedSession::of(session, scene, proxies, at_device);
        RenderedSession { last_sent_ns, ..fresh }
    }

    /// Continues, before its first tick, where another session has ended: sweeps and proxies start there. `devices`:
    /// one pose for each tool of the session. `proxies`: poses of rendered tools; a tool without one begins where the
    /// first tick poses it.
    pub fn go_on_from(&mut self, devices: &[ToolPose], proxies: &[ToolPose]) {
        copy(devices.iter(), &mut self.poses);
        for proxy in &mut self.proxies {
            let tool = proxy.options().tool;
            let Some(last) = proxies.iter().find(|p| p.tool == tool) else { continue };
            proxy.go_on_from(last);
            for (device, pose) in
                devices.iter().zip(&mut self.poses).filter(|(d, _)| d.tool == tool)
            {
                proxy.place(device, pose);
            }
        }
        self.session.go_on_from(&self.poses);
    }

    /// Answers one tick: moves the proxies, then answers as [`Session::tick`] with rendered tools at the poses of their
    /// proxies, and their cutting links where the device has them. [`RenderedSession::renderings`] returns the
    /// renderings.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Session::tick`]; the session is as it was before the tick.
    pub fn tick(
        &mut self,
        sequence: u64,
        poses: &[ToolPose],
        now_ns: u64,
        time: &TimeLeft,
    ) -> Result<&TickAnswer, TickError> {
        self.draw(sequence, poses, now_ns, time)?;
        Ok(self.answer(time))
    }

    /// Runs the first half of [`RenderedSession::tick`]: moves the proxies.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RenderedSession::tick`].
    pub fn draw(
        &mut self,
        sequence: u64,
        poses: &[ToolPose],
        now_ns: u64,
        time: &TimeLeft,
    ) -> Result<(), TickError> {
        self.session.begin_tick(sequence, poses, now_ns)?;
        self.scene.forbidden_regions(&mut self.forbidden);
        let since = self.last_tick_ns.map_or(0, |last| now_ns.saturating_sub(last));
        self.last_tick_ns = Some(now_ns);
        copy(poses.iter(), &mut self.poses);
        if let Some(at_device) = &mut self.at_device {
            copy(poses.iter().filter(|p| at_device.has_tool(p.tool)), &mut self.device_poses);
            at_device.begin_tick_beside(sequence, &self.device_poses, &self.session)?;
        }
        let to_draw = time.share(DRAW_SHARE);
        let tick = ProxyTick {
            sequence,
            now_ns,
            tissues: self.session.tick_tissues(),
            forbidden: &self.forbidden,
            dt_s: since as f64 / NS_PER_S,
            deadline_to_draw: &to_draw,
            deadline: time,
        };
        for proxy in &mut self.proxies {
            let tool = proxy.options().tool;
            let at = poses.iter().position(|p| p.tool == tool).expect("the tick was checked");
            proxy.tick(&poses[at], &tick);
            proxy.place(&poses[at], &mut self.poses[at]);
        }
        Ok(())
    }

    /// Runs the second half of [`RenderedSession::tick`]: distances and contacts at the poses of the proxies.
    pub fn answer(&mut self, time: &TimeLeft) -> &TickAnswer {
        if let Some(at_device) = &mut self.at_device {
            at_device.answer_tick(&self.device_poses, time);
        }
        self.session.answer_tick_of(&self.poses, &Drawn(&self.proxies), time);
        let answer = self.session.last_answer();
        self.proxies.iter_mut().for_each(|proxy| proxy.widen(&answer.links));
        // Rates count from answer to answer, not from begin to begin: else a tick in time after a late one would give
        // the hand at once all the change that the late one was allowed.
        let now_ns = time.now_ns().or(self.last_tick_ns);
        let last_ns = std::mem::replace(&mut self.last_sent_ns, now_ns);
        // A clock that goes back, or the first tick: no time has passed, and no force may change.
        let since = now_ns.zip(last_ns).map_or(0, |(now, last)| now.saturating_sub(last));
        for proxy in &mut self.proxies {
            proxy.send(since as f64 / NS_PER_S);
        }
        answer
    }

    /// Returns true if a tool is rendered.
    pub fn renders(&self) -> bool {
        !self.proxies.is_empty()
    }

    /// Takes the poses of a tick that a newer one coalesced: the next tick moves the proxies along them.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Session::tick`]; the poses are left out then.
    pub fn coalesce(&mut self, sequence: u64, poses: &[ToolPose]) -> Result<(), TickError> {
        let proxies = &mut self.proxies;
        let is_rendered = |tool: ToolId| proxies.iter().any(|p| p.options().tool == tool);
        self.session.coalesce_but(sequence, poses, &is_rendered)?;
        for proxy in proxies {
            let tool = proxy.options().tool;
            poses.iter().filter(|p| p.tool == tool).for_each(|pose| proxy.coalesce(pose));
        }
        Ok(())
    }

    /// Returns the last tick's answers for the rendered tools, in the order in which the tools were given.
    pub fn renderings(&self) -> impl ExactSizeIterator<Item = &Rendering> {
        self.proxies.iter().map(ToolProxy::rendering)
    }

    /// Returns the links of a tool at the device's pose in the last tick, if the tool's options ask for them.
    pub fn at_device(&self, tool: ToolId) -> impl Iterator<Item = &LinkAnswer> {
        let links = self.at_device.iter().flat_map(|session| &session.last_answer().links);
        links.filter(move |link| link.tool == tool)
    }

    /// Returns the tissues that are forbidden regions, as of the last tick.
    pub fn forbidden(&self) -> &[TissueId] {
        &self.forbidden
    }

    /// Returns the answer of the last tick.
    pub fn last_answer(&self) -> &TickAnswer {
        self.session.last_answer()
    }
}

/// Proxies at their poses of this tick.
struct Drawn<'a>(&'a [ToolProxy]);

impl Drawn<'_> {
    fn proxy(&self, tool: ToolId) -> Option<&ToolProxy> {
        self.0.iter().find(|p| p.options().tool == tool)
    }
}

impl PoseKnowledge for Drawn<'_> {
    fn has_met_nothing(&self, (tool, link): (ToolId, usize)) -> bool {
        self.proxy(tool).is_some_and(|proxy| proxy.has_met_nothing(link))
    }

    fn each_near_pair(
        &self,
        (tool, link): (ToolId, usize),
        tissue: TissueId,
        visit: &mut dyn FnMut((TriangleId, TriangleId), f64),
    ) -> Option<f64> {
        self.proxy(tool)?.each_near_pair(link, tissue, visit)
    }
}

/// Copies poses into buffers that keep their capacity.
fn copy<'a>(poses: impl Iterator<Item = &'a ToolPose>, into: &mut Vec<ToolPose>) {
    let mut n = 0;
    for pose in poses {
        match into.get_mut(n) {
            Some(there) => {
                let ToolPose { tool, scene_from_tool, tool_from_link, teleport } = pose;
                (there.tool, there.scene_from_tool) = (*tool, *scene_from_tool);
                there.tool_from_link.clone_from(tool_from_link);
                there.teleport = *teleport;
            }
            None => into.push(pose.clone()),
        }
        n += 1;
    }
    into.truncate(n);
}

/// Share of a tick's time for the proxies: the rest is for local models, and for distances and contacts at the proxies,
/// which would else be bounds alone.
const DRAW_SHARE: f64 = 0.6;

const NS_PER_S: f64 = 1e9;
