//! The earliest contacts of any number.

use super::feature_contact::FeatureContact;

/// Keeps the earliest contacts of a stream of them.
pub(super) struct Earliest {
    contacts: Vec<FeatureContact>,
    max: usize,
}

impl Earliest {
    /// At most so many are kept.
    pub fn new(max: usize) -> Earliest {
        Earliest { contacts: Vec::new(), max }
    }

    pub fn push(&mut self, contact: FeatureContact) {
        let n = self.contacts.len();
        if n == self.contacts.capacity() {
            // Doubled, but for the last time: memory is promised by what can be kept.
            self.contacts.reserve_exact((2 * self.max + 1 - n).min(n.max(16)));
        }
        self.contacts.push(contact);
        // There is room for twice as many as are asked for; when it is used up the later half goes. That is O(1) for
        // each on average.
        if self.contacts.len() > 2 * self.max {
            self.contacts.select_nth_unstable_by(self.max, FeatureContact::order);
            self.contacts.truncate(self.max);
        }
    }

    /// Those that are kept now.
    pub fn len(&self) -> usize {
        self.contacts.len()
    }

    /// In the order of [`FeatureContact::order`].
    pub fn into_sorted(mut self) -> Vec<FeatureContact> {
        self.contacts.sort_unstable_by(FeatureContact::order);
        self.contacts.truncate(self.max);
        debug_assert!(self.contacts.windows(2).all(|c| c[0].order(&c[1]).is_lt()), "found twice");
        self.contacts
    }
}
