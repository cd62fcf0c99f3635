//! Features that a search has tried already: a contact at a vertex is found from each pair of triangles about it.

use super::near_contact::ContactKey;
use crate::geometry::TriangleId;

/// Number of features that are remembered. A newer one may replace an older one, which is then tried once more.
const SLOTS: usize = 256;

/// Triangles of the tissue and of the link.
type PairIds = (TriangleId, TriangleId);

/// Features whose normal cones this search has tested, with the outcome.
#[derive(Debug)]
pub(super) struct TriedFeatures {
    slots: Vec<Option<Tried>>,
}

#[derive(Clone, Copy, Debug)]
struct Tried {
    key: ContactKey,
    /// A flat pair led to the features: such pairs have wider cones.
    is_flat: bool,
    /// The least pair that has the contact, which is the one that is kept; `None` if there is no contact.
    found_at: Option<PairIds>,
}

impl TriedFeatures {
    pub(super) fn new() -> TriedFeatures {
        TriedFeatures { slots: vec![None; SLOTS] }
    }

    /// Begins a search.
    pub(super) fn clear(&mut self) {
        self.slots.fill(None);
    }

    /// Returns true if the features of a pair, tried once more, would change nothing.
    pub(super) fn is_settled(&self, key: &ContactKey, is_flat: bool, pair: PairIds) -> bool {
        let tried = self.slots[place(key)].filter(|t| t.key == *key && t.is_flat == is_flat);
        tried.is_some_and(|t| t.found_at.is_none_or(|least| least <= pair))
    }

    /// Notes that the features of a pair were tried. `is_contact`: they are a contact.
    pub(super) fn note(
        &mut self,
        key: &ContactKey,
        is_flat: bool,
        pair: PairIds,
        is_contact: bool,
    ) {
        let found_at = is_contact.then_some(pair);
        self.slots[place(key)] = Some(Tried { key: *key, is_flat, found_at });
    }
}

fn place(key: &ContactKey) -> usize {
    // The highest bits of the hash are mixed best.
    (key.mixed() >> 24) as usize % SLOTS
}
