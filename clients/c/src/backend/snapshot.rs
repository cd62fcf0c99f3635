//! The part of an answer that C reads. Each answer is converted into the buffers of an earlier one.

use palpate::{
    proto,
    proxy::{ProxyContact, RenderState, RenderedSession},
    scene::{
        Contact, ContactState, Distance, LinkAnswer, ProbeAnswer, TickAnswer, TissueId,
        self_collision::{FeatureContact, FeatureKind},
        tick::feature_pairs::FeaturePairKind,
    },
};

use super::Touched;
use crate::plain::{
    PALPATE_CONTACT_BEGAN, PALPATE_CONTACT_FORBIDDEN, PALPATE_CONTACT_WHOLLY_INSIDE,
    PALPATE_DISTANCE_BEYOND, PALPATE_DISTANCE_CUT_SHORT, PALPATE_EDGE_EDGE, PALPATE_FACE_VERTEX,
    PALPATE_VERTEX_FACE, palpate_contact, palpate_feature_pair, palpate_link_distance,
    palpate_point_pair, palpate_pose, palpate_probe_distance, palpate_quaternion,
    palpate_render_state, palpate_rendering, palpate_surface_contact, palpate_surface_point,
    palpate_vec3,
};
use crate::self_collision::palpate_self_contact;
use palpate_render_state::*;

/// The part of an answer that C reads.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) rendering: palpate_rendering,
    pub(crate) contacts: Vec<palpate_contact>,
    pub(crate) links: Vec<palpate_link_distance>,
    pub(crate) probes: Vec<palpate_probe_distance>,
    /// Contacts of all links, link by link.
    pub(crate) surface_contacts: Vec<palpate_surface_contact>,
    /// Pairs of features of all links, link by link.
    pub(crate) feature_pairs: Vec<palpate_feature_pair>,
    pub(crate) loads: Vec<Load>,
    spare_loads: Vec<Load>,
}

/// Load on a tissue.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) tissue: u32,
    pub(crate) geometry_revision: u64,
    pub(crate) vertices: Vec<u32>,
    pub(crate) forces_n: Vec<[f64; 3]>,
    /// Controls of a driven tissue, the force of each and, for frames, its torque.
    pub(crate) controls: Vec<u32>,
    pub(crate) control_forces_n: Vec<[f64; 3]>,
    pub(crate) control_torques_nm: Vec<[f64; 3]>,
}

impl Snapshot {
    /// Becomes an answer of the engine.
    pub(crate) fn become_of_engine(&mut self, sequence: u64, session: &RenderedSession) {
        self.clear();
        let rendering = session.renderings().next().expect("one tool is rendered");
        let answer = session.last_answer();
        let bearing = rendering.contacts.iter().filter(|c| c.force_n != glam::DVec3::ZERO);
        self.contacts.extend(bearing.map(|c: &ProxyContact| palpate_contact {
            contact_id: c.id,
            tissue_id: c.tissue.0,
            link: c.link as u32,
            position_m: palpate_vec3::of(c.position),
            force_n: palpate_vec3::of(c.force_n),
        }));
        self.links.extend(answer.links.iter().map(link_of_engine));
        self.probes.extend(answer.probes.iter().map(probe_of_engine));
        put_contacts_of_engine(answer, session.forbidden(), &mut self.surface_contacts);
        self.feature_pairs.extend(answer.links.iter().flat_map(feature_pairs_of_engine));
        for sent in &rendering.loads {
            let load = self.another_load(sent.tissue.0, sent.geometry_revision);
            load.vertices.extend_from_slice(&sent.vertices);
            load.forces_n.extend(sent.forces_n.iter().map(|f| f.to_array()));
            load.controls.extend(sent.controls.iter().map(|one| one.control));
            load.control_forces_n.extend(sent.controls.iter().map(|one| one.force_n.to_array()));
            let torques = sent.controls.iter().map(|one| one.torque_nm.to_array());
            load.control_torques_nm.extend(torques);
        }
        self.rendering = palpate_rendering {
            sequence,
            proxy: palpate_pose::of(&rendering.scene_from_proxy),
            state: match rendering.state {
                RenderState::Free => PALPATE_FREE,
                RenderState::Touching => PALPATE_TOUCHING,
                RenderState::Embedded => PALPATE_EMBEDDED,
                RenderState::Squeezed => PALPATE_SQUEEZED,
                RenderState::Late => PALPATE_LATE,
            },
            n_contacts: self.contacts.len() as u32,
            distance_m: least(&self.links),
        };
    }

