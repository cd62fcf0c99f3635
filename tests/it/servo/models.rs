//! Models that tests build by hand.

use glam::DVec3;
use palpate::{
    coupling::{
        local_model::{LocalModel, LocalRow},
        posture::Posture,
    },
    geometry::Pose,
};

/// Stand-off of a proxy from tissue, metres, as its documentation states it.
pub const STAND_OFF: f64 = 20e-6;

/// A tool of 10 mm whose origin is `height` over the plane z = 0 of tissue 1.
pub fn over_plane(sequence: u64, height: f64) -> LocalModel {
    let mut model = LocalModel {
        tool: 1,
        sequence,
        reference: at(DVec3::Z * height),
        reach_m: 0.01,
        complete_radius_m: 0.002,
        expires_s: 0.1,
        ..LocalModel::EMPTY
    };
    model.push(plane(1, DVec3::Z * height, height)).expect("room");
    model
}

/// A row for tissue below a point of the tool.
pub fn plane(contact_id: u64, on_tool: DVec3, gap_m: f64) -> LocalRow {
    LocalRow {
        contact_id,
        tissue: 1,
        link: 0,
        on_tool,
        normal: DVec3::Z,
        gap_m,
        normal_velocity_m_s: 0.0,
        gap_error_m: 0.0,
        law: None,
    }
}

/// Posture of a tool that is not turned.
pub fn at(translation: DVec3) -> Posture {
    Posture { scene_from_tool: Pose { translation, ..Pose::IDENTITY }, ..Posture::AT_ORIGIN }
}
