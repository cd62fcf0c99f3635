//! The point of a triangle that is deepest in a link, or nearest to it.

use std::{cell::RefCell, cmp::Ordering, collections::BinaryHeap};

use glam::DVec3;

use crate::scene::{Link, coherence::depth_bounds::Proof};
use crate::{
    bvh::{Guess, NearestInTree},
    geometry::{
        Aabb, TriangleId,
        direction::direction,
        distance::{
            point_triangle::{ClosestPoint, closest_point},
            triangle_triangle::{ClosestPair, closest_pair},
        },
    },
    sdf::Reading,
};

/// The least value of the field over a triangle, as far as it was looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scene) struct Deepest {
    /// Weights of the triangle's vertices.
    pub(in crate::scene) barycentric: DVec3,
    /// The field there.
    pub(in crate::scene) reading: Reading,
    /// Nothing on the triangle is deeper than this, metres.
    pub(in crate::scene) lower: f64,
}

/// A part of the triangle that may hold a deeper point.
#[derive(Clone, Copy)]
struct Part {
    /// As weights.
    corners: [DVec3; 3],
    /// From its middle to a corner, metres.
    radius: f64,
    /// Nothing in it is deeper than this, metres.
    lower: f64,
    /// Link triangles that are nearest somewhere about it.
    near: [Option<TriangleId>; 2],
}

/// What was proved before serves while it leaves no more than this to chance, in tolerances of the field. A search
/// leaves one, so that what it proved is good for another tolerance of motion.
const LOOSENESS: f64 = 2.0;
/// A triangle beyond the margin is proved to be so for this many times the motion that its last proof stood, or
/// for so many tolerances when there was none.
const AHEAD: f64 = 4.0;
/// Points at which the field is read at most; each adds three parts to those that wait.
const READS_MAX: usize = 1024;
/// Parts that wait at most.
const PARTS_MAX: usize = 3 * READS_MAX + 1;
/// Reads of a walk down from the best point, those of them that may find nothing deeper in a row, and the first
/// step in tolerances.
const POLISHING_STEPS: usize = 8;
const POLISHING_VAIN: usize = 2;
const FIRST_STEP: f64 = 2.0;
/// Depths that differ by less are level, in tolerances.
const LEVEL: f64 = 0.01;

/// A tissue triangle that may touch a link.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    link: &'a Link,
    /// In link frame.
    triangle: &'a [DVec3; 3],
    /// What is farther is not wanted, metres.
    margin: f64,
    /// The link has an open end about it.
    is_open: bool,
}

thread_local! {
    /// Parts of the triangle that is looked at. They take 320 kB, too much for each session to keep.
    static WAITING: RefCell<BinaryHeap<Part>> =
        RefCell::new(BinaryHeap::with_capacity(PARTS_MAX));
}

/// The deepest point of `triangle` (link frame), and what is proved of the triangle now. `None` when all of it is
/// farther than `margin`. No other point is deeper by more than [`LOOSENESS`] tolerances of the field, unless the cap
/// on reads is met, and then `lower` tells. `known`: what was proved where the triangle was before.
///
/// About an open end of the link some other point may be deeper than that: the side changes there off the surface,
/// and what is proved by distance does not hold. What is not inside at its deepest point is held to the surface and to
/// its corners there.
pub(in crate::scene) fn deepest(
    link: &Link,
    triangle: &[DVec3; 3],
    margin: f64,
    known: Option<&Proof>,
) -> (Option<Deepest>, Proof) {
    let about = known.iter().flat_map(|known| &known.corners).chain(triangle);
    let is_open = link.is_open_about(about);
    let candidate = Candidate { link, triangle, margin, is_open };
    let (found, proof) = candidate.by_distance(known);
    if !is_open {
        return (found, proof);
    }
    let exactly = |best: Deepest| {
        let p = at(triangle, best.barycentric);
        Deepest { reading: link.refined(p, best.reading, proof.near), ..best }
    };
    let found = found.map(exactly).filter(|best| best.reading.value <= margin);
    if found.is_some_and(|best| best.reading.value <= 0.0) {
        return (found, proof);
    }
    (candidate.nearest_or_corner(found, proof.near), proof)
}

