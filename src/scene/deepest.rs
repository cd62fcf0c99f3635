//! The point of a triangle that is deepest in a link, or nearest to it.

use std::{cmp::Ordering, collections::BinaryHeap};

use glam::DVec3;

use super::Link;
use crate::{
    geometry::{
        TriangleId,
        point_triangle::{ClosestPoint, closest_point},
        triangle_distance::ClosestPair,
    },
    index::{Point, Triangle},
    sdf::Reading,
};

/// The least value of the field over a triangle, as far as it was looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deepest {
    /// Weights of the triangle's vertices.
    pub(super) barycentric: DVec3,
    /// The field there.
    pub(super) reading: Reading,
    /// Nothing on the triangle is deeper than this, metres.
    pub(super) lower: f64,
}

/// A part of the triangle that may hold a deeper point.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// As weights.
    corners: [DVec3; 3],
    /// From its middle to a corner, metres.
    radius: f64,
    /// Nothing in it is deeper than this, metres.
    lower: f64,
    /// Link triangles that are nearest somewhere about it.
    near: [Option<TriangleId>; 2],
}

/// After so many reads without a point inside, the exact distance of the two surfaces costs less than more.
const PATIENCE: usize = 12;
/// Points at which the field is read at most; each adds three parts to those that wait.
const READS_MAX: usize = 1024;
/// Parts that wait at most.
pub(super) const PARTS_MAX: usize = 3 * READS_MAX + 1;
/// Reads of a walk down from the best point, and its first step in tolerances.
const POLISHING_STEPS: usize = 8;
const FIRST_STEP: f64 = 2.0;

