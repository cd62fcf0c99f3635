//! Conversion of the live view: its request and its frames.

use std::time::Duration;

use glam::{DVec3, Vec3};

use super::{FieldError, Problem, answer, proto, rendering::state, scene::kind};
use crate::{
    geometry::{TriangleId, TriangleMesh},
    scene::{TissueId, ToolId},
    service::{
        host::live_view::{
            device_wishes::WishedPosition,
            felt_ticks::FeltTick,
            last_tick::{LinkRecord, ProbeRecord, TickRecord, ToolRecord},
            playback::{NewPosition, Playback, PlaybackChange, SPEEDS, TickMark},
            seen_surface::SeenSurface,
            viewed_scene::{SurfacePart, SurfacePiece, ViewPiece},
        },
        metrics::{STAGES, TickMetrics, recent::RecentFigures},
        pose_message::{point, pose_message, vec3},
        request_field::in_range,
    },
};

/// Range of frames per second.
const RATE_HZ: [f64; 2] = [1.0, 60.0];
const USUAL_RATE_HZ: f64 = 30.0;

/// Request of a viewer.
pub struct WatchOptions {
    /// Scene to view; `None`: the first one.
    pub scene_id: Option<String>,
    /// Frames per second.
    pub rate_hz: f64,
    parts: Vec<proto::WatchPart>,
}

/// Parses the request of a live view.
pub fn options(sent: &proto::WatchRequest) -> Result<WatchOptions, FieldError> {
    let scene_id = (!sent.scene_id.is_empty()).then(|| sent.scene_id.clone());
    scene_id.as_deref().map_or(Ok(()), crate::service::request_field::scene_id)?;
    let rate_hz = match sent.rate_hz {
        0.0 => USUAL_RATE_HZ,
        sent => in_range(sent, RATE_HZ[0], RATE_HZ[1], "rate_hz")?,
    };
    let part = |(at, got): (usize, &i32)| match proto::WatchPart::try_from(*got) {
        Ok(proto::WatchPart::Unspecified) | Err(_) => {
            Err(Problem::Enumerator { got: *got }.of(format!("parts[{at}]")))
        }
        Ok(part) => Ok(part),
    };
    let parts = sent.parts.iter().enumerate().map(part).collect::<Result<_, _>>()?;
    Ok(WatchOptions { scene_id, rate_hz, parts })
}

impl WatchOptions {
    /// Returns true if frames contain this part.
    pub fn has(&self, part: proto::WatchPart) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }
}

/// Parses the tool and the requested position of its device; `None`: the viewer lets go.
pub fn wish(sent: &proto::MoveDeviceRequest) -> Result<(ToolId, Option<DVec3>), FieldError> {
    let position = match &sent.position_m {
        None => None,
        position => Some(point(position).map_err(|e| e.within("position_m"))?),
    };
    Ok((ToolId(sent.tool_id), position))
}

/// Converts a requested position to its message.
pub fn wish_message(wish: &WishedPosition) -> proto::DeviceWish {
    proto::DeviceWish {
        tool_id: wish.tool.0,
        position_m: Some(vec3(wish.position)),
        age_us: wish.age_ns / 1000,
    }
}

/// Parses the changes of a playback.
pub fn playback_change(
    sent: &proto::ControlReplayRequest,
    duration_s: f64,
) -> Result<PlaybackChange, FieldError> {
    use proto::control_replay_request::Position;
    let speed = sent.speed.map(|speed| in_range(speed, *SPEEDS.start(), *SPEEDS.end(), "speed"));
    let position = match sent.position {
        Some(Position::SeekS(s)) => {
            Some(NewPosition::Seconds(in_range(s, 0.0, duration_s, "seek_s")?))
        }
        Some(Position::Step(ticks)) => Some(NewPosition::Ticks(ticks)),
        Some(Position::Jump(marks)) => Some(NewPosition::Marks(marks)),
        None => None,
    };
    let (playing, repeat) = (sent.playing, sent.repeat);
    Ok(PlaybackChange { playing, speed: speed.transpose()?, repeat, position })
}

/// Converts a playback to a message, with its marks if they have changed since `marks_version`.
pub fn replay_state(playback: &Playback, marks_version: &mut u64) -> proto::ReplayState {
    let view = playback.view();
    let has_marks = std::mem::replace(marks_version, view.marks_version) != view.marks_version;
    proto::ReplayState {
        position_s: view.position_s,
        duration_s: view.duration_s,
        playing: view.playing,
        speed: view.speed,
        repeat: view.repeat,
        seeking: view.seeking,
        played_s: view.played_s,
        tick: view.tick as u64,
        ticks: view.ticks as u64,
        mark: view.mark.map_or(proto::ReplayMark::Unspecified, replay_mark) as i32,
        marks: has_marks.then(|| replay_marks(playback)),
    }
}

