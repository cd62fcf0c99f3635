//! A triangle's leaf box: a rectangle flush with its longest edge, and tests in its frame.
//!
//! ```text
//!  y
//!  |------ A2 -----|      A3 = (0, 0), A1 = (l, 0), A2 = (a l, d), 0 <= a <= 1
//!  d      /   \    |
//!  |   /         \ |
//!  A3 ---- l ----- A1 -- x
//! ```

use glam::{DMat3, DVec2, DVec3};

use super::{
    cases::{LocalTriangle, PairVerdict, decide},
    predicates::Triangle,
};
use crate::geometry::{
    Obb, Pose,
    obb::separated,
    tolerance::{FLATTEST_FRAME, FRAME_ROUNDING, UNITY_ROUNDING},
};

/// Frame and sides of a triangle's rectangle. Lengths in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle {
    /// A3, the start of the longest edge.
    corner: DVec3,
    /// Along the longest edge.
    x: DVec3,
    /// In the triangle's plane, towards the apex.
    y: DVec3,
    /// The triangle's normal.
    z: DVec3,
    flat: LocalTriangle,
    /// Relative error of a length measured in this frame: the rounding of the axes.
    slack: f64,
}

/// A triangle whose corners are computed and so rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rounded {
    corners: Triangle,
    /// Bounds the error of each coordinate, metres.
    error: f64,
    /// Bounds the coordinates of the other corners relative to the first.
    size: f64,
}

impl Rounded {
    /// `error` bounds the error of each coordinate, metres.
    pub fn new(corners: Triangle, error: f64) -> Rounded {
        let [a, b, c] = corners;
        let size = (b - a).abs().element_sum().max((c - a).abs().element_sum());
        Rounded { corners, error, size }
    }
}

/// Another triangle's rectangle in the frame of one: computed by the box test and re-used by the triangle test.
#[derive(Clone, Copy, Debug)]
pub struct SeenRectangle {
    /// Axes of the other as columns.
    pub rotation: DMat3,
    /// Corner of the other.
    pub corner: DVec3,
}

impl Rectangle {
    /// Returns `None` for a triangle without area, or one too flat for a reliable frame.
    pub fn of(t: &Triangle) -> Option<Rectangle> {
        let squared = |k: usize| t[k].distance_squared(t[(k + 1) % 3]);
        let k = (0..3).reduce(|i, j| if squared(j) > squared(i) { j } else { i })?;
        let [start, end, apex] = [t[k], t[(k + 1) % 3], t[(k + 2) % 3]];
        let (e1, e2) = (end - start, apex - start);
        let l = e1.length();
        let normal = e1.cross(e2);
        let d = normal.length() / l;
        if l == 0.0 || d <= FLATTEST_FRAME * l {
            return None;
        }
        let (x, z) = (e1 / l, normal / (l * d));
        debug_assert!(x.dot(z).abs() <= UNITY_ROUNDING * l / d, "{x}, {z}");
        let flat = LocalTriangle { l, d, al: e2.dot(x).clamp(0.0, l) };
        // The normal is a cross product: its rounding grows with edge over height.
        let slack = FRAME_ROUNDING * l / d;
        Some(Rectangle { corner: start, x, y: z.cross(x), z, flat, slack })
    }

    /// The rectangle as a box without thickness.
    pub fn obb(&self) -> Obb {
        let half = DVec3::new(0.5 * self.flat.l, 0.5 * self.flat.d, 0.0);
        Obb { centre: self.corner + self.x * half.x + self.y * half.y, axes: self.axes(), half }
    }

    fn axes(&self) -> DMat3 {
        DMat3::from_cols(self.x, self.y, self.z)
    }

    /// Decides whether a triangle in the frame of this one meets it.
    ///
    /// For a triangle that deforms: its own rectangle would have to be built each time. On boxes that overlap (`cargo
    /// bench -- P7`) this takes 50 ns, transforming corners included; by rectangles 56 ns, 106 ns with the other's
    /// built for it; exact predicates alone 150 ns. So no number of tool triangles met in a tick repays a tissue
    /// triangle's rectangle, and the exact test is never the faster one.
    pub fn meets(&self, other: &Rounded) -> PairVerdict {
        let from = other.corners.map(|p| p - self.corner);
        let [x, y, z] = from[0].to_array();
        // Relative to the corner, so that a tool far from the origin loses no precision.
        let reach = x.abs() + y.abs() + z.abs() + other.size + self.flat.l;
        let error = other.error + self.slack * reach;
        let heights = from.map(|p| self.z.dot(p));
        let places = || from.map(|p| DVec2::new(self.x.dot(p), self.y.dot(p)));
        decide(&self.flat, heights, places, error, reach)
    }

    /// Another triangle's rectangle in this frame; `this_from_other` maps the other's frame to this one's.
    pub fn see(&self, other: &Rectangle, this_from_other: &Pose) -> SeenRectangle {
        let to_own = self.axes().transpose();
        SeenRectangle {
            rotation: to_own * this_from_other.rotation * other.axes(),
            corner: to_own * (this_from_other.point(other.corner) - self.corner),
        }
    }

    /// Returns false only if the rectangles are apart: the box test, which comes first and shares `seen`.
    pub fn may_meet_seen(&self, other: &Rectangle, seen: &SeenRectangle, error: f64) -> bool {
        let half = |f: &LocalTriangle| DVec3::new(0.5 * f.l, 0.5 * f.d, 0.0);
        let (own, others) = (half(&self.flat), half(&other.flat));
        // T = t + half of B's sides - half of A's.
        let between = seen.corner + seen.rotation * others - own;
        let reach = seen.corner.abs().element_sum() + other.flat.l + self.flat.l;
        let rounding = error + (self.slack + other.slack) * reach;
        !separated(&seen.rotation, between, own, others, rounding)
    }

    /// Decides whether the triangle of a rectangle in this frame meets this one. `error` bounds the error of each
    /// coordinate of the other, metres.
    pub fn meets_seen(&self, other: &Rectangle, seen: &SeenRectangle, error: f64) -> PairVerdict {
        let LocalTriangle { l, d, al } = other.flat;
        let (rx, ry, t) = (seen.rotation.x_axis, seen.rotation.y_axis, seen.corner);
        let reach = t.abs().element_sum() + 2.0 * l + self.flat.l;
        let error = error + (self.slack + other.slack) * reach;
        // 2.2: z of B3, B1 = B3 + l rx and B2 = B3 + a l rx + d ry, l1 d1 > 0 left out.
        let z = [t.z, t.z + l * rx.z, t.z + al * rx.z + d * ry.z];
        let xy = || {
            let (rx, ry, t) = (rx.truncate(), ry.truncate(), t.truncate());
            [t, t + rx * l, t + rx * al + ry * d]
        };
        decide(&self.flat, z, xy, error, reach)
    }
}
