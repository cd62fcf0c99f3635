//! Finds the point of a tissue triangle that is deepest in a link, or nearest to it.
//!
//! Three methods find the point, the cheapest first. If the last tick's depth bound still holds, a descent leads from
//! the last deepest point to the new one. If the triangle is outside, the link's box tree gives its nearest point.
//! Otherwise branch and bound on the link's field finds the deepest point. The field decides where that point is; the
//! link's exact surface gives its depth and the way out, once for each contact.

use std::{cell::RefCell, cmp::Ordering, collections::BinaryHeap};

use glam::DVec3;

use crate::scene::{
    Link,
    coherence::depth_bounds::{DepthBound, OpenBound},
    tool::link_distance::exact_reading,
};
use crate::{
    bvh::Guess,
    geometry::{
        TriangleId,
        clipped_triangle::ClippedTriangle,
        distance::{
            point_triangle::closest_point,
            triangle_triangle::{ClosestPair, closest_pair},
        },
        tolerance::{BOUND_COVER, CONTACT_SLACK},
    },
    sdf::Reading,
    time_left::TimeLeft,
};

/// The deepest point of a triangle, as far as it was searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct DeepestPoint {
    /// Weights of the triangle's vertices.
    pub(super) barycentric: DVec3,
    /// Distance of the link at the point.
    pub(super) reading: Reading,
    /// Bound: no point of the triangle is deeper than this, metres.
    lower: f64,
}

/// A part of the triangle that may hold a deeper point than the best.
#[derive(Clone, Copy)]
struct Part {
    /// Corners as weights of the triangle's vertices.
    corners: [DVec3; 3],
    /// Distance from its middle to a corner, metres.
    radius: f64,
    /// Bound: no point of the part is deeper than this, metres.
    lower: f64,
    /// Link triangles that are nearest somewhere about the part.
    near: [Option<TriangleId>; 2],
}

/// A depth bound serves while some point may be deeper than the best by no more than this, in tolerances of the field.
/// A search leaves one, so that its bound is good for another tolerance of motion.
pub(super) const LOOSENESS: f64 = 2.0;
/// A triangle beyond the margin is shown to stay beyond it for this many times the motion that its last bound stood, or
/// for this many tolerances if there was none.
const AHEAD: f64 = 4.0;
/// Maximum points at which a search reads the field; each adds three parts to those that wait.
const READS_MAX: usize = 1024;
/// Maximum points at which the link is read for one triangle about an open end, besides a search by distance; for all
/// triangles of a tissue that is [`OPEN_READS`]. Exact to the tolerance would be some hundred for each: a tick of the
/// pliers at a hole of 0.4 mm took 1.1 ms instead of 0.25.
const OPEN_READS_MAX: usize = 48;
/// Maximum such points for all triangles of a tissue.
pub(super) const OPEN_READS: usize = 192;
/// Motion, in tolerances of the field, for which a point shown outside about an open end is shown so: sides that hold
/// farther take more reads, and hold for more ticks. Searched again in every tick, a probe at rest took 172 us instead
/// of 75, for it has a hole of 16 edges at its tip.
const OPEN_SLACK: f64 = 2.0;
/// Maximum parts that wait.
const PARTS_MAX: usize = 3 * READS_MAX + 13;
/// Maximum reads of a descent from the best point, of those that find nothing deeper in a row, and the first step in
/// tolerances.
const DESCENT_READS_MAX: usize = 8;
const VAIN_READS_MAX: usize = 2;
const FIRST_STEP: f64 = 2.0;
/// A triangle larger than this multiple of the link's diagonal is clipped to the link. A smaller one has few parts
/// beside the link.
const LARGE: f64 = 4.0;
/// Difference below which depths are level, in tolerances.
const LEVEL: f64 = 0.01;

