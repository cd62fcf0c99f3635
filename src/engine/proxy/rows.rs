//! Contacts as rows of the quadratic programme.
//!
//! Ortega, Redon, Coquillart, "A six degree-of-freedom god-object method for haptic display of rigid bodies with
//! surface properties", IEEE TVCG 13(3), 2007: the non-penetration constraint of a contact, there on accelerations.
//! Differences here: the constraint is on displacements, with the contact's gap, and has a column for each moving link.

use glam::DVec3;

use super::near_contact::NearContact;
use crate::coupling::{
    posture::{FIRST_LINK, LinkScrews, Posture},
    quadratic_programme::{COORDINATES_MAX, Displacement, ROWS_MAX},
};

/// The frame in which contacts become rows.
#[derive(Clone, Copy)]
pub(super) struct RowFrame<'a> {
    pub(super) posture: &'a Posture,
    /// Hold point, scene frame.
    pub(super) held: DVec3,
    pub(super) screws: &'a LinkScrews,
}

impl RowFrame<'_> {
    /// Returns the contact's point of the link, scene frame.
    pub(super) fn on_link(&self, contact: &NearContact) -> DVec3 {
        self.posture.scene_from_link(contact.key.link).point(contact.of_link)
    }

    /// Returns the motion of a contact's point of the link along a direction per unit of each coordinate.
    pub(super) fn jacobian(&self, contact: &NearContact, along: DVec3) -> Displacement {
        let at = self.on_link(contact);
        // The source's constraint a_G . n + (GI x n) . alpha >= 0 with the hold point x_0 for G and the contact c for
        // I: J = [n, (c - x_0) x n, n . velocity of the link at c].
        let mut jacobian = [0.0; COORDINATES_MAX];
        jacobian[..3].copy_from_slice(&along.to_array());
        let moment = (at - self.held).cross(along);
        jacobian[3..FIRST_LINK].copy_from_slice(&moment.to_array());
        let link = contact.key.link;
        if let Some(screw) = self.screws[link] {
            let in_tool = self.posture.tool_from_link[link].point(contact.of_link);
            let velocity = self.posture.scene_from_tool.vector(screw.velocity(in_tool));
            jacobian[FIRST_LINK + link] = along.dot(velocity);
        }
        jacobian
    }

    /// Returns the gap of a contact at this posture, to first order, metres.
    pub(super) fn gap(&self, contact: &NearContact) -> f64 {
        // n . (c - a), where a is the contact's point of the tissue.
        contact.normal.dot(self.on_link(contact) - contact.on_tissue)
    }
}

/// Reduces contacts to as many as a programme may have: the nearest half of that number, and of the others those whose
/// forces would differ most from all that are kept, which are the corners of a patch. `stiffness` weighs force and
/// moment.
pub(super) fn reduce(
    contacts: &mut Vec<NearContact>,
    frame: &RowFrame,
    stiffness: &Displacement,
    distances: &mut Vec<f64>,
) {
    if contacts.len() <= ROWS_MAX {
        return;
    }
    // Equal gaps are ordered by key, so that the rows are reproducible.
    contacts.sort_unstable_by(|a, b| a.gap_m.total_cmp(&b.gap_m).then_with(|| a.key.cmp(&b.key)));
    let weighed = |c: &NearContact| {
        let mut jacobian = frame.jacobian(c, c.normal);
        jacobian.iter_mut().zip(stiffness).for_each(|(j, k)| *j /= k.sqrt());
        jacobian
    };
    let apart = |a: &Displacement, b: &Displacement| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
    };
    let mut n = ROWS_MAX / 2;
    distances.clear();
    distances.resize(contacts.len(), f64::INFINITY);
    for kept in 0..n {
        let own = weighed(&contacts[kept]);
        for i in n..contacts.len() {
            distances[i] = distances[i].min(apart(&own, &weighed(&contacts[i])));
        }
    }
    while n < ROWS_MAX {
        let farthest = (n..contacts.len())
            .max_by(|i, j| distances[*i].total_cmp(&distances[*j]).then(j.cmp(i)))
            .expect("more contacts than rows");
        contacts.swap(n, farthest);
        distances.swap(n, farthest);
        let own = weighed(&contacts[n]);
        n += 1;
        for i in n..contacts.len() {
            distances[i] = distances[i].min(apart(&own, &weighed(&contacts[i])));
        }
    }
    contacts.truncate(ROWS_MAX);
}