impl Candidate<'_> {
    /// [`deepest`], as far as distance tells.
    fn by_distance(&self, known: Option<&Proof>) -> (Option<Deepest>, Proof) {
        let Candidate { link, triangle, margin, .. } = *self;
        let search = |start| WAITING.with_borrow_mut(|waiting| self.search(start, waiting));
        let Some(known) = known else { return search(None) };
        let lower = known.lower_of(triangle);
        if lower > margin {
            return (None, *known);
        }
        let serves = |best: &Deepest| {
            let upper = best.reading.upper;
            upper <= margin && lower >= upper - LOOSENESS * link.field.tolerance()
        };
        // As long as that bound is above 0 all of it is outside, and one triangle of the link may do.
        let beside = known.near.filter(|_| lower > 0.0).and_then(|t| self.beside(t));
        if let Some(Deepest { barycentric, reading, .. }) = beside.filter(serves) {
            let p = at(triangle, barycentric);
            let reading = link.refined(p, Reading { exact: None, ..reading }, known.near);
            let best = Deepest { barycentric, reading, lower };
            return (Some(best), known.still(&best, 0.0));
        }
        let start = beside.unwrap_or_else(|| {
            let p = at(triangle, known.barycentric);
            let reading = link.field.read(link.surface.mesh(), p);
            Deepest { barycentric: known.barycentric, reading, lower }
        });
        if start.reading.lower > 0.0 {
            let reach = margin + AHEAD * (known.lower - lower);
            if let Some(answer) = self.apart(reach, &start, known.near) {
                return answer;
            }
        }
        let (mut best, stride) = self.polished(start, known.stride);
        best.reading = link.refined(at(triangle, best.barycentric), best.reading, known.near);
        if serves(&best) {
            return (Some(best), known.still(&best, stride));
        }
        search(Some(best))
    }

    /// By branch and bound: the field is 1-Lipschitz, so a part is at most its radius deeper than its middle.
    /// `start`: a point that is likely deep.
    fn search(
        &self,
        start: Option<Deepest>,
        waiting: &mut BinaryHeap<Part>,
    ) -> (Option<Deepest>, Proof) {
        let Candidate { link, triangle, margin, .. } = *self;
        let (field, tolerance) = (&link.field, link.field.tolerance());
        let point = |w: DVec3| at(triangle, w);
        let part = |corners: [DVec3; 3], lower: f64, bound: f64, near| {
            let middle = point(middle(&corners));
            let radius = corners.iter().map(|c| point(*c).distance(middle)).fold(0.0, f64::max);
            Part { corners, radius, lower: lower.max(bound - radius), near }
        };
        let unknown = Deepest { barycentric: DVec3::X, reading: Reading::BEYOND, lower: 0.0 };
        let mut best = Deepest { lower: f64::INFINITY, ..start.unwrap_or(unknown) };
        let bound = field.lower_bound(point(middle(&DVec3::AXES)));
        let whole = part(DVec3::AXES, f64::NEG_INFINITY, bound, [None; 2]);
        if whole.lower > margin {
            return (None, Proof::of(triangle, &best, whole.lower, 0.0));
        }
        let mut near = [None; 2];
        let readings = field.reads(link.surface.mesh(), triangle);
        for (barycentric, reading) in DVec3::AXES.into_iter().zip(readings) {
            near = nearer_by(&reading, near);
            best.offer(barycentric, reading);
        }
        if best.reading.lower > 0.0 {
            let reach = margin + AHEAD * tolerance;
            if let Some(answer) = self.apart(reach, &best, near[0]) {
                return answer;
            }
        }
        waiting.clear();
        waiting.push(Part { near, ..whole });
        let mut n_reads = 0;
        // Best first: going down where it looks deepest now would spend all reads in one flat place.
        while let Some(Part { corners, radius, mut lower, near }) = waiting.pop() {
            // Deeper by less than the tolerance is not worth looking for, nor is what stays beyond the margin.
            let is_wanted =
                |lower: f64, best: &Deepest| lower <= (best.reading.upper - tolerance).min(margin);
            if is_wanted(lower, &best) && n_reads < READS_MAX {
                let barycentric = middle(&corners);
                // An interval wider than the part does not get narrower by splitting the part.
                let reading = link.read(point(barycentric), radius.max(0.5 * tolerance), near[0]);
                n_reads += 1;
                best.offer(barycentric, reading);
                lower = lower.max(reading.lower - radius);
                let near = nearer_by(&reading, near);
                if is_wanted(lower, &best) && lower < 0.0 {
                    lower = lower.max(link.depth_bound(&near, &corners.map(point)));
                }
                if is_wanted(lower, &best) {
                    let quarters = quarters(&corners);
                    let bounds = field.lower_bounds(&quarters.map(|c| point(middle(&c))));
                    waiting.extend((0..4).map(|i| part(quarters[i], lower, bounds[i], near)));
                    continue;
                }
            }
            best.lower = best.lower.min(lower);
        }
        best.lower = best.lower.min(best.reading.lower);
        let lower = best.lower;
        if lower > margin {
            return (None, Proof::of(triangle, &best, lower, 0.0));
        }
        let (best, stride) = self.polished(best, 0.0);
        (Some(best), Proof::of(triangle, &best, lower, stride))
    }

    /// Walks down the slope from the best point found. Depth is known to the tolerance, but where it is flat that
    /// leaves the point, and so the normal, loose by the root of it: a hand would feel that jitter. `stride`: metres for
    /// each unit of slope, as the last walk here found, and this one for the next; 0 when not known.
    fn polished(&self, mut best: Deepest, mut stride: f64) -> (Deepest, f64) {
        let Candidate { link, triangle, .. } = *self;
        let [a, b, c] = *triangle;
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let slope = |r: &Reading| r.gradient - normal * r.gradient.dot(normal);
        let level = LEVEL * link.field.tolerance();
        let (mut from, mut down) = (at(triangle, best.barycentric), slope(&best.reading));
        let first = FIRST_STEP * link.field.tolerance() / down.length();
        let mut step = if stride > 0.0 { stride } else { first };
        let mut vain = 0;
        for _ in 0..POLISHING_STEPS {
            if !(step.is_finite() && down.length_squared() * step > level) {
                break;
            }
            let moved = closest_point(from - down * step, triangle);
            let reading = link.field.read(link.surface.mesh(), moved.point);
            vain = if reading.upper < best.reading.upper - level { 0 } else { vain + 1 };
            best.offer(moved.barycentric, reading);
            if vain == POLISHING_VAIN {
                break;
            }
            // Barzilai and Borwein 1988: the step that the last two slopes ask for; on a flat, a longer one.
            let (way, turn) = (moved.point - from, slope(&reading) - down);
            let curved = way.dot(turn).abs();
            step = (way.length_squared() / curved).min(4.0 * step);
            if step.is_finite() {
                stride = step;
            }
            (from, down) = (moved.point, slope(&reading));
        }
        best.lower = best.lower.min(best.reading.lower);
        (best, stride)
    }

    /// Where the triangle crosses the link or is nearest to it, or its deepest corner, when that is deeper than the
    /// point that was found, and within the margin.
    fn nearest_or_corner(
        &self,
        mut found: Option<Deepest>,
        near: Option<TriangleId>,
    ) -> Option<Deepest> {
        let Candidate { link, triangle, margin, .. } = *self;
        let mesh = link.surface.mesh();
        let reach = found.map_or(margin, |best| best.reading.value / COVER);
        // A search would find nothing that is nearer.
        let is_nearest = found.is_some_and(|best| best.lower >= reach);
        let way = found.map_or(DVec3::ZERO, |best| -best.reading.gradient);
        let mut offer = |barycentric: DVec3| {
            let guess = Guess { triangle: near, direction: DVec3::ZERO };
            let reading = link.exactly_at(at(triangle, barycentric), guess);
            if reading.value < found.map_or(margin * COVER, |best| best.reading.value) {
                found = Some(Deepest { barycentric, reading, lower: reading.value });
            }
        };
        let nearest =
            || link.tree.nearest(mesh, triangle, reach, Guess { triangle: near, direction: way });
        if let Some(nearest) = (!is_nearest).then(nearest).flatten() {
            offer(nearest.closest.barycentric_a);
        }
        let corners = DVec3::AXES.into_iter().zip(link.field.reads(mesh, triangle));
        corners.filter(|(_, reading)| reading.lower < 0.0).for_each(|(corner, _)| offer(corner));
        found
    }

    /// How far a triangle with a point outside the link is from its surface, when they do not cross and it is
    /// within the margin; proved as far as `reach`. `outside`: a point of it that is, `near`: a triangle near it.
    fn apart(
        &self,
        reach: f64,
        outside: &Deepest,
        near: Option<TriangleId>,
    ) -> Option<(Option<Deepest>, Proof)> {
        let Candidate { link, triangle, margin, .. } = *self;
        let reach = reach.min(outside.reading.upper * COVER);
        let guess = Guess { triangle: near, direction: -outside.reading.gradient };
        let Some(found) = link.tree.nearest(link.surface.mesh(), triangle, reach, guess) else {
            return Some((None, Proof::of(triangle, outside, reach, 0.0)));
        };
        let nearest = self.at_pair(found.triangle, &found.closest)?;
        let proof = Proof::of(triangle, &nearest, nearest.lower, 0.0);
        Some(((nearest.lower <= margin).then_some(nearest), proof))
    }

    /// Where a triangle outside the link is nearest to one of its triangles, `None` when they cross.
    fn beside(&self, t: TriangleId) -> Option<Deepest> {
        self.at_pair(t, &closest_pair(self.triangle, &self.link.surface.mesh().triangle(t)))
    }

    /// The closest point of a triangle outside to one of the link. About an open end the side changes off the
    /// surface too, so it is looked up there; `None` when that point is not outside.
    fn at_pair(&self, t: TriangleId, pair: &ClosestPair) -> Option<Deepest> {
        let ClosestPair { on_a, barycentric_a, distance_squared, .. } = *pair;
        let away = -pair.direction()?;
        let (mesh, distance) = (self.link.surface.mesh(), distance_squared.sqrt());
        let reading = if self.is_open {
            self.link.refined(on_a, self.link.field.read(mesh, on_a), Some(t))
        } else {
            // The point of the link once more, with the feature that it is on.
            let closest = closest_point(on_a, &mesh.triangle(t));
            exactly(distance, away, (t, closest), 1.0)
        };
        let nearest = Deepest { barycentric: barycentric_a, reading, lower: distance };
        (reading.lower > 0.0).then_some(nearest)
    }
}

