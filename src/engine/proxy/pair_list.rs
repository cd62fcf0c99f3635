//! The pairs of triangles that may come near the proxy: a Verlet list.
//!
//! The rounds of a tick, and consecutive ticks, search nearly the same pairs. A traversal searches farther than a round
//! needs, by a skin, and lists the pairs that it meets: until proxy and tissues have together moved through the skin,
//! every near pair is listed. Each listed pair also has its distance when it was last measured, so that of some hundred
//! pairs a round measures those that can be near by now. The next search continues a list that a deadline cut short.

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

/// Thickness of the skin in ticks of motion.
const SKIN_TICKS: f64 = 6.0;
/// List capacity as a multiple of the search's capacity. The boxes are near in three times as many pairs as the
/// triangles, and a skin of the margin's size brings in three times as many.
const PAIRS_WITH_SKIN: usize = 8;
/// Maximum parts into which a link is split for the search.
const PARTS_MAX: usize = 64;

/// A list, and how much motion it has left.
#[derive(Debug)]
pub(super) struct PairList {
    /// Ordered by link and triangle of the tissue.
    pub(super) pairs: Vec<ListedPair>,
    /// Tissue triangles near each link: so far of the first `n_looked` parts of links, each with each tissue.
    near: Vec<NearLink>,
    n_looked: usize,
    /// Parts into which each link is split. More than one if there was no time for all of it at once.
    parts: usize,
    /// Number of entries of `near` whose pairs are listed.
    n_paired: usize,
    /// True if all pairs are listed.
    is_whole: bool,
    /// Distance beyond which every other pair was when the list was begun, metres; below 0 if the list holds no
    /// information.
    reach_m: f64,
    /// Joint motion of proxy and tissues since then, metres.
    travel_m: f64,
    /// The tissues that constrained the proxy then, and their topology revisions.
    of: Vec<(TissueId, u64)>,
    skin_m: f64,
    /// Least thickness of the skin if there is capacity for the pairs, metres.
    skin_min_m: f64,
    /// Motion since the last tick began, metres.
    tick_travel_m: f64,
    /// The motion noted last, metres.
    last_step_m: f64,
    /// Number of lists that were begun.
    n_begun: u64,
    patch: PutPatch,
}

/// State of a list: two equal states belong to one list with nothing moved in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Standing {
    n_begun: u64,
    travel_m: f64,
}

/// Two triangles that may come near each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedPair {
    /// Index of the tissue.
    pub(super) tissue: u32,
    pub(super) tissue_triangle: TriangleId,
    pub(super) link: u32,
    pub(super) link_triangle: TriangleId,
    /// Lower bound of the pair's distance plus the travel, metres.
    beyond_m: f64,
    /// Direction between the closest points when they were measured, from the tissue's to the link's, in the link's
    /// frame; no longer than 1 despite rounding, zero if unknown.
    pub(super) along: Vec3,
}

/// A tissue's triangle that may come near a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NearLink {
    tissue: u32,
    link: u32,
    triangle: TriangleId,
}

/// Outcome of making a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListEnd {
    Complete,
    /// There were more pairs than the list may hold.
    Full,
    /// The deadline passed.
    OutOfTime,
}

/// The proxy whose surroundings a list holds.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) tool: &'a Tool,
    pub(super) posture: &'a Posture,
    /// Links that tissue constrains.
    pub(super) constrained: &'a [usize],
}

impl PairList {
    /// Creates a list without information, with capacity for `pairs_max` pairs. `skin_min_m`: least skin if there is
    /// capacity for it.
    pub(super) fn new(pairs_max: usize, skin_min_m: f64) -> PairList {
        PairList {
            pairs: Vec::with_capacity(pairs_max),
            near: Vec::with_capacity(pairs_max),
            n_looked: 0,
            parts: 1,
            n_paired: 0,
            is_whole: false,
            reach_m: TELLS_NOTHING,
            travel_m: 0.0,
            of: Vec::new(),
            skin_m: skin_min_m,
            skin_min_m,
            tick_travel_m: 0.0,
            last_step_m: 0.0,
            n_begun: 0,
            patch: PutPatch::default(),
        }
    }

    /// Returns the state of the list.
    pub(super) fn standing(&self) -> Standing {
        Standing { n_begun: self.n_begun, travel_m: self.travel_m }
    }

    /// Drops the list: the proxy was teleported, or a tissue moved by an unknown distance.
    pub(super) fn forget(&mut self) {
        self.reach_m = TELLS_NOTHING;
    }

    /// Returns true if the list is whole and includes a tissue.
    pub(super) fn is_about(&self, tissue: TissueId) -> bool {
        self.reach_m >= 0.0 && self.is_whole && self.of.iter().any(|(id, _)| *id == tissue)
    }