fn replay_marks(playback: &Playback) -> proto::ReplayMarks {
    let (at_s, mark) = playback.shown_marks().into_iter().unzip();
    let mark: Vec<TickMark> = mark;
    proto::ReplayMarks {
        at_s,
        mark: mark.into_iter().map(|mark| replay_mark(mark) as i32).collect(),
        late: playback.n_marked(TickMark::Late) as u64,
        refused: playback.n_marked(TickMark::Refused) as u64,
        differing: playback.n_marked(TickMark::Differs) as u64,
    }
}

fn replay_mark(mark: TickMark) -> proto::ReplayMark {
    match mark {
        TickMark::Late => proto::ReplayMark::Late,
        TickMark::Refused => proto::ReplayMark::Refused,
        TickMark::Differs => proto::ReplayMark::Differs,
    }
}

/// Converts a part of a frame to a message. `seen` returns a tissue's arrays; a tissue that was removed meanwhile has
/// no surface.
pub fn piece<'a>(
    piece: &ViewPiece,
    seen: impl FnOnce(TissueId) -> Option<&'a SeenSurface>,
) -> proto::WatchResponse {
    let mut message = proto::WatchResponse { more: true, ..Default::default() };
    match piece {
        ViewPiece::Tissue { tissue, geometry_revision, topology_revision, age_ns, piece } => {
            let surface = seen(tissue.id()).map(|seen| {
                let arrays = (seen.positions(), seen.corners().len());
                surface(piece, arrays, |t| seen.corners()[t])
            });
            message.tissues.push(proto::WatchedTissue {
                tissue_id: tissue.id().0,
                name: if piece.is_new { tissue.name().to_owned() } else { String::new() },
                kind: kind(tissue.kind()) as i32,
                geometry_revision: *geometry_revision,
                topology_revision: *topology_revision,
                age_us: age_ns / 1000,
                surface,
            });
        }
        ViewPiece::Link { tool, link, piece } => {
            let of = &tool.links[*link];
            let mesh = of.surface.mesh();
            let arrays = (mesh.positions(), mesh.triangle_id_end() as usize);
            message.tools.push(proto::WatchedTool {
                tool_id: tool.id.0,
                name: if piece.is_new { tool.name.clone() } else { String::new() },
                link: *link as u32,
                link_name: if piece.is_new { of.name.clone() } else { String::new() },
                rest_pose: piece.is_new.then(|| pose_message(&of.rest)),
                surface: Some(surface(piece, arrays, |t| corners(mesh, t))),
                links: tool.links.len() as u32,
                probe_names: if piece.is_new && *link == 0 {
                    tool.probes.iter().map(|probe| probe.name.clone()).collect()
                } else {
                    Vec::new()
                },
            });
        }
    }
    message
}

fn corners(mesh: &TriangleMesh, t: usize) -> [u32; 3] {
    mesh.get(TriangleId(t as u32)).unwrap_or_default()
}

fn surface(
    piece: &SurfacePiece,
    (positions, n_triangles): (&[Vec3], usize),
    corners: impl Fn(usize) -> [u32; 3],
) -> proto::WatchedSurface {
    let flat = |positions: &mut dyn Iterator<Item = Vec3>| {
        positions.flat_map(|p| p.to_array()).collect::<Vec<f32>>()
    };
    let mut message = proto::WatchedSurface {
        is_new: piece.is_new,
        vertices: positions.len() as u32,
        triangle_ids: n_triangles as u32,
        ..Default::default()
    };
    match &piece.part {
        SurfacePart::Vertices(range) => {
            message.first_vertex = range.start as u32;
            message.positions_m = flat(&mut positions[range.clone()].iter().copied());
        }
        SurfacePart::Moved(moved) => {
            message.positions_m = flat(&mut moved.iter().map(|v| positions[*v as usize]));
            message.moved_vertices = moved.clone();
        }
        SurfacePart::Triangles(range) => {
            message.first_triangle = range.start as u32;
            message.corners = range.clone().flat_map(corners).collect();
        }
        SurfacePart::Removed(removed) => message.removed_triangles = removed.clone(),
        SurfacePart::Stiffness(first, stiffness) => {
            message.first_stiff_vertex = *first as u32;
            message.stiffness_n_per_m = stiffness.clone();
        }
    }
    message
}

