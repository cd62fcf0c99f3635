//! Finds the tissues that are held between two links.

use super::rendering::{GraspEvent, ProxyContact};
use crate::geometry::tolerance::STAND_OFF_M;

/// Greatest cosine between normals of contacts on both sides of held tissue: at least 120 degrees apart.
const OPPOSED_COSINE_MAX: f64 = -0.5;

/// Tissues that are held now.
#[derive(Debug, Default)]
pub(super) struct Grasps {
    held: Vec<GraspEvent>,
    found: Vec<GraspEvent>,
}

impl Grasps {
    /// Adds to `events` the grasps that begin and end: a tissue is held while two links bear on it with opposed
    /// contacts, and one of the two links is behind its command.
    pub(super) fn follow(
        &mut self,
        contacts: &[ProxyContact],
        link_lag_m: &[f64],
        events: &mut Vec<GraspEvent>,
    ) {
        self.found.clear();
        let bears = |c: &&ProxyContact| c.force_n.length_squared() > 0.0;
        for first in contacts.iter().filter(bears) {
            for second in contacts.iter().filter(bears) {
                let lags = link_lag_m[first.link].max(link_lag_m[second.link]) > STAND_OFF_M;
                let is_new = !self
                    .found
                    .iter()
                    .any(|g| g.tissue == first.tissue && g.links == [first.link, second.link]);
                if first.tissue == second.tissue
                    && first.link < second.link
                    && first.normal.dot(second.normal) < OPPOSED_COSINE_MAX
                    && lags
                    && is_new
                {
                    self.found.push(GraspEvent {
                        tissue: first.tissue,
                        links: [first.link, second.link],
                        contacts: [first.id, second.id],
                        begins: true,
                    });
                }
            }
        }
        let is_same = |a: &GraspEvent, b: &GraspEvent| (a.tissue, a.links) == (b.tissue, b.links);
        for held in &self.held {
            if !self.found.iter().any(|f| is_same(f, held)) {
                events.push(GraspEvent { begins: false, ..*held });
            }
        }
        for found in &self.found {
            if !self.held.iter().any(|h| is_same(h, found)) {
                events.push(*found);
            }
        }
        std::mem::swap(&mut self.held, &mut self.found);
    }
}