/// The triangle of a reading first, then another one known before.
fn nearer_by(reading: &Reading, known: [Option<TriangleId>; 2]) -> [Option<TriangleId>; 2] {
    match reading.exact {
        Some((t, _)) => [Some(t), known.into_iter().flatten().find(|k| *k != t)],
        None => known,
    }
}

/// The least bound is the greatest part: the next one.
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

impl Deepest {
    fn offer(&mut self, barycentric: DVec3, reading: Reading) {
        if reading.upper < self.reading.upper {
            *self = Deepest { barycentric, reading, ..*self };
        }
    }
}

impl Link {
    /// The field at a point in link frame, or the exact surface where the field's interval is wider than
    /// `slack` metres. `near`: a triangle that is likely near.
    fn read(&self, p: DVec3, slack: f64, near: Option<TriangleId>) -> Reading {
        let reading = self.field.read(self.surface.mesh(), p);
        let is_narrow = reading.upper - reading.lower <= slack;
        if is_narrow { reading } else { self.refined(p, reading, near) }
    }

    /// The exact surface at a point where the field was read. Where the field is sure of the side, only the
    /// nearest point is looked for, no farther than the field allows.
    pub(in crate::scene) fn refined(
        &self,
        p: DVec3,
        reading: Reading,
        near: Option<TriangleId>,
    ) -> Reading {
        let is_sure = reading.certainty == 1.0 && (reading.lower > 0.0 || reading.upper < 0.0);
        if is_sure && reading.exact.is_some() {
            return reading;
        }
        let near = reading.exact.map(|(t, _)| t).or(near);
        let reach = reading.lower.abs().max(reading.upper.abs()) * COVER;
        let guess = Guess { triangle: near, direction: -reading.value * reading.gradient };
        let Some(found) = self.tree.nearest(self.surface.mesh(), &p, reach, guess) else {
            return self.exactly_at(p, guess);
        };
        if !is_sure {
            return self.signed(p, found);
        }
        let side = if reading.lower > 0.0 { 1.0 } else { -1.0 };
        let distance = found.closest.distance_squared.sqrt();
        let gradient = direction(p - found.closest.point).unwrap_or_default() * side;
        exactly(distance * side, gradient, (found.triangle, found.closest), 1.0)
    }

