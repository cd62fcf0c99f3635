//! Contacts keep their id from tick to tick.
//!
//! A contact equals one of the last tick if it is on the same tissue triangle, on one beside it, or on one that a cut
//! made of these, and at a point nearby.

use glam::DVec3;

use super::answer::{Contact, ContactState, ContactStatus};
use crate::geometry::{TriangleId, tolerance::BOUND_COVER};
use crate::scene::{Revision, RevisionGuard, TissueId};

/// The contacts of one link over time, with buffers to match them in.
pub(super) struct ContactTracker {
    known: Vec<KnownContact>,
    next: Vec<KnownContact>,
    /// Known contacts that may have moved, by their x and index in `known`. Ascending.
    moved: Vec<(f64, usize)>,
}

/// A contact of the last tick.
#[derive(Clone, Copy)]
struct KnownContact {
    at: (TissueId, TriangleId),
    position: DVec3,
    id: u64,
    is_taken: bool,
    /// The contact was searched for in this tick.
    is_checked: bool,
    /// Distance of the link from the contact when the tick ended, metres, or a smaller distance that was possible;
    /// infinite if it was left behind, or has the link wholly inside.
    distance_m: f64,
}

/// Knowledge about a triangle at the start of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtStart {
    /// The link touched the triangle, and the contact was reported.
    Touched,
    /// The triangle was reported so near that the two may have touched all the same.
    InDoubt,
    /// The link was beside the triangle, or nothing is known.
    Apart,
}

/// Maximum known contacts that are compared in a tick with those on triangles at a vertex of very many, whose ring is
/// too long to be walked: half a millisecond. The rest get new ids.
const HUB_TESTS_MAX: usize = 1 << 16;
/// Maximum motion of a contact that keeps its id, in longest edges of its triangle.
const EDGES_MOVED_MAX: f64 = 2.0;

impl ContactTracker {
    /// Allocates for `n` contacts.
    pub(super) fn with_room(n: usize) -> ContactTracker {
        let [known, next] = [(); 2].map(|()| Vec::with_capacity(n));
        ContactTracker { known, next, moved: Vec::with_capacity(n) }
    }

    /// Checks the known contacts with a tissue, from a triangle on and round. Returns the first one that was not
    /// checked for want of time.
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

    /// Returns true if a contact with the triangle was there in the last tick.
    pub(super) fn knows(&self, at: (TissueId, TriangleId)) -> bool {
        self.known.binary_search_by_key(&at, |k| k.at).is_ok()
    }

