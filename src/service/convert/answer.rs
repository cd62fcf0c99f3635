//! Conversion of a tick's answer.

use glam::DVec3;

use super::{pairs, proto};
use crate::scene::{
    Contact, ContactState, Distance, LinkAnswer, ProbeAnswer, TickAnswer, TissueId,
    tick::answer::{Flags, TissueState, UnsweptReason},
};
use crate::service::pose_message::{surface_point, vec3};

/// Returns the flags as bits: bit n is the flag with number n.
pub fn flags(flags: &Flags) -> u32 {
    let bit = |set: bool, flag: proto::Flag| if set { 1 << flag as u32 } else { 0 };
    bit(flags.truncated, proto::Flag::Truncated)
        | bit(flags.degraded, proto::Flag::Degraded)
        | bit(flags.stale, proto::Flag::Stale)
        | bit(flags.sign_uncertain, proto::Flag::SignUncertain)
        | bit(flags.depth_uncertain, proto::Flag::DepthUncertain)
        | bit(flags.pose_jump, proto::Flag::PoseJump)
        | bit(flags.swept, proto::Flag::Swept)
}

/// Returns the reason why [`proto::Flag::Swept`] is not among the flags.
pub fn unswept_reason(flags: &Flags) -> proto::UnsweptReason {
    match flags.unswept_reason {
        None => proto::UnsweptReason::Unspecified,
        Some(UnsweptReason::NotAskedFor) => proto::UnsweptReason::NotAskedFor,
        Some(UnsweptReason::FirstTick) => proto::UnsweptReason::FirstTick,
        Some(UnsweptReason::Teleport) => proto::UnsweptReason::Teleport,
        Some(UnsweptReason::NewTissue) => proto::UnsweptReason::NewTissue,
        Some(UnsweptReason::GoingOn) => proto::UnsweptReason::GoingOn,
    }
}

/// Converts the states of tissues to their messages.
pub fn tissue_states(states: &[TissueState]) -> Vec<proto::TissueState> {
    let state = |s: &TissueState| proto::TissueState {
        tissue_id: s.tissue.0,
        geometry_revision: s.geometry_revision,
        topology_revision: s.topology_revision,
        age_us: s.age_ns / 1000,
    };
    states.iter().map(state).collect()
}

/// Parts of a contact's message that the engine's answer alone does not decide.
#[derive(Clone, Copy)]
pub struct ContactDetails<'a> {
    /// Tissues that are forbidden regions.
    pub forbidden: &'a [TissueId],
    /// The client asked for the weights on links.
    pub link_barycentrics: bool,
}

/// Converts the answers of links to their messages.
pub fn links(answer: &TickAnswer, details: ContactDetails) -> Vec<proto::LinkAnswer> {
    answer.links.iter().map(|answer| link(answer, details)).collect()
}

/// Converts the answers of probes to their messages.
pub fn probes(answer: &TickAnswer) -> Vec<proto::ProbeAnswer> {
    answer.probes.iter().map(probe).collect()
}

fn link(answer: &LinkAnswer, details: ContactDetails) -> proto::LinkAnswer {
    let head = proto::LinkAnswer {
        tool_id: answer.tool.0,
        link: answer.link as u32,
        contacts: (answer.contacts_total > 0).then(|| contacts(answer, details)),
        ended_contact_ids: answer.ended.clone(),
        pairs: answer.pairs.as_ref().map(pairs::to_wire),
        feature_pairs: answer.feature_pairs.as_ref().map(pairs::of_features),
        depth_max_m: answer.depth_max_m,
        is_cut_short: answer.is_cut_short,
        lower_bound_m: answer.is_cut_short.then_some(answer.lower_bound_m),
        ..Default::default()
    };
    match &answer.distance {
        Distance::Beyond(bound) => {
            proto::LinkAnswer { signed_distance_m: *bound, is_lower_bound: true, ..head }
        }
        Distance::Within(near) => proto::LinkAnswer {
            signed_distance_m: near.signed_distance_m,
            tissue_id: near.tissue.0,
            on_tissue: Some(surface_point(&near.on_tissue)),
            on_tool: Some(surface_point(&near.on_tool)),
            normal: Some(vec3(near.normal)),
            sign_certainty: near.sign_certainty,
            ..head
        },
    }
}

fn probe(answer: &ProbeAnswer) -> proto::ProbeAnswer {
    let head = proto::ProbeAnswer {
        tool_id: answer.tool.0,
        probe: answer.probe as u32,
        ..Default::default()
    };
    match &answer.distance {
        Distance::Beyond(bound) => {
            proto::ProbeAnswer { signed_distance_m: *bound, is_lower_bound: true, ..head }
        }
        Distance::Within(near) => proto::ProbeAnswer {
            signed_distance_m: near.signed_distance_m,
            tissue_id: near.tissue.map_or(0, |t| t.0),
            on_tissue: Some(surface_point(&near.on_surface)),
            normal: Some(vec3(near.normal)),
            sign_certainty: near.sign_certainty,
            ..head
        },
    }
}