    /// Notes that proxy and tissues have moved, together by no more than `by_m` metres.
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

    /// Begins a tick: sizes the next skin for some more ticks like the last one.
    pub(super) fn begin_tick(&mut self) {
        let wanted = SKIN_TICKS * std::mem::take(&mut self.tick_travel_m);
        let top = (2.0 * self.skin_m).max(self.skin_min_m);
        self.skin_m = wanted.clamp(self.skin_min_m, PROXY_SKIN_MAX_M).min(top);
    }

    /// Lower bound of the distance of a listed pair, metres.
    pub(super) fn lower_bound(&self, pair: &ListedPair) -> f64 {
        pair.beyond_m - self.travel_m
    }

    /// Stores that a pair was measured and is no nearer than `distance_m` metres.
    pub(super) fn measured(&mut self, place: usize, distance_m: f64, along: Vec3) {
        let pair = &mut self.pairs[place];
        (pair.beyond_m, pair.along) = (distance_m + self.travel_m, along);
    }

    /// Lists every pair within `margin` metres. `pairs_max`: how many of them the search may find.
    pub(super) fn reach(
        &mut self,
        margin: f64,
        tissues: &TissuesInMotion,
        around: &Around,
        pairs_max: usize,
        deadline: &TimeLeft,
    ) -> ListEnd {
        let listed_max = (PAIRS_WITH_SKIN * pairs_max).min(self.pairs.capacity());
        let is_good = margin * BOUND_COVER <= self.reach_m - self.travel_m && self.is_of(tissues);
        let mut skin_m = if is_good { self.reach_m - margin } else { self.skin_m };
        loop {
            if !is_good || self.reach_m == TELLS_NOTHING {
                self.begin(margin + skin_m, tissues);
            }
            let before = (self.n_looked, self.n_paired);
            let end = self.go_on(tissues, around, listed_max, deadline);
            let got_on = (self.n_looked, self.n_paired) != before;
            if end == ListEnd::OutOfTime && !got_on && self.reach_m > margin + self.skin_m {
                // A single triangle takes too long at this reach: the next list has the least reach that the search
                // needs.
                self.forget();
            }
            if end != ListEnd::Full || skin_m <= 0.0 {
                return end;
            }
            // A quarter of the skin has a sixteenth of the pairs that it alone brings in; after that, no skin.
            let quarter = 0.25 * skin_m;
            skin_m = if quarter < self.skin_min_m { 0.0 } else { quarter };
            self.skin_m = skin_m;
        }
    }

    /// Returns true if a deadline cut the list short, and the next search may continue it.
    pub(super) fn is_under_way(&self) -> bool {
        self.reach_m >= 0.0 && !self.is_whole
    }

    fn is_of(&self, tissues: &TissuesInMotion) -> bool {
        let say = tissues.views().map(|(place, view)| (view.id, tissues.topology(place)));
        self.of.iter().copied().eq(say)
    }

    /// Begins a list.
    fn begin(&mut self, reach_m: f64, tissues: &TissuesInMotion) {
        self.pairs.clear();
        self.near.clear();
        self.of.clear();
        self.of.extend(tissues.views().map(|(place, view)| (view.id, tissues.topology(place))));
        (self.reach_m, self.travel_m) = (reach_m, 0.0);
        (self.n_looked, self.n_paired, self.is_whole) = (0, 0, false);
        self.n_begun += 1;
    }

    /// Continues the list to its end. Motion since it was begun counts as travel and shortens its reach.
    fn go_on(
        &mut self,
        tissues: &TissuesInMotion,
        around: &Around,
        listed_max: usize,
        deadline: &TimeLeft,
    ) -> ListEnd {
        if self.is_whole {
            return ListEnd::Complete;
        }
        if !self.find_near(tissues, around, deadline) {
            return ListEnd::OutOfTime;
        }
        let end = self.pair_up(tissues, around, listed_max, deadline);
        if end == ListEnd::Complete {
            for (place, view) in tissues.views().filter(|(_, view)| !view.put_through.is_empty()) {
                self.leave_out_patch(place as u32, &view);
            }
            self.is_whole = true;
        }
        end
    }

