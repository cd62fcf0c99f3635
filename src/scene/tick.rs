//! The haptic tick: poses in, distances and contacts out.

use std::sync::Arc;

use super::{Scene, SceneError, TickAnswer, Tool, ToolId};
use crate::geometry::Pose;

/// What a tick reports.
#[derive(Clone, Debug, PartialEq)]
pub struct TickOptions {
    /// Farther than this only a lower bound is given, metres.
    pub max_distance_m: f64,
    /// A surface this near counts as a contact, metres.
    pub contact_margin_m: f64,
    /// The deepest contacts given for each link.
    pub max_contacts: usize,
    /// Whether contacts are looked for.
    pub contacts: bool,
    /// Whether probes are answered.
    pub probes: bool,
    /// A tissue older than this sets the stale flag, nanoseconds.
    pub stale_after_ns: Option<u64>,
}

/// Where a tool is.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPose {
    /// Which tool.
    pub tool: ToolId,
    /// Scene frame from tool frame.
    pub scene_from_tool: Pose,
    /// Tool frame from link frame, one for each link; empty: all at rest.
    pub tool_from_link: Vec<Pose>,
    /// The tool was put here, it did not move here.
    pub teleport: bool,
}

/// Why a tick was refused. It changed nothing.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum TickError {
    /// The sequence did not rise.
    #[error("sequence is {got}, expected more than {last}")]
    Sequence {
        /// Sent.
        got: u64,
        /// Of the tick before.
        last: u64,
    },
    /// A tool that the session does not track.
    #[error("tools[{at}].tool_id = {tool} is not tracked by this stream")]
    NotTracked {
        /// Place in the tick.
        at: usize,
        /// The id sent.
        tool: u32,
    },
    /// A tool posed twice.
    #[error("tools[{at}].tool_id = {tool} was posed before")]
    Repeated {
        /// Place in the tick.
        at: usize,
        /// The id sent.
        tool: u32,
    },
    /// A tool left out.
    #[error("tools has no pose of tool {tool}")]
    Missing {
        /// The tool without a pose.
        tool: u32,
    },
    /// Link poses that fit no link.
    #[error("tools[{at}].link_poses has {got} poses, expected none or {expected}")]
    LinkPoses {
        /// Place in the tick.
        at: usize,
        /// Sent.
        got: usize,
        /// Links of the tool.
        expected: usize,
    },
    /// A tool that was removed from the scene.
    #[error("tool {tool} was removed from the scene")]
    Removed {
        /// The tool.
        tool: u32,
    },
}

/// One haptic loop: the tools it poses, what the last tick found, and room to work in.
pub struct Session {
    scene: Arc<Scene>,
    tools: Vec<Arc<Tool>>,
    options: TickOptions,
    answer: TickAnswer,
}

impl Session {
    /// A loop that poses these tools of the scene, each once.
    ///
    /// # Errors
    /// When a tool is unknown.
    pub fn new(
        scene: Arc<Scene>,
        tools: &[ToolId],
        options: TickOptions,
    ) -> Result<Session, SceneError> {
        let tools = tools.iter().map(|id| scene.tool(*id)).collect::<Result<Vec<_>, _>>()?;
        Ok(Session { scene, tools, options, answer: TickAnswer::default() })
    }

    /// Answers one tick. Allocates nothing once the buffers have grown.
    ///
    /// `poses`: one for each tool of the session, in any order. `now_ns`: the caller's monotonic clock.
    /// `late` says that the deadline has passed; contacts are cut short then, distances never.
    ///
    /// # Errors
    /// The session is as it was before the tick.
    pub fn tick(
        &mut self,
        sequence: u64,
        poses: &[ToolPose],
        now_ns: u64,
        late: &dyn Fn() -> bool,
    ) -> Result<&TickAnswer, TickError> {
        let _ = (&self.scene, &self.tools, &self.options, sequence, poses, now_ns, late);
        todo!()
    }
}
