//! Materials for the wire.

use crate::{
    coupling::contact_law::Friction,
    proto,
    scene::tissue::feel::{Feel, Material},
};

/// Converts materials to their message; `None`: no materials.
pub(super) fn on_the_wire(feel: Option<&Feel>) -> proto::Feel {
    let friction = |of: Friction| proto::MaterialFriction {
        static_coefficient: of.sticking,
        dynamic_coefficient: Some(of.slipping),
        stribeck_velocity_m_s: of.stribeck_m_s,
    };
    let material = |of: &Material| proto::Material {
        stiffness_n_per_m: of.stiffness_n_per_m.unwrap_or(0.0),
        damping_n_s_per_m: of.damping_n_s_per_m,
        friction: of.friction.map(friction),
    };
    feel.map_or_else(proto::Feel::default, |feel| proto::Feel {
        materials: feel.materials().iter().map(material).collect(),
        triangle_materials: feel.of_triangles().to_vec(),
    })
}