/// A tissue triangle that may touch a link.
#[derive(Clone, Copy)]
struct TissueTriangle<'a> {
    link: &'a Link,
    /// Corners in link frame.
    triangle: &'a [DVec3; 3],
    /// Distance beyond which points are not wanted, metres.
    margin: f64,
    /// True if the link has an open end about it.
    is_open: bool,
    /// A triangle of the link that is likely near.
    hint: Option<TriangleId>,
    time: &'a TimeLeft<'a>,
}

thread_local! {
    /// Parts of the triangle under search. They take 320 kB: two thirds of what a session would otherwise reserve.
    static WAITING: RefCell<BinaryHeap<Part>> =
        RefCell::new(BinaryHeap::with_capacity(PARTS_MAX));
}

/// Result of searching a triangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchedTriangle {
    /// The deepest point with the link's exact distance there; `None` if nothing within the margin was found.
    pub(super) found: Option<DeepestPoint>,
    /// Bound for the next tick.
    pub(super) bound: DepthBound,
    /// Bound: no point of the triangle is deeper than this, metres; `None` if none is deeper than the one found by more
    /// than [`LOOSENESS`] tolerances of the field, or none is within the margin.
    pub(super) depth_max: Option<f64>,
}

/// Finds the deepest point of `triangle` (link frame) within `margin`. `known`: the last tick's bound. `hint`: a link
/// triangle that is likely near. `open_reads`: reads of the link that may still be spent about open ends.
pub(super) fn deepest_point(
    link: &Link,
    triangle: &[DVec3; 3],
    margin: f64,
    known: Option<&DepthBound>,
    hint: Option<TriangleId>,
    open_reads: &mut usize,
    time: &TimeLeft,
) -> SearchedTriangle {
    let about = known.iter().flat_map(|known| &known.corners).chain(triangle);
    let is_open = link.is_open_about(about);
    let candidate = TissueTriangle { link, triangle, margin, is_open, hint, time };
    let (mut found, mut bound) = candidate.by_distance(known);
    let mut lower = bound.lower_of(triangle);
    if is_open {
        found = found.filter(|best| best.reading.value <= margin);
        if found.is_none_or(|best| best.reading.value > 0.0) {
            found = candidate.nearest_or_corner(found, bound.near);
        }
        let told = found.map_or(margin, |best| best.reading.value.min(margin));
        let serves = |(open, lower): &(OpenBound, f64)| {
            open.is_cut_short || *lower >= told - LOOSENESS * link.field.tolerance()
        };
        let last = known.and_then(|known| known.open);
        let last = last.and_then(|open| Some((open, open.lower_of(triangle)?))).filter(serves);
        let open;
        (open, lower) = last.unwrap_or_else(|| {
            let open;
            (found, open) = candidate.about_open_end(found, bound.near, open_reads);
            (open, open.lower)
        });
        bound.open = Some(open);
        if let Some(best) = found {
            // The next tick's descent begins here, which may be deeper than the point that distance led to.
            bound.barycentric = best.barycentric;
        }
    }
    // A point without time to find its exact distance is no contact.
    found = found.filter(|best| best.reading.exact.is_some());
    if cfg!(debug_assertions) {
        found.iter().for_each(DeepestPoint::assert_sound);
    }
    // A point that was not found is at the margin or beyond, or does not exist.
    let told = found.map_or(margin.min(0.0), |best| best.reading.value.min(0.0));
    let is_loose = lower < told - LOOSENESS * link.field.tolerance() * BOUND_COVER;
    SearchedTriangle { found, bound, depth_max: is_loose.then_some(-lower) }
}