    /// Becomes an answer of a server. Returns false if that has no rendering, for example after its time was over.
    pub(crate) fn become_of_server(&mut self, answer: &proto::TrackResponse) -> bool {
        self.clear();
        let Some(rendering) = answer.renderings.first() else { return false };
        let Some(proxy) = &rendering.proxy else { return false };
        let n = [
            rendering.contact_ids.len(),
            rendering.contact_tissue_ids.len(),
            rendering.contact_links.len(),
            rendering.contact_xyz_m.len() / 3,
            rendering.contact_force_xyz_n.len() / 3,
        ];
        // Arrays of different lengths from a server are cut to the shortest.
        let n = n.into_iter().min().unwrap_or_default();
        self.contacts.extend((0..n).map(|i| palpate_contact {
            contact_id: rendering.contact_ids[i],
            tissue_id: rendering.contact_tissue_ids[i],
            link: rendering.contact_links[i],
            position_m: at(&rendering.contact_xyz_m, i),
            force_n: at(&rendering.contact_force_xyz_n, i),
        }));
        self.links.extend(answer.links.iter().map(link_of_server));
        self.probes.extend(answer.probes.iter().map(probe_of_server));
        put_contacts_of_server(&answer.links, &answer.tissues, &mut self.surface_contacts);
        self.feature_pairs.extend(answer.links.iter().flat_map(feature_pairs_of_server));
        let loads = rendering
            .tissue_loads
            .iter()
            .filter(|load| load.force_xyz_n.len() == 3 * load.vertex_ids.len())
            .filter(|load| load.control_force_xyz_n.len() == 3 * load.control_ids.len());
        for sent in loads {
            let load = self.another_load(sent.tissue_id, sent.geometry_revision);
            load.vertices.extend_from_slice(&sent.vertex_ids);
            load.forces_n.extend(sent.force_xyz_n.as_chunks().0.iter().map(|f| f.map(f64::from)));
            load.controls.extend_from_slice(&sent.control_ids);
            load.control_forces_n.extend_from_slice(sent.control_force_xyz_n.as_chunks().0);
            load.control_torques_nm.extend_from_slice(sent.control_torque_xyz_nm.as_chunks().0);
        }
        let (p, q) = (proxy.position_m.unwrap_or_default(), proxy.orientation);
        let q = q.unwrap_or(proto::Quaternion { x: 0.0, y: 0.0, z: 0.0, w: 1.0 });
        self.rendering = palpate_rendering {
            sequence: answer.sequence,
            proxy: palpate_pose {
                position_m: palpate_vec3 { x: p.x, y: p.y, z: p.z },
                orientation: palpate_quaternion { x: q.x, y: q.y, z: q.z, w: q.w },
            },
            state: state_of(rendering.state),
            n_contacts: self.contacts.len() as u32,
            distance_m: least(&self.links),
        };
        true
    }

    fn clear(&mut self) {
        self.contacts.clear();
        self.links.clear();
        self.probes.clear();
        self.surface_contacts.clear();
        self.feature_pairs.clear();
        self.spare_loads.append(&mut self.loads);
    }

    /// Adds the load of a tissue, in the buffers of an earlier one.
    fn another_load(&mut self, tissue: u32, geometry_revision: u64) -> &mut Load {
        let mut load = self.spare_loads.pop().unwrap_or_default();
        (load.tissue, load.geometry_revision) = (tissue, geometry_revision);
        load.vertices.clear();
        load.forces_n.clear();
        load.controls.clear();
        load.control_forces_n.clear();
        load.control_torques_nm.clear();
        self.loads.push_mut(load)
    }
}

/// Converts a state of a server.
pub(crate) fn state_of(sent: i32) -> palpate_render_state {
    match proto::RenderState::try_from(sent) {
        Ok(proto::RenderState::Free) => PALPATE_FREE,
        Ok(proto::RenderState::Touching) => PALPATE_TOUCHING,
        Ok(proto::RenderState::Embedded) => PALPATE_EMBEDDED,
        Ok(proto::RenderState::Squeezed) => PALPATE_SQUEEZED,
        Ok(proto::RenderState::Late) => PALPATE_LATE,
        Ok(proto::RenderState::Unspecified) | Err(_) => PALPATE_UNKNOWN,
    }
}

impl Touched {
    /// Converts an answer of the engine.
    pub(crate) fn of_engine(answer: &TickAnswer, forbidden: &[TissueId]) -> Touched {
        let mut contacts = Vec::new();
        put_contacts_of_engine(answer, forbidden, &mut contacts);
        Touched { contacts, links: answer.links.iter().map(link_of_engine).collect() }
    }

