//! Conversion of distance queries.

use glam::DVec3;

use super::{
    FieldError, Problem, proto,
    tick::{check_link_poses, tool_pose},
};
use crate::{
    geometry::Pose,
    scene::{Distance, Limits, NearestSurface, Tool, limits::QUERY_POINTS_MAX, tick::ToolPose},
    service::request_field::{coordinate, in_range, threes},
};

/// Requested target of a distance query.
pub enum RequestedTarget {
    /// A single tissue.
    Tissue(u32),
    /// Nearest of all tissues.
    AllTissues,
    /// A link of a tool at a given pose.
    Link {
        /// Index of the link, from 0.
        link: u32,
        /// The tool and its pose.
        tool: ToolPose,
    },
}

/// Parses the target of a query.
pub fn target(
    request: &proto::QueryDistancesRequest,
    limits: &Limits,
) -> Result<RequestedTarget, FieldError> {
    use proto::query_distances_request::Target as Sent;
    match request.target.as_ref().ok_or_else(|| Problem::Missing.of("target"))? {
        Sent::TissueId(id) => Ok(RequestedTarget::Tissue(*id)),
        Sent::AllTissues(true) => Ok(RequestedTarget::AllTissues),
        Sent::AllTissues(false) => Err(Problem::Missing.of("all_tissues")),
        Sent::Link(sent) => {
            let tool = sent.tool.as_ref().ok_or_else(|| Problem::Missing.of("link.tool"))?;
            let tool = tool_pose(tool, limits).map_err(|e| e.within("link.tool"))?;
            Ok(RequestedTarget::Link { link: sent.link, tool })
        }
    }
}

/// Returns the index of a tool's link and its pose (scene frame from link frame).
pub fn placed_link(tool: &Tool, link: u32, pose: &ToolPose) -> Result<(usize, Pose), FieldError> {
    let index = link_of(tool, link, "link.link")?;
    check_link_poses(tool, pose).map_err(|e| e.within("link.tool"))?;
    let tool_from_link = pose.tool_from_link.get(index).unwrap_or(&tool.links[index].rest);
    Ok((index, pose.scene_from_tool.then_from(tool_from_link)))
}

/// Checks the number of a tool's link, which is `field` of the request.
pub fn link_of(tool: &Tool, link: u32, field: &str) -> Result<usize, FieldError> {
    let (got, end) = (link as usize, tool.links.len());
    if got < end { Ok(got) } else { Err(Problem::Index { got, end }.of(field)) }
}

/// Parses the points of a query.
pub fn points(request: &proto::QueryDistancesRequest) -> Result<Vec<DVec3>, FieldError> {
    let field = "points_xyz_m";
    let sent = threes(&request.points_xyz_m, field)?;
    if sent.len() > QUERY_POINTS_MAX {
        return Err(Problem::TooMany { got: sent.len(), max: QUERY_POINTS_MAX }.of(field));
    }
    for (at, x) in request.points_xyz_m.iter().enumerate() {
        coordinate(*x, field).map_err(|e| e.problem.of(format!("{field}[{at}]")))?;
    }
    Ok(sent.iter().map(|p| DVec3::from_array(*p)).collect())
}

/// Parses the maximum distance; 0 means no limit.
pub fn max_distance_m(sent: f64) -> Result<f64, FieldError> {
    let max = in_range(sent, 0.0, f64::MAX, "max_distance_m")?;
    Ok(if max == 0.0 { f64::INFINITY } else { max })
}

/// Converts distances to their message.
pub fn distances(found: &[Distance<NearestSurface>]) -> proto::QueryDistancesResponse {
    let mut answer = proto::QueryDistancesResponse::default();
    answer.signed_distance_m.reserve_exact(found.len());
    for distance in found {
        push(&mut answer, distance);
    }
    answer
}

fn push(answer: &mut proto::QueryDistancesResponse, found: &Distance<NearestSurface>) {
    let near = match found {
        Distance::Within(near) => Some(near),
        Distance::Beyond(_) => None,
    };
    let bound = match found {
        Distance::Within(near) => near.signed_distance_m,
        Distance::Beyond(bound) => *bound,
    };
    let xyz = |of: fn(&NearestSurface) -> DVec3| near.map_or(DVec3::ZERO, of).as_vec3().to_array();
    answer.signed_distance_m.push(bound);
    answer.is_lower_bound.push(near.is_none());
    answer.tissue_ids.push(near.and_then(|n| n.tissue).map_or(0, |t| t.0));
    answer.closest_xyz_m.extend(xyz(|n| n.on_surface.position));
    answer.triangle_ids.push(near.map_or(0, |n| n.on_surface.triangle.0));
    answer.barycentric_xyz.extend(xyz(|n| n.on_surface.barycentric));
    answer.normal_xyz.extend(xyz(|n| n.normal));
    answer.sign_certainty.push(near.map_or(0.0, |n| n.sign_certainty as f32));
}
