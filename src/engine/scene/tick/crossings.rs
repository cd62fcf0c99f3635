//! Triangles that cross: of a tissue and a link, of two links.
//!
//! All pairs are found and counted; the segment along which two triangles cross is computed only for those that are
//! given.

use crate::geometry::{
    Pose, TriangleId,
    triangle_triangle::{Crossing, crossing},
};
use crate::scene::{Link, RevisionGuard, TissueId, ToolId, limits::PAIRS_MAX};
use crate::time_left::{TimeLeft, note_step};

/// Two triangles with a point in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrianglePair {
    /// Tissue of the first triangle; `None` for two links.
    pub tissue: Option<TissueId>,
    /// Triangle of the tissue, or of the other link.
    pub triangle: TriangleId,
    /// Triangle of the link.
    pub link_triangle: TriangleId,
    /// Segment in scene frame; the first triangle is `triangle`.
    pub crossing: Crossing,
}

/// Pairs ordered by tissue, its triangle and the link's: the first ones, and the number of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrianglePairs {
    /// The first pairs, at most as many as were requested.
    pub given: Vec<TrianglePair>,
    /// Number of all pairs, including those not given.
    pub total: usize,
}

/// Two links and their crossing triangles.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPairs {
    /// Tool and index of the link.
    pub link: (ToolId, usize),
    /// A later link of the same tool.
    pub other: (ToolId, usize),
    /// Pairs whose `triangle` is the other link's.
    pub pairs: TrianglePairs,
}

/// A pair before its segment is computed: index of the tissue, its triangle, the link's.
pub(super) type FoundPair = (usize, TriangleId, TriangleId);

/// Pairs of one link that are found without allocating more memory.
pub(super) const FOUND_ROOM: usize = 4 * PAIRS_MAX;

/// Share of the time for the search for pairs; the rest is for the segments of those that are given.
const SEARCH_SHARE: f64 = 0.6;

/// A link with its pose, scene frame from link frame.
pub(super) type PlacedLink<'a> = (&'a Link, Pose);

impl TrianglePairs {
    /// Creates an empty list with capacity for the pairs that may be given.
    pub(super) fn with_room(max_pairs: usize) -> TrianglePairs {
        TrianglePairs { given: Vec::with_capacity(max_pairs.min(PAIRS_MAX)), total: 0 }
    }

    /// Finds the pairs of all tissues with a link, exactly those of brute force on its placed vertices. Returns false
    /// if the time was over before all were found and given. `found`: buffer to work in.
    pub(super) fn find(
        &mut self,
        tissues: &[(TissueId, RevisionGuard)],
        (link, scene_from_link): PlacedLink,
        max_pairs: usize,
        found: &mut Vec<FoundPair>,
        time: &TimeLeft,
    ) -> bool {
        // The link's placed tree prunes the index, then each tissue triangle goes down that tree. The traversal is not
        // kept between ticks: a candidate visits 1.4 wide nodes of a probe, 16 of pliers.
        let search = time.share(SEARCH_SHARE);
        found.clear();
        for (at, (_, revision)) in tissues.iter().enumerate() {
            let tissue = &revision.surface;
            let placed = link.tree.placed(link.surface.mesh(), &scene_from_link, tissue.bounds());
            tissue.overlap(&|b: &_| !search.is_over() && placed.may_meet(b), |t| {
                placed.meeting(&tissue.mesh().triangle(t), &search, |own| found.push((at, t, own)));
            });
        }
        let pair = |&(at, triangle, link_triangle): &FoundPair| {
            let (tissue, revision) = &tissues[at];
            let corners = link.surface.mesh().triangle(link_triangle);
            let crossing = crossing(
                &revision.surface.mesh().triangle(triangle),
                &scene_from_link.triangle(&corners),
            );
            let crossing = crossing.expect("triangles that meet");
            TrianglePair { tissue: Some(*tissue), triangle, link_triangle, crossing }
        };
        self.take(found, max_pairs, time, pair);
        !search.was_over() && !time.was_over()
    }

    /// Finds the pairs of two links, and returns whether these are all.
    pub(super) fn find_of_links(
        &mut self,
        (link, scene_from_link): PlacedLink,
        (other, scene_from_other): PlacedLink,
        max_pairs: usize,
        found: &mut Vec<FoundPair>,
        time: &TimeLeft,
    ) -> bool {
        // In the frame of the first link, so that one of the two trees need not be moved.
        let search = time.share(SEARCH_SHARE);
        found.clear();
        let link_from_other = scene_from_link.inverse().then_from(&scene_from_other);
        link.rigid().pairs(&other.rigid(), &link_from_other, &search, &mut |pair| {
            found.push((0, pair.other, pair.own));
        });
        let pair = |&(_, triangle, link_triangle): &FoundPair| {
            let others = other.surface.mesh().triangle(triangle).map(|p| link_from_other.point(p));
            let crossing = crossing(&others, &link.surface.mesh().triangle(link_triangle));
            let mut crossing = crossing.expect("triangles that meet");
            for end in &mut crossing.ends {
                end.point = scene_from_link.point(end.point);
            }
            TrianglePair { tissue: None, triangle, link_triangle, crossing }
        };
        self.take(found, max_pairs, time, pair);
        !search.was_over() && !time.was_over()
    }

    /// Takes the pairs; segments are computed only for those that are given.
    fn take(
        &mut self,
        found: &mut [FoundPair],
        max_pairs: usize,
        time: &TimeLeft,
        pair: impl Fn(&FoundPair) -> TrianglePair,
    ) {
        // Trees give pairs in an order of their own; ids give one that clients can rely on.
        found.sort_unstable();
        debug_assert!(found.windows(2).all(|f| f[0] < f[1]), "a pair was found twice");
        self.total = found.len();
        self.given.clear();
        let in_time = found.iter().take(max_pairs).take_while(|_| !time.is_over());
        self.given.extend(in_time.inspect(|_| note_step()).map(pair));
    }

    /// Clears the pairs: no search was made.
    pub(super) fn clear(&mut self) {
        self.given.clear();
        self.total = 0;
    }

    /// Returns true if some pairs were counted but not given.
    pub fn is_truncated(&self) -> bool {
        self.given.len() < self.total
    }
}