    /// The exact surface at a point in link frame.
    fn exactly_at(&self, p: DVec3, guess: Guess) -> Reading {
        let found = self.tree.nearest(self.surface.mesh(), &p, f64::INFINITY, guess);
        self.signed(p, found.expect("a link has triangles"))
    }

    /// The same where it is known which triangle is nearest.
    fn signed(&self, p: DVec3, nearest: NearestInTree<ClosestPoint>) -> Reading {
        let d = self.surface.signed(p, nearest.triangle, nearest.closest);
        exactly(d.signed_distance, d.normal, (d.triangle, d.closest), d.certainty)
    }

    /// Whether the side may change without a triangle of the link somewhere about these points, in link frame.
    fn is_open_about<'a>(&self, points: impl Iterator<Item = &'a DVec3>) -> bool {
        !self.surface.is_closed() && {
            let about = Aabb::around(points.copied());
            self.is_open_near(about.centre(), 0.5 * about.diagonal())
        }
    }

    /// The same within `radius` metres of a point.
    pub(in crate::scene) fn is_open_near(&self, p: DVec3, radius: f64) -> bool {
        self.surface.boundary().is_near(p, radius)
    }

    /// Nothing between three points is deeper than this: no point is deeper than it is far from either of two
    /// triangles, and these distances are convex, so at most what their values at the corners give between
    /// them. Over weights, the most of the lesser of two linear functions is the least over l in [0, 1] of
    /// the most of l a + (1 - l) b at the corners.
    fn depth_bound(&self, near: &[Option<TriangleId>; 2], corners: &[DVec3; 3]) -> f64 {
        let far = |t: TriangleId| {
            let t = self.surface.mesh().triangle(t);
            corners.map(|c| closest_point(c, &t).distance_squared.sqrt())
        };
        let most = |a: &[f64; 3]| a.iter().fold(0.0f64, |m, x| m.max(*x));
        let [Some(first), second] = near else { return f64::NEG_INFINITY };
        let a = far(*first);
        let Some(b) = second.map(far) else { return -most(&a) };
        let mixed = |l: f64| most(&std::array::from_fn(|i| l * a[i] + (1.0 - l) * b[i]));
        // The least is at an end or where two of the three lines in l cross.
        let crossing = |(i, j): (usize, usize)| (b[j] - b[i]) / ((a[i] - b[i]) - (a[j] - b[j]));
        let crossings = [(0, 1), (1, 2), (2, 0)].map(crossing).into_iter();
        let between = crossings.filter(|l| (0.0..=1.0).contains(l)).map(mixed);
        -between.fold(mixed(0.0).min(mixed(1.0)), f64::min)
    }
}

fn exactly(
    signed_distance: f64,
    gradient: DVec3,
    nearest: (TriangleId, ClosestPoint),
    certainty: f64,
) -> Reading {
    Reading {
        value: signed_distance,
        lower: signed_distance,
        upper: signed_distance,
        gradient,
        exact: Some(nearest),
        certainty,
    }
}

/// Covers the rounding of a bound, relative.
const COVER: f64 = 1.0 + 1e-9;

/// A point of a triangle by its weights.
pub(in crate::scene) fn at([a, b, c]: &[DVec3; 3], w: DVec3) -> DVec3 {
    *a * w.x + *b * w.y + *c * w.z
}

fn middle(corners: &[DVec3; 3]) -> DVec3 {
    (corners[0] + corners[1] + corners[2]) / 3.0
}

/// A triangle in four.
fn quarters([a, b, c]: &[DVec3; 3]) -> [[DVec3; 3]; 4] {
    let (ab, bc, ca) = ((*a + *b) * 0.5, (*b + *c) * 0.5, (*c + *a) * 0.5);
    [[*a, ab, ca], [ab, *b, bc], [ca, bc, *c], [ab, bc, ca]]
}