    /// Converts an answer of a server.
    pub(crate) fn of_server(answer: &proto::QueryContactsResponse) -> Touched {
        let mut contacts = Vec::new();
        put_contacts_of_server(&answer.links, &answer.tissues, &mut contacts);
        Touched { contacts, links: answer.links.iter().map(link_of_server).collect() }
    }
}

fn least(links: &[palpate_link_distance]) -> f64 {
    links.iter().map(|link| link.lower_bound_m).fold(f64::INFINITY, f64::min)
}

fn flag(is_set: bool, flag: u32) -> u32 {
    if is_set { flag } else { 0 }
}

fn pair_of_engine(link: usize, near: &Contact) -> palpate_point_pair {
    palpate_point_pair {
        tissue_id: near.tissue.0,
        triangle: near.on_tissue.triangle.0,
        link: link as u32,
        link_triangle: near.on_tool.triangle.0,
        barycentric: palpate_vec3::of(near.on_tissue.barycentric),
        link_barycentric: palpate_vec3::of(near.on_tool.barycentric),
        on_tissue_m: palpate_vec3::of(near.on_tissue.position),
        on_tool_m: palpate_vec3::of(near.on_tool.position),
        normal: palpate_vec3::of(near.normal),
        signed_distance_m: near.signed_distance_m,
    }
}

fn link_of_engine(answer: &LinkAnswer) -> palpate_link_distance {
    let (at, sign_certainty, beyond) = match &answer.distance {
        Distance::Within(near) => (pair_of_engine(answer.link, near), near.sign_certainty, 0),
        Distance::Beyond(bound) => {
            let (link, signed_distance_m) = (answer.link as u32, *bound);
            let at = palpate_point_pair { link, signed_distance_m, ..Default::default() };
            (at, 0.0, PALPATE_DISTANCE_BEYOND)
        }
    };
    palpate_link_distance {
        at,
        lower_bound_m: answer.lower_bound_m,
        sign_certainty,
        depth_max_m: answer.depth_max_m.unwrap_or_default(),
        n_contacts: answer.contacts_total as u32,
        flags: beyond | flag(answer.is_cut_short, PALPATE_DISTANCE_CUT_SHORT),
    }
}

fn probe_of_engine(answer: &ProbeAnswer) -> palpate_probe_distance {
    let (at, flags) = match &answer.distance {
        Distance::Within(near) => (palpate_surface_point::of(near), 0),
        Distance::Beyond(bound) => {
            let at = palpate_surface_point { signed_distance_m: *bound, ..Default::default() };
            (at, PALPATE_DISTANCE_BEYOND)
        }
    };
    palpate_probe_distance { at, probe: answer.probe as u32, flags }
}

fn put_contacts_of_engine(
    answer: &TickAnswer,
    forbidden: &[TissueId],
    into: &mut Vec<palpate_surface_contact>,
) {
    let revision = |tissue: TissueId| {
        let state = answer.tissues.iter().find(|state| state.tissue == tissue);
        state.map_or(0, |state| state.geometry_revision)
    };
    for link in &answer.links {
        let both = link.contacts.iter().zip(&link.statuses);
        into.extend(both.map(|(c, status)| palpate_surface_contact {
            contact_id: status.id,
            geometry_revision: revision(c.tissue),
            at: pair_of_engine(link.link, c),
            toi: c.toi.unwrap_or(NO_TOI),
            flags: flag(status.state == ContactState::Begin, PALPATE_CONTACT_BEGAN)
                | flag(forbidden.contains(&c.tissue), PALPATE_CONTACT_FORBIDDEN)
                | flag(c.wholly_inside, PALPATE_CONTACT_WHOLLY_INSIDE),
        }));
    }
}

fn feature_pairs_of_engine(answer: &LinkAnswer) -> impl Iterator<Item = palpate_feature_pair> {
    let given = answer.feature_pairs.iter().flat_map(|pairs| &pairs.given);
    given.map(|pair| {
        let (kind, n_of_tissue) = match pair.kind {
            FeaturePairKind::VertexFace => (PALPATE_VERTEX_FACE, 1),
            FeaturePairKind::EdgeEdge => (PALPATE_EDGE_EDGE, 2),
            FeaturePairKind::FaceVertex => (PALPATE_FACE_VERTEX, 3),
        };
        palpate_feature_pair {
            tissue_id: pair.tissue.0,
            link: answer.link as u32,
            kind,
            n_of_tissue,
            vertices: pair.vertices,
            weights: pair.weights,
            distance_m: pair.distance_m,
            normal: palpate_vec3::of(pair.normal),
        }
    })
}

