//! Counts of events in a conversation, so that its digest is not one of nothing.

/// Counts over all answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub answers: u64,
    /// Contacts given, over all answers.
    pub contacts: u64,
    /// Contacts among these that the sweep met.
    pub met: u64,
    /// Contacts reported as ended.
    pub ended: u64,
    /// Pairs of triangles of a link and a tissue that were given.
    pub pairs: u64,
    /// Pairs of triangles of two links that were given.
    pub link_pairs: u64,
    /// Probes and points that are inside or touch.
    pub inside: u64,
    /// Ticks coalesced into another's answer.
    pub coalesced: u64,
    /// Contacts of tissues with themselves and each other.
    pub feature_contacts: u64,
    /// Ticks and calls that were refused.
    pub refused: u64,
}

impl Tally {
    pub const NONE: Tally = Tally {
        answers: 0,
        contacts: 0,
        met: 0,
        ended: 0,
        pairs: 0,
        link_pairs: 0,
        inside: 0,
        coalesced: 0,
        feature_contacts: 0,
        refused: 0,
    };

    /// # Panics
    /// Panics if an event happened less often than it has to.
    pub fn assert_at_least(&self, least: &Tally, name: &str) {
        for ((what, got), (_, least)) in self.counts().iter().zip(least.counts()) {
            assert!(*got >= least, "{name}: {got} {what}, expected at least {least}: {self:?}");
        }
    }

    fn counts(&self) -> [(&'static str, u64); 10] {
        [
            ("answers", self.answers),
            ("contacts", self.contacts),
            ("met", self.met),
            ("ended", self.ended),
            ("pairs", self.pairs),
            ("link_pairs", self.link_pairs),
            ("inside", self.inside),
            ("coalesced", self.coalesced),
            ("feature_contacts", self.feature_contacts),
            ("refused", self.refused),
        ]
    }
}
