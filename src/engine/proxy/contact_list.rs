//! The contacts of a search, without duplicates. If more are found than fit, the list keeps the nearest, and an even
//! share of all others: the corners of a patch have to be among them, wherever a search finds them.

use super::near_contact::{ContactKey, NearContact};

/// Contacts in one search, before they are reduced to rows.
pub(super) const NEAR_CONTACTS_MAX: usize = 1_024;
/// Number of nearest contacts that are kept if more are found than fit.
const NEAREST: usize = NEAR_CONTACTS_MAX / 8;

/// Contacts, sorted by key once [`ContactList::order`] was called.
#[derive(Debug)]
pub(super) struct ContactList {
    pub(super) found: Vec<NearContact>,
    /// One in 2^thinned is kept of the contacts that are not among the nearest.
    thinned: u32,
    /// Contacts nearer than this are all kept, metres.
    nearest_m: f64,
}

impl ContactList {
    /// Allocates for all that the list may hold.
    pub(super) fn new() -> ContactList {
        let found = Vec::with_capacity(NEAR_CONTACTS_MAX);
        ContactList { found, thinned: 0, nearest_m: f64::INFINITY }
    }

    /// Keeps the contacts within `within_m` metres.
    pub(super) fn keep_within(&mut self, within_m: f64) {
        self.found.retain(|c| c.gap_m <= within_m);
        if self.found.is_empty() {
            (self.thinned, self.nearest_m) = (0, f64::INFINITY);
        }
    }

    /// Adds a contact that may be in the list already.
    pub(super) fn add(&mut self, contact: NearContact) {
        if contact.gap_m >= self.nearest_m && !is_kept(&contact.key, self.thinned) {
            return;
        }
        if self.found.len() == NEAR_CONTACTS_MAX {
            self.make_room();
        }
        self.found.push(contact);
    }

    /// Sorts by key and keeps each contact once.
    pub(super) fn order(&mut self) {
        self.found.sort_unstable_by_key(|c| (c.key, c.tissue_triangle, c.link_triangle));
        self.found.dedup_by_key(|c| c.key);
    }

    fn make_room(&mut self) {
        self.order();
        while self.found.len() > NEAR_CONTACTS_MAX / 2 {
            self.found.sort_unstable_by(|a, b| {
                a.gap_m.total_cmp(&b.gap_m).then_with(|| a.key.cmp(&b.key))
            });
            self.nearest_m = self.found[NEAREST].gap_m;
            self.thinned += 1;
            let mut place = 0;
            self.found.retain(|c| {
                place += 1;
                place <= NEAREST || is_kept(&c.key, self.thinned)
            });
        }
    }
}

/// True for one in 2^thinned keys, spread all over a mesh.
fn is_kept(key: &ContactKey, thinned: u32) -> bool {
    key.mixed().leading_zeros() >= thinned
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::geometry::TriangleId;
    use crate::scene::TissueId;

    const SIDE: u32 = 100;

    /// A contact on a grid, as a patch that lies flat has them: all equally near.
    fn contact(i: u32, j: u32, gap_m: f64) -> NearContact {
        NearContact {
            key: ContactKey {
                tissue: TissueId(1),
                link: 0,
                on_tissue: [i * SIDE + j, u32::MAX, u32::MAX],
                on_link: [0, 1, 2],
            },
            tissue: 0,
            tissue_triangle: TriangleId(0),
            tissue_weights: DVec3::X,
            link_triangle: TriangleId(0),
            on_tissue: DVec3::new(i.into(), j.into(), 0.0),
            of_link: DVec3::ZERO,
            normal: DVec3::Z,
            gap_m,
            cone_slack: 0.0,
        }
    }

    /// Each contact four times, row by row; the last is the nearest.
    fn filled() -> ContactList {
        let mut list = ContactList::new();
        for (i, j) in (0..SIDE).flat_map(|i| (0..SIDE).map(move |j| (i, j))) {
            let gap_m = if (i, j) == (SIDE - 1, SIDE - 1) { 1e-5 } else { 2e-5 };
            (0..4).for_each(|_| list.add(contact(i, j, gap_m)));
        }
        list.order();
        list
    }

    #[test]
    fn of_too_many_the_nearest_and_some_of_every_part_are_kept() {
        let list = filled();
        assert!((256..=NEAR_CONTACTS_MAX).contains(&list.found.len()), "{}", list.found.len());
        assert!(list.found.iter().any(|c| c.gap_m == 1e-5), "the nearest");
        for (low, high) in (0..16).map(|part| (f64::from(part % 4), f64::from(part / 4))) {
            let is_in = |c: &&NearContact| {
                (c.on_tissue.x / 25.0).floor() == low && (c.on_tissue.y / 25.0).floor() == high
            };
            let n = list.found.iter().filter(is_in).count();
            assert!(n >= 8, "{n} in {low}, {high}");
        }
    }

    #[test]
    fn one_that_is_empty_again_holds_all() {
        let mut list = filled();
        list.keep_within(-1.0);
        (0..500).for_each(|i| list.add(contact(i / SIDE, i % SIDE, 2e-5)));
        list.order();
        assert_eq!(list.found.len(), 500);
    }
}
