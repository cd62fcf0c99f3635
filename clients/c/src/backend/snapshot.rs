//! The part of an answer that C reads.

use palpate::{
    proto,
    proxy::{ProxyContact, RenderState, Rendering},
    scene::{Distance, LinkAnswer},
};

use crate::plain::{
    palpate_contact, palpate_pose, palpate_quaternion, palpate_render_state, palpate_rendering,
    palpate_vec3,
};
use palpate_render_state::*;

/// The part of an answer that C reads.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) rendering: palpate_rendering,
    pub(crate) contacts: Vec<palpate_contact>,
    pub(crate) loads: Vec<Load>,
}

/// Load on a tissue.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) tissue: u32,
    pub(crate) geometry_revision: u64,
    pub(crate) vertices: Vec<u32>,
    pub(crate) forces_n: Vec<f32>,
}

impl Snapshot {
    /// Converts an answer of the engine.
    pub(crate) fn of_engine(
        sequence: u64,
        rendering: &Rendering,
        links: &[LinkAnswer],
    ) -> Snapshot {
        let bearing = rendering.contacts.iter().filter(|c| c.force_n != glam::DVec3::ZERO);
        let contact = |c: &ProxyContact| palpate_contact {
            contact_id: c.id,
            tissue_id: c.tissue.0,
            link: c.link as u32,
            position_m: palpate_vec3::of(c.position),
            force_n: palpate_vec3::of(c.force_n),
        };
        let contacts: Vec<_> = bearing.map(contact).collect();
        let distance = |link: &LinkAnswer| match &link.distance {
            Distance::Within(near) => near.signed_distance_m,
            Distance::Beyond(bound) => *bound,
        };
        let loads = rendering.loads.iter().map(|load| Load {
            tissue: load.tissue.0,
            geometry_revision: load.geometry_revision,
            vertices: load.vertices.clone(),
            forces_n: load.forces_n.iter().flat_map(|f| f.as_vec3().to_array()).collect(),
        });
        Snapshot {
            rendering: palpate_rendering {
                sequence,
                proxy: palpate_pose::of(&rendering.scene_from_proxy),
                state: match rendering.state {
                    RenderState::Free => PALPATE_FREE,
                    RenderState::Touching => PALPATE_TOUCHING,
                    RenderState::Embedded => PALPATE_EMBEDDED,
                    RenderState::Squeezed => PALPATE_SQUEEZED,
                    RenderState::Late => PALPATE_LATE,
                },
                n_contacts: contacts.len() as u32,
                distance_m: links.iter().map(distance).fold(f64::INFINITY, f64::min),
            },
            contacts,
            loads: loads.collect(),
        }
    }

    /// Converts an answer of a server; `None` if it has no rendering, for example after its time was over.
    pub(crate) fn of_server(answer: &proto::TrackResponse) -> Option<Snapshot> {
        let rendering = answer.renderings.first()?;
        let at = |numbers: &[f32], i: usize| palpate_vec3 {
            x: numbers[3 * i].into(),
            y: numbers[3 * i + 1].into(),
            z: numbers[3 * i + 2].into(),
        };
        let n = [
            rendering.contact_ids.len(),
            rendering.contact_tissue_ids.len(),
            rendering.contact_links.len(),
            rendering.contact_xyz_m.len() / 3,
            rendering.contact_force_xyz_n.len() / 3,
        ];
        // Arrays of different lengths from a server are cut to the shortest.
        let n = n.into_iter().min().unwrap_or_default();
        let contacts: Vec<_> = (0..n)
            .map(|i| palpate_contact {
                contact_id: rendering.contact_ids[i],
                tissue_id: rendering.contact_tissue_ids[i],
                link: rendering.contact_links[i],
                position_m: at(&rendering.contact_xyz_m, i),
                force_n: at(&rendering.contact_force_xyz_n, i),
            })
            .collect();
        let loads = rendering
            .tissue_loads
            .iter()
            .filter(|load| load.force_xyz_n.len() == 3 * load.vertex_ids.len());
        let loads = loads.map(|load| Load {
            tissue: load.tissue_id,
            geometry_revision: load.geometry_revision,
            vertices: load.vertex_ids.clone(),
            forces_n: load.force_xyz_n.clone(),
        });
        let proxy = rendering.proxy.as_ref()?;
        let (p, q) = (proxy.position_m.unwrap_or_default(), proxy.orientation);
        let q = q.unwrap_or(proto::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 });
        let distances = answer.links.iter().map(|link| link.signed_distance_m);
        Some(Snapshot {
            rendering: palpate_rendering {
                sequence: answer.sequence,
                proxy: palpate_pose {
                    position_m: palpate_vec3 { x: p.x, y: p.y, z: p.z },
                    orientation: palpate_quaternion { x: q.x, y: q.y, z: q.z, w: q.w },
                },
                state: match proto::RenderState::try_from(rendering.state) {
                    Ok(proto::RenderState::Free) => PALPATE_FREE,
                    Ok(proto::RenderState::Touching) => PALPATE_TOUCHING,
                    Ok(proto::RenderState::Embedded) => PALPATE_EMBEDDED,
                    Ok(proto::RenderState::Squeezed) => PALPATE_SQUEEZED,
                    Ok(proto::RenderState::Late) => PALPATE_LATE,
                    Ok(proto::RenderState::Unspecified) | Err(_) => PALPATE_UNKNOWN,
                },
                n_contacts: contacts.len() as u32,
                distance_m: distances.fold(f64::INFINITY, f64::min),
            },
            contacts,
            loads: loads.collect(),
        })
    }
}
