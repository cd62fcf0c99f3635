//! The revision of a tissue that was looked at last.

use crate::scene::{Revision, TissueId};

/// What was found in one revision holds in the next, give or take how far the tissue has moved between them.
#[derive(Debug, Default)]
pub(in crate::scene) struct LastSeen(Option<Seen>);

#[derive(Debug)]
struct Seen {
    tissue: TissueId,
    geometry_revision: u64,
    topology_revision: u64,
}

impl LastSeen {
    /// Goes on to a revision. Returns how far a vertex has moved at most since the last one, metres; `None` when what
    /// was found says nothing here: of another tissue, or one that was cut, or deformed too often.
    pub(in crate::scene) fn follow(
        &mut self,
        tissue: TissueId,
        revision: &Revision,
    ) -> Option<f64> {
        let Revision { geometry_revision, topology_revision, .. } = *revision;
        let last = self.0.replace(Seen { tissue, geometry_revision, topology_revision })?;
        let same = (last.tissue, last.topology_revision) == (tissue, topology_revision);
        let past = same.then(|| revision.since(last.geometry_revision))??;
        Some(past.farthest())
    }
}
