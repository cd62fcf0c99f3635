//! Local models from the wire, for a servo, and the servo's options and device poses.

use glam::{DQuat, DVec3};

use crate::{
    coupling::{
        contact_law::{ContactLaw, Friction},
        local_model::{LocalModel, LocalRow, ModelError},
        posture::{Posture, RENDERED_LINKS_MAX},
        screw::Screw,
        spring::Spring,
        wrench::WrenchLimits,
    },
    geometry::Pose,
    proto,
    servo::ServoOptions,
};

/// A message is no local model.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ModelMessageError {
    /// The model's numbers are invalid.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The length of an array differs from the number of contacts or links.
    #[error("{field} has {got} numbers, expected {expected}")]
    Length {
        /// Name of the array.
        field: &'static str,
        /// Length as sent.
        got: usize,
        /// Length that the ids or poses require.
        expected: usize,
    },
}

/// Fills a model, which is unchanged on an error. Allocates nothing.
///
/// # Errors
/// Returns an error if the message is no model: numbers that push a hand are not trusted.
pub fn fill(model: &mut LocalModel, sent: &proto::LocalModel) -> Result<(), ModelMessageError> {
    let (links, rows) = (sent.reference_link_poses.len(), sent.contact_ids.len());
    if links > RENDERED_LINKS_MAX {
        return Err(ModelError::Link { got: links, limit: RENDERED_LINKS_MAX }.into());
    }
    let has_laws = !sent.compliance_m_per_n.is_empty();
    let laws = if has_laws { rows } else { 0 };
    for (field, got, expected) in [
        ("link_screws", sent.link_screws.len(), 6 * links),
        ("contact_tissue_ids", sent.contact_tissue_ids.len(), rows),
        ("contact_links", sent.contact_links.len(), rows),
        ("on_tool_xyz_m", sent.on_tool_xyz_m.len(), 3 * rows),
        ("normal_xyz", sent.normal_xyz.len(), 3 * rows),
        ("gap_m", sent.gap_m.len(), rows),
        ("normal_velocity_m_s", sent.normal_velocity_m_s.len(), rows),
        ("gap_error_m", sent.gap_error_m.len(), rows),
        ("compliance_m_per_n", sent.compliance_m_per_n.len(), laws),
        ("damping_n_s_per_m", sent.damping_n_s_per_m.len(), laws),
        ("static_friction", sent.static_friction.len(), laws),
        ("dynamic_friction", sent.dynamic_friction.len(), laws),
        ("stribeck_velocity_m_s", sent.stribeck_velocity_m_s.len(), laws),
    ] {
        if got != expected {
            return Err(ModelMessageError::Length { field, got, expected });
        }
    }
    let mut read = LocalModel {
        tool: sent.tool_id,
        sequence: sent.sequence,
        server_time_ns: sent.server_time_ns,
        reference: Posture {
            scene_from_tool: pose(sent.reference.as_ref(), "reference")?,
            ..Posture::AT_ORIGIN
        },
        hold_m: sent.hold_point_m.as_ref().map_or(DVec3::ZERO, |v| DVec3::new(v.x, v.y, v.z)),
        reach_m: sent.reach_m,
        complete_radius_m: sent.complete_radius_m,
        tissue_speed_m_s: sent.tissue_speed_m_s,
        expires_s: f64::from(sent.expires_us) * 1e-6,
        friction: sent.friction,
        ..LocalModel::EMPTY
    };
    for (i, link) in sent.reference_link_poses.iter().enumerate() {
        read.reference.tool_from_link[i] = pose(Some(link), "reference_link_poses")?;
        let turn = triple(&sent.link_screws, 2 * i);
        let along = triple(&sent.link_screws, 2 * i + 1);
        let is_moved = turn != DVec3::ZERO || along != DVec3::ZERO;
        read.screws[i] = is_moved.then_some(Screw { turn, along });
    }
    for i in 0..rows {
        read.push(LocalRow {
            contact_id: sent.contact_ids[i],
            tissue: sent.contact_tissue_ids[i],
            link: sent.contact_links[i] as usize,
            on_tool: triple(&sent.on_tool_xyz_m, i),
            normal: triple(&sent.normal_xyz, i),
            gap_m: sent.gap_m[i],
            normal_velocity_m_s: sent.normal_velocity_m_s[i],
            gap_error_m: sent.gap_error_m[i],
            law: has_laws.then(|| law(sent, i)),
        })?;
    }
    read.check()?;
    *model = read;
    Ok(())
}

/// Returns the servo's options for a tool's rendering, with its spring, caps and rates.
pub fn servo_options(render: &proto::RenderOptions) -> ServoOptions {
    let spring = Spring {
        stiffness_n_per_m: render.stiffness_n_per_m,
        rotational_stiffness_nm_per_rad: render.rotational_stiffness_nm_per_rad,
        link_stiffness_n_per_m: render.link_stiffness_n_per_m,
    };
    let limits = WrenchLimits {
        max_force_n: render.max_force_n,
        max_torque_nm: render.max_torque_nm,
        max_force_rate_n_per_s: render.max_force_rate_n_per_s,
        max_torque_rate_nm_per_s: render.max_torque_rate_nm_per_s,
    };
    ServoOptions {
        spring: spring.or_desktop(),
        limits: limits.or_desktop(),
        ..ServoOptions::of(render.tool_id)
    }
}

/// Converts a pose to the wire.
pub fn on_the_wire(pose: &Pose) -> proto::Pose {
    let (at, turn) = (pose.translation, DQuat::from_mat3(&pose.rotation));
    proto::Pose {
        position_m: Some(proto::Vec3 { x: at.x, y: at.y, z: at.z }),
        orientation: Some(proto::Quaternion { x: turn.x, y: turn.y, z: turn.z, w: turn.w }),
    }
}

/// Converts a pose from the wire; returns `None` if it is invalid. Missing parts are the identity.
pub fn of_the_wire(sent: &proto::Pose) -> Option<Pose> {
    let at = sent.position_m.as_ref().map_or(DVec3::ZERO, |v| DVec3::new(v.x, v.y, v.z));
    let turn = sent.orientation.as_ref();
    let turn = turn.map_or(DQuat::IDENTITY, |q| DQuat::from_xyzw(q.x, q.y, q.z, q.w));
    Pose::new(turn, at)
}

fn pose(sent: Option<&proto::Pose>, what: &'static str) -> Result<Pose, ModelError> {
    sent.and_then(of_the_wire).ok_or(ModelError::Pose { what })
}

fn law(sent: &proto::LocalModel, row: usize) -> ContactLaw {
    ContactLaw {
        compliance_m_per_n: sent.compliance_m_per_n[row],
        damping_n_s_per_m: sent.damping_n_s_per_m[row],
        friction: Friction {
            sticking: sent.static_friction[row],
            slipping: sent.dynamic_friction[row],
            stribeck_m_s: sent.stribeck_velocity_m_s[row],
        },
    }
}

fn triple(numbers: &[f64], place: usize) -> DVec3 {
    DVec3::from_slice(&numbers[3 * place..])
}
