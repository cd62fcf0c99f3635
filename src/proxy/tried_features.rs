//! Features that a search has tried already: a contact at a vertex is found from each pair of triangles about it.

use super::near_contact::ContactKey;

/// Number of features that are remembered. A newer one may replace an older one, which is then tried once more.
const SLOTS: usize = 256;

/// Features whose normal cones this search has tested, with either outcome.
#[derive(Debug)]
pub(super) struct TriedFeatures {
    /// Each with whether a flat pair led to it: such pairs have wider cones.
    slots: Vec<Option<(ContactKey, bool)>>,
}

impl TriedFeatures {
    pub(super) fn new() -> TriedFeatures {
        TriedFeatures { slots: vec![None; SLOTS] }
    }

    /// Begins a search.
    pub(super) fn clear(&mut self) {
        self.slots.fill(None);
    }

    /// Notes the features; returns false if this search has tried them.
    pub(super) fn note(&mut self, key: &ContactKey, is_flat: bool) -> bool {
        let place = (key.mixed() >> 24) as usize;
        let tried = Some((*key, is_flat));
        std::mem::replace(&mut self.slots[place], tried) != tried
    }
}