fn feature_pairs_of_server(
    answer: &proto::LinkAnswer,
) -> impl Iterator<Item = palpate_feature_pair> {
    answer.feature_pairs.iter().flat_map(|sent| sent_pairs(answer.link, sent))
}

fn sent_pairs(link: u32, sent: &proto::FeaturePairs) -> impl Iterator<Item = palpate_feature_pair> {
    let (vertices, weights) = (sent.vertex_ids.as_chunks().0, sent.weights.as_chunks().0);
    // Arrays of different lengths from a server are cut to the shortest.
    let rows = sent.tissue_ids.iter().zip(&sent.kinds).zip(vertices.iter().zip(weights));
    let rows = rows.zip(&sent.distance_m).enumerate();
    rows.map(move |(i, (((tissue, kind), (vertices, weights)), distance))| {
        let (kind, n_of_tissue) = match proto::FeatureKind::try_from(*kind) {
            Ok(proto::FeatureKind::EdgeEdge) => (PALPATE_EDGE_EDGE, 2),
            Ok(proto::FeatureKind::FaceVertex) => (PALPATE_FACE_VERTEX, 3),
            _ => (PALPATE_VERTEX_FACE, 1),
        };
        palpate_feature_pair {
            tissue_id: *tissue,
            link,
            kind,
            n_of_tissue,
            vertices: *vertices,
            weights: weights.map(f64::from),
            distance_m: (*distance).into(),
            normal: at(&sent.normal_xyz, i),
        }
    })
}

/// Stands for no time of impact, as on the wire.
const NO_TOI: f64 = -1.0;

fn link_of_server(answer: &proto::LinkAnswer) -> palpate_link_distance {
    let on_tissue = answer.on_tissue.unwrap_or_default();
    let on_tool = answer.on_tool.unwrap_or_default();
    palpate_link_distance {
        at: palpate_point_pair {
            tissue_id: answer.tissue_id,
            triangle: on_tissue.triangle_id,
            link: answer.link,
            link_triangle: on_tool.triangle_id,
            barycentric: vec3(on_tissue.barycentric),
            link_barycentric: vec3(on_tool.barycentric),
            on_tissue_m: vec3(on_tissue.position_m),
            on_tool_m: vec3(on_tool.position_m),
            normal: vec3(answer.normal),
            signed_distance_m: answer.signed_distance_m,
        },
        lower_bound_m: answer.lower_bound_m.unwrap_or(answer.signed_distance_m),
        sign_certainty: answer.sign_certainty,
        depth_max_m: answer.depth_max_m.unwrap_or_default(),
        n_contacts: answer.contacts.as_ref().map_or(0, |contacts| contacts.total),
        flags: flag(answer.is_lower_bound, PALPATE_DISTANCE_BEYOND)
            | flag(answer.is_cut_short, PALPATE_DISTANCE_CUT_SHORT),
    }
}

fn probe_of_server(answer: &proto::ProbeAnswer) -> palpate_probe_distance {
    let on_tissue = answer.on_tissue.unwrap_or_default();
    palpate_probe_distance {
        at: palpate_surface_point {
            tissue_id: answer.tissue_id,
            triangle: on_tissue.triangle_id,
            barycentric: vec3(on_tissue.barycentric),
            position_m: vec3(on_tissue.position_m),
            normal: vec3(answer.normal),
            signed_distance_m: answer.signed_distance_m,
            sign_certainty: answer.sign_certainty,
        },
        probe: answer.probe,
        flags: flag(answer.is_lower_bound, PALPATE_DISTANCE_BEYOND),
    }
}

