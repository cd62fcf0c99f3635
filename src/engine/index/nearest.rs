//! Finds the triangle nearest to a point.

use glam::DVec3;

use super::{
    box_lanes::{Lane, LaneSet, least},
    link_run::{LEVELS, LinkRun},
    skip_list::{SkipList, TABLE_LEVELS},
    tangents::Tangents,
};
use crate::{
    geometry::{
        Aabb, TriangleId,
        direction::direction,
        distance::point_triangle::{ClosestPoint, closest_point},
        lanes::{LANES, are_wide, lesser, prefetch},
        tolerance::{BOX_DISTANCE_SLACK, SINGLE_DISTANCE_ROUNDING as ROUNDING},
    },
    time_left::{TimeLeft, note_step},
};

/// The nearest triangle; the smallest id among equally near ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestTriangle {
    /// The triangle.
    pub triangle: TriangleId,
    /// Closest point on it.
    pub closest: ClosestPoint,
}

/// Maximum depth of runs: those of the tallest list and of the largest table.
const DEPTH: usize = LEVELS + TABLE_LEVELS;

/// Runs and leaves visited between two checks of the time.
const STEPS_A_QUESTION: u32 = 16;
/// Visits after which each check reads the clock. Few searches come that far: about a vertex of very many triangles, of
/// which a leaf's take 1 us to test.
const STEPS_OF_MOST: u32 = 128;

/// The state of one query.
struct ListSearch<'a> {
    list: &'a SkipList,
    to: DVec3,
    /// Box around `to`, in single precision.
    bounds: Aabb,
    slack: f32,
    /// Triangles farther than this are rejected, square metres; a triangle exactly as far is accepted.
    limit: f64,
    /// `limit` in single precision, rounded up, and finite.
    limit_above: f32,
    best: Option<NearestTriangle>,
    time: &'a TimeLeft<'a>,
}

/// A run of the search's stack, with its links that are still to be visited.
#[derive(Clone, Copy)]
struct OpenRun {
    near: NearLanes,
    run: u32,
}

impl SkipList {
    /// Nearest triangle within `max_distance` metres; once the time is over the nearest of the visited ones. `hint`: a
    /// triangle that is likely near; it changes the work, never the result.
    pub fn nearest(
        &self,
        to: DVec3,
        max_distance: f64,
        hint: Option<TriangleId>,
        time: &TimeLeft,
    ) -> Option<NearestTriangle> {
        debug_assert!(to.is_finite() && max_distance >= 0.0, "{max_distance} m about {to}");
        let mut search = self.search(to, max_distance, time);
        if let Some((n, lane)) = hint.and_then(|t| self.handle(t)) {
            search.offer(n, lane);
        }
        search.descend();
        search.best
    }

    /// As [`SkipList::nearest`], with an identical result, for a point that is queried repeatedly. `tangents`: results
    /// of its last searches, valid for the current surface.
    pub fn nearest_tracked(
        &self,
        to: DVec3,
        max_distance: f64,
        tangents: &mut Tangents,
        time: &TimeLeft,
    ) -> Option<NearestTriangle> {
        debug_assert!(to.is_finite() && max_distance >= 0.0, "{max_distance} m about {to}");
        let mut search = self.search(to, max_distance, time);
        if let Some((n, lane)) = tangents.nearest().and_then(|t| self.handle(t)) {
            search.offer(n, lane);
        }
        if !tangents.covers(to, search.limit.sqrt())
            && search.best.is_some()
            && let Some(skin) = tangents.skin(to, search.slack)
        {
            search.keep_within(skin, tangents);
            if time.was_over() {
                tangents.forget();
            }
        }
        if tangents.covers(to, search.limit.sqrt()) {
            search.offer_kept(tangents);
        } else {
            search.descend();
        }
        tangents.note(to, search.best.map(|b| b.triangle));
        search.best
    }

    fn search<'a>(
        &'a self,
        to: DVec3,
        max_distance: f64,
        time: &'a TimeLeft<'a>,
    ) -> ListSearch<'a> {
        // The point itself may not be an f32: its box is at most one step wide, and a distance from the box is never
        // too large.
        let bounds = Aabb::around([to]);
        let limit = max_distance * max_distance;
        let (slack, limit_above) = (self.slack(&bounds), above(limit));
        ListSearch { list: self, to, slack, bounds, limit, limit_above, best: None, time }
    }

    /// Upper bound of the excess of an `f32` distance along one axis between the two boxes, metres.
    fn slack(&self, bounds: &Aabb) -> f32 {
        let reach = |b: &Aabb| b.min.abs().max(b.max.abs()).max_element();
        let own = if self.bounds.is_empty() { 0.0 } else { reach(&self.bounds) };
        own.max(reach(bounds)) * BOX_DISTANCE_SLACK
    }
}