fn contacts(answer: &LinkAnswer, details: ContactDetails) -> proto::Contacts {
    // Parallel arrays instead of a message per contact: a tick encodes hundreds of numbers, and a sub-message costs a
    // tag, a length and a size computation for every contact.
    let given = &answer.contacts;
    let ContactDetails { forbidden, link_barycentrics } = details;
    let marked: &[Contact] = if forbidden.is_empty() { &[] } else { given };
    let weighed: &[Contact] = if link_barycentrics { given } else { &[] };
    proto::Contacts {
        total: answer.contacts_total as u32,
        tissue_ids: given.iter().map(|c| c.tissue.0).collect(),
        triangle_ids: given.iter().map(|c| c.on_tissue.triangle.0).collect(),
        barycentric_xyz: flat(given, |c| c.on_tissue.barycentric),
        on_tissue_xyz_m: flat(given, |c| c.on_tissue.position),
        on_tool_xyz_m: flat(given, |c| c.on_tool.position),
        normal_xyz: flat(given, |c| c.normal),
        // Rounded to nearest: half a unit of the last place is far below the field's tolerance.
        signed_distance_m: given.iter().map(|c| c.signed_distance_m as f32).collect(),
        link_triangle_ids: given.iter().map(|c| c.on_tool.triangle.0).collect(),
        contact_ids: answer.statuses.iter().map(|l| l.id).collect(),
        toi: given.iter().map(|c| c.toi.map_or(-1.0, not_later)).collect(),
        forbidden: marked.iter().map(|c| forbidden.contains(&c.tissue)).collect(),
        wholly_inside: if_any(given, |c| c.wholly_inside),
        states: answer.statuses.iter().map(|l| contact_state(l.state) as i32).collect(),
        depth_max_m: depths_max(given),
        link_barycentric_xyz: flat(weighed, |c| c.on_tool.barycentric),
    }
}

/// Empty if `is` is false for all contacts, the usual case, so that it adds no bytes to the answer.
fn if_any(contacts: &[Contact], is: impl Fn(&Contact) -> bool) -> Vec<bool> {
    if contacts.iter().any(&is) { contacts.iter().map(is).collect() } else { Vec::new() }
}

/// Empty if the depth of every contact is exact.
fn depths_max(contacts: &[Contact]) -> Vec<f32> {
    let is_any = contacts.iter().any(|c| c.depth_max_m.is_some());
    let given = if is_any { contacts } else { &[] };
    // A bound is rounded up; an exact depth is rounded like the distance that it repeats.
    let bound = |depth: f64| (depth as f32).next_up();
    given.iter().map(|c| c.depth_max_m.map_or(-c.signed_distance_m as f32, bound)).collect()
}

/// Rounded down: a time of impact is never later than the true one.
fn not_later(toi: f64) -> f32 {
    let rounded = toi as f32;
    if f64::from(rounded) > toi { rounded.next_down() } else { rounded }
}

fn contact_state(state: ContactState) -> proto::ContactState {
    match state {
        ContactState::Begin => proto::ContactState::Begin,
        ContactState::Persist => proto::ContactState::Persist,
    }
}

fn flat(contacts: &[Contact], of: impl Fn(&Contact) -> DVec3) -> Vec<f32> {
    contacts.iter().flat_map(|c| of(c).as_vec3().to_array()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_has_the_bit_of_its_number() {
        let none = Flags::default();
        let set = [
            (Flags { truncated: true, ..none }, 1 << 1),
            (Flags { degraded: true, ..none }, 1 << 2),
            (Flags { stale: true, ..none }, 1 << 3),
            (Flags { sign_uncertain: true, ..none }, 1 << 4),
            (Flags { pose_jump: true, ..none }, 1 << 5),
            (Flags { swept: true, ..none }, 1 << 6),
            (Flags { depth_uncertain: true, ..none }, 1 << 10),
        ];
        assert_eq!(flags(&none), 0);
        for (one, bits) in set {
            assert_eq!(flags(&one), bits, "{one:?}");
        }
    }

    #[test]
    fn each_mask_is_the_bit_of_its_flag() {
        let masks = (1..32).filter_map(|n| proto::FlagMask::try_from(1 << n).ok().map(|m| (n, m)));
        let mut n_masks = 0;
        for (n, mask) in masks {
            let name = mask.as_str_name().replace("FLAG_MASK_", "FLAG_");
            assert_eq!(proto::Flag::from_str_name(&name).map(|flag| flag as i32), Some(n));
            n_masks += 1;
        }
        assert!(n_masks >= 7, "{n_masks}");
    }
}
