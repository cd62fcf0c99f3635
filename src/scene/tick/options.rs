//! What a session is told: once which answers it gives, and with each tick where its tools are.

use crate::geometry::Pose;
use crate::scene::{Tool, ToolId};

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
    /// Whether the motion since the last answered pose is tested too.
    pub sweep: bool,
    /// Whether triangles of tissues and links that cross are given.
    pub triangle_pairs: bool,
    /// Whether triangles of two links that cross are given.
    pub link_pairs: bool,
    /// The pairs given for each link, and for all two links together.
    pub max_pairs: usize,
    /// A tissue older than this sets the stale flag, nanoseconds.
    pub stale_after_ns: Option<u64>,
}

impl TickOptions {
    /// The same, but for all that is not a distance.
    pub(crate) fn distances_alone(&self) -> TickOptions {
        TickOptions {
            contacts: false,
            sweep: false,
            probes: false,
            triangle_pairs: false,
            link_pairs: false,
            ..self.clone()
        }
    }
}

impl Default for TickOptions {
    /// A hand's breadth of distance, a millimetre of margin; contacts and probes, no pairs.
    fn default() -> TickOptions {
        TickOptions {
            max_distance_m: 0.05,
            contact_margin_m: 0.001,
            max_contacts: 64,
            contacts: true,
            probes: true,
            sweep: true,
            triangle_pairs: false,
            link_pairs: false,
            max_pairs: 256,
            stale_after_ns: None,
        }
    }
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

/// Where a link of a tool is in the scene.
pub fn scene_from_link(tool: &Tool, link: usize, pose: &ToolPose) -> Pose {
    debug_assert!(link < tool.links.len(), "link {link} of {}", tool.links.len());
    let tool_from_link = pose.tool_from_link.get(link).unwrap_or(&tool.links[link].rest);
    pose.scene_from_tool.then_from(tool_from_link)
}