fn put_contacts_of_server(
    links: &[proto::LinkAnswer],
    tissues: &[proto::TissueState],
    into: &mut Vec<palpate_surface_contact>,
) {
    let revision = |tissue: u32| {
        let state = tissues.iter().find(|state| state.tissue_id == tissue);
        state.map_or(0, |state| state.geometry_revision)
    };
    for link in links {
        let Some(sent) = &link.contacts else { continue };
        // The arrays from `link_barycentric` on may be shorter or empty.
        let lengths = [
            sent.tissue_ids.len(),
            sent.triangle_ids.len(),
            sent.link_triangle_ids.len(),
            sent.contact_ids.len(),
            sent.signed_distance_m.len(),
            sent.barycentric_xyz.len() / 3,
            sent.on_tissue_xyz_m.len() / 3,
            sent.on_tool_xyz_m.len() / 3,
            sent.normal_xyz.len() / 3,
        ];
        let n = lengths.into_iter().min().unwrap_or_default();
        let is = |marks: &[bool], i: usize| marks.get(i).copied().unwrap_or_default();
        let began = proto::ContactState::Begin as i32;
        into.extend((0..n).map(|i| palpate_surface_contact {
            contact_id: sent.contact_ids[i],
            geometry_revision: revision(sent.tissue_ids[i]),
            at: palpate_point_pair {
                tissue_id: sent.tissue_ids[i],
                triangle: sent.triangle_ids[i],
                link: link.link,
                link_triangle: sent.link_triangle_ids[i],
                barycentric: at(&sent.barycentric_xyz, i),
                link_barycentric: at(&sent.link_barycentric_xyz, i),
                on_tissue_m: at(&sent.on_tissue_xyz_m, i),
                on_tool_m: at(&sent.on_tool_xyz_m, i),
                normal: at(&sent.normal_xyz, i),
                signed_distance_m: sent.signed_distance_m[i].into(),
            },
            toi: sent.toi.get(i).map_or(NO_TOI, |toi| f64::from(*toi)),
            flags: flag(sent.states.get(i) == Some(&began), PALPATE_CONTACT_BEGAN)
                | flag(is(&sent.forbidden, i), PALPATE_CONTACT_FORBIDDEN)
                | flag(is(&sent.wholly_inside, i), PALPATE_CONTACT_WHOLLY_INSIDE),
        }));
    }
}

pub(crate) fn self_contact_of_engine(found: &FeatureContact) -> palpate_self_contact {
    let [on, other] = &found.on;
    palpate_self_contact {
        toi: found.toi,
        kind: match found.kind {
            FeatureKind::VertexFace => PALPATE_VERTEX_FACE,
            FeatureKind::EdgeEdge => PALPATE_EDGE_EDGE,
        },
        tissue_id: found.tissues[0].0,
        other_tissue_id: found.tissues[1].0,
        vertices: found.vertices,
        triangle: on.triangle.0,
        other_triangle: other.triangle.0,
        barycentric: palpate_vec3::of(on.barycentric),
        other_barycentric: palpate_vec3::of(other.barycentric),
        point_m: palpate_vec3::of(on.position),
        other_point_m: palpate_vec3::of(other.position),
        normal: palpate_vec3::of(found.normal),
    }
}

pub(crate) fn self_contacts_of_server(sent: &proto::FeatureContacts) -> Vec<palpate_self_contact> {
    let vertices = sent.vertex_ids.as_chunks().0;
    // Arrays of different lengths from a server are cut to the shortest.
    let lengths = [
        sent.toi.len(),
        sent.kinds.len(),
        sent.tissue_ids.len(),
        sent.other_tissue_ids.len(),
        vertices.len(),
        sent.triangle_ids.len(),
        sent.other_triangle_ids.len(),
    ];
    let n = lengths.into_iter().min().unwrap_or_default();
    let contact = |i| palpate_self_contact {
        toi: sent.toi[i],
        kind: match proto::FeatureKind::try_from(sent.kinds[i]) {
            Ok(proto::FeatureKind::EdgeEdge) => PALPATE_EDGE_EDGE,
            _ => PALPATE_VERTEX_FACE,
        },
        tissue_id: sent.tissue_ids[i],
        other_tissue_id: sent.other_tissue_ids[i],
        vertices: vertices[i],
        triangle: sent.triangle_ids[i],
        other_triangle: sent.other_triangle_ids[i],
        barycentric: at(&sent.barycentric_xyz, i),
        other_barycentric: at(&sent.other_barycentric_xyz, i),
        point_m: at(&sent.point_xyz_m, i),
        other_point_m: at(&sent.other_point_xyz_m, i),
        normal: at(&sent.normal_xyz, i),
    };
    (0..n).map(contact).collect()
}

/// Entry `i` of an array with three numbers for each entry; zeros beyond its end.
pub(crate) fn at(numbers: &[f32], i: usize) -> palpate_vec3 {
    match numbers.as_chunks().0.get(i) {
        Some([x, y, z]) => palpate_vec3 { x: (*x).into(), y: (*y).into(), z: (*z).into() },
        None => palpate_vec3::default(),
    }
}

fn vec3(sent: Option<proto::Vec3>) -> palpate_vec3 {
    let proto::Vec3 { x, y, z } = sent.unwrap_or_default();
    palpate_vec3 { x, y, z }
}
