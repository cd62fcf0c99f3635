//! Winding number of a surface around a point: crossings of a ray with the surface and with the cap over its boundary.

use std::ops::ControlFlow;

use glam::DVec3;

use crate::{
    geometry::{
        Aabb, TriangleMesh,
        mesh::cap::Cap,
        tolerance::{BESIDE_SURFACE, GRAZING},
        winding::Winding,
    },
    index::{BoxTest, SkipList},
    time_left::TimeLeft,
};

/// Directions without symmetry, which seldom meet an edge of a made shape: for points from which rays along the axes
/// do.
const RAYS: [DVec3; 4] = [
    DVec3::new(0.834_711, 0.412_385, 0.365_209),
    DVec3::new(-0.291_053, 0.873_119, -0.391_007),
    DVec3::new(0.171_939, -0.517_301, 0.838_361),
    DVec3::new(-0.613_007, -0.309_611, -0.726_911),
];

/// A surface in its list, and the cap over its boundary.
struct Capped<'a> {
    list: &'a SkipList,
    mesh: &'a TriangleMesh,
    cap: &'a Cap,
    time: &'a TimeLeft<'a>,
}

/// Winding number of a surface around `p`: the ray's count with the boundary capped, less the cap's share. On the
/// surface or on the cap it is the mean of both sides. `None` if all rays tried graze an edge, or the time is over.
pub(super) fn counted_winding(
    list: &SkipList,
    mesh: &TriangleMesh,
    cap: &Cap,
    p: DVec3,
    time: &TimeLeft,
) -> Option<Winding> {
    let winding = Capped { list, mesh, cap, time }.winding(p);
    winding.filter(|_| !time.was_over())
}

impl Capped<'_> {
    fn winding(&self, p: DVec3) -> Option<Winding> {
        let at = |p: DVec3| {
            // A ray counts whole numbers, which only a closed surface has; the cap's own winding number is subtracted
            // again.
            let Winding { number, error } = self.cap.winding(self.mesh, p, self.time);
            Some(Winding { number: self.crossings(p)? - number, error })
        };
        let beside = |direction: &DVec3| {
            let step = *direction * (BESIDE_SURFACE * self.list.bounds().diagonal());
            let (a, b) = at(p + step).zip(at(p - step))?;
            let number = 0.5 * (a.number + b.number);
            Some(Winding { number, error: a.error.max(b.error) })
        };
        // No ray leaves a point on the surface clearly: the result is the mean of two points next to it.
        at(p).or_else(|| RAYS.iter().find_map(beside))
    }

    /// Winding number of surface and cap together around `p`: the signed crossings of a ray. O(sqrt n) for a compact
    /// surface. `None` if every ray tried grazes an edge, or `p` is on one of the two to rounding.
    fn crossings(&self, p: DVec3) -> Option<f64> {
        let along_axis = |axis: usize| {
            // Such a ray is itself a box, and eight boxes are tested at once.
            let (mut ray, mut direction) = (Aabb::around([p]), DVec3::AXES[axis]);
            let bounds = self.list.bounds();
            let [behind, ahead] = [bounds.min, bounds.max].map(|b| f64::from(b[axis]));
            // The ray leads towards the nearer side of the bounds, where it meets fewer triangles.
            if p[axis] - behind < ahead - p[axis] {
                (ray.min[axis], direction) = (f32::NEG_INFINITY, -direction);
            } else {
                ray.max[axis] = f32::INFINITY;
            }
            self.crossings_of_ray(p, direction, &(ray, |_: &Aabb| !self.time.is_over()))
        };
        let aslant = |d: &DVec3| {
            let is_met = |b: &Aabb| !self.time.is_over() && ray_meets_box(p, *d, b);
            self.crossings_of_ray(p, *d, &is_met)
        };
        // Axes come first: such a ray is a box, which the index tests eight at a time.
        (0..3).find_map(along_axis).or_else(|| RAYS.iter().find_map(aslant))
    }

    fn crossings_of_ray(&self, p: DVec3, d: DVec3, met: &impl BoxTest) -> Option<f64> {
        let mut sum = Some(0.0);
        let mut add = |triangle: [DVec3; 3]| {
            let crossing = sum.and(crossing(p, d, &triangle));
            sum = sum.zip(crossing).map(|(s, c)| s + c);
            if sum.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        self.list.overlap(met, |t| add(self.mesh.triangle(t)));
        self.cap.overlap(self.mesh, |b| met.passes(b), |t| _ = add(t));
        sum.filter(|_| !self.time.was_over())
    }
}

/// +1 if the ray leaves through the triangle's front, -1 through its back, 0 if it misses; `None` if it is too near to
/// a border to tell.
fn crossing(p: DVec3, d: DVec3, triangle: &[DVec3; 3]) -> Option<f64> {
    let [a, b, c] = triangle.map(|v| v - p);
    let w = DVec3::new(d.dot(b.cross(c)), d.dot(c.cross(a)), d.dot(a.cross(b)));
    let size = a.length().max(b.length()).max(c.length());
    let slack = GRAZING * size * size;
    let (least, most) = (w.min_element(), w.max_element());
    if least < -slack && most > slack {
        return Some(0.0);
    }
    if least.abs().min(most.abs()) <= slack {
        // Near an edge or its extension: a miss only if the triangle is behind.
        return (a.dot(d).max(b.dot(d)).max(c.dot(d)) < 0.0).then_some(0.0);
    }
    let normal = (b - a).cross(c - a);
    let (height, along) = (a.dot(normal), d.dot(normal));
    if height.abs() <= GRAZING * size * normal.length() {
        return None;
    }
    Some(if height * along > 0.0 { along.signum() } else { 0.0 })
}

fn ray_meets_box(p: DVec3, d: DVec3, b: &Aabb) -> bool {
    let (t0, t1) = ((b.min.as_dvec3() - p) / d, (b.max.as_dvec3() - p) / d);
    let (near, far) = (t0.min(t1).max_element(), t0.max(t1).min_element());
    // Small slack for the rounding of the divisions.
    let slack = GRAZING * far.abs().max(near.abs());
    !b.is_empty() && near <= far + slack && far + slack >= 0.0
}