    /// Finds the tissue triangles near each link, and continues where the last call stopped. Returns false if the
    /// deadline passed.
    fn find_near(
        &mut self,
        tissues: &TissuesInMotion,
        around: &Around,
        deadline: &TimeLeft,
    ) -> bool {
        let of_tissue = around.constrained.len() * self.parts;
        let first = self.n_looked;
        for (n, (place, view)) in tissues.views().enumerate() {
            // The index holds the newest positions only.
            let about = self.reach_m * BOUND_COVER + view.slack_m;
            for at in 0..of_tissue {
                if n * of_tissue + at < self.n_looked {
                    continue;
                }
                let (number, part) = (around.constrained[at / self.parts], at % self.parts);
                let posed = PosedLink::new(&around.tool.links[number], number, around.posture);
                let bounds = part_of(posed.link.surface.bounds(), part, self.parts);
                let bounds = posed.scene_from_link.aabb(&bounds).grown(about);
                let near = |b: &Aabb| {
                    !deadline.is_over() && posed.link.may_be_near(&posed.link_from_scene, b, about)
                };
                let found = self.near.len();
                view.surface.overlap(&(bounds, &near), |triangle| {
                    self.near.push(NearLink {
                        tissue: place as u32,
                        link: number as u32,
                        triangle,
                    });
                });
                if deadline.was_over() {
                    self.near.truncate(found);
                    if self.n_looked == first && self.parts < PARTS_MAX {
                        // A single part takes too long: the next list has smaller parts.
                        self.parts *= 2;
                        self.forget();
                    }
                    return false;
                }
                self.n_looked += 1;
            }
        }
        if first < self.n_looked && self.parts > 1 {
            // Triangles near two parts of a link are listed twice.
            self.near.sort_unstable();
            self.near.dedup();
            if first == 0 {
                self.parts /= 2;
                self.n_looked = self.of.len() * around.constrained.len() * self.parts;
            }
        }
        true
    }

    /// Lists the pairs of the tissue triangles near each link, and continues where the last call stopped.
    fn pair_up(
        &mut self,
        tissues: &TissuesInMotion,
        around: &Around,
        listed_max: usize,
        deadline: &TimeLeft,
    ) -> ListEnd {
        let (reach, travel_m) = (self.reach_m * BOUND_COVER, self.travel_m);
        let mut posed: Option<(u32, PosedLink)> = None;
        while let Some(&NearLink { tissue, link: number, triangle }) = self.near.get(self.n_paired)
        {
            if posed.as_ref().is_none_or(|(of, _)| *of != number) {
                let link = &around.tool.links[number as usize];
                posed = Some((number, PosedLink::new(link, number as usize, around.posture)));
            }
            let Some((_, posed)) = &posed else { unreachable!("posed above") };
            let corners = posed.in_link(&tissues.view(tissue as usize), triangle);
            let (first, mut is_full) = (self.pairs.len(), false);
            posed.link.tree.each_within(&corners, reach, deadline, |own, beyond_m| {
                note_step();
                if self.pairs.len() == listed_max {
                    is_full = true;
                    return ControlFlow::Break(());
                }
                self.pairs.push(ListedPair {
                    tissue,
                    tissue_triangle: triangle,
                    link: number,
                    link_triangle: own,
                    beyond_m: beyond_m + travel_m,
                    along: Vec3::ZERO,
                });
                ControlFlow::Continue(())
            });
            if deadline.was_over() {
                self.pairs.truncate(first);
                return ListEnd::OutOfTime;
            }
            if is_full {
                self.forget();
                return ListEnd::Full;
            }
            self.n_paired += 1;
        }
        ListEnd::Complete
    }

    /// Removes the pairs of tissue that was placed through the proxy.
    fn leave_out_patch(&mut self, tissue: u32, view: &TissueView) {
        let own = self.pairs.iter().filter(|p| p.tissue == tissue);
        self.patch.find(own.map(|p| p.tissue_triangle), view);
        self.pairs.retain(|p| {
            let first_vertex = || view.surface.mesh().vertices(p.tissue_triangle)[0];
            p.tissue != tissue || !self.patch.holds(first_vertex())
        });
    }

    /// Panics unless every pair that is near by a fresh traversal is listed, and no farther than it is. O(pairs near x
    /// pairs listed).
    pub(super) fn assert_well_formed(&self, tissues: &TissuesInMotion, around: &Around) {
        let reach = (self.reach_m - self.travel_m).min(PROXY_MARGIN_ROUND_M);
        if reach <= 0.0 || !self.is_whole || !self.is_of(tissues) {
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

/// Returns one of `parts` equal parts of a box, split across its longest side.
fn part_of(whole: &Aabb, part: usize, parts: usize) -> Aabb {
    if parts == 1 {
        return *whole;
    }
    let size = whole.size();
    let axis = (0..3).max_by(|a, b| size[*a].total_cmp(&size[*b])).expect("three axes");
    let at = |share: usize| {
        whole.min[axis] + (whole.max - whole.min)[axis] * (share as f32 / parts as f32)
    };
    let (mut min, mut max) = (whole.min, whole.max);
    // The outer ends are those of the whole, without rounding.
    if part > 0 {
        min[axis] = at(part);
    }
    if part + 1 < parts {
        max[axis] = at(part + 1);
    }
    Aabb { min, max }
}

/// Reach of a list without information.
const TELLS_NOTHING: f64 = -1.0;
