//! The haptic loop's start and ticks.

use super::{
    FieldError, Problem,
    field::{in_range, within_limit},
    pose::{pose, pose_or_identity},
    proto,
};
use crate::{
    geometry::Pose,
    scene::{
        Limits, Tool, ToolId,
        limits::{CONTACTS_MAX, DISTANCE_MAX_M},
        tick::{TickOptions, ToolPose},
    },
};

/// Looked for when a client asks for no distance: a hand's breadth, metres.
const MAX_DISTANCE_DEFAULT_M: f64 = 0.05;
/// Counts as touching when a client says nothing else, metres.
const CONTACT_MARGIN_DEFAULT_M: f64 = 0.001;
/// Given for each link when a client says nothing else.
const MAX_CONTACTS_DEFAULT: usize = 64;
const _: () = assert!(CONTACT_MARGIN_DEFAULT_M <= MAX_DISTANCE_DEFAULT_M);
const _: () = assert!(MAX_CONTACTS_DEFAULT <= CONTACTS_MAX);

/// The first message of a stream.
#[derive(Debug)]
pub struct Start {
    /// Each once, at least one.
    pub tools: Vec<ToolId>,
    /// Whether each tick is answered or only the newest.
    pub mode: Mode,
    /// What an answer holds.
    pub options: TickOptions,
}

/// What is done when ticks arrive faster than they are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Answer the newest.
    Latest,
    /// Answer each.
    Every,
}

/// How a stream begins.
pub fn start(start: &proto::TrackStart, limits: &Limits) -> Result<Start, FieldError> {
    let ids = &start.tool_ids;
    if ids.is_empty() {
        return Err(Problem::Missing.of("tool_ids"));
    }
    within_limit(ids.len(), limits.tools_per_stream, "tools_per_stream", "tool_ids")?;
    for (at, id) in ids.iter().enumerate() {
        if ids[..at].contains(id) {
            return Err(Problem::Repeated.of(format!("tool_ids[{at}]")));
        }
    }
    Ok(Start {
        tools: ids.iter().map(|id| ToolId(*id)).collect(),
        mode: mode(start.mode)?,
        options: options(&start.report.unwrap_or_default()).map_err(|e| e.within("report"))?,
    })
}

fn mode(sent: i32) -> Result<Mode, FieldError> {
    match proto::TrackMode::try_from(sent) {
        Ok(proto::TrackMode::Every) => Ok(Mode::Every),
        Ok(proto::TrackMode::Latest | proto::TrackMode::Unspecified) => Ok(Mode::Latest),
        Err(_) => Err(Problem::Enumerator { got: sent }.of("mode")),
    }
}

/// What an answer holds; zeros mean the defaults.
pub fn options(report: &proto::ReportOptions) -> Result<TickOptions, FieldError> {
    let max_distance_m =
        match in_range(report.max_distance_m, 0.0, DISTANCE_MAX_M, "max_distance_m")? {
            0.0 => MAX_DISTANCE_DEFAULT_M,
            asked => asked,
        };
    let margin = in_range(report.contact_margin_m, 0.0, max_distance_m, "contact_margin_m")?;
    let max_contacts = match report.max_contacts as usize {
        0 => MAX_CONTACTS_DEFAULT,
        n if n <= CONTACTS_MAX => n,
        n => return Err(Problem::Index { got: n, end: CONTACTS_MAX + 1 }.of("max_contacts")),
    };
    Ok(TickOptions {
        max_distance_m,
        contact_margin_m: match margin {
            0.0 => CONTACT_MARGIN_DEFAULT_M.min(max_distance_m),
            asked => asked,
        },
        max_contacts,
        contacts: !report.omit_contacts,
        probes: !report.omit_probes,
        stale_after_ns: match report.stale_after_us {
            0 => None,
            us => Some(us.saturating_mul(1000)),
        },
    })
}

/// The poses of a tick, into a buffer that keeps its room.
pub fn poses(
    tick: &proto::Tick,
    limits: &Limits,
    poses: &mut Vec<ToolPose>,
) -> Result<(), FieldError> {
    within_limit(tick.tools.len(), limits.tools_per_stream, "tools_per_stream", "tools")?;
    poses.resize_with(tick.tools.len(), unplaced);
    for (at, (sent, into)) in tick.tools.iter().zip(poses).enumerate() {
        fill(sent, limits, into).map_err(|e| e.within(format_args!("tools[{at}]")))?;
    }
    Ok(())
}

/// Where one tool is.
pub fn tool_pose(sent: &proto::ToolPose, limits: &Limits) -> Result<ToolPose, FieldError> {
    let mut parsed = unplaced();
    fill(sent, limits, &mut parsed)?;
    Ok(parsed)
}

/// Checks that there is a pose for each link, or none.
pub fn check_link_poses(tool: &Tool, pose: &ToolPose) -> Result<(), FieldError> {
    let (got, expected) = (pose.tool_from_link.len(), tool.links.len());
    let fits = got == 0 || got == expected;
    if fits { Ok(()) } else { Err(Problem::LinkPoses { got, expected }.of("link_poses")) }
}

fn unplaced() -> ToolPose {
    ToolPose {
        tool: ToolId(0),
        scene_from_tool: Pose::IDENTITY,
        tool_from_link: Vec::new(),
        teleport: false,
    }
}

fn fill(sent: &proto::ToolPose, limits: &Limits, into: &mut ToolPose) -> Result<(), FieldError> {
    within_limit(sent.link_poses.len(), limits.links_per_tool, "links_per_tool", "link_poses")?;
    into.tool = ToolId(sent.tool_id);
    into.teleport = sent.teleport;
    into.scene_from_tool = pose(&sent.pose)?;
    into.tool_from_link.clear();
    for (at, link) in sent.link_poses.iter().enumerate() {
        let link = pose_or_identity(link);
        into.tool_from_link.push(link.map_err(|e| e.within(format_args!("link_poses[{at}]")))?);
    }
    Ok(())
}
