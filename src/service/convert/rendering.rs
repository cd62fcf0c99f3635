//! Conversion of rendered tools: parses their options, and converts renderings to messages.

use glam::DVec3;

use super::{FieldError, proto};
use crate::{
    coupling::{
        contact_law::ContactLaw,
        local_model::{LocalModel, LocalRow},
        screw::Screw,
        spring::Spring,
        wrench::WrenchLimits,
    },
    proxy::{GraspEvent, ProxyContact, RenderOptions, RenderState, Rendering, TissueLoad},
    scene::{Distance, LinkAnswer, ToolId, tissue::driven::ControlLoad},
    service::pose_message::{point, pose_message, vec3},
};

/// Parses the options of rendered tools; the engine checks that the tools can be rendered with them.
pub fn options(sent: &[proto::RenderOptions]) -> Result<Vec<RenderOptions>, FieldError> {
    let one = |(at, one): (usize, &proto::RenderOptions)| {
        let within = |e: FieldError| e.within(format_args!("render[{at}].hold_point_m"));
        Ok(render_options(one, point(&one.hold_point_m).map_err(within)?))
    };
    sent.iter().enumerate().map(one).collect()
}

fn render_options(sent: &proto::RenderOptions, hold_point_m: DVec3) -> RenderOptions {
    let spring = Spring {
        stiffness_n_per_m: sent.stiffness_n_per_m,
        rotational_stiffness_nm_per_rad: sent.rotational_stiffness_nm_per_rad,
        link_stiffness_n_per_m: sent.link_stiffness_n_per_m,
    };
    let limits = WrenchLimits {
        max_force_n: sent.max_force_n,
        max_torque_nm: sent.max_torque_nm,
        max_force_rate_n_per_s: sent.max_force_rate_n_per_s,
        max_torque_rate_nm_per_s: sent.max_torque_rate_nm_per_s,
    };
    RenderOptions {
        tool: ToolId(sent.tool_id),
        spring: spring.or_desktop(),
        friction: sent.friction,
        force_shading_rad: sent.force_shading_rad,
        limits: limits.or_desktop(),
        cutting_links: sent.cutting_links.iter().map(|link| *link as usize).collect(),
        hold_point_m,
        device_distances: sent.device_distances,
        local_model: sent.local_model,
    }
}

/// Converts a rendering to its message. `device`: the links at the device's pose, if the client asked for them.
pub fn rendering<'a>(
    rendering: &Rendering,
    with_loads: bool,
    device: impl Iterator<Item = &'a LinkAnswer>,
) -> proto::Rendering {
    let distances: Vec<(f64, bool)> = device.map(distance).collect();
    // Contacts with a force come first.
    let bearing = rendering.contacts.iter().position(|c| c.force_n == DVec3::ZERO);
    let bearing = &rendering.contacts[..bearing.unwrap_or(rendering.contacts.len())];
    let loads = if with_loads { &rendering.loads[..] } else { &[] };
    proto::Rendering {
        tool_id: rendering.tool.0,
        proxy: Some(pose_message(&rendering.scene_from_proxy)),
        proxy_link_poses: rendering.tool_from_link.iter().map(pose_message).collect(),
        link_follow_m: rendering.link_lag_m.clone(),
        force_n: Some(vec3(rendering.force_n)),
        torque_nm: Some(vec3(rendering.torque_nm)),
        state: state(rendering.state) as i32,
        residual_m: rendering.residual_m,
        limited: rendering.limited,
        contact_ids: bearing.iter().map(|c| c.id).collect(),
        contact_tissue_ids: bearing.iter().map(|c| c.tissue.0).collect(),
        contact_links: bearing.iter().map(|c| c.link as u32).collect(),
        contact_xyz_m: flat(bearing, |c| c.position),
        contact_force_xyz_n: flat(bearing, |c| c.force_n),
        contact_forbidden: bearing.iter().map(|c| c.is_forbidden).collect(),
        tissue_loads: loads.iter().map(load).collect(),
        grasps: rendering.grasps.iter().map(grasp).collect(),
        device_distance_m: distances.iter().map(|(m, _)| *m).collect(),
        device_distance_is_lower_bound: distances.iter().map(|(_, is_bound)| *is_bound).collect(),
        local_model: rendering.local_model.as_deref().map(|model| local_model(model, rendering)),
    }
}

