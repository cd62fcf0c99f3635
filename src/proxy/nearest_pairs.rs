//! Finds the nearest pairs of triangles of each tissue and link among the listed ones, for the distances of a tick.

use glam::DVec3;

use super::{
    pair_list::{Around, ListedPair, PairList, shortened},
    posed_link::PosedLink,
    seen_tissues::TissuesInMotion,
    tissue_view::TissueView,
};
use crate::coupling::posture::RENDERED_LINKS_MAX;
use crate::geometry::{
    TriangleId,
    distance::triangle_triangle::closest_pair_or_bound,
    tolerance::{EQUALLY_NEAR, EQUALLY_NEAR_M},
};
use crate::time_left::{TimeLeft, note_step};

/// Maximum pairs of a tissue and a link that are equally near: with more, as of a flat tool that lies flat, a search is
/// as fast.
const EQUALLY_NEAR_MAX: usize = 32;

/// A pair of triangles than which no pair of its tissue and link is nearer, but for rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct NearestPair {
    /// Index of the tissue.
    pub(super) tissue: usize,
    pub(super) link: usize,
    /// The tissue's triangle and the link's.
    pub(super) ids: (TriangleId, TriangleId),
    pub(super) distance_m: f64,
    /// Distance within which all pairs of the two are among those found, metres.
    pub(super) within: f64,
}

/// The nearest pairs.
#[derive(Debug)]
pub(super) struct NearestPairs {
    /// Pairs of one tissue and link are consecutive.
    pub(super) pairs: Vec<NearestPair>,
}

impl NearestPairs {
    /// Allocates for the pairs of one tissue.
    pub(super) fn new() -> NearestPairs {
        NearestPairs { pairs: Vec::with_capacity(RENDERED_LINKS_MAX * EQUALLY_NEAR_MAX) }
    }

    /// Finds, for each tissue and link, the pair of triangles that is nearest and all that are as near, if those are
    /// listed. Bounds leave few pairs to measure. Nothing is found without the tissues' motion, or after the deadline.
    pub(super) fn find(
        &mut self,
        list: &mut PairList,
        tissues: Option<&TissuesInMotion>,
        around: &Around,
        deadline: &TimeLeft,
    ) {
        self.pairs.clear();
        let Some(tissues) = tissues.filter(|tissues| list.is_of(tissues)) else { return };
        let mut begin = 0;
        while let Some(first) = list.pairs.get(begin) {
            let of = (first.tissue, first.link);
            let others = list.pairs[begin..].iter();
            let end = begin + others.take_while(|p| (p.tissue, p.link) == of).count();
            let view = tissues.view(of.0 as usize);
            let number = of.1 as usize;
            let posed = PosedLink::new(&around.tool.links[number], number, around.posture);
            self.find_of(list, (begin, end), (&view, &posed), deadline);
            begin = end;
        }
        if deadline.is_over_now() {
            self.pairs.clear();
        }
    }

    fn find_of(
        &mut self,
        list: &mut PairList,
        (begin, end): (usize, usize),
        placed: (&TissueView, &PosedLink),
        deadline: &TimeLeft,
    ) {
        let bound = |list: &PairList, place: usize| list.lower_bound(&list.pairs[place]);
        let likely = (begin..end)
            .min_by(|i, j| bound(list, *i).total_cmp(&bound(list, *j)))
            .expect("pairs of one link are a range of some");
        // Everything that is not listed is farther.
        let mut within = list.left_m();
        for place in std::iter::once(likely).chain(begin..end) {
            if bound(list, place) > within {
                continue;
            }
            note_step();
            if deadline.is_over() {
                return;
            }
            let distance_m = measure(list, place, within, placed);
            within = within.min(equally_near_m(distance_m));
        }
        if within >= list.left_m() {
            return;
        }
        let first = self.pairs.len();
        for place in begin..end {
            let distance_m = bound(list, place);
            if distance_m <= within {
                if self.pairs.len() == first + EQUALLY_NEAR_MAX {
                    self.pairs.truncate(first);
                    return;
                }
                let ListedPair { tissue, tissue_triangle, link_triangle, .. } = list.pairs[place];
                let ids = (tissue_triangle, link_triangle);
                let (tissue, link) = (tissue as usize, placed.1.number);
                self.pairs.push(NearestPair { tissue, link, ids, distance_m, within });
            }
        }
    }
}

/// Measures a listed pair, and returns its distance, metres; a lower bound of it if the pair is beyond a limit.
fn measure(
    list: &mut PairList,
    place: usize,
    limit_m: f64,
    (view, posed): (&TissueView, &PosedLink),
) -> f64 {
    let listed = list.pairs[place];
    let corners = posed.in_link(view, listed.tissue_triangle);
    let own = posed.link.surface.mesh().triangle(listed.link_triangle);
    let (distance_m, along) = match closest_pair_or_bound(&corners, &own, limit_m * limit_m) {
        Ok(found) => {
            let along = found.direction().unwrap_or(DVec3::ZERO);
            (found.distance_squared.sqrt(), shortened(along))
        }
        Err(squared) => (squared.sqrt(), listed.along),
    };
    list.measured(place, distance_m, along);
    distance_m
}

/// Distance up to which pairs may be as near as one at a distance, whatever frame they were measured in, metres.
fn equally_near_m(distance_m: f64) -> f64 {
    distance_m * (1.0 + EQUALLY_NEAR) + EQUALLY_NEAR_M
}
