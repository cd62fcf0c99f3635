//! Conversion of the haptic loop's start and ticks.

use std::sync::Arc;

use super::{FieldError, Problem, proto, rendering};
use crate::service::pose_message::{pose, pose_or_identity};
use crate::service::request_field::{in_range, within_limit};
use crate::{
    geometry::Pose,
    proxy::RenderOptions,
    scene::{
        Limits, Tool, ToolId,
        limits::{CONTACTS_MAX, DISTANCE_MAX_M, PAIRS_MAX},
        tick::{TickOptions, ToolPose},
    },
};

/// First message of a stream.
#[derive(Debug)]
pub struct Start {
    /// Tools, each once; at least one.
    pub tools: Vec<ToolId>,
    /// Answers to each tick, or only to the newest.
    pub mode: Mode,
    /// Contents of an answer.
    pub options: TickOptions,
    /// Options of the rendered tools.
    pub render: Vec<RenderOptions>,
}

/// Last poses of the tools, for a loop that continues without its session.
#[derive(Debug)]
pub struct LastPoses {
    /// Poses of the devices, one for each tool.
    pub devices: Vec<ToolPose>,
    /// Poses of the proxies, of rendered tools only.
    pub proxies: Vec<ToolPose>,
}

/// Behaviour when ticks arrive faster than they are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Answers the newest tick.
    Latest,
    /// Answers each tick.
    Every,
}

/// Parses the start of a stream.
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
    let tools: Vec<ToolId> = ids.iter().map(|id| ToolId(*id)).collect();
    Ok(Start {
        mode: mode(start.mode)?,
        options: options(&start.report.unwrap_or_default()).map_err(|e| e.within("report"))?,
        render: rendering::options(&start.render)?,
        tools,
    })
}

/// Parses the last poses of a stream's tools, if present. `tools`: all tools of the stream.
pub fn last_poses(
    start: &proto::TrackStart,
    tools: &[Arc<Tool>],
    limits: &Limits,
) -> Result<Option<LastPoses>, FieldError> {
    let read = |sent: &[proto::ToolPose], field: &str, list: &'static str, ids: &[u32]| {
        let mut poses: Vec<ToolPose> = Vec::with_capacity(ids.len());
        for (at, sent) in sent.iter().enumerate() {
            let read = || -> Result<ToolPose, FieldError> {
                if !ids.contains(&sent.tool_id) {
                    return Err(Problem::Unlisted { got: sent.tool_id, list }.of("tool_id"));
                }
                if poses.iter().any(|p| p.tool.0 == sent.tool_id) {
                    return Err(Problem::Repeated.of("tool_id"));
                }
                let pose = tool_pose(sent, limits)?;
                let tool = tools.iter().find(|tool| tool.id == pose.tool).expect("it is tracked");
                check_link_poses(tool, &pose)?;
                Ok(pose)
            };
            poses.push(read().map_err(|e| e.within(format_args!("{field}[{at}]")))?);
        }
        Ok(poses)
    };
    let rendered: Vec<u32> = start.render.iter().map(|render| render.tool_id).collect();
    let devices = read(&start.last_poses, "last_poses", "tool_ids", &start.tool_ids)?;
    let proxies = read(&start.last_proxies, "last_proxies", "render", &rendered)?;
    match (devices.len(), tools.len()) {
        (0, _) if !proxies.is_empty() => {
            Err(Problem::Unexpected("last_poses is empty").of("last_proxies"))
        }
        (0, _) => Ok(None),
        (got, expected) if got < expected => Err(Problem::Poses { got, expected }.of("last_poses")),
        _ => Ok(Some(LastPoses { devices, proxies })),
    }
}

fn mode(sent: i32) -> Result<Mode, FieldError> {
    match proto::TrackMode::try_from(sent) {
        Ok(proto::TrackMode::Every) => Ok(Mode::Every),
        Ok(proto::TrackMode::Latest | proto::TrackMode::Unspecified) => Ok(Mode::Latest),
        Err(_) => Err(Problem::Enumerator { got: sent }.of("mode")),
    }
}

/// Parses the contents of an answer; zeros mean the defaults.
pub fn options(report: &proto::ReportOptions) -> Result<TickOptions, FieldError> {
    let usual = TickOptions::default();
    let max_distance_m =
        match in_range(report.max_distance_m, 0.0, DISTANCE_MAX_M, "max_distance_m")? {
            0.0 => usual.max_distance_m,
            asked => asked,
        };
    let margin = in_range(report.contact_margin_m, 0.0, max_distance_m, "contact_margin_m")?;
    let count = |sent: u32, usual: usize, most: usize, field: &'static str| match sent as usize {
        0 => Ok(usual),
        n if n <= most => Ok(n),
        n => Err(Problem::Index { got: n, end: most + 1 }.of(field)),
    };
    let contacts = report.max_contacts;
    Ok(TickOptions {
        max_distance_m,
        contact_margin_m: match margin {
            0.0 => usual.contact_margin_m.min(max_distance_m),
            asked => asked,
        },
        max_contacts: count(contacts, usual.max_contacts, CONTACTS_MAX, "max_contacts")?,
        contacts: !report.omit_contacts,
        probes: !report.omit_probes,
        sweep: !report.omit_sweep,
        triangle_pairs: report.triangle_pairs,
        link_pairs: report.link_pairs,
        feature_pairs: report.feature_pairs,
        max_pairs: count(report.max_pairs, usual.max_pairs, PAIRS_MAX, "max_pairs")?,
        stale_after_ns: match report.stale_after_us {
            0 => None,
            us => Some(us.saturating_mul(1000)),
        },
    })
}

/// Parses the poses of a tick into a buffer, whose allocation is reused.
pub fn poses(
    tick: &proto::Tick,
    limits: &Limits,
    poses: &mut Vec<ToolPose>,
) -> Result<(), FieldError> {
    within_limit(tick.tools.len(), limits.tools_per_stream, "tools_per_stream", "tools")?;
    // Vectors of link poses keep their capacity: a tick allocates nothing after the first.
    poses.resize_with(tick.tools.len(), unplaced);
    for (at, (sent, into)) in tick.tools.iter().zip(poses).enumerate() {
        fill(sent, limits, into).map_err(|e| e.within(format_args!("tools[{at}]")))?;
    }
    Ok(())
}

/// Parses the pose of one tool.
pub fn tool_pose(sent: &proto::ToolPose, limits: &Limits) -> Result<ToolPose, FieldError> {
    let mut parsed = unplaced();
    fill(sent, limits, &mut parsed)?;
    Ok(parsed)
}

/// Checks that there is a pose for each link, or none.
pub fn check_link_poses(tool: &Tool, pose: &ToolPose) -> Result<(), FieldError> {
    let (got, expected) = (pose.tool_from_link.len(), tool.links.len());
    let fits = got == 0 || got == expected;
    if fits { Ok(()) } else { Err(Problem::Poses { got, expected }.of("link_poses")) }
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
