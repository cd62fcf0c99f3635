//! The pairs of triangles that may come near the proxy: a Verlet list.
//!
//! Rounds of a tick, and ticks one after the other, look at nearly the same pairs. Traversals look farther than a round
//! needs, by a skin, and list what they come by: until proxy and tissues have together moved through the skin, every
//! near pair is listed. Each listed pair also knows how far apart it was when it was last measured, so that of some
//! hundred pairs a round measures those that can be near by now.

use std::ops::ControlFlow;

use glam::Vec3;

use super::{
    posed_link::PosedLink, put_patch::PutPatch, seen_tissues::TissuesInMotion,
    tissue_view::TissueView,
};
use crate::coupling::posture::Posture;
use crate::geometry::{
    Aabb, TriangleId,
    distance::triangle_triangle::closest_pair,
    tolerance::{BOUND_COVER, PROXY_MARGIN_ROUND_M, PROXY_SKIN_MAX_M},
};
use crate::scene::{TissueId, Tool};
use crate::time_left::{TimeLeft, note_step};

/// The skin is as thick as the motion of so many ticks.
const SKIN_TICKS: f64 = 6.0;
/// With a skin a list holds so many times the pairs that a search may find. Boxes are near in three of the pairs whose
/// triangles are, and a skin of the margin's size brings in three times as many.
const PAIRS_WITH_SKIN: usize = 8;

/// A list, and how much motion it has left.
#[derive(Debug)]
pub(super) struct PairList {
    /// Ordered by link and triangle of the tissue.
    pub(super) pairs: Vec<ListedPair>,
    /// Every other pair was farther apart than this when the list was made, metres; below 0 when it tells nothing.
    reach_m: f64,
    /// How far proxy and tissues have together moved since, metres.
    travel_m: f64,
    /// The tissues that had a say then, and their topology revisions.
    of: Vec<(TissueId, u64)>,
    skin_m: f64,
    /// As thick as this at least where there is room for the pairs, metres.
    skin_min_m: f64,
    /// Since the last tick began, metres.
    tick_travel_m: f64,
    /// The motion noted last, metres.
    last_step_m: f64,
    /// Lists that were made.
    n_made: u64,
    patch: PutPatch,
}

/// Of a list: two that are equal are of one list with nothing moved in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Standing {
    n_made: u64,
    travel_m: f64,
}

/// Two triangles that may come near each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedPair {
    /// Place of the tissue.
    pub(super) tissue: u32,
    pub(super) tissue_triangle: TriangleId,
    pub(super) link: u32,
    pub(super) link_triangle: TriangleId,
    /// They are farther apart than this less the travel, metres.
    beyond_m: f64,
    /// Between their closest points when they were measured, from the tissue's to the link's, in the link's frame; no
    /// longer than 1 however it is rounded, zero when it is not known.
    pub(super) along: Vec3,
}

/// How the making of a list ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListEnd {
    Complete,
    /// There were more pairs than it may hold.
    Full,
    /// The deadline passed.
    OutOfTime,
}

/// The proxy that a list is about.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) tool: &'a Tool,
    pub(super) posture: &'a Posture,
    /// The links that count.
    pub(super) constrained: &'a [usize],
}

impl PairList {
    /// Tells nothing, and has room for so many pairs. `skin_min_m`: of lists with room for it.
    pub(super) fn new(pairs_max: usize, skin_min_m: f64) -> PairList {
        PairList {
            pairs: Vec::with_capacity(pairs_max),
            reach_m: TELLS_NOTHING,
            travel_m: 0.0,
            of: Vec::new(),
            skin_m: skin_min_m,
            skin_min_m,
            tick_travel_m: 0.0,
            last_step_m: 0.0,
            n_made: 0,
            patch: PutPatch::default(),
        }
    }

    /// Where the list stands.
    pub(super) fn standing(&self) -> Standing {
        Standing { n_made: self.n_made, travel_m: self.travel_m }
    }

    /// The proxy was put somewhere, or a tissue moved by nobody knows how much.
    pub(super) fn forget(&mut self) {
        self.reach_m = TELLS_NOTHING;
    }

    /// Whether it tells of a tissue.
    pub(super) fn is_about(&self, tissue: TissueId) -> bool {
        self.reach_m >= 0.0 && self.of.iter().any(|(id, _)| *id == tissue)
    }

    /// Proxy and tissues have moved, together by no more than this, metres.
    pub(super) fn note_travel(&mut self, by_m: f64) {
        debug_assert!(by_m >= 0.0, "moved by {by_m} m");
        self.travel_m += by_m * BOUND_COVER;
        self.tick_travel_m += by_m;
        self.last_step_m = by_m;
    }

    /// The motion that was noted last, metres: the next one is about as long, or shorter.
    pub(super) fn last_step_m(&self) -> f64 {
        self.last_step_m
    }

    /// Begins a tick: the next list will be good for some more like the last one.
    pub(super) fn begin_tick(&mut self) {
        let wanted = SKIN_TICKS * std::mem::take(&mut self.tick_travel_m);
        let top = (2.0 * self.skin_m).max(self.skin_min_m);
        self.skin_m = wanted.clamp(self.skin_min_m, PROXY_SKIN_MAX_M).min(top);
    }

    /// How far apart a listed pair is at least, metres.
    pub(super) fn lower_bound(&self, pair: &ListedPair) -> f64 {
        pair.beyond_m - self.travel_m
    }

    /// A pair was measured: it is no nearer than this, metres.
    pub(super) fn measured(&mut self, place: usize, distance_m: f64, along: Vec3) {
        let pair = &mut self.pairs[place];
        (pair.beyond_m, pair.along) = (distance_m + self.travel_m, along);
    }

