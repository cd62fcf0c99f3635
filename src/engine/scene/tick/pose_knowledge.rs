//! Hints about the poses of links, which proxy placement passes to the tick to save it work.

use super::closest_pair::tie_reach;
use crate::geometry::TriangleId;
use crate::scene::{TissueId, ToolId};

/// Knowledge about links at their poses in a tick.
pub(crate) trait PoseKnowledge {
    /// Returns true if the link came there on a way of its own, on which it touched nothing.
    fn has_met_nothing(&self, link: (ToolId, usize)) -> bool;

    /// Calls `visit` with every pair of triangles of a tissue and the link within some distance of each other, and with
    /// the pair's distance, metres. Returns that distance; `None` if it is not known.
    fn each_near_pair(
        &self,
        link: (ToolId, usize),
        tissue: TissueId,
        visit: &mut dyn FnMut((TriangleId, TriangleId), f64),
    ) -> Option<f64>;
}

/// No knowledge.
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

/// Maximum candidates: with more that are equally near a search is as fast.
const CANDIDATES_MAX: usize = 32;

impl ClosestCandidates {
    /// Returns `None` if the pairs are unknown, or the surfaces are nearer than `touching_m` metres, which rounding may
    /// part.
    pub(super) fn of(
        known: &dyn PoseKnowledge,
        link: (ToolId, usize),
        tissue: TissueId,
        touching_m: f64,
    ) -> Option<ClosestCandidates> {
        let mut least = f64::INFINITY;
        let mut note = |_, distance_m: f64| least = least.min(distance_m);
        let within = known.each_near_pair(link, tissue, &mut note)?;
        // Other code has transformed the triangles into the link's frame too: its nearest may seem this much farther.
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

    /// Returns the pairs, ascending.
    pub(super) fn pairs(&self) -> &[(TriangleId, TriangleId)] {
        &self.pairs[..self.n]
    }
}