impl TissueTriangle<'_> {
    /// Runs [`deepest_point`], as far as distance decides.
    fn by_distance(&self, known: Option<&DepthBound>) -> (Option<DeepestPoint>, DepthBound) {
        let TissueTriangle { link, triangle, margin, .. } = *self;
        let search = |start| WAITING.with_borrow_mut(|waiting| self.search(start, waiting));
        let Some(known) = known else { return search(None) };
        let lower = known.lower_of(triangle);
        if lower > margin {
            return (None, *known);
        }
        let serves = |best: &DeepestPoint| {
            let upper = best.reading.upper;
            upper <= margin && lower >= upper - LOOSENESS * link.field.tolerance()
        };
        // Most triangles within the margin are beside the link. While the bound says that all of such a triangle is
        // outside, one link triangle and the exact distance at its closest point may suffice, without the field.
        let beside = known.near.filter(|_| lower > 0.0).and_then(|t| self.beside(t));
        if let Some(found) = beside.filter(serves) {
            let best = self.exactly(DeepestPoint { lower, ..found }, known.near);
            return (Some(best), best.bound(&known.corners, known.lower, 0.0));
        }
        let start = beside.unwrap_or_else(|| {
            let p = at(triangle, known.barycentric);
            let reading = link.field.read(link.surface.mesh(), p);
            DeepestPoint { barycentric: known.barycentric, reading, lower }
        });
        // An exact distance from the link's tree takes 2 us, a search of what crosses 27 reads and 46 us.
        if start.reading.lower > 0.0 {
            let reach = margin + AHEAD * (known.lower - lower);
            if let Some(answer) = self.apart(reach, &start, known.near) {
                return answer;
            }
        }
        // A descent of a few reads finds the deepest point again if the triangle moved little; the bound says if some
        // other part of the triangle may now be deeper.
        let (best, stride) = self.polished(start, known.stride);
        let best = self.exactly(best, known.near);
        if serves(&best) {
            return (Some(best), best.bound(&known.corners, known.lower, stride));
        }
        search(Some(best))
    }

    /// Returns a point with the link's exact distance there. Only here does a contact get its distance.
    fn exactly(&self, best: DeepestPoint, near: Option<TriangleId>) -> DeepestPoint {
        let p = at(self.triangle, best.barycentric);
        DeepestPoint { reading: self.link.refined(p, best.reading, near, self.time), ..best }
    }

    /// Searches by branch and bound. `start`: a point that is likely deep.
    fn search(
        &self,
        start: Option<DeepestPoint>,
        waiting: &mut BinaryHeap<Part>,
    ) -> (Option<DeepestPoint>, DepthBound) {
        let TissueTriangle { link, triangle, margin, .. } = *self;
        let (field, tolerance) = (&link.field, link.field.tolerance());
        let point = |w: DVec3| at(triangle, w);
        let unknown = DeepestPoint { barycentric: DVec3::X, reading: Reading::BEYOND, lower: 0.0 };
        let mut best = DeepestPoint { lower: f64::INFINITY, ..start.unwrap_or(unknown) };
        let bound = field.lower_bound(point(middle(&DVec3::AXES)));
        let whole = self.part(DVec3::AXES, f64::NEG_INFINITY, bound, [None; 2]);
        if whole.lower > margin {
            return (None, best.bound(triangle, whole.lower, 0.0));
        }
        let near = self.offer_corners(&mut best);
        if best.reading.lower > 0.0 {
            let reach = margin + AHEAD * tolerance;
            if let Some(answer) = self.apart(reach, &best, near[0]) {
                return answer;
            }
        }
        waiting.clear();
        debug_assert!(waiting.capacity() >= PARTS_MAX, "room for {}", waiting.capacity());
        best.lower = self.add_first_parts(Part { near, ..whole }, waiting);
        let mut n_reads = 0;
        // Best first: going down at the deepest point so far would spend all reads in one flat place.
        while let Some(Part { corners, radius, mut lower, near }) = waiting.pop() {
            // Points deeper by less than the tolerance, or that stay beyond the margin, are not worth a search.
            let is_wanted = |lower: f64, best: &DeepestPoint| {
                lower <= (best.reading.upper - tolerance).min(margin)
            };
            if is_wanted(lower, &best) && n_reads < READS_MAX && !self.time.is_over() {
                let barycentric = middle(&corners);
                // An interval wider than the part does not get narrower by splitting the part.
                let (p, slack) = (point(barycentric), radius.max(0.5 * tolerance));
                let reading = link.read(p, slack, near[0], self.time);
                n_reads += 1;
                best.offer(barycentric, reading);
                lower = lower.max(reading.lower - radius);
                let near = nearer_by(&reading, near);
                if is_wanted(lower, &best) && lower < 0.0 {
                    // Tighter than the radius if a part is long and the link's surface lies along it.
                    lower = lower.max(link.depth_bound(&near, &corners.map(point)));
                }
                if is_wanted(lower, &best) {
                    // Read side by side: the four descents in the field's tree overlap.
                    let quarters = quarters(&corners);
                    let bounds = field.lower_bounds(&quarters.map(|c| point(middle(&c))));
                    waiting.extend((0..4).map(|i| self.part(quarters[i], lower, bounds[i], near)));
                    continue;
                }
            }
            best.lower = best.lower.min(lower);
        }
        best.lower = best.lower.min(best.reading.lower);
        let lower = best.lower;
        debug_assert!(lower <= best.reading.upper, "{best:?}");
        if lower > margin {
            return (None, best.bound(triangle, lower, 0.0));
        }
        let (best, stride) = self.polished(best, 0.0);
        let bound = best.bound(triangle, lower, stride);
        (Some(self.exactly(best, bound.near.or(self.hint))), bound)
    }

    /// Returns a part with these corners, as weights. `lower`: bound of its parent, `bound`: of its middle.
    fn part(
        &self,
        corners: [DVec3; 3],
        lower: f64,
        bound: f64,
        near: [Option<TriangleId>; 2],
    ) -> Part {
        let point = |w: DVec3| at(self.triangle, w);
        let middle = point(middle(&corners));
        let radius = corners.iter().map(|c| point(*c).distance(middle)).fold(0.0, f64::max);
        debug_assert!(radius.is_finite() && !lower.is_nan(), "{radius} m, {lower} m");
        // Signed distance is 1-Lipschitz, so a part is at most its radius deeper than its middle.
        Part { corners, radius, lower: lower.max(bound - radius), near }
    }

    /// Adds the parts of the triangle to search: `whole`, or, of one much larger than the link, those as near as the
    /// margin to the link's box. Returns a lower bound of the distance of the rest, metres.
    fn add_first_parts(&self, whole: Part, waiting: &mut BinaryHeap<Part>) -> f64 {
        let TissueTriangle { link, triangle, margin, .. } = *self;
        let bounds = link.surface.bounds();
        if whole.radius <= LARGE * bounds.diagonal() {
            waiting.push(whole);
            return f64::INFINITY;
        }
        // Quarters of a triangle of ten metres that is a centimetre wide are as slim as it: all reads were taken before
        // a part was as short as the link. Halves of the longest edge get less slim, but just as many are side by side.
        let reach = margin + link.field.tolerance();
        let (low, high) = (bounds.min.as_dvec3() - reach, bounds.max.as_dvec3() + reach);
        let mut polygon = ClippedTriangle::new(DVec3::AXES);
        for axis in 0..3 {
            polygon.clip(|w| at(triangle, w)[axis] - low[axis]);
            polygon.clip(|w| high[axis] - at(triangle, w)[axis]);
        }
        waiting.extend(
            polygon.triangles().map(|c| self.part(c, whole.lower, f64::NEG_INFINITY, whole.near)),
        );
        margin.next_up()
    }

    /// Reads the field at the triangle's corners. Returns link triangles that are near.
    fn offer_corners(&self, best: &mut DeepestPoint) -> [Option<TriangleId>; 2] {
        let mut near = [None; 2];
        let readings = self.link.field.reads(self.link.surface.mesh(), self.triangle);
        for (barycentric, reading) in DVec3::AXES.into_iter().zip(readings) {
            near = nearer_by(&reading, near);
            best.offer(barycentric, reading);
        }
        near
    }

    /// Descends the gradient from the best point found. `stride`: metres for each unit of slope, as the last descent
    /// here found, and this one for the next; 0 if unknown.
    fn polished(&self, mut best: DeepestPoint, mut stride: f64) -> (DeepestPoint, f64) {
        let TissueTriangle { link, triangle, .. } = *self;
        // Depth is known to the tolerance, but on a flat that leaves the point, and so the normal, loose by its root: a
        // hand would feel that jitter.
        let [a, b, c] = *triangle;
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let slope = |r: &Reading| r.gradient - normal * r.gradient.dot(normal);
        let level = LEVEL * link.field.tolerance();
        let (mut from, mut down) = (at(triangle, best.barycentric), slope(&best.reading));
        let first = FIRST_STEP * link.field.tolerance() / down.length();
        let mut step = if stride > 0.0 { stride } else { first };
        let mut vain = 0;
        for _ in 0..DESCENT_READS_MAX {
            if !(step.is_finite() && down.length_squared() * step > level) {
                break;
            }
            let moved = closest_point(from - down * step, triangle);
            let reading = link.field.read(link.surface.mesh(), moved.point);
            vain = if reading.upper < best.reading.upper - level { 0 } else { vain + 1 };
            best.offer(moved.barycentric, reading);
            if vain == VAIN_READS_MAX {
                break;
            }
            // Barzilai and Borwein 1988: the step that the last two slopes ask for; on a flat, a longer one.
            let (moved_by, turn) = (moved.point - from, slope(&reading) - down);
            let curved = moved_by.dot(turn).abs();
            step = (moved_by.length_squared() / curved).min(4.0 * step);
            if step.is_finite() {
                stride = step;
            }
            (from, down) = (moved.point, slope(&reading));
        }
        best.lower = best.lower.min(best.reading.lower);
        (best, stride)
    }

    /// Returns the deepest of the point that was found, the triangle's nearest point to the link and its corners, if it
    /// is within the margin.
    fn nearest_or_corner(
        &self,
        mut found: Option<DeepestPoint>,
        near: Option<TriangleId>,
    ) -> Option<DeepestPoint> {
        let TissueTriangle { link, triangle, margin, .. } = *self;
        let mesh = link.surface.mesh();
        let reach = found.map_or(margin, |best| best.reading.value / BOUND_COVER);
        // A search would then find nothing nearer.
        let is_nearest = found.is_some_and(|best| best.lower >= reach);
        let direction = found.map_or(DVec3::ZERO, |best| -best.reading.gradient);
        let mut offer = |barycentric: DVec3| {
            let guess = Guess { triangle: near, direction: DVec3::ZERO };
            let p = at(triangle, barycentric);
            let Some(reading) = link.exactly_at(p, guess, self.time) else { return };
            if reading.value < found.map_or(margin * BOUND_COVER, |best| best.reading.value) {
                found = Some(DeepestPoint { barycentric, reading, lower: reading.value });
            }
        };
        let guess = Guess { triangle: near, direction };
        let nearest = || link.tree.nearest(mesh, triangle, reach, guess, self.time);
        if let Some(nearest) = (!is_nearest).then(nearest).flatten() {
            offer(nearest.closest.barycentric_a);
        }
        let corners = DVec3::AXES.into_iter().zip(link.field.reads(mesh, triangle));
        corners.filter(|(_, reading)| reading.lower < 0.0).for_each(|(corner, _)| offer(corner));
        found
    }

    /// Searches for a deeper point than `found` about an open end, where the side changes without a triangle of the
    /// link. There a part is no deeper than its distance from the link's surface, and is certainly outside only if the
    /// winding number cannot change in it. Returns the deepest point, and a bound of the depth of any.
    fn about_open_end(
        &self,
        found: Option<DeepestPoint>,
        near: Option<TriangleId>,
        reads_left: &mut usize,
    ) -> (Option<DeepestPoint>, OpenBound) {
        WAITING.with_borrow_mut(|waiting| {
            let TissueTriangle { link, triangle, margin, .. } = *self;
            let tolerance = link.field.tolerance();
            let slack = OPEN_SLACK * tolerance;
            let point = |w: DVec3| at(triangle, w);
            let unknown =
                DeepestPoint { barycentric: DVec3::X, reading: Reading::BEYOND, lower: 0.0 };
            let mut best = found.unwrap_or(unknown);
            let mut is_cut_short = false;
            waiting.clear();
            waiting.push(self.part(
                DVec3::AXES,
                f64::NEG_INFINITY,
                f64::NEG_INFINITY,
                [near, None],
            ));
            let mut n_reads = 0;
            let mut shown = f64::INFINITY;
            while let Some(Part { corners, radius, mut lower, near }) = waiting.pop() {
                let is_wanted = |lower: f64, best: &DeepestPoint| {
                    lower <= (best.reading.upper - tolerance).min(margin)
                };
                // The first part that is not searched has the least bound of all that are left.
                let is_late = self.time.is_over_now();
                is_cut_short = n_reads == OPEN_READS_MAX || *reads_left == 0;
                if !is_wanted(lower, &best) || is_cut_short || is_late {
                    // A search cut short by the clock is repeated when there is time.
                    is_cut_short &= is_wanted(lower, &best) && !is_late;
                    shown = shown.min(lower);
                    break;
                }
                (n_reads, *reads_left) = (n_reads + 1, *reads_left - 1);
                let middle = point(middle(&corners));
                let reading = link.read(middle, radius.max(0.5 * tolerance), near[0], self.time);
                best.offer(self::middle(&corners), reading);
                let near = nearer_by(&reading, near);
                let farthest = reading.lower.abs().max(reading.upper.abs());
                lower = lower.max(-farthest - radius);
                lower = lower.max(link.depth_bound(&near, &corners.map(point)));
                let holds = || link.side_holds(middle, radius + slack, self.time);
                if is_wanted(lower, &best) && reading.lower > 0.0 && holds() {
                    lower = lower.max(reading.lower - radius);
                }
                if is_wanted(lower, &best) {
                    let bound = f64::NEG_INFINITY;
                    waiting.extend(quarters(&corners).map(|c| self.part(c, lower, bound, near)));
                } else {
                    shown = shown.min(lower);
                }
            }
            let is_new = found.is_none_or(|f| f.barycentric != best.barycentric);
            if is_new && best.reading.upper <= margin {
                best = self.exactly(best, near);
            }
            let found =
                if is_new { Some(best).filter(|b| b.reading.value <= margin) } else { found };
            let lower = shown.min(found.map_or(f64::INFINITY, |best| best.reading.value));
            (found, OpenBound { corners: *triangle, lower, slack, is_cut_short })
        })
    }

    /// Returns where a triangle with a point outside the link is nearest to it; `None` if they cross, or the time is
    /// over before that is known. The bound reaches to `reach` metres. `outside`: such a point, `near`: a link triangle
    /// near it.
    fn apart(
        &self,
        reach: f64,
        outside: &DeepestPoint,
        near: Option<TriangleId>,
    ) -> Option<(Option<DeepestPoint>, DepthBound)> {
        let TissueTriangle { link, triangle, margin, .. } = *self;
        let reach = reach.min(outside.reading.upper * BOUND_COVER);
        let guess = Guess { triangle: near, direction: -outside.reading.gradient };
        let found = link.tree.nearest(link.surface.mesh(), triangle, reach, guess, self.time);
        // Triangles that were not checked may be nearer, and the two may cross.
        if self.time.was_over() {
            return None;
        }
        let Some(found) = found else {
            // That point is no farther than it is: if rounding says so, as on a vertex of the link, it is nearest.
            let is_near = outside.reading.upper <= margin;
            let lower = if is_near { outside.reading.lower } else { reach };
            let bound = outside.bound(triangle, lower, 0.0);
            let bound = DepthBound { near: bound.near.or(near), ..bound };
            return Some((is_near.then(|| self.exactly(*outside, bound.near)), bound));
        };
        let nearest = self.at_pair(found.triangle, &found.closest)?;
        let bound = nearest.bound(triangle, nearest.lower, 0.0);
        let is_near = nearest.lower <= margin;
        Some((is_near.then(|| self.exactly(nearest, bound.near)), bound))
    }

    /// Returns where a triangle outside the link is nearest to one of its triangles, `None` if they cross. Another
    /// triangle may be nearer there: the distance is an upper bound, and a contact still needs the exact distance.
    fn beside(&self, t: TriangleId) -> Option<DeepestPoint> {
        let pair = closest_pair(self.triangle, &self.link.surface.mesh().triangle(t));
        let found = self.at_pair(t, &pair)?;
        Some(DeepestPoint { reading: Reading { exact: None, ..found.reading }, ..found })
    }

    /// Returns the closest point of a triangle outside to one of the link. About an open end the side changes off the
    /// surface too, so it is looked up there; `None` if that point is not outside.
    fn at_pair(&self, t: TriangleId, pair: &ClosestPair) -> Option<DeepestPoint> {
        let ClosestPair { on_a, barycentric_a, distance_squared, .. } = *pair;
        let away = -pair.direction()?;
        let (mesh, distance) = (self.link.surface.mesh(), distance_squared.sqrt());
        let reading = if self.is_open {
            // Read at the closest point itself for its side; a contact is refined at the point of its weights.
            self.link.refined(on_a, self.link.field.read(mesh, on_a), Some(t), self.time)
        } else {
            // Computes the point of the link again, with the feature that it is on.
            let closest = closest_point(on_a, &mesh.triangle(t));
            exact_reading(distance, away, (t, closest), 1.0)
        };
        let nearest = DeepestPoint { barycentric: barycentric_a, reading, lower: distance };
        (reading.lower > 0.0).then_some(nearest)
    }
}

