//! The point of a triangle that is deepest in a link, or nearest to it.

use glam::DVec3;

use super::Link;

/// The least value of the field over a triangle, as far as it was looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deepest {
    /// Weights of the triangle's vertices.
    pub(super) barycentric: DVec3,
    /// The field there, metres.
    pub(super) value: f64,
    /// Nothing on the triangle is deeper than this, metres.
    pub(super) lower: f64,
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
}

/// Parts that wait at most, and points at which the field is read.
const PARTS_MAX: usize = 512;
const READS_MAX: usize = 512;
/// Rounds of six reads that a walk down takes at most.
const ROUNDS_MAX: usize = 32;

/// Looks for the deepest point of `triangle` (link frame) by branch and bound: the field is 1-Lipschitz, so
/// a part is at most its radius deeper than its middle. `None` when all of it is proved to be farther than
/// `margin`. Exact to the field's tolerance unless the cap on reads is met, and then `lower` tells.
pub(super) fn deepest(link: &Link, triangle: &[DVec3; 3], margin: f64) -> Option<Deepest> {
    let (field, tolerance) = (&link.field, link.field.tolerance());
    let point = |w: DVec3| triangle[0] * w.x + triangle[1] * w.y + triangle[2] * w.z;
    let part = |corners: [DVec3; 3]| {
        let middle = point(middle(&corners));
        let radius = corners.iter().map(|c| point(*c).distance(middle)).fold(0.0, f64::max);
        Part { corners, radius, lower: field.lower_bound(middle) - radius }
    };
    let mut best = Deepest { barycentric: DVec3::X, value: f64::INFINITY, lower: f64::INFINITY };
    for barycentric in DVec3::AXES {
        let corner = point(barycentric);
        if field.lower_bound(corner) <= margin {
            let (value, _) = link.read(corner);
            if value < best.value {
                best = Deepest { barycentric, value, ..best };
            }
        }
    }
    let mut waiting = [part(DVec3::AXES); PARTS_MAX];
    let (mut n_waiting, mut n_reads) = (1, 0);
    while n_waiting > 0 {
        // Best first: going down where it looks deepest now would spend all reads in one flat place.
        let lower = |i: &usize| waiting[*i].lower;
        let first = (0..n_waiting).min_by(|i, j| lower(i).total_cmp(&lower(j)));
        n_waiting -= 1;
        waiting.swap(first.expect("some wait"), n_waiting);
        let Part { corners, radius, mut lower } = waiting[n_waiting];
        // Deeper by less than the tolerance is not worth looking for, nor is what stays beyond the margin.
        let is_wanted = |lower: f64, best: &Deepest| lower <= (best.value - tolerance).min(margin);
        let has_room = n_reads < READS_MAX && n_waiting + 4 <= PARTS_MAX;
        if is_wanted(lower, &best) && has_room {
            let barycentric = middle(&corners);
            let (value, value_lower) = link.read(point(barycentric));
            n_reads += 1;
            if value < best.value {
                best = Deepest { barycentric, value, ..best };
            }
            lower = lower.max(value_lower - radius);
            if is_wanted(lower, &best) {
                waiting[n_waiting..n_waiting + 4].copy_from_slice(&quarters(&corners).map(part));
                n_waiting += 4;
                continue;
            }
        }
        best.lower = best.lower.min(lower);
    }
    best.lower = best.lower.min(best.value);
    if best.lower < best.value - tolerance && best.value <= margin {
        best = descend(link, triangle, best);
    }
    (best.lower <= margin).then_some(best)
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
        let before = best.value;
        for w in STEPS.into_iter().flat_map(|d| [d * step, -d * step]) {
            let barycentric = best.barycentric + w;
            if barycentric.min_element() < 0.0 {
                continue;
            }
            let [a, b, c] = *triangle;
            let (value, _) = link.read(a * barycentric.x + b * barycentric.y + c * barycentric.z);
            if value < best.value {
                best = Deepest { barycentric, value, ..best };
            }
        }
        if best.value == before {
            step *= 0.5;
        }
    }
    best.lower = best.lower.min(best.value);
    best
}

impl Link {
    /// The signed distance at a point in link frame and a lower bound of it, no farther apart than the field's
    /// tolerance: by the field, and by the exact surface where the field knows less.
    fn read(&self, p: DVec3) -> (f64, f64) {
        let reading = self.field.read(self.surface.mesh(), p);
        if reading.value - reading.lower <= self.field.tolerance() {
            return (reading.value, reading.lower);
        }
        let exact = self.surface.signed_distance(p, f64::INFINITY, None);
        exact.map_or((reading.value, reading.lower), |d| (d.signed_distance, d.signed_distance))
    }
}

fn middle(corners: &[DVec3; 3]) -> DVec3 {
    (corners[0] + corners[1] + corners[2]) / 3.0
}

fn quarters([a, b, c]: &[DVec3; 3]) -> [[DVec3; 3]; 4] {
    let (ab, bc, ca) = ((*a + *b) * 0.5, (*b + *c) * 0.5, (*c + *a) * 0.5);
    [[*a, ab, ca], [ab, *b, bc], [ca, bc, *c], [ab, bc, ca]]
}
