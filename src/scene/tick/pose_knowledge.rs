//! What those who put links somewhere have found out about where they are, so that a tick need not.

use super::closest_pair::tie_reach;
use crate::geometry::TriangleId;
use crate::scene::{TissueId, ToolId};

/// What is known of links where a tick finds them.
pub(crate) trait PoseKnowledge {
    /// The link came there on a way of its own, on which it touched nothing.
    fn has_met_nothing(&self, link: (ToolId, usize)) -> bool;

    /// Gives every pair of triangles of a tissue and the link that are within some distance of each other, and how far
    /// apart they are, metres. Returns that distance; `None` where it is not known.
    fn each_near_pair(
        &self,
        link: (ToolId, usize),
        tissue: TissueId,
        visit: &mut dyn FnMut((TriangleId, TriangleId), f64),
    ) -> Option<f64>;
}

/// Nothing is known.
pub(crate) struct NothingKnown;

impl PoseKnowledge for NothingKnown {
    fn has_met_nothing(&self, _: (ToolId, usize)) -> bool {
        false
    }

    fn each_near_pair(
        &self,
        _: (ToolId, usize),
        _: TissueId,
        _: &mut dyn FnMut((TriangleId, TriangleId), f64),
    ) -> Option<f64> {
        None
    }
}

/// Pairs of a tissue's and a link's triangles, among which is the closest.
pub(super) struct ClosestCandidates {
    pairs: [(TriangleId, TriangleId); CANDIDATES_MAX],
    n: usize,
}

/// With more that are equally near a search is as fast.
const CANDIDATES_MAX: usize = 32;

impl ClosestCandidates {
    /// `None` where they are not known, or the surfaces are nearer than `touching_m` metres, which rounding may part.
    pub(super) fn of(
        known: &dyn PoseKnowledge,
        link: (ToolId, usize),
        tissue: TissueId,
        touching_m: f64,
    ) -> Option<ClosestCandidates> {
        let mut least = f64::INFINITY;
        let mut note = |_, distance_m: f64| least = least.min(distance_m);
        let within = known.each_near_pair(link, tissue, &mut note)?;
        // Others have carried the triangles into the link's frame too: what they call nearest may seem this much farther.
        let reach = tie_reach(least + touching_m) + touching_m;
        if least <= touching_m || reach > within {
            return None;
        }
        let unknown = (TriangleId(0), TriangleId(0));
        let mut candidates = ClosestCandidates { pairs: [unknown; CANDIDATES_MAX], n: 0 };
        known.each_near_pair(link, tissue, &mut |pair, distance_m| {
            if distance_m <= reach {
                if let Some(place) = candidates.pairs.get_mut(candidates.n) {
                    *place = pair;
                }
                candidates.n += 1;
            }
        });
        candidates.pairs.get_mut(..candidates.n)?.sort_unstable();
        Some(candidates)
    }

    /// Ascending.
    pub(super) fn pairs(&self) -> &[(TriangleId, TriangleId)] {
        &self.pairs[..self.n]
    }
}
