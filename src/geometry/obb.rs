//! Oriented boxes, and whether two of them meet: the 15-axis test.

use glam::{DMat3, DVec3};

use super::Pose;

/// A box by its centre, unit axes as columns and half edges, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obb {
    /// Midpoint.
    pub centre: DVec3,
    /// Right-handed, orthonormal to rounding.
    pub axes: DMat3,
    /// Half edges along the axes; none negative.
    pub half: DVec3,
}

/// Added to each |cosine| so that near-parallel edges, whose cross product is lost in rounding, separate
/// nothing (RAPID). Far above the rounding of a cosine, 2^-50, and it loosens a test by a millionth.
const PARALLEL_SLACK: f64 = 1e-6;

impl Obb {
    /// False only when the boxes are apart, given how the other's frame lies in this one's. The
    /// [`PARALLEL_SLACK`] also covers the roundings of poses and axes.
    pub fn may_meet(&self, other: &Obb, this_from_other: &Pose) -> bool {
        let to_own = self.axes.transpose();
        let rotation = to_own * this_from_other.rotation * other.axes;
        let between = to_own * (this_from_other.point(other.centre) - self.centre);
        let reach = self.half.element_sum() + other.half.element_sum();
        let rounding = PARALLEL_SLACK * PARALLEL_SLACK * (reach + between.abs().element_sum());
        !separated(&rotation, between, self.half, other.half, rounding)
    }
}

/// Gottschalk, Lin, Manocha 1996: own axes, the other's, and their nine cross products. `r` has B's axes in
/// A's frame as columns, `t` B's centre; `a` and `b` are half edges, and no place is off by more than
/// `rounding`.
pub(super) fn separated(r: &DMat3, t: DVec3, a: DVec3, b: DVec3, rounding: f64) -> bool {
    let slack = DVec3::splat(PARALLEL_SLACK);
    let loose = |axis: DVec3| axis.abs() + slack;
    let abs = DMat3::from_cols(loose(r.x_axis), loose(r.y_axis), loose(r.z_axis));
    if (t.abs() - a - abs * b).cmpgt(DVec3::splat(rounding)).any() {
        return true;
    }
    let on_b = r.transpose() * t;
    if (on_b.abs() - b - abs.transpose() * a).cmpgt(DVec3::splat(rounding)).any() {
        return true;
    }
    (0..3).any(|i| {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        (0..3).any(|m| {
            let (n, o) = ((m + 1) % 3, (m + 2) % 3);
            // Axis a_i x b_m.
            let gap = (t[k] * r.col(m)[j] - t[j] * r.col(m)[k]).abs();
            let of_a = a[j] * abs.col(m)[k] + a[k] * abs.col(m)[j];
            let of_b = b[n] * abs.col(o)[i] + b[o] * abs.col(n)[i];
            gap > of_a + of_b + rounding
        })
    })
}