/// Looks for the deepest point of `triangle` (link frame) by branch and bound: the field is 1-Lipschitz, so
/// a part is at most its radius deeper than its middle. `None` when all of it is proved to be farther than
/// `margin`. Exact to the field's tolerance unless the cap on reads is met, and then `lower` tells.
/// `waiting`: room to work in.
pub(super) fn deepest(
    link: &Link,
    triangle: &[DVec3; 3],
    margin: f64,
    waiting: &mut BinaryHeap<Part>,
) -> Option<Deepest> {
    let (field, tolerance) = (&link.field, link.field.tolerance());
    let point = |w: DVec3| triangle[0] * w.x + triangle[1] * w.y + triangle[2] * w.z;
    let part = |corners: [DVec3; 3], lower: f64, bound: f64, near| {
        let middle = point(middle(&corners));
        let radius = corners.iter().map(|c| point(*c).distance(middle)).fold(0.0, f64::max);
        Part { corners, radius, lower: lower.max(bound - radius), near }
    };
    let mut best =
        Deepest { barycentric: DVec3::X, reading: Reading::BEYOND, lower: f64::INFINITY };
    let mut near = [None; 2];
    let readings = field.reads(link.surface.mesh(), triangle);
    for (barycentric, reading) in DVec3::AXES.into_iter().zip(readings) {
        near = nearer_by(&reading, near);
        best.offer(barycentric, reading);
    }
    waiting.clear();
    let bound = field.lower_bound(point(middle(&DVec3::AXES)));
    waiting.push(part(DVec3::AXES, f64::NEG_INFINITY, bound, near));
    let mut n_reads = 0;
    // Best first: going down where it looks deepest now would spend all reads in one flat place.
    while let Some(Part { corners, radius, mut lower, near }) = waiting.pop() {
        // Deeper by less than the tolerance is not worth looking for, nor is what stays beyond the margin.
        let is_wanted =
            |lower: f64, best: &Deepest| lower <= (best.reading.upper - tolerance).min(margin);
        if n_reads == PATIENCE && best.reading.lower > 0.0 {
            match link.apart(triangle, margin, near[0]) {
                Apart::Beyond => return None,
                Apart::By(found) => return Some(found),
                Apart::Crossing => {}
            }
        }
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
    if best.lower > margin {
        return None;
    }
    Some(polished(link, triangle, best))
}

/// The triangle of a reading first, then another one known before.
fn nearer_by(reading: &Reading, known: [Option<TriangleId>; 2]) -> [Option<TriangleId>; 2] {
    match reading.exact {
        Some((t, _)) => [Some(t), known.into_iter().flatten().find(|k| *k != t)],
        None => known,
    }
}

/// A triangle against a link's surface.
enum Apart {
    /// They cross.
    Crossing,
    /// They do not, and this is where they are nearest.
    By(Deepest),
    /// They are farther apart than was asked for.
    Beyond,
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

/// Walks down the slope from the best point found. Depth is known to the tolerance, but where it is flat that
/// leaves the point, and so the normal, loose by the root of it: a hand would feel that jitter.
fn polished(link: &Link, triangle: &[DVec3; 3], mut best: Deepest) -> Deepest {
    let [a, b, c] = *triangle;
    let normal = (b - a).cross(c - a).normalize_or_zero();
    let at = |w: DVec3| a * w.x + b * w.y + c * w.z;
    let slope = |r: &Reading| r.gradient - normal * r.gradient.dot(normal);
    let tolerance = link.field.tolerance();
    let (mut from, mut down) = (at(best.barycentric), slope(&best.reading));
    let mut step = FIRST_STEP * tolerance / down.length();
    for _ in 0..POLISHING_STEPS {
        // A slope that makes less than a hundredth of the tolerance in a step is level.
        if !(step.is_finite() && down.length_squared() * step > 0.01 * tolerance) {
            break;
        }
        let moved = closest_point(from - down * step, triangle);
        let reading = link.field.read(link.surface.mesh(), moved.point);
        best.offer(moved.barycentric, reading);
        // Barzilai and Borwein 1988: the step that the last two slopes ask for; on a flat, a longer one.
        let (way, turn) = (moved.point - from, slope(&reading) - down);
        let curved = way.dot(turn).abs();
        step = (way.length_squared() / curved).min(4.0 * step);
        (from, down) = (moved.point, slope(&reading));
    }
    best.lower = best.lower.min(best.reading.lower);
    best
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
    pub(super) fn refined(&self, p: DVec3, reading: Reading, near: Option<TriangleId>) -> Reading {
        let is_sure = reading.certainty == 1.0 && (reading.lower > 0.0 || reading.upper < 0.0);
        if is_sure && reading.exact.is_some() {
            return reading;
        }
        let near = reading.exact.map(|(t, _)| t).or(near);
        let reach = reading.lower.abs().max(reading.upper.abs()) * COVER;
        if is_sure && let Some(found) = self.surface.nearest(&Point(p), reach, near) {
            let side = if reading.lower > 0.0 { 1.0 } else { -1.0 };
            let distance = found.closest.distance_squared.sqrt();
            let gradient = (p - found.closest.point) / distance * side;
            return exactly(distance * side, gradient, (found.triangle, found.closest), 1.0);
        }
        let exact = self.surface.signed_distance(p, f64::INFINITY, near);
        exact.map_or(reading, |d| {
            exactly(d.signed_distance, d.normal, (d.triangle, d.closest), d.certainty)
        })
    }

    /// How far a triangle with a point outside the link is from its surface.
    fn apart(&self, triangle: &[DVec3; 3], margin: f64, near: Option<TriangleId>) -> Apart {
        let Some(found) = self.surface.nearest(&Triangle(*triangle), margin, near) else {
            return Apart::Beyond;
        };
        let ClosestPair { on_a, barycentric_a, on_b, distance_squared, .. } = found.closest;
        if distance_squared == 0.0 {
            return Apart::Crossing;
        }
        // The point of the link once more, with the feature that it is on.
        let closest = closest_point(on_a, &self.surface.mesh().triangle(found.triangle));
        let distance = distance_squared.sqrt();
        let reading = exactly(distance, (on_a - on_b) / distance, (found.triangle, closest), 1.0);
        Apart::By(Deepest { barycentric: barycentric_a, reading, lower: distance })
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

fn middle(corners: &[DVec3; 3]) -> DVec3 {
    (corners[0] + corners[1] + corners[2]) / 3.0
}

/// A triangle in four.
pub(super) fn quarters([a, b, c]: &[DVec3; 3]) -> [[DVec3; 3]; 4] {
    let (ab, bc, ca) = ((*a + *b) * 0.5, (*b + *c) * 0.5, (*c + *a) * 0.5);
    [[*a, ab, ca], [ab, *b, bc], [ca, bc, *c], [ab, bc, ca]]
}
