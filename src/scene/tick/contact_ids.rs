//! Contacts keep their id from tick to tick.
//!
//! A contact is the same as one of the last tick when it is on the same tissue triangle, on one beside it, or on one
//! that a cut made of these, and at a point nearby.

use glam::DVec3;

use super::answer::{Contact, ContactState, ContactStatus};
use crate::geometry::TriangleId;
use crate::scene::{Revision, RevisionGuard, TissueId};

/// The contacts of one link over time, and room to match them in.
pub(super) struct ContactTracker {
    known: Vec<KnownContact>,
    next: Vec<KnownContact>,
}

/// A contact of the last tick.
#[derive(Clone, Copy)]
struct KnownContact {
    at: (TissueId, TriangleId),
    position: DVec3,
    id: u64,
    is_taken: bool,
    /// It was looked for in this tick.
    is_checked: bool,
    /// The link touched it when the tick ended: it was not only near, nor left behind.
    touches: bool,
}

/// A contact may have moved by this many longest edges of its triangle and still be the same.
const EDGES_MOVED_MAX: f64 = 2.0;

impl ContactTracker {
    /// With room for so many contacts.
    pub(super) fn with_room(n: usize) -> ContactTracker {
        ContactTracker { known: Vec::with_capacity(n), next: Vec::with_capacity(n) }
    }

    /// Looks for the known contacts with a tissue, from a triangle on and round. Returns the first one that was not
    /// looked at for want of time.
    pub(super) fn check_each(
        &mut self,
        tissue: TissueId,
        from: TriangleId,
        mut is_done: impl FnMut(TriangleId) -> bool,
    ) -> Option<TriangleId> {
        let begin = self.known.partition_point(|k| k.at < (tissue, TriangleId(0)));
        let end = self.known.partition_point(|k| k.at.0 <= tissue);
        let known = &mut self.known[begin..end];
        let first = known.partition_point(|k| k.at.1 < from);
        let mut last = None;
        for i in (first..known.len()).chain(0..first) {
            let known = &mut known[i];
            // A triangle may have two: once is enough.
            if last.replace(known.at) != Some(known.at) && !is_done(known.at.1) {
                return Some(known.at.1);
            }
            known.is_checked = true;
        }
        None
    }

    /// Whether a contact with the triangle was there in the last tick.
    pub(super) fn knows(&self, at: (TissueId, TriangleId)) -> bool {
        self.known.binary_search_by_key(&at, |k| k.at).is_ok()
    }

    /// Gives each contact its status, in the same order, and names those that ended: unless the search was
    /// `complete`, those only that were looked for. `last_id` is the last id that the session has given.
    pub(super) fn match_ids(
        &mut self,
        contacts: &[Contact],
        complete: bool,
        tissues: &[(TissueId, RevisionGuard)],
        last_id: &mut u64,
        statuses: &mut Vec<ContactStatus>,
        ended: &mut Vec<u64>,
    ) {
        statuses.clear();
        ended.clear();
        debug_assert!(self.known.is_sorted_by_key(|k| (k.at, k.id)));
        // First those that stayed on their triangle, so that a neighbour does not take their place. Id 0 stands for
        // none yet.
        for contact in contacts {
            let at = (contact.tissue, contact.on_tissue.triangle);
            let same = self.find(at).filter(|k| self.is_near(*k, contact, tissues));
            statuses.push(ContactStatus {
                id: same.map_or(0, |k| self.take(k)),
                state: ContactState::Persist,
            });
        }
        for (contact, status) in contacts.iter().zip(statuses.iter_mut()).filter(|(_, s)| s.id == 0)
        {
            *status = match self.beside(contact, complete, tissues) {
                Some(k) => ContactStatus { id: self.take(k), state: ContactState::Persist },
                None => {
                    *last_id += 1;
                    ContactStatus { id: *last_id, state: ContactState::Begin }
                }
            };
        }
        self.next.clear();
        for known in self.known.iter().filter(|k| !k.is_taken) {
            if complete || known.is_checked {
                ended.push(known.id);
            } else {
                self.next.push(*known);
            }
        }
        self.next.extend(contacts.iter().zip(statuses.iter()).map(|(c, status)| KnownContact {
            at: (c.tissue, c.on_tissue.triangle),
            position: c.on_tissue.position,
            id: status.id,
            is_taken: false,
            is_checked: false,
            touches: !c.left_behind && !c.wholly_inside && c.signed_distance_m <= 0.0,
        }));
        debug_assert!(statuses.iter().all(|s| (1..=*last_id).contains(&s.id)), "{statuses:?}");
        debug_assert_eq!(statuses.len(), contacts.len());
        self.next.sort_unstable_by_key(|k| (k.at, k.id));
        std::mem::swap(&mut self.known, &mut self.next);
    }

    /// The triangle was touched when the last tick ended.
    pub(super) fn touched(&self, at: (TissueId, TriangleId)) -> bool {
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
    /// cut from. Unless the search was `complete`, one that was not looked for may still be where it was.
    fn beside(
        &self,
        contact: &Contact,
        complete: bool,
        tissues: &[(TissueId, RevisionGuard)],
    ) -> Option<usize> {
        let revision = revision_of(contact.tissue, tissues)?;
        let mesh = revision.surface.mesh();
        // The ring of the contact's triangle, and what each of it was cut from: where the contact slid to in a tick, or
        // stayed while its triangle was replaced.
        let around =
            mesh.vertices(contact.on_tissue.triangle).into_iter().flat_map(|v| mesh.ring(v));
        let with_ancestors = around.flat_map(|(t, _)| revision.ancestors(t));
        with_ancestors
            .filter_map(|t| self.find((contact.tissue, t)))
            .filter(|k| complete || self.known[*k].is_checked)
            .filter(|k| self.is_near(*k, contact, tissues))
            .min_by(|a, b| {
                self.distance(*a, contact).total_cmp(&self.distance(*b, contact)).then(a.cmp(b))
            })
    }

    fn distance(&self, k: usize, contact: &Contact) -> f64 {
        self.known[k].position.distance(contact.on_tissue.position)
    }

    fn is_near(&self, k: usize, contact: &Contact, tissues: &[(TissueId, RevisionGuard)]) -> bool {
        let Some(revision) = revision_of(contact.tissue, tissues) else { return false };
        let [a, b, c] = revision.surface.mesh().triangle(contact.on_tissue.triangle);
        let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
        self.distance(k, contact) <= EDGES_MOVED_MAX * longest
    }
}

fn revision_of(tissue: TissueId, tissues: &[(TissueId, RevisionGuard)]) -> Option<&Revision> {
    tissues.iter().find(|(id, _)| *id == tissue).map(|(_, held)| &***held)
}
