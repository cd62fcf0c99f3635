//! The revision of a tissue that was looked at last.

use crate::scene::{Revision, TissueId};

/// What was found in one revision holds in the next, looser by how far the tissue has moved between them.
#[derive(Debug, Default)]
pub(in crate::scene) struct LastSeen(Option<SeenRevision>);

#[derive(Debug)]
struct SeenRevision {
    tissue: TissueId,
    geometry_revision: u64,
    topology_revision: u64,
    seams_revision: u64,
}

impl LastSeen {
    /// It was this revision.
    pub(in crate::scene) fn is(&self, tissue: TissueId, revision: &Revision) -> bool {
        self.0.as_ref().is_some_and(|seen| {
            (seen.tissue, seen.geometry_revision, seen.topology_revision)
                == (tissue, revision.geometry_revision, revision.topology_revision)
        })
    }

    /// Goes on to a revision. Returns how far a vertex has moved at most since the last one, metres. `None` when the
    /// last revision tells nothing of this one: it is another tissue's, or the tissue was cut since, parted or joined
    /// along a seam, or deformed too often.
    pub(in crate::scene) fn follow(
        &mut self,
        tissue: TissueId,
        revision: &Revision,
    ) -> Option<f64> {
        let Revision { geometry_revision, topology_revision, seams_revision, .. } = *revision;
        let seen = SeenRevision { tissue, geometry_revision, topology_revision, seams_revision };
        let last = self.0.replace(seen)?;
        // Where a seam parts the side may change without a triangle between.
        let same = (last.tissue, last.topology_revision, last.seams_revision)
            == (tissue, topology_revision, seams_revision);
        let motion = same.then(|| revision.since(last.geometry_revision))??;
        // A vertex that a deformation leaves alone moves no triangle, so the farthest vertex bounds every point.
        Some(motion.displacement_max())
    }
}