/// Returns true if the time of a search is over after so many visits.
// Out of line: the clock's call would take registers from the search.
#[cold]
#[inline(never)]
fn is_late(time: &TimeLeft, steps: u32) -> bool {
    time.is_over() || steps > STEPS_OF_MOST && time.is_over_now()
}

/// As [`ListSearch::descend_by`], with eight lanes to an instruction instead of four.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn descend_wide(search: &mut ListSearch) {
    search.descend_by(None);
}

/// As [`descend_wide`], for a search that keeps the triangles that it visits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn keep_wide(search: &mut ListSearch, tangents: &mut Tangents) {
    search.descend_by(Some(tangents));
}

impl ListSearch<'_> {
    /// Uses the widest instructions of the processor; the result is identical.
    fn descend(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // Chosen at run time, the processor's own width takes 4 to 14 % off a cold query and 16 to 24 % off a coherent
        // one. Compiling everything for AVX2 gained nothing elsewhere and would not run everywhere.
        if are_wide() {
            // SAFETY: lanes are wide only if the processor has AVX2.
            return unsafe { descend_wide(self) };
        }
        self.descend_by(None);
    }

    /// Keeps all triangles up to `skin` metres farther than the limit. Does not change the limit.
    fn keep_within(&mut self, skin: f64, tangents: &mut Tangents) {
        // Rounding of the radius is far below the slack that each bound is lessened by.
        let (limit, radius) = (self.limit.sqrt(), self.limit.sqrt() + skin);
        tangents.begin(self.to, radius);
        self.limit_above = above(radius * radius);
        self.keep_all(tangents);
        self.limit_above = above(self.limit);
        tangents.end(limit, skin);
    }

    fn keep_all(&mut self, tangents: &mut Tangents) {
        #[cfg(target_arch = "x86_64")]
        if are_wide() {
            // SAFETY: lanes are wide only if the processor has AVX2.
            return unsafe { keep_wide(self, tangents) };
        }
        self.descend_by(Some(tangents));
    }

    /// Visits the tree depth first from the table of the lists, nearest first, until the time is over. With tangents it
    /// keeps the triangles within the limit, without them it tests each exactly.
    // No closure handles the leaves: it would be compiled for narrow instructions, and cold queries take 16 % longer.
    #[inline(always)]
    fn descend_by(&mut self, mut tangents: Option<&mut Tangents>) {
        let list = self.list;
        let mut open = [self.open(list.root); DEPTH];
        let (mut depth, mut steps) = (0, 0u32);
        loop {
            note_step();
            steps += 1;
            if steps.is_multiple_of(STEPS_A_QUESTION) && is_late(self.time, steps) {
                return;
            }
            let OpenRun { near, run } = &mut open[depth];
            let run = &list.runs[*run as usize];
            // A triangle as near as the limit is still accepted: a smaller id may tie.
            let Some(lane) = near.next(self.limit_above) else {
                if depth == 0 {
                    return;
                }
                depth -= 1;
                continue;
            };
            let below = run.below[lane];
            if run.level == 0 {
                match &mut tangents {
                    None => self.leaf(below),
                    Some(tangents) => self.keep(below, tangents),
                }
            } else {
                debug_assert!(depth + 1 < DEPTH, "{depth} runs above one another");
                depth += 1;
                open[depth] = self.open(below);
            }
        }
    }

    #[inline(always)]
    fn open(&self, run: u32) -> OpenRun {
        let list = self.list;
        let LinkRun { boxes, below, level, .. } = list.run(run);
        let near = NearLanes(boxes.distances_squared(&self.bounds, self.slack));
        // Everything within the limit is prefetched before any of it is visited, so that the waits overlap: cold points
        // of 1 M triangles take 5.0 us instead of 7.8. In updates and in reads of a field it gained nothing.
        for (below, _) in below.iter().zip(near.0).filter(|(_, near)| *near <= self.limit_above) {
            match level {
                0 => prefetch(&list.leaf(*below).corners),
                _ => prefetch(list.run(*below)),
            }
        }
        OpenRun { near, run }
    }

    #[inline(always)]
    fn leaf(&mut self, n: u32) {
        let leaf = self.list.leaf(n);
        let below = leaf.corners.distances_squared_below(self.bounds.min, self.slack);
        let mut near = NearLanes(below);
        while let Some(lane) = near.next(self.limit_above) {
            self.offer(n, lane);
        }
    }

    #[inline(always)]
    fn keep(&mut self, n: u32, tangents: &mut Tangents) {
        let leaf = self.list.leaf(n);
        let planes = leaf.corners.tangent_planes(self.bounds.min, self.slack);
        if let Some(radius) = tangents.keep(&planes, leaf.triangles()) {
            self.limit_above = above(radius * radius);
        }
    }

    /// Tests all kept triangles that may be nearest.
    fn offer_kept(&mut self, tangents: &mut Tangents) {
        let p = self.to - tangents.origin();
        let (away, loose) = (p.as_vec3(), tangents.loose());
        let rounding = ROUNDING * away.abs().element_sum();
        // A larger bound belongs to a triangle that is truly farther than the limit: by (1) of `tangents`, and by the
        // maximum error of a bound.
        let reach = |limit: f64| (limit.sqrt() + loose) as f32 * (1.0 + ROUNDING) + rounding;
        let mut within = reach(self.limit);
        for block in 0..tangents.n_blocks() {
            let below = tangents.block(block).below(away);
            for lane in LaneSet::of(|lane| below[lane] <= within) {
                let t = tangents.triangle(block, lane);
                let Some((n, at)) = self.list.handle(t).filter(|_| !self.is_best(t)) else {
                    continue;
                };
                let closest = self.closest(n, at);
                self.take_nearer(t, closest);
                if self.is_best(t) {
                    within = reach(self.limit);
                } else if let Some(to_point) = direction(self.to - closest.point) {
                    // Without this its old tangent would let the triangle pass at the next point too.
                    let corners = self.list.leaf(n).corners.get(at).map(|v| v.as_dvec3());
                    tangents.replant((block, lane), to_point, &corners);
                }
            }
        }
    }

    fn offer(&mut self, n: u32, lane: usize) {
        let t = self.list.leaf(n).triangles[lane];
        // The hint was tested first, and its leaf is met again on the way down.
        if !self.is_best(t) {
            let closest = self.closest(n, lane);
            self.take_nearer(t, closest);
        }
    }

    #[inline(always)]
    fn is_best(&self, t: TriangleId) -> bool {
        self.best.is_some_and(|b| b.triangle == t)
    }

    #[inline(always)]
    fn closest(&self, n: u32, lane: usize) -> ClosestPoint {
        let leaf = self.list.leaf(n);
        debug_assert!(lane < leaf.len(), "lane {lane} of leaf {n}");
        closest_point(self.to, &leaf.corners.get(lane).map(|p| p.as_dvec3()))
    }

    #[inline(always)]
    fn take_nearer(&mut self, t: TriangleId, closest: ClosestPoint) {
        let d = closest.distance_squared;
        debug_assert!(d >= 0.0, "{d} from {} to {t:?}", self.to);
        let ties = self.best.is_some_and(|b| b.closest.distance_squared == d && b.triangle < t);
        if d <= self.limit && !ties {
            self.limit = d;
            self.limit_above = above(d);
            self.best = Some(NearestTriangle { triangle: t, closest });
        }
    }
}

