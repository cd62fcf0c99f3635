//! Forces that contacts bear by the laws of their tissues.

use glam::DVec3;

use super::{
    god_object::GodObject,
    near_contact::{NearContact, ProxyForce},
};
use crate::coupling::contact_law::{ContactLaw, Speed};

impl GodObject {
    /// Returns true if a contact has friction.
    pub(super) fn has_friction(&self) -> bool {
        let of_tool = self.friction > 0.0;
        let has_it = |law: &Option<ContactLaw>| law.map_or(of_tool, |l| l.friction.sticking > 0.0);
        if self.laws.is_empty() { of_tool } else { self.laws.iter().any(has_it) }
    }

    /// Returns the force of a contact on the tool. `device`: speed of the device, against which tissue damps.
    pub(super) fn felt(&self, at: usize, device: &Speed) -> DVec3 {
        let ProxyForce { normal_n, force } = self.forces[at];
        let Some(law) = self.laws.get(at).copied().flatten() else { return force };
        if law.is_rigid() || normal_n == 0.0 {
            return force;
        }
        let jacobian = &self.rows[at].jacobian;
        let damped_n = law.damped_n(device.along(jacobian)) * normal_n / self.patch_n(at);
        let share = law.share(&self.stiffness, jacobian);
        force * share + self.shaded[at].normal * damped_n
    }

    /// Sum of the normal forces between the tissue and the link of a contact, newtons: a patch of many contacts is
    /// damped as one.
    fn patch_n(&self, at: usize) -> f64 {
        let patch = |c: &NearContact| (c.key.tissue, c.key.link);
        let own = patch(&self.contacts[at]);
        let both = self.contacts.iter().zip(&self.forces);
        both.filter(|(c, _)| patch(c) == own).map(|(_, f)| f.normal_n).sum()
    }
}
