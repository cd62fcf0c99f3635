//! Contacts keep their id from tick to tick.
//!
//! A contact equals one of the last tick if it is on the same tissue triangle, on one beside it, or on one that a cut
//! made of these, and at a point nearby.

use glam::DVec3;

use super::answer::{Contact, ContactState, ContactStatus};
use crate::geometry::{TriangleId, tolerance::BOUND_COVER};
use crate::scene::{Revision, RevisionGuard, TissueId};

/// The contacts of one link over time, with buffers to match them in. A tick without time may know very many more
/// contacts than it checks, and leaves the others where they are.
pub(super) struct ContactTracker {
    /// The known contacts, each in a place of its own, and the free places.
    known: Vec<KnownContact>,
    free: Vec<usize>,
    /// The known contacts by triangle and then by id.
    order: Vec<Ordered>,
    /// For each contact of this tick the place of the known one that it equals, if that is on its triangle.
    same: Vec<Option<usize>>,
    /// Places of known contacts that were searched for in this tick, in the end of those that did not stay on their
    /// triangles.
    gone: Vec<usize>,
    /// Contacts that enter the order.
    new: Vec<Ordered>,
    /// Known contacts that may have moved, by their x and place in `known`. Ascending.
    moved: Vec<(f64, usize)>,
}

/// A known contact in the order of all.
#[derive(Clone, Copy)]
struct Ordered {
    at: (TissueId, TriangleId),
    /// Place in `known`.
    place: u32,
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

impl KnownContact {
    fn of(contact: &Contact, id: u64) -> KnownContact {
        KnownContact {
            at: (contact.tissue, contact.on_tissue.triangle),
            position: contact.on_tissue.position,
            id,
            is_taken: false,
            is_checked: false,
            distance_m: match contact.depth_max_m {
                _ if contact.left_behind || contact.wholly_inside => f64::INFINITY,
                // Above 0, because 0 means touched for sure.
                Some(_) if contact.signed_distance_m > 0.0 => f64::MIN_POSITIVE,
                _ => contact.signed_distance_m,
            },
        }
    }
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
        ContactTracker {
            known: Vec::with_capacity(n),
            free: Vec::with_capacity(n),
            order: Vec::with_capacity(n),
            same: Vec::with_capacity(n),
            gone: Vec::with_capacity(n),
            new: Vec::with_capacity(n),
            moved: Vec::with_capacity(n),
        }
    }

    /// Checks the known contacts with a tissue, from a triangle on and round. Returns the first one that was not
    /// checked for want of time.
    pub(super) fn check_each(
        &mut self,
        tissue: TissueId,
        from: TriangleId,
        mut is_done: impl FnMut(TriangleId) -> bool,
    ) -> Option<TriangleId> {
        let begin = self.order.partition_point(|k| k.at < (tissue, TriangleId(0)));
        let end = self.order.partition_point(|k| k.at.0 <= tissue);
        let of_tissue = &self.order[begin..end];
        let first = of_tissue.partition_point(|k| k.at.1 < from);
        let mut last = None;
        for &Ordered { at, place } in of_tissue[first..].iter().chain(&of_tissue[..first]) {
            // A triangle may have two: once is enough.
            if last.replace(at) != Some(at) && !is_done(at.1) {
                return Some(at.1);
            }
            self.known[place as usize].is_checked = true;
            self.gone.push(place as usize);
        }
        None
    }

