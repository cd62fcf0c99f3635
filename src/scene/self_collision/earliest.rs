//! The earliest contacts of any number.

use super::FeatureContact;

/// Room is for twice as many as are asked for; when it is used up the later half goes. O(1) for each on average.
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
        self.contacts.push(contact);
        if self.contacts.len() > 2 * self.max {
            self.contacts.select_nth_unstable_by(self.max, FeatureContact::order);
            self.contacts.truncate(self.max);
        }
    }

    /// In the order of [`FeatureContact::order`].
    pub fn into_sorted(mut self) -> Vec<FeatureContact> {
        self.contacts.sort_unstable_by(FeatureContact::order);
        self.contacts.truncate(self.max);
        self.contacts
    }
}
