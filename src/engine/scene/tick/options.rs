//! Options of a session, given once, and the poses of its tools, given with each tick.

use crate::geometry::Pose;
use crate::scene::{Tool, ToolId};

/// Contents of a tick's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct TickOptions {
    /// Distance beyond which only a lower bound is answered, metres.
    pub max_distance_m: f64,
    /// Distance within which a surface counts as a contact, metres.
    pub contact_margin_m: f64,
    /// Maximum contacts answered for each link; the deepest are kept.
    pub max_contacts: usize,
    /// Searches for contacts.
    pub contacts: bool,
    /// Answers probes.
    pub probes: bool,
    /// Also tests the motion since the last answered pose.
    pub sweep: bool,
    /// Answers triangles of tissues and links that cross.
    pub triangle_pairs: bool,
    /// Answers triangles of two links that cross.
    pub link_pairs: bool,
    /// Answers pairs of features of a tissue and a link within the margin.
    pub feature_pairs: bool,
    /// Maximum pairs answered for each link, and for all pairs of links together.
    pub max_pairs: usize,
    /// Age from which a tissue sets the stale flag, nanoseconds.
    pub stale_after_ns: Option<u64>,
}

/// Maximum of a margin that is fitted to tools, as a share of the largest link's diagonal.
const MARGIN_SHARE: f64 = 0.25;

impl TickOptions {
    /// Reduces the margin for small tools: a millimetre around a tool of a hundredth of that covers a whole vessel, and
    /// each of its triangles would be a contact. For a margin that nobody asked for.
    pub fn fit_margin<'a>(&mut self, tools: impl IntoIterator<Item = &'a Tool>) {
        let size = tools.into_iter().map(Tool::link_size_max).fold(0.0, f64::max);
        self.contact_margin_m = self.contact_margin_m.min(MARGIN_SHARE * size);
    }

    /// Returns these options with distances only.
    pub(crate) fn distances_alone(&self) -> TickOptions {
        TickOptions {
            contacts: false,
            sweep: false,
            probes: false,
            triangle_pairs: false,
            link_pairs: false,
            feature_pairs: false,
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
            feature_pairs: false,
            max_pairs: 256,
            stale_after_ns: None,
        }
    }
}

/// Pose of a tool and its links.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPose {
    /// The posed tool.
    pub tool: ToolId,
    /// Scene frame from tool frame.
    pub scene_from_tool: Pose,
    /// Tool frame from link frame, one for each link; empty: all at rest.
    pub tool_from_link: Vec<Pose>,
    /// True if the tool was teleported here instead of moving here.
    pub teleport: bool,
}

/// Returns the pose of a tool's link, scene frame from link frame.
pub fn scene_from_link(tool: &Tool, link: usize, pose: &ToolPose) -> Pose {
    debug_assert!(link < tool.links.len(), "link {link} of {}", tool.links.len());
    let tool_from_link = pose.tool_from_link.get(link).unwrap_or(&tool.links[link].rest);
    pose.scene_from_tool.then_from(tool_from_link)
}