    /// Returns true if a contact with the triangle was there in the last tick.
    pub(super) fn knows(&self, at: (TissueId, TriangleId)) -> bool {
        self.order.binary_search_by_key(&at, |k| k.at).is_ok()
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
        self.same.clear();
        debug_assert!(self.order.is_sorted_by_key(|o| key(&self.known[o.place as usize])));
        if complete {
            self.gone.clear();
            self.gone.extend(self.order.iter().map(|k| k.place as usize));
            self.gone.iter().for_each(|k| self.known[*k].is_checked = true);
        }
        // Contacts that stayed on their triangle come first, so that a neighbour does not take their id. Id 0 stands
        // for none yet.
        for contact in contacts {
            let at = (contact.tissue, contact.on_tissue.triangle);
            let same = self.find(at).filter(|k| self.is_near(*k, contact, tissues));
            self.same.push(same);
            statuses.push(ContactStatus {
                id: same.map_or(0, |k| self.take(k)),
                state: ContactState::Persist,
            });
        }
        self.moved.clear();
        let checked = self.gone.iter().map(|k| (self.known[*k], *k));
        let moved = checked.filter(|(known, _)| known.is_checked && !known.is_taken);
        self.moved.extend(moved.map(|(known, k)| (known.position.x, k)));
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
        debug_assert!(statuses.iter().all(|s| (1..=*last_id).contains(&s.id)), "{statuses:?}");
        debug_assert_eq!(statuses.len(), contacts.len());
        self.end_tick(contacts, statuses, ended);
    }

    /// Replaces the contacts that are gone by those of this tick, and lists the ids of those that ended.
    fn end_tick(&mut self, contacts: &[Contact], statuses: &[ContactStatus], ended: &mut Vec<u64>) {
        for ((contact, status), same) in contacts.iter().zip(statuses).zip(&self.same) {
            if let Some(place) = same {
                self.known[*place] = KnownContact::of(contact, status.id);
            }
        }
        self.gone.retain(|k| self.known[*k].is_checked);
        self.remove_gone(ended);
        self.new.clear();
        let with_ids = contacts.iter().zip(statuses).zip(&self.same);
        for ((contact, status), _) in with_ids.filter(|(_, same)| same.is_none()) {
            let known = KnownContact::of(contact, status.id);
            let place = self.free.pop().unwrap_or(self.known.len());
            match self.known.get_mut(place) {
                Some(free) => *free = known,
                None => self.known.push(known),
            }
            self.new.push(Ordered { at: known.at, place: place as u32 });
        }
        self.insert_new();
    }

    /// Removes contacts that are gone from the order, frees their places, and lists the ids of those that ended.
    fn remove_gone(&mut self, ended: &mut Vec<u64>) {
        let ContactTracker { known, order, gone, .. } = self;
        gone.sort_unstable_by_key(|k| key(&known[*k]));
        let (mut from, mut to) = (0, 0);
        for &k in &*gone {
            let leaves = order[from..].partition_point(|o| is_before(o, &known[k], known));
            debug_assert_eq!(order[from + leaves].place, k as u32, "it was in the order");
            order.copy_within(from..from + leaves, to);
            (from, to) = (from + leaves + 1, to + leaves);
            if !known[k].is_taken {
                ended.push(known[k].id);
            }
        }
        if !gone.is_empty() {
            order.copy_within(from.., to);
            order.truncate(order.len() - gone.len());
        }
        self.free.append(gone);
    }

    /// Inserts new contacts in the order, from the last one on: most follow all others, or nearly.
    fn insert_new(&mut self) {
        let ContactTracker { known, order, new, .. } = self;
        new.sort_unstable_by_key(|o| key(&known[o.place as usize]));
        let mut end = order.len();
        order.extend_from_slice(new);
        let mut to = order.len();
        for entering in new.iter().rev() {
            let after = &known[entering.place as usize];
            let at = order[..end].partition_point(|o| is_before(o, after, known));
            to -= end - at;
            order.copy_within(at..end, to);
            to -= 1;
            order[to] = *entering;
            end = at;
        }
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
        let first = self.order.partition_point(|k| k.at < at);
        let here = self.order[first..].iter().take_while(|k| k.at == at);
        here.map(|k| k.place as usize).find(|k| !self.known[*k].is_taken)
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
            one.total_cmp(&two).then_with(|| key(&self.known[*a]).cmp(&key(&self.known[*b])))
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

/// Orders known contacts by triangle and then by id.
fn key(known: &KnownContact) -> ((TissueId, TriangleId), u64) {
    (known.at, known.id)
}

fn is_before(o: &Ordered, other: &KnownContact, known: &[KnownContact]) -> bool {
    o.at < other.at || o.at == other.at && known[o.place as usize].id < other.id
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

#[cfg(test)]
mod tests;
