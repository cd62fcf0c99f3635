//! Reproducible part of an answer, and the counts that it adds to the tally.

use palpate::proto::{
    AddTissueResponse, AddToolResponse, CreateSceneResponse, DeformResponse, DeleteSceneResponse,
    DetectSelfCollisionsResponse, EditTopologyResponse, ExportTissueResponse, GetSceneResponse,
    LinkAnswer, LinkPairs, ProbeAnswer, QueryContactsResponse, QueryDistancesResponse,
    RemoveTissueResponse, RemoveToolResponse, TissueState, TrackResponse,
    detect_self_collisions_response::Message as Collisions,
};

use super::tally::Tally;

/// A message of the server.
pub trait Answer: prost::Message + Clone + std::fmt::Debug {
    /// Zeroes the fields that a clock, a cache or a generator of secrets made, and texts for a person.
    fn make_timeless(&mut self) {}

    /// Adds the counts of the answer to the tally.
    fn count(&self, _into: &mut Tally) {}
}

impl Answer for CreateSceneResponse {}
impl Answer for GetSceneResponse {
    fn make_timeless(&mut self) {
        let Some(scene) = &mut self.scene else { return };
        let tissues = scene.tissues.iter_mut().filter_map(|tissue| tissue.report.as_mut());
        let links = scene.tools.iter_mut().flat_map(|tool| &mut tool.links);
        let links = links.filter_map(|link| link.report.as_mut());
        tissues.chain(links).for_each(|report| report.warnings.clear());
    }
}
impl Answer for DeleteSceneResponse {}
impl Answer for RemoveTissueResponse {}
impl Answer for RemoveToolResponse {}
impl Answer for ExportTissueResponse {}

impl Answer for AddTissueResponse {
    fn make_timeless(&mut self) {
        self.report.iter_mut().for_each(|report| report.warnings.clear());
    }
}

impl Answer for AddToolResponse {
    fn make_timeless(&mut self) {
        self.reports.iter_mut().for_each(|report| report.warnings.clear());
        for field in &mut self.fields {
            (field.build_ms, field.cached) = (0.0, false);
        }
    }
}

impl Answer for DeformResponse {
    fn make_timeless(&mut self) {
        self.update_us = 0.0;
        // The writer rebuilds a worn index in its idle time: before this deformation or not, as the machine has time.
        // The number of relocated triangles depends on it, and no other answer does.
        self.triangles_relocated = 0;
    }
}

impl Answer for EditTopologyResponse {
    fn make_timeless(&mut self) {
        self.update_us = 0.0;
    }
}

impl Answer for TrackResponse {
    fn make_timeless(&mut self) {
        (self.received_ns, self.compute_us, self.stages) = (0, 0.0, None);
        self.session_token.clear();
        forget_ages(&mut self.tissues);
    }

    fn count(&self, into: &mut Tally) {
        into.coalesced += u64::from(self.coalesced);
        into.refused += u64::from(self.refusal.is_some());
        count_links(&self.links, &self.link_pairs, &self.probes, into);
    }
}

impl Answer for QueryContactsResponse {
    fn make_timeless(&mut self) {
        self.compute_us = 0.0;
        forget_ages(&mut self.tissues);
    }

    fn count(&self, into: &mut Tally) {
        count_links(&self.links, &self.link_pairs, &self.probes, into);
    }
}

impl Answer for QueryDistancesResponse {
    fn make_timeless(&mut self) {
        forget_ages(&mut self.tissues);
    }

    fn count(&self, into: &mut Tally) {
        into.inside += self.signed_distance_m.iter().filter(|d| **d < 0.0).count() as u64;
    }
}

impl Answer for DetectSelfCollisionsResponse {
    fn count(&self, into: &mut Tally) {
        if let Some(Collisions::Contacts(contacts)) = &self.message {
            into.feature_contacts += contacts.toi.len() as u64;
        }
    }
}

fn forget_ages(tissues: &mut [TissueState]) {
    for tissue in tissues {
        tissue.age_us = 0;
    }
}

fn count_links(
    links: &[LinkAnswer],
    link_pairs: &[LinkPairs],
    probes: &[ProbeAnswer],
    into: &mut Tally,
) {
    for link in links {
        if let Some(contacts) = &link.contacts {
            into.contacts += contacts.triangle_ids.len() as u64;
            into.met += contacts.toi.iter().filter(|toi| **toi >= 0.0).count() as u64;
        }
        into.ended += link.ended_contact_ids.len() as u64;
        into.pairs += link.pairs.as_ref().map_or(0, |p| p.triangle_ids.len() as u64);
    }
    let crossing = link_pairs.iter().filter_map(|two| two.pairs.as_ref());
    into.link_pairs += crossing.map(|p| p.triangle_ids.len() as u64).sum::<u64>();
    into.inside += probes.iter().filter(|p| p.signed_distance_m < 0.0).count() as u64;
}
