//! Requests of each conversation, one file per theme.

pub mod coalesce;
pub mod crowd;
pub mod cut;
pub mod deform;
pub mod options;
pub mod pairs;
pub mod press;
pub mod query;
pub mod refuse;
pub mod resume;
pub mod self_collision;
pub mod sweep;

use glam::DVec3;
use palpate::proto::{
    DensePositions, ReportOptions, SparsePositions, Tick, ToolPose, TrackMode, TrackRequest,
    TrackStart, deform_request::Positions,
};

use crate::support::messages::tick_message;

/// Returns the start of a loop of tool 1.
pub fn start(mode: TrackMode, report: ReportOptions) -> TrackStart {
    TrackStart {
        tool_ids: vec![1],
        mode: mode.into(),
        report: Some(report),
        ..TrackStart::default()
    }
}

/// Returns a tick without a deadline.
pub fn tick(sequence: u64, tools: Vec<ToolPose>) -> TrackRequest {
    let client_time_ns = 1_000_000 * sequence as i64 - 7;
    tick_message(Tick { sequence, client_time_ns, tools, deadline_us: 0 })
}

pub fn xyz(points: impl IntoIterator<Item = DVec3>) -> Vec<f32> {
    points.into_iter().flat_map(|p| p.as_vec3().to_array()).collect()
}

pub fn sparse(moved: &[(u32, DVec3)]) -> Positions {
    let vertices = moved.iter().map(|(v, _)| *v).collect();
    Positions::Sparse(SparsePositions { vertices, positions_m: xyz(moved.iter().map(|(_, p)| *p)) })
}

pub fn dense(positions: Vec<DVec3>) -> Positions {
    Positions::Dense(DensePositions { positions_m: xyz(positions) })
}