    /// Makes sure that every pair within `margin` metres is listed. `pairs_max`: how many of them the search may find.
    pub(super) fn reach(
        &mut self,
        margin: f64,
        tissues: &TissuesInMotion,
        around: &Around,
        pairs_max: usize,
        deadline: &TimeLeft,
    ) -> ListEnd {
        let is_listed = margin * BOUND_COVER <= self.reach_m - self.travel_m;
        if is_listed && self.is_of(tissues) {
            return ListEnd::Complete;
        }
        let listed_max = (PAIRS_WITH_SKIN * pairs_max).min(self.pairs.capacity());
        loop {
            let end = self.list(margin + self.skin_m, tissues, around, listed_max, deadline);
            if end != ListEnd::Complete {
                self.forget();
            }
            if end != ListEnd::Full || self.skin_m == 0.0 {
                return end;
            }
            // A quarter of the skin has a sixteenth of the pairs that it alone brings in; after that none.
            let quarter = 0.25 * self.skin_m;
            self.skin_m = if quarter < self.skin_min_m { 0.0 } else { quarter };
        }
    }

    fn is_of(&self, tissues: &TissuesInMotion) -> bool {
        let say = tissues.views().map(|(place, view)| (view.id, tissues.topology(place)));
        self.of.iter().copied().eq(say)
    }

    fn list(
        &mut self,
        reach_m: f64,
        tissues: &TissuesInMotion,
        around: &Around,
        listed_max: usize,
        deadline: &TimeLeft,
    ) -> ListEnd {
        self.pairs.clear();
        self.of.clear();
        self.of.extend(tissues.views().map(|(place, view)| (view.id, tissues.topology(place))));
        (self.reach_m, self.travel_m) = (reach_m, 0.0);
        self.n_made += 1;
        let reach = reach_m * BOUND_COVER;
        for (place, view) in tissues.views() {
            // The index knows the newest positions only.
            let about = reach + view.slack_m;
            let first = self.pairs.len();
            for &number in around.constrained {
                let posed = PosedLink::new(&around.tool.links[number], number, around.posture);
                let link = posed.link;
                let bounds = posed.scene_from_link.aabb(link.surface.bounds()).grown(about);
                let near = |b: &Aabb| {
                    !deadline.is_over() && link.may_be_near(&posed.link_from_scene, b, about)
                };
                let mut is_full = false;
                view.surface.overlap(&(bounds, &near), |t| {
                    let corners = posed.in_link(&view, t);
                    link.tree.each_within(&corners, reach, deadline, |own, beyond_m| {
                        note_step();
                        if self.pairs.len() == listed_max {
                            is_full = true;
                            return ControlFlow::Break(());
                        }
                        self.pairs.push(ListedPair {
                            tissue: place as u32,
                            tissue_triangle: t,
                            link: number as u32,
                            link_triangle: own,
                            beyond_m,
                            along: Vec3::ZERO,
                        });
                        ControlFlow::Continue(())
                    });
                    let ends = is_full || deadline.was_over();
                    if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                if deadline.was_over() {
                    return ListEnd::OutOfTime;
                }
                if is_full {
                    return ListEnd::Full;
                }
            }
            if !view.put_through.is_empty() {
                self.leave_out_patch(first, &view);
            }
        }
        ListEnd::Complete
    }

    /// Leaves out what was put through the proxy of a tissue whose pairs begin at a place.
    fn leave_out_patch(&mut self, first: usize, view: &TissueView) {
        self.patch.find(self.pairs[first..].iter().map(|p| p.tissue_triangle), view);
        let mut place = 0;
        self.pairs.retain(|p| {
            place += 1;
            let first_vertex = || view.surface.mesh().vertices(p.tissue_triangle)[0];
            place <= first || !self.patch.holds(first_vertex())
        });
    }

    /// Panics unless every pair that is near by a fresh traversal is listed, and no farther than it is. O(pairs near
    /// x pairs listed).
    pub(super) fn assert_well_formed(&self, tissues: &TissuesInMotion, around: &Around) {
        let reach = (self.reach_m - self.travel_m).min(PROXY_MARGIN_ROUND_M);
        if reach <= 0.0 || !self.is_of(tissues) {
            return;
        }
        for (place, view) in tissues.views() {
            for &number in around.constrained {
                let posed = PosedLink::new(&around.tool.links[number], number, around.posture);
                let link = posed.link;
                let bounds = posed.scene_from_link.aabb(link.surface.bounds()).grown(reach);
                view.surface.overlap(&(bounds, &|_: &Aabb| true), |t| {
                    let corners = posed.in_link(&view, t);
                    link.tree.each_within(&corners, reach, &TimeLeft::endless(), |own, _| {
                        let at = closest_pair(&corners, &link.surface.mesh().triangle(own));
                        let distance = at.distance_squared.sqrt();
                        if distance > reach {
                            return ControlFlow::Continue(());
                        }
                        let is_it = |p: &&ListedPair| {
                            (p.tissue as usize, p.tissue_triangle) == (place, t)
                                && (p.link as usize, p.link_triangle) == (number, own)
                        };
                        let bound = self.pairs.iter().find(is_it).map(|p| self.lower_bound(p));
                        assert!(
                            bound.is_some_and(|b| b <= distance * BOUND_COVER),
                            "{t:?} and {own:?} of link {number}: {distance} m, listed {bound:?}"
                        );
                        ControlFlow::Continue(())
                    });
                });
            }
        }
    }
}

/// The reach of a list that tells nothing.
const TELLS_NOTHING: f64 = -1.0;
