//! Materials: what a tissue feels like.

use palpate::{
    coupling::contact_law::Friction,
    scene::tissue::feel::{Feel, MATERIALS_MAX, Material},
};

use crate::{
    border::{array, at_most, call, out, read},
    code::{Failure, palpate_code},
    growing::{self, growing},
    scene::palpate_scene,
};

/// A law of contacts, which changes their force and no geometry. All 0 but the size: rigid, with the tool's friction.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct palpate_material {
    /// `sizeof(palpate_material)`.
    pub size: u32,
    /// 0: the tool's friction counts, and the friction's numbers do not.
    pub has_friction: u32,
    /// Stiffness in series with the tool's coupling at the contact, N/m, 1 to 100,000. 0: rigid.
    pub stiffness_n_per_m: f64,
    /// Damping against the approach of the device, N s/m, 0 to 4.
    pub damping_n_s_per_m: f64,
    /// Coefficient of a contact that sticks, 0 to 2.
    pub static_friction: f64,
    /// Coefficient of a contact that slips fast, 0 to `static_friction`.
    pub dynamic_friction: f64,
    /// Speed at which the coefficient falls from static to dynamic, m/s, 0.0001 to 10. 0: 0.01.
    pub stribeck_velocity_m_s: f64,
}

growing!(palpate_material ends with stribeck_velocity_m_s);

/// Gives a tissue materials, in place of those before; with `n_materials` 0 it is rigid again. `triangle_materials` has
/// an index into `materials` for each triangle id, removed ones included; with `n_triangles` 0 each triangle has the
/// first. Makes a geometry revision that moves nothing, to which `geometry_revision` is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_set_feel(
    scene: *mut palpate_scene,
    tissue_id: u32,
    materials: *const palpate_material,
    n_materials: usize,
    triangle_materials: *const u8,
    n_triangles: usize,
    geometry_revision: *mut u64,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe {
            let revision = out(geometry_revision, "geometry_revision")?;
            let scene = read(scene, "scene")?;
            at_most(n_materials, MATERIALS_MAX, "n_materials")?;
            at_most(
                n_triangles,
                scene.theatre.limits().triangles_per_mesh as usize,
                "n_triangles",
            )?;
            let materials = growing::read_array(materials, n_materials, "materials")?;
            let of_triangles = array(triangle_materials, n_triangles, "triangle_materials")?;
            let is_none = materials.is_empty() && of_triangles.is_empty();
            let feel = (!is_none).then(|| {
                Feel::new(materials.iter().map(material).collect(), of_triangles.to_vec())
            });
            let feel = feel.transpose().map_err(|error| Failure::argument(error.to_string()))?;
            *revision = scene.theatre.set_feel(tissue_id, feel)?;
        }
        Ok(())
    })
}

fn material(sent: &palpate_material) -> Material {
    let unless_0 = |number: f64| (number != 0.0).then_some(number);
    Material {
        stiffness_n_per_m: unless_0(sent.stiffness_n_per_m),
        damping_n_s_per_m: sent.damping_n_s_per_m,
        friction: (sent.has_friction != 0).then(|| Friction {
            sticking: sent.static_friction,
            slipping: sent.dynamic_friction,
            stribeck_m_s: unless_0(sent.stribeck_velocity_m_s).unwrap_or(Friction::STRIBECK_M_S),
        }),
    }
}
