//! Contacts that held a proxy in its last round, for the next round.

use super::{
    near_contact::{NearContact, ProxyForce},
    seen_tissues::TissuesInMotion,
};
use crate::coupling::quadratic_programme::{COORDINATES_MAX, Displacement, ROWS_MAX};

/// The last round towards a pose, or of following tissue.
pub(super) struct LastRound {
    /// Contacts that carried force.
    held: Vec<NearContact>,
    /// Displacement of the round.
    displacement: Displacement,
    /// A collision ended the round's motion.
    pub(super) was_stopped: bool,
}

impl LastRound {
    /// Starts without a round.
    pub(super) fn new() -> LastRound {
        let held = Vec::with_capacity(ROWS_MAX);
        LastRound { held, displacement: [0.0; COORDINATES_MAX], was_stopped: false }
    }

    /// Forgets the round: another pose is the target.
    pub(super) fn forget(&mut self) {
        self.held.clear();
        self.was_stopped = false;
    }

    /// Notes the displacement of a round, and those of the contacts that carry force.
    pub(super) fn note(
        &mut self,
        displacement: &Displacement,
        (contacts, forces): (&[NearContact], &[ProxyForce]),
    ) {
        self.displacement = *displacement;
        self.held.clear();
        let bears = |(_, f): &(&NearContact, &ProxyForce)| f.normal_n > 0.0;
        self.held.extend(contacts.iter().zip(forces).filter(bears).map(|(c, _)| *c));
    }

    /// Adds to a round's contacts those that held the last round and are missing now, if a displacement leads back to
    /// where the last one came from, or a collision ended that. In a shallow valley each side is a contact only from
    /// above that side, and rounds would lead to and fro, or along one side into the other and each time half as near:
    /// both sides together hold the proxy in between. Returns true if contacts were added.
    pub(super) fn holds_more(
        &mut self,
        displacement: &Displacement,
        stiffness: &Displacement,
        motion: &TissuesInMotion,
        contacts: &mut Vec<NearContact>,
    ) -> bool {
        let each = displacement.iter().zip(&self.displacement).zip(stiffness);
        let turns_back = || each.map(|((x, last), k)| x * k * last).sum::<f64>() < 0.0;
        if self.held.is_empty() || !(self.was_stopped || turns_back()) {
            return false;
        }
        let n = contacts.len();
        for mut held in self.held.drain(..) {
            let is_there = contacts[..n].iter().any(|c| c.key == held.key);
            if !is_there && contacts.len() < ROWS_MAX {
                held.on_tissue = held.on_tissue_at(motion, motion.time);
                contacts.push(held);
            }
        }
        contacts.len() > n
    }
}
