//! Contacts of the proxy from tick to tick: their ids, and their friction anchors.

use glam::DVec3;

use super::near_contact::{ContactKey, NearContact};
use crate::coupling::quadratic_programme::ROWS_MAX;
use crate::geometry::{TriangleId, tolerance::SAME_CONTACT_M};

/// A contact of the last tick.
#[derive(Clone, Copy, Debug)]
struct KnownProxyContact {
    key: ContactKey,
    id: u64,
    /// Point on the tissue, scene frame.
    position: DVec3,
    is_taken: bool,
}

/// Two points that friction holds together.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrictionAnchor {
    pub(super) tissue_triangle: TriangleId,
    pub(super) tissue_weights: DVec3,
    /// Point of the link, link frame.
    pub(super) of_link: DVec3,
}

impl FrictionAnchor {
    /// Anchors a contact at its present points.
    pub(super) fn at(contact: &NearContact) -> FrictionAnchor {
        FrictionAnchor {
            tissue_triangle: contact.tissue_triangle,
            tissue_weights: contact.tissue_weights,
            of_link: contact.of_link,
        }
    }
}

/// The contacts of the last tick.
#[derive(Debug)]
pub(super) struct ContactMemory {
    known: Vec<KnownProxyContact>,
    next: Vec<KnownProxyContact>,
    last_id: u64,
}

impl ContactMemory {
    /// Allocates for the contacts of a programme.
    pub(super) fn new() -> ContactMemory {
        let room = || Vec::with_capacity(ROWS_MAX);
        ContactMemory { known: room(), next: room(), last_id: 0 }
    }

    /// Returns an empty memory that reuses no id.
    pub(super) fn after(&self) -> ContactMemory {
        ContactMemory { last_id: self.last_id, ..ContactMemory::new() }
    }

    /// Begins the contacts of a tick.
    pub(super) fn begin(&mut self) {
        self.next.clear();
    }

    /// Notes a contact of this tick and returns its id: by its features if they met in the last tick, else by the
    /// nearest contact of the last tick that was not continued. Contacts with the same features have to be noted before
    /// others: see [`ContactMemory::is_known`].
    pub(super) fn note(&mut self, contact: &NearContact) -> u64 {
        let key = contact.key;
        let near = |k: &KnownProxyContact| {
            let squared = k.position.distance_squared(contact.on_tissue);
            let is_near = squared <= SAME_CONTACT_M * SAME_CONTACT_M;
            let is_like = (k.key.tissue, k.key.link) == (key.tissue, key.link);
            (k.key == key || is_like && is_near && !k.is_taken).then_some((k.key != key, squared))
        };
        let by_nearness =
            |a: &(bool, f64), b: &(bool, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
        let known = (self.known.iter_mut())
            .filter(|k| !k.is_taken)
            .filter_map(|k| near(k).map(|nearness| (nearness, k)))
            .min_by(|a, b| by_nearness(&a.0, &b.0));
        let id = match known {
            Some((_, known)) => {
                known.is_taken = true;
                known.id
            }
            None => {
                self.last_id += 1;
                self.last_id
            }
        };
        let position = contact.on_tissue;
        self.next.push(KnownProxyContact { key, id, position, is_taken: false });
        id
    }

    /// Returns true if the same features met in the last tick.
    pub(super) fn is_known(&self, key: &ContactKey) -> bool {
        self.known.iter().any(|k| k.key == *key)
    }

    /// Ends the contacts of a tick.
    pub(super) fn end(&mut self) {
        std::mem::swap(&mut self.known, &mut self.next);
    }
}
