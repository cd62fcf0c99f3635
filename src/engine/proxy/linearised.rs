//! Converts the contacts about a proxy to a local model.

use glam::DVec3;

use super::{
    contact_plane::ContactPlane,
    local_bounds::Surroundings,
    near_contact::{ContactKey, NearContact},
    shading::Shaded,
};
use crate::coupling::local_model::{EXPIRES_S_MAX, LocalModel, LocalRow};

/// Fills a model with the contacts as planes, and with its bounds. `ids`: ids of the contacts.
pub(super) fn fill(
    model: &mut LocalModel,
    about: &Surroundings,
    contacts: &[NearContact],
    ids: &[(ContactKey, u64)],
    planes: &mut Vec<ContactPlane>,
) {
    planes.clear();
    planes.extend(contacts.iter().map(|c| {
        let shaded = Shaded::of(c, &about.motion.view(c.tissue), about.force_shading_rad);
        ContactPlane::of((c, &shaded), about.posture, &about.motion)
    }));
    (model.complete_radius_m, model.expires_s) = (about.bound(planes), EXPIRES_S_MAX);
    model.tissue_speed_m_s = about.motion.speed_max();
    (model.reference, model.screws) = (*about.posture, *about.screws);
    model.reach_m = about.reach_m;
    model.clear();
    for (i, plane) in planes.iter().enumerate() {
        // Planes after those of the contacts belong to pairs without a contact.
        let contact_id = contacts.get(i).map_or(LocalRow::OF_NO_CONTACT, |contact| {
            let id = ids.iter().find(|(key, _)| *key == contact.key);
            id.expect("each contact was named").1
        });
        let (tissue, revision) = &about.motion.tissues[plane.tissue];
        // A plane without a contact is between two triangles, wherever they may meet.
        let weights = contacts.get(i).map_or(DVec3::splat(1.0 / 3.0), |c| c.tissue_weights);
        let row = LocalRow {
            contact_id,
            tissue: tissue.0,
            link: plane.link,
            on_tool: plane.on_tool,
            normal: plane.normal,
            gap_m: plane.normal.dot(plane.on_tool - plane.on_tissue),
            normal_velocity_m_s: plane.velocity_m_s,
            gap_error_m: plane.error_m,
            law: revision.contact_law(plane.triangle, weights, model.friction),
        };
        model.push(row).expect("there are no more planes than rows");
    }
}
