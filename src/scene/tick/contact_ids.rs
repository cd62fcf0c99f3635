//! Contacts keep their id from tick to tick: on the same triangle or one beside it, at a nearby point, and
//! through the remap of a cut.

use glam::DVec3;

use crate::geometry::TriangleId;
use crate::scene::{Contact, Held, Revision, TissueId};

/// Where a contact is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// Not there in the last tick.
    Begin,
    /// There in the last tick too.
    Persist,
}

/// The id of a contact, unique in its session, and its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContactLife {
    /// From 1; never used again.
    pub id: u64,
    /// Begun now or before.
    pub state: ContactState,
}

/// The contacts of one link over time, and room to match them in.
pub(in crate::scene) struct Lifecycle {
    known: Vec<Known>,
    next: Vec<Known>,
}

/// A contact of the last tick.
#[derive(Clone, Copy)]
struct Known {
    at: (TissueId, TriangleId),
    position: DVec3,
    id: u64,
    is_taken: bool,
    /// The link touched it when the tick ended: it was not only near, nor left behind.
    touches: bool,
}

/// A contact may have gone this many longest edges of its triangle and still be the same.
const EDGES_GONE_MAX: f64 = 2.0;

impl Lifecycle {
    /// With room for so many contacts.
    pub(in crate::scene) fn with_room(n: usize) -> Lifecycle {
        Lifecycle { known: Vec::with_capacity(n), next: Vec::with_capacity(n) }
    }

    /// Gives each contact its life, in the same order, and names those that ended. `last_id` is the last id
    /// that the session has given.
    pub(in crate::scene) fn follow(
        &mut self,
        contacts: &[Contact],
        seen: &[(TissueId, Held)],
        last_id: &mut u64,
        lives: &mut Vec<ContactLife>,
        ended: &mut Vec<u64>,
    ) {
        lives.clear();
        ended.clear();
        // First those that stayed on their triangle, so that a neighbour does not take their place.
        for contact in contacts {
            let at = (contact.tissue, contact.on_tissue.triangle);
            let same = self.find(at).filter(|k| self.is_near(*k, contact, seen));
            lives.push(ContactLife {
                id: same.map_or(0, |k| self.take(k)),
                state: ContactState::Persist,
            });
        }
        for (contact, life) in contacts.iter().zip(lives.iter_mut()).filter(|(_, l)| l.id == 0) {
            *life = match self.neighbour(contact, seen) {
                Some(k) => ContactLife { id: self.take(k), state: ContactState::Persist },
                None => {
                    *last_id += 1;
                    ContactLife { id: *last_id, state: ContactState::Begin }
                }
            };
        }
        ended.extend(self.known.iter().filter(|k| !k.is_taken).map(|k| k.id));
        self.next.clear();
        self.next.extend(contacts.iter().zip(lives.iter()).map(|(c, life)| Known {
            at: (c.tissue, c.on_tissue.triangle),
            position: c.on_tissue.position,
            id: life.id,
            is_taken: false,
            touches: !c.passed && !c.wholly_inside && c.signed_distance_m <= 0.0,
        }));
        self.next.sort_unstable_by_key(|k| (k.at, k.id));
        std::mem::swap(&mut self.known, &mut self.next);
    }

    /// The triangle was touched when the last tick ended.
    pub(in crate::scene) fn knows(&self, at: (TissueId, TriangleId)) -> bool {
        self.find(at).is_some_and(|k| self.known[k].touches)
    }

    /// A known contact of this triangle that is not taken.
    fn find(&self, at: (TissueId, TriangleId)) -> Option<usize> {
        let first = self.known.partition_point(|k| k.at < at);
        let here = self.known[first..].iter().take_while(|k| k.at == at);
        here.enumerate().find(|(_, k)| !k.is_taken).map(|(i, _)| first + i)
    }

    fn take(&mut self, k: usize) -> u64 {
        self.known[k].is_taken = true;
        self.known[k].id
    }

    /// The nearest known contact on a triangle that shares a vertex with the contact's, or that such a one was
    /// cut from.
    fn neighbour(&self, contact: &Contact, seen: &[(TissueId, Held)]) -> Option<usize> {
        let revision = revision_of(contact.tissue, seen)?;
        let mesh = revision.surface.mesh();
        let around =
            mesh.vertices(contact.on_tissue.triangle).into_iter().flat_map(|v| mesh.ring(v));
        let with_parents = around.flat_map(|(t, _)| revision.line_of(t));
        with_parents
            .filter_map(|t| self.find((contact.tissue, t)))
            .filter(|k| self.is_near(*k, contact, seen))
            .min_by(|a, b| self.gone(*a, contact).total_cmp(&self.gone(*b, contact)).then(a.cmp(b)))
    }

    fn gone(&self, k: usize, contact: &Contact) -> f64 {
        self.known[k].position.distance(contact.on_tissue.position)
    }

    fn is_near(&self, k: usize, contact: &Contact, seen: &[(TissueId, Held)]) -> bool {
        let Some(revision) = revision_of(contact.tissue, seen) else { return false };
        let [a, b, c] = revision.surface.mesh().triangle(contact.on_tissue.triangle);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        self.gone(k, contact) <= EDGES_GONE_MAX * longest
    }
}

fn revision_of(tissue: TissueId, seen: &[(TissueId, Held)]) -> Option<&Revision> {
    seen.iter().find(|(id, _)| *id == tissue).map(|(_, held)| &***held)
}