/// Converts a haptic loop's newest tick to its message, with the forces since `after_ns`; the caller adds the figures.
pub fn session(
    stream: u64,
    tick: &TickRecord,
    after_ns: u64,
    now_ns: u64,
) -> proto::WatchedSession {
    let ticks = |tool: &ToolRecord| {
        let is_new = |felt: &&FeltTick| felt.tool == tool.tool && felt.at_ns > after_ns;
        let new = tick.felt_ticks.iter().filter(is_new);
        tool.felt.map(|_| felt_ticks_message(new, now_ns))
    };
    let contacts = &tick.contacts;
    let mut links = tick.links.iter();
    proto::WatchedSession {
        stream,
        sequence: tick.sequence,
        age_us: now_ns.saturating_sub(tick.at_ns) / 1000,
        compute_us: tick.compute_ns as f64 / 1e3,
        flags: answer::flags(&tick.flags),
        tools: tick
            .tools
            .iter()
            .map(|tool| tool_pose(tool, &mut links, (&tick.probes, ticks(tool))))
            .collect(),
        contact_tissue_ids: contacts.iter().map(|c| c.tissue.0).collect(),
        contact_xyz_m: flat(contacts.iter().map(|c| c.position)),
        contact_normal_xyz: flat(contacts.iter().map(|c| c.normal)),
        contact_signed_distance_m: contacts.iter().map(|c| c.signed_distance_m as f32).collect(),
        force_xyz_m: flat(tick.forces.iter().map(|f| f.position)),
        force_xyz_n: flat(tick.forces.iter().map(|f| f.force_n)),
        figures: None,
        contacts_total: tick.contacts_total as u32,
    }
}

fn tool_pose<'a>(
    tool: &ToolRecord,
    links: &mut impl Iterator<Item = &'a LinkRecord>,
    (probes, felt_ticks): (&[ProbeRecord], Option<proto::FeltTicks>),
) -> proto::WatchedPose {
    let links: Vec<&LinkRecord> = links.take(tool.n_links).collect();
    let felt = tool.felt.as_ref();
    let probes = probes.iter().filter(|probe| probe.tool == tool.tool);
    let (probe_signed_distance_m, probe_is_lower_bound) =
        probes.map(|probe| (probe.signed_distance_m, probe.is_lower_bound)).unzip();
    proto::WatchedPose {
        tool_id: tool.tool.0,
        device: Some(pose_message(&tool.scene_from_device)),
        device_links: links.iter().map(|link| pose_message(&link.at_device)).collect(),
        links: links.iter().map(|link| pose_message(&link.seen)).collect(),
        rendered: felt.is_some(),
        force_n: felt.map(|f| vec3(f.force_n)),
        torque_nm: felt.map(|f| vec3(f.torque_nm)),
        state: felt.map_or(proto::RenderState::Unspecified, |f| state(f.state)) as i32,
        limited: felt.is_some_and(|f| f.limited),
        signed_distance_m: tool.signed_distance_m,
        is_lower_bound: tool.is_lower_bound,
        felt_ticks,
        probe_signed_distance_m,
        probe_is_lower_bound,
    }
}

fn felt_ticks_message<'a>(
    ticks: impl Iterator<Item = &'a FeltTick>,
    now_ns: u64,
) -> proto::FeltTicks {
    let us = |ns: u64| u32::try_from(ns / 1000).unwrap_or(u32::MAX);
    let mut message = proto::FeltTicks::default();
    for tick in ticks {
        message.age_us.push(us(now_ns.saturating_sub(tick.at_ns)));
        message.force_n.push(tick.force_n as f32);
        message.pressed_m.push(tick.pressed_m as f32);
        message.state.push(state(tick.state) as i32);
        message.latency_us.push(us(tick.latency_ns));
    }
    message
}

fn flat(points: impl Iterator<Item = DVec3>) -> Vec<f32> {
    points.flat_map(|p| p.as_vec3().to_array()).collect()
}

/// Returns counts and recent tick times of a haptic loop.
pub fn figures(
    ticks: &TickMetrics,
    recent: &RecentFigures,
    objective: Duration,
    is_replay: bool,
) -> proto::SessionFigures {
    let knows_stops = !is_replay && cfg!(unix);
    let all = ticks.stages[STAGES.len() - 1].counts();
    proto::SessionFigures {
        ticks_answered: ticks.answered.get(),
        ticks_coalesced: ticks.coalesced.get(),
        ticks_refused: ticks.refused.get(),
        ticks_missed: ticks.missed.get(),
        objective_us: objective.as_micros() as u64,
        p50_us: recent.times.quantile_us(0.5),
        p99_us: recent.times.quantile_us(0.99),
        p999_us: recent.times.quantile_us(0.999),
        recent_ticks: recent.times.total(),
        recent_missed: recent.missed,
        recent_missed_by_machine: knows_stops.then_some(recent.missed_by_machine),
        p50_all_us: all.quantile_us(0.5),
        p99_all_us: all.quantile_us(0.99),
        p999_all_us: all.quantile_us(0.999),
    }
}
