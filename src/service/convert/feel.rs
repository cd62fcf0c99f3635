//! Conversion of materials.

use super::proto;
use crate::{
    coupling::contact_law::Friction,
    scene::{
        Revision,
        tissue::feel::{Feel, FeelError, Material},
    },
};

/// Parses the materials of a tissue; `None` if there are none. The engine checks that each triangle has one.
pub fn feel(sent: proto::Feel) -> Result<Option<Feel>, FeelError> {
    let proto::Feel { materials, triangle_materials } = sent;
    if materials.is_empty() && triangle_materials.is_empty() {
        return Ok(None);
    }
    Feel::new(materials.iter().map(material).collect(), triangle_materials).map(Some)
}

fn material(sent: &proto::Material) -> Material {
    let unless_0 = |number: f64| (number != 0.0).then_some(number);
    let friction = |sent: &proto::MaterialFriction| Friction {
        sticking: sent.static_coefficient,
        slipping: sent.dynamic_coefficient.unwrap_or(sent.static_coefficient),
        stribeck_m_s: unless_0(sent.stribeck_velocity_m_s).unwrap_or(Friction::STRIBECK_M_S),
    };
    Material {
        stiffness_n_per_m: unless_0(sent.stiffness_n_per_m),
        damping_n_s_per_m: sent.damping_n_s_per_m,
        friction: sent.friction.as_ref().map(friction),
    }
}

/// Converts the revision that has the materials to its message.
pub fn felt(current: &Revision) -> proto::SetFeelResponse {
    proto::SetFeelResponse {
        geometry_revision: current.geometry_revision,
        topology_revision: current.topology_revision,
    }
}