/// Returns the triangle of a reading first, then another one known before.
fn nearer_by(reading: &Reading, known: [Option<TriangleId>; 2]) -> [Option<TriangleId>; 2] {
    match reading.exact {
        Some((t, _)) => [Some(t), known.into_iter().flatten().find(|k| *k != t)],
        None => known,
    }
}

/// The part with the least bound is the greatest: the heap gives it first.
impl Ord for Part {
    fn cmp(&self, other: &Part) -> Ordering {
        other.lower.total_cmp(&self.lower)
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Part {}

impl DeepestPoint {
    /// Bound: no point of the triangle with these corners is deeper than `lower` metres.
    fn bound(&self, corners: &[DVec3; 3], lower: f64, stride: f64) -> DepthBound {
        let near = self.reading.exact.map(|(t, _)| t);
        let (barycentric, open) = (self.barycentric, None);
        DepthBound { corners: *corners, lower, barycentric, near, stride, open }
    }

    fn assert_sound(&self) {
        let DeepestPoint { barycentric: w, reading, .. } = self;
        let off = (w.element_sum() - 1.0).abs().max(-w.min_element());
        assert!(off <= CONTACT_SLACK, "weights {w}");
        assert!(reading.exact.is_some() && reading.lower <= reading.upper, "{reading:?}");
        assert!((reading.lower..=reading.upper).contains(&reading.value), "{reading:?}");
    }

    fn offer(&mut self, barycentric: DVec3, reading: Reading) {
        if reading.upper < self.reading.upper {
            *self = DeepestPoint { barycentric, reading, ..*self };
        }
    }
}

/// Returns a point of a triangle by its weights.
pub(super) fn at([a, b, c]: &[DVec3; 3], w: DVec3) -> DVec3 {
    *a * w.x + *b * w.y + *c * w.z
}

fn middle(corners: &[DVec3; 3]) -> DVec3 {
    (corners[0] + corners[1] + corners[2]) / 3.0
}

/// Splits a triangle in four.
fn quarters([a, b, c]: &[DVec3; 3]) -> [[DVec3; 3]; 4] {
    let (ab, bc, ca) = ((*a + *b) * 0.5, (*b + *c) * 0.5, (*c + *a) * 0.5);
    [[*a, ab, ca], [ab, *b, bc], [ca, bc, *c], [ab, bc, ca]]
}