/// Squared distances of the remaining lanes; infinite in the others.
#[derive(Clone, Copy)]
struct NearLanes(Lane);

impl NearLanes {
    /// Removes and returns the nearest lane within the limit.
    #[inline(always)]
    fn next(&mut self, limit: f32) -> Option<usize> {
        let nearest = least(&self.0);
        if nearest > limit {
            return None;
        }
        // A bound carries its lane in its last bits, so the lane of the least needs no search.
        let lane = nearest.to_bits() as usize % LANES;
        self.0[lane] = f32::INFINITY;
        Some(lane)
    }
}

/// Upper bound in single precision, a lane's number in its last bits included; finite, so that no lane without a box is
/// within it.
fn above(limit: f64) -> f32 {
    let rounded = limit as f32;
    let above = if f64::from(rounded) < limit { rounded.next_up() } else { rounded };
    f32::from_bits(lesser(above, f32::MAX).to_bits() | (LANES - 1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::TriangleMesh,
        index::LatLonOptions,
        oracle::{Random, shapes},
    };

    /// Searches with four and with eight lanes to an instruction give identical results.
    #[test]
    fn narrow_and_wide_agree() {
        let mesh = TriangleMesh::new(shapes::organ(5_000, 3));
        let list = SkipList::build(&mesh, &LatLonOptions::default());
        let mut random = Random::new(4);
        for _ in 0..1_000 {
            let p = random.point(list.bounds().min.as_dvec3(), list.bounds().max.as_dvec3());
            let time = TimeLeft::endless();
            let [mut narrow, mut wide] = [(); 2].map(|()| list.search(p, f64::INFINITY, &time));
            narrow.descend_by(None);
            wide.descend();
            assert!(narrow.best.is_some() && narrow.best == wide.best, "at {p}");
        }
    }
}