fn local_model(model: &LocalModel, rendering: &Rendering) -> proto::LocalModel {
    let rows = model.rows();
    let of = |number: fn(&LocalRow) -> f64| rows.iter().map(number).collect();
    let xyz = |vector: fn(&LocalRow) -> DVec3| {
        rows.iter().flat_map(|row| vector(row).to_array()).collect()
    };
    let laws = if rows.iter().any(|row| row.law.is_some()) { rows } else { &[] };
    let law =
        |number: fn(&ContactLaw) -> f64| laws.iter().map(|row| number(&model.law(row))).collect();
    let n_links = rendering.tool_from_link.len();
    let screw = |screw: &Option<Screw>| {
        let [turn, along] = screw.map_or([DVec3::ZERO; 2], |s| [s.turn, s.along]);
        turn.to_array().into_iter().chain(along.to_array())
    };
    proto::LocalModel {
        tool_id: model.tool,
        sequence: model.sequence,
        server_time_ns: model.server_time_ns,
        reference: Some(pose_message(&model.reference.scene_from_tool)),
        reference_link_poses: rendering.tool_from_link.iter().map(pose_message).collect(),
        hold_point_m: Some(vec3(model.hold_m)),
        reach_m: model.reach_m,
        complete_radius_m: model.complete_radius_m,
        tissue_speed_m_s: model.tissue_speed_m_s,
        // Rounded down: no model is used after it expires.
        expires_us: (model.expires_s * 1e6) as u32,
        friction: model.friction,
        link_screws: model.screws[..n_links].iter().flat_map(screw).collect(),
        contact_ids: rows.iter().map(|row| row.contact_id).collect(),
        contact_tissue_ids: rows.iter().map(|row| row.tissue).collect(),
        contact_links: rows.iter().map(|row| row.link as u32).collect(),
        on_tool_xyz_m: xyz(|row| row.on_tool),
        normal_xyz: xyz(|row| row.normal),
        gap_m: of(|row| row.gap_m),
        normal_velocity_m_s: of(|row| row.normal_velocity_m_s),
        gap_error_m: of(|row| row.gap_error_m),
        compliance_m_per_n: law(|law| law.compliance_m_per_n),
        damping_n_s_per_m: law(|law| law.damping_n_s_per_m),
        static_friction: law(|law| law.friction.sticking),
        dynamic_friction: law(|law| law.friction.slipping),
        stribeck_velocity_m_s: law(|law| law.friction.stribeck_m_s),
    }
}

/// Returns the distance in metres, and true if it is only a lower bound.
fn distance(link: &LinkAnswer) -> (f64, bool) {
    match &link.distance {
        Distance::Within(near) => (near.signed_distance_m, false),
        Distance::Beyond(bound) => (*bound, true),
    }
}

/// Converts the state of a rendering to its message.
pub fn state(state: RenderState) -> proto::RenderState {
    match state {
        RenderState::Free => proto::RenderState::Free,
        RenderState::Touching => proto::RenderState::Touching,
        RenderState::Embedded => proto::RenderState::Embedded,
        RenderState::Squeezed => proto::RenderState::Squeezed,
        RenderState::Late => proto::RenderState::Late,
    }
}

fn load(load: &TissueLoad) -> proto::TissueLoad {
    let of_controls = |of: fn(&ControlLoad) -> DVec3| {
        load.controls.iter().flat_map(|one| of(one).to_array()).collect()
    };
    proto::TissueLoad {
        tissue_id: load.tissue.0,
        geometry_revision: load.geometry_revision,
        vertex_ids: load.vertices.clone(),
        force_xyz_n: load.forces_n.iter().flat_map(|f| f.as_vec3().to_array()).collect(),
        control_ids: load.controls.iter().map(|one| one.control).collect(),
        control_force_xyz_n: of_controls(|one| one.force_n),
        control_torque_xyz_nm: match load.are_frames {
            true => of_controls(|one| one.torque_nm),
            false => Vec::new(),
        },
    }
}

fn grasp(event: &GraspEvent) -> proto::GraspEvent {
    let GraspEvent { tissue, links, contacts, begins } = *event;
    let [link, other_link] = links.map(|link| link as u32);
    let [contact_id, other_contact_id] = contacts;
    proto::GraspEvent {
        tissue_id: tissue.0,
        link,
        other_link,
        contact_id,
        other_contact_id,
        begins,
    }
}

fn flat(contacts: &[ProxyContact], of: impl Fn(&ProxyContact) -> DVec3) -> Vec<f32> {
    contacts.iter().flat_map(|c| of(c).as_vec3().to_array()).collect()
}
