//! Keeps the earliest of any number of contacts.

use super::feature_contact::FeatureContact;

/// Keeps the earliest contacts of a stream.
pub(super) struct Earliest {
    contacts: Vec<FeatureContact>,
    max: usize,
}

impl Earliest {
    /// Creates a collection that keeps at most `max` contacts.
    pub fn new(max: usize) -> Earliest {
        Earliest { contacts: Vec::new(), max }
    }

    pub fn push(&mut self, contact: FeatureContact) {
        let n = self.contacts.len();
        if n == self.contacts.capacity() {
            // Doubled, except for the last time: the memory estimate is by the contacts that can be kept.
            self.contacts.reserve_exact((2 * self.max + 1 - n).min(n.max(16)));
        }
        self.contacts.push(contact);
        // Twice as many contacts fit as are requested; when the list is full the later half goes. That is O(1) for each
        // on average.
        if self.contacts.len() > 2 * self.max {
            self.contacts.select_nth_unstable_by(self.max, FeatureContact::order);
            self.contacts.truncate(self.max);
        }
    }

    /// Number of contacts that are kept now.
    pub fn len(&self) -> usize {
        self.contacts.len()
    }

    /// Returns the contacts in the order of [`FeatureContact::order`].
    pub fn into_sorted(mut self) -> Vec<FeatureContact> {
        self.contacts.sort_unstable_by(FeatureContact::order);
        self.contacts.truncate(self.max);
        debug_assert!(self.contacts.windows(2).all(|c| c[0].order(&c[1]).is_lt()), "found twice");
        self.contacts
    }
}
