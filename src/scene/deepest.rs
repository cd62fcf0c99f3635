//! The point of a triangle that is deepest in a link, or nearest to it.

use glam::DVec3;

use crate::{geometry::TriangleMesh, sdf::Field};

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

/// A part of the triangle: its corners as weights, the field at its middle.
#[derive(Clone, Copy)]
struct Part {
    corners: [DVec3; 3],
    lower: f64,
}

/// Parts that wait at most, and parts looked at: a triangle that fits its tool needs far fewer.
const PARTS_MAX: usize = 64;
const READS_MAX: usize = 256;

/// Looks for the deepest point of `triangle` (link frame) by branch and bound: the field is 1-Lipschitz, so
/// a part is at most its radius deeper than its middle. `None` when all of it is proved to be farther than
/// `margin`. Exact to the field's tolerance unless the cap on reads is met, and then `lower` tells.
pub(super) fn deepest(
    field: &Field,
    mesh: &TriangleMesh,
    triangle: &[DVec3; 3],
    margin: f64,
    tolerance: f64,
) -> Option<Deepest> {
    let point = |w: DVec3| triangle[0] * w.x + triangle[1] * w.y + triangle[2] * w.z;
    let bound = |corners: [DVec3; 3]| {
        let middle = point(weights_of_middle(&corners));
        let radius = corners.iter().map(|c| point(*c).distance(middle)).fold(0.0, f64::max);
        Part { corners, lower: field.lower_bound(middle) - radius }
    };
    let whole = bound(DVec3::AXES);
    if whole.lower > margin {
        return None;
    }
    let mut best = Deepest { barycentric: DVec3::X, value: f64::INFINITY, lower: f64::INFINITY };
    let look = |best: &mut Deepest, barycentric: DVec3| {
        if field.lower_bound(point(barycentric)) > best.value.min(margin) {
            return;
        }
        let value = field.read(mesh, point(barycentric)).value;
        if value < best.value {
            *best = Deepest { barycentric, value, ..*best };
        }
    };
    DVec3::AXES.into_iter().for_each(|w| look(&mut best, w));
    let mut waiting = [whole; PARTS_MAX];
    let (mut n_waiting, mut n_reads) = (1, 3);
    while n_waiting > 0 {
        n_waiting -= 1;
        let part = waiting[n_waiting];
        // Deeper by less than the tolerance is not worth looking for, nor is what stays beyond the margin.
        let wanted = (best.value - tolerance).min(margin);
        if part.lower > wanted {
            best.lower = best.lower.min(part.lower);
            continue;
        }
        if n_reads >= READS_MAX || n_waiting + 4 > PARTS_MAX {
            best.lower = best.lower.min(part.lower);
            continue;
        }
        look(&mut best, weights_of_middle(&part.corners));
        n_reads += 1;
        let mut children = quarters(&part.corners).map(bound);
        // The most promising one last, to be looked at first.
        children.sort_unstable_by(|a, b| b.lower.total_cmp(&a.lower));
        waiting[n_waiting..n_waiting + 4].copy_from_slice(&children);
        n_waiting += 4;
    }
    best.lower = best.lower.min(best.value);
    (best.lower <= margin).then_some(best)
}

fn weights_of_middle(corners: &[DVec3; 3]) -> DVec3 {
    (corners[0] + corners[1] + corners[2]) / 3.0
}

fn quarters([a, b, c]: &[DVec3; 3]) -> [[DVec3; 3]; 4] {
    let (ab, bc, ca) = ((*a + *b) * 0.5, (*b + *c) * 0.5, (*c + *a) * 0.5);
    [[*a, ab, ca], [ab, *b, bc], [ca, bc, *c], [ab, bc, ca]]
}
