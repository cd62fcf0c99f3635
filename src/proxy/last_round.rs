//! What held a proxy in its last round, for the one after.

use super::{
    near_contact::{NearContact, ProxyForce},
    seen_tissues::TissuesInMotion,
};
use crate::coupling::quadratic_programme::{COORDINATES_MAX, Displacement, ROWS_MAX};

/// Of the last round towards a pose, or of following tissue.
pub(super) struct LastRound {
    /// Contacts that bore.
    held: Vec<NearContact>,
    /// Where it led.
    displacement: Displacement,
    /// A collision ended its motion.
    pub(super) was_stopped: bool,
}

impl LastRound {
    /// None yet.
    pub(super) fn new() -> LastRound {
        let held = Vec::with_capacity(ROWS_MAX);
        LastRound { held, displacement: [0.0; COORDINATES_MAX], was_stopped: false }
    }

    /// Another pose is gone to.
    pub(super) fn forget(&mut self) {
        self.held.clear();
        self.was_stopped = false;
    }

    /// A round leads there, held by those of the contacts that bear.
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

    /// Adds to a round's contacts those that held the last one and are not there now, where a displacement leads back to
    /// where that came from, or a collision ended it. In a shallow valley each side is a contact only from above that
    /// side, and rounds would lead to and fro, or along one side into the other and each time half as near: both together
    /// hold the proxy in between. True when there are any.
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
