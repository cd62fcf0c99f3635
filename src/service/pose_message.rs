//! Conversion of points, rotations and poses.

use glam::{DQuat, DVec3};

use super::request_field::{FieldError, Problem, coordinate};
use crate::{geometry::Pose, proto, scene::SurfacePoint};

/// Parses a point within the world; a missing one is the origin.
pub fn point(p: &Option<proto::Vec3>) -> Result<DVec3, FieldError> {
    let Some(p) = p else { return Ok(DVec3::ZERO) };
    Ok(DVec3::new(coordinate(p.x, "x")?, coordinate(p.y, "y")?, coordinate(p.z, "z")?))
}

/// Parses a required pose.
pub fn pose(pose: &Option<proto::Pose>) -> Result<Pose, FieldError> {
    pose_or_identity(pose.as_ref().ok_or_else(|| Problem::Missing.of("pose"))?)
        .map_err(|e| e.within("pose"))
}

/// Parses a pose whose parts may be missing.
pub fn pose_or_identity(pose: &proto::Pose) -> Result<Pose, FieldError> {
    let position = point(&pose.position_m).map_err(|e| e.within("position_m"))?;
    let rotation = match &pose.orientation {
        Some(q) => DQuat::from_xyzw(q.x, q.y, q.z, q.w),
        None => DQuat::IDENTITY,
    };
    let refused = || Problem::NotARotation { got: rotation.length() }.of("orientation");
    Pose::new(rotation, position).ok_or_else(refused)
}

/// Parses a direction of any length but zero, and normalises it; `None` if missing.
pub fn axis(axis: &Option<proto::Vec3>, field: &str) -> Result<Option<DVec3>, FieldError> {
    if axis.is_none() {
        return Ok(None);
    }
    let direction = point(axis).map_err(|e| e.within(field))?.try_normalize();
    direction.map(Some).ok_or_else(|| Problem::NoDirection.of(field))
}

/// Converts a vector to its message.
pub fn vec3(v: DVec3) -> proto::Vec3 {
    proto::Vec3 { x: v.x, y: v.y, z: v.z }
}

/// Converts a surface point to its message.
pub fn surface_point(p: &SurfacePoint) -> proto::SurfacePoint {
    proto::SurfacePoint {
        position_m: Some(vec3(p.position)),
        triangle_id: p.triangle.0,
        barycentric: Some(vec3(p.barycentric)),
    }
}

/// Converts a pose to its message.
pub fn pose_message(pose: &Pose) -> proto::Pose {
    let q = DQuat::from_mat3(&pose.rotation);
    proto::Pose {
        position_m: Some(vec3(pose.translation)),
        orientation: Some(proto::Quaternion { x: q.x, y: q.y, z: q.z, w: q.w }),
    }
}
