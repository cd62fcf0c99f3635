//! The point of a triangle that is deepest in a link, or nearest to it.

use std::{cmp::Ordering, collections::BinaryHeap};

use glam::DVec3;

use super::Link;
use crate::{geometry::point_triangle::closest_point, sdf::Reading};

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
}

/// Points at which the field is read at most; each adds three parts to those that wait.
const READS_MAX: usize = 512;
/// Parts that wait at most.
pub(super) const PARTS_MAX: usize = 3 * READS_MAX + 1;
/// Rounds of six reads that a walk down takes at most.
const ROUNDS_MAX: usize = 32;

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
    let part = |corners: [DVec3; 3]| {
        let middle = point(middle(&corners));
        let radius = corners.iter().map(|c| point(*c).distance(middle)).fold(0.0, f64::max);
        Part { corners, radius, lower: field.lower_bound(middle) - radius }
    };
    let mut best =
        Deepest { barycentric: DVec3::X, reading: Reading::BEYOND, lower: f64::INFINITY };
    for barycentric in DVec3::AXES {
        let corner = point(barycentric);
        let reading = field.read(link.surface.mesh(), corner);
        if reading.value - reading.lower <= tolerance {
            best.offer(barycentric, reading);
        }
    }
    waiting.clear();
    waiting.push(part(DVec3::AXES));
    let mut n_reads = 0;
    // Best first: going down where it looks deepest now would spend all reads in one flat place.
    while let Some(Part { corners, radius, mut lower }) = waiting.pop() {
        // Deeper by less than the tolerance is not worth looking for, nor is what stays beyond the margin.
        let is_wanted =
            |lower: f64, best: &Deepest| lower <= (best.reading.value - tolerance).min(margin);
        if is_wanted(lower, &best) && n_reads < READS_MAX {
            let barycentric = middle(&corners);
            // A bound looser than the part is wide does not get better by splitting the part.
            let reading = link.read(point(barycentric), radius.max(tolerance));
            n_reads += 1;
            if reading.value - reading.lower <= tolerance {
                best.offer(barycentric, reading);
            }
            lower = lower.max(reading.lower - radius);
            if is_wanted(lower, &best) && reading.value < 0.0 {
                lower = lower.max(link.depth_bound(&reading, &corners.map(point)));
            }
            if is_wanted(lower, &best) {
                waiting.extend(quarters(&corners).map(part));
                continue;
            }
        }
        best.lower = best.lower.min(lower);
    }
    best.lower = best.lower.min(best.reading.value);
    if best.lower < best.reading.value - tolerance && best.reading.value <= margin {
        best = descend(link, triangle, best);
    }
    (best.lower <= margin).then_some(best)
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
        if reading.value < self.reading.value {
            *self = Deepest { barycentric, reading, ..*self };
        }
    }
}

/// Walks down from a point that the search was cut short at, along the edges' directions, by ever smaller
/// steps.
fn descend(link: &Link, triangle: &[DVec3; 3], mut best: Deepest) -> Deepest {
    const STEPS: [DVec3; 3] =
        [DVec3::new(1.0, -1.0, 0.0), DVec3::new(0.0, 1.0, -1.0), DVec3::new(-1.0, 0.0, 1.0)];
    let longest = triangle[0].distance(triangle[1]).max(triangle[1].distance(triangle[2]));
    let mut step = 0.25;
    for _ in 0..ROUNDS_MAX {
        if step * longest <= link.field.tolerance() {
            break;
        }
        let before = best.reading.value;
        for w in STEPS.into_iter().flat_map(|d| [d * step, -d * step]) {
            let barycentric = best.barycentric + w;
            if barycentric.min_element() < 0.0 {
                continue;
            }
            let [a, b, c] = *triangle;
            let p = a * barycentric.x + b * barycentric.y + c * barycentric.z;
            best.offer(barycentric, link.read(p, link.field.tolerance()));
        }
        if best.reading.value == before {
            step *= 0.5;
        }
    }
    best.lower = best.lower.min(best.reading.value);
    best
}

impl Link {
    /// The field at a point in link frame, or the exact surface where the field's bound is too low by more
    /// than `slack` metres.
    fn read(&self, p: DVec3, slack: f64) -> Reading {
        let reading = self.field.read(self.surface.mesh(), p);
        if reading.value - reading.lower <= slack {
            return reading;
        }
        let exact = self.surface.signed_distance(p, f64::INFINITY, None);
        exact.map_or(reading, |d| Reading {
            value: d.signed_distance,
            lower: d.signed_distance,
            upper: d.signed_distance,
            gradient: d.normal,
            exact: Some((d.triangle, d.closest)),
            certainty: d.certainty,
        })
    }

    /// Nothing between three points is deeper than this: no point is deeper than it is far from the
    /// triangle nearest to their middle, and that distance is convex.
    fn depth_bound(&self, at_middle: &Reading, corners: &[DVec3; 3]) -> f64 {
        let Some((t, _)) = at_middle.exact else { return f64::NEG_INFINITY };
        let nearest = self.surface.mesh().triangle(t);
        let far = corners.map(|c| closest_point(c, &nearest).distance_squared);
        -far.into_iter().fold(0.0, f64::max).sqrt()
    }
}

fn middle(corners: &[DVec3; 3]) -> DVec3 {
    (corners[0] + corners[1] + corners[2]) / 3.0
}

/// A triangle in four.
pub(super) fn quarters([a, b, c]: &[DVec3; 3]) -> [[DVec3; 3]; 4] {
    let (ab, bc, ca) = ((*a + *b) * 0.5, (*b + *c) * 0.5, (*c + *a) * 0.5);
    [[*a, ab, ca], [ab, *b, bc], [ca, bc, *c], [ab, bc, ca]]
}