    /// Gives each contact its status, in the same order, and lists those that ended: unless the search was `complete`,
    /// only those that were searched for. `last_id` is the last id that the session has given.
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
        self.known.iter_mut().for_each(|k| k.is_checked |= complete);
        // Contacts that stayed on their triangle come first, so that a neighbour does not take their id. Id 0 stands
        // for none yet.
        for contact in contacts {
            let at = (contact.tissue, contact.on_tissue.triangle);
            let same = self.find(at).filter(|k| self.is_near(*k, contact, tissues));
            statuses.push(ContactStatus {
                id: same.map_or(0, |k| self.take(k)),
                state: ContactState::Persist,
            });
        }
        self.moved.clear();
        let moved = self.known.iter().enumerate().filter(|(_, k)| k.is_checked && !k.is_taken);
        self.moved.extend(moved.map(|(i, k)| (k.position.x, i)));
        self.moved.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut hub_tests = HUB_TESTS_MAX;
        for (contact, status) in contacts.iter().zip(statuses.iter_mut()).filter(|(_, s)| s.id == 0)
        {
            *status = match self.beside(contact, tissues, &mut hub_tests) {
                Some(k) => ContactStatus { id: self.take(k), state: ContactState::Persist },
                None => {
                    *last_id += 1;
                    ContactStatus { id: *last_id, state: ContactState::Begin }
                }
            };
        }
        self.next.clear();
        for known in self.known.iter().filter(|k| !k.is_taken) {
            if known.is_checked {
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
            distance_m: match c.depth_max_m {
                _ if c.left_behind || c.wholly_inside => f64::INFINITY,
                // Above 0, because 0 means touched for sure.
                Some(_) if c.signed_distance_m > 0.0 => f64::MIN_POSITIVE,
                _ => c.signed_distance_m,
            },
        }));
        debug_assert!(statuses.iter().all(|s| (1..=*last_id).contains(&s.id)), "{statuses:?}");
        debug_assert_eq!(statuses.len(), contacts.len());
        self.next.sort_unstable_by_key(|k| (k.at, k.id));
        std::mem::swap(&mut self.known, &mut self.next);
    }

    /// State of the triangle when the last tick ended. `doubt_m`: how much deeper its deepest point may have been than
    /// the reported one.
    pub(super) fn at_start(&self, at: (TissueId, TriangleId), doubt_m: f64) -> AtStart {
        match self.find(at).map(|k| self.known[k].distance_m) {
            Some(distance_m) if distance_m <= 0.0 => AtStart::Touched,
            Some(distance_m) if distance_m <= doubt_m => AtStart::InDoubt,
            _ => AtStart::Apart,
        }
    }

    /// Returns a known contact of this triangle that is not taken.
    fn find(&self, at: (TissueId, TriangleId)) -> Option<usize> {
        let first = self.known.partition_point(|k| k.at < at);
        let here = self.known[first..].iter().take_while(|k| k.at == at);
        here.enumerate().find(|(_, k)| !k.is_taken).map(|(i, _)| first + i)
    }

    fn take(&mut self, k: usize) -> u64 {
        self.known[k].is_taken = true;
        self.known[k].id
    }

    /// Returns the nearest known contact on a triangle that shares a vertex with the contact's, or that such a one was
    /// cut from. A contact that was not searched for may still be where it was, unless the search was complete.
    fn beside(
        &self,
        contact: &Contact,
        tissues: &[(TissueId, RevisionGuard)],
        hub_tests: &mut usize,
    ) -> Option<usize> {
        let revision = revision_of(contact.tissue, tissues)?;
        let mesh = revision.surface.mesh();
        // This comes after the tick's time is over, and after a leap of the link there are many contacts and none is
        // near: a ring is walked only if one is.
        self.near(contact, revision).next()?;
        let least = |a: &usize, b: &usize| {
            let [one, two] = [*a, *b].map(|k| self.distance(k, contact));
            one.total_cmp(&two).then(a.cmp(b))
        };
        let vertices = mesh.vertices(contact.on_tissue.triangle);
        if vertices.iter().any(|v| mesh.is_hub(*v)) {
            return self.near_about_hub(contact, revision, hub_tests).min_by(least);
        }
        // The ring of the contact's triangle, and the triangles that each of it was cut from: the contact slid there in
        // a tick, or stayed while its triangle was replaced.
        let around = vertices.into_iter().flat_map(|v| mesh.around(v));
        let with_ancestors = around.flat_map(|(t, _)| revision.ancestors(t));
        with_ancestors
            .filter_map(|t| self.find((contact.tissue, t)))
            .filter(|k| self.may_be(*k, contact, revision))
            .min_by(least)
    }

    /// Returns known contacts that may have moved to the contact's position.
    fn near(&self, contact: &Contact, revision: &Revision) -> impl Iterator<Item = usize> {
        let (x, reach) = (contact.on_tissue.position.x, reach(contact, revision) * BOUND_COVER);
        let begin = self.moved.partition_point(|(at, _)| *at < x - reach);
        let within = self.moved[begin..].iter().take_while(move |(at, _)| *at <= x + reach);
        let near = within.filter(move |(_, k)| self.may_be(*k, contact, revision));
        near.map(|(_, k)| *k)
    }

    /// Returns those on a triangle that shares a vertex with the contact's, found without a walk round it. Triangles
    /// that a cut has removed count only if the contact's own was cut from them.
    fn near_about_hub(
        &self,
        contact: &Contact,
        revision: &Revision,
        tests: &mut usize,
    ) -> impl Iterator<Item = usize> {
        let (mesh, own) = (revision.surface.mesh(), contact.on_tissue.triangle);
        let vertices = mesh.joined_vertices(own);
        let is_beside = move |t: TriangleId| match mesh.get(t) {
            Some(others) => others.iter().any(|v| vertices.contains(&mesh.joined(*v))),
            None => revision.ancestors(own).any(|ancestor| ancestor == t),
        };
        let tested = self.near(contact, revision).take_while(move |_| {
            *tests = tests.saturating_sub(1);
            *tests > 0
        });
        // The first of several on one triangle, as everywhere.
        let beside = tested.filter(move |k| is_beside(self.known[*k].at.1));
        beside
            .filter_map(move |k| self.find(self.known[k].at))
            .filter(move |k| self.may_be(*k, contact, revision))
    }

    /// Returns true for a known contact that is not taken, was searched for and is near enough.
    fn may_be(&self, k: usize, contact: &Contact, revision: &Revision) -> bool {
        let known = &self.known[k];
        let is_left = known.at.0 == contact.tissue && !known.is_taken;
        is_left && known.is_checked && self.distance(k, contact) <= reach(contact, revision)
    }

    fn distance(&self, k: usize, contact: &Contact) -> f64 {
        self.known[k].position.distance(contact.on_tissue.position)
    }

    fn is_near(&self, k: usize, contact: &Contact, tissues: &[(TissueId, RevisionGuard)]) -> bool {
        let Some(revision) = revision_of(contact.tissue, tissues) else { return false };
        self.distance(k, contact) <= reach(contact, revision)
    }
}

/// Maximum motion of a contact in a tick, metres.
fn reach(contact: &Contact, revision: &Revision) -> f64 {
    let [a, b, c] = revision.surface.mesh().triangle(contact.on_tissue.triangle);
    let longest = a.distance(b).max(b.distance(c)).max(c.distance(a));
    EDGES_MOVED_MAX * longest
}

fn revision_of(tissue: TissueId, tissues: &[(TissueId, RevisionGuard)]) -> Option<&Revision> {
    tissues.iter().find(|(id, _)| *id == tissue).map(|(_, held)| &***held)
}
