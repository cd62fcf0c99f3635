//! Oriented boxes and the 15-axis overlap test.

use glam::{DMat3, DVec3};

use super::{
    Pose,
    tolerance::{FRAME_ROUNDING, PARALLEL_AXES_SLACK},
};

/// A box given by its centre, unit axes as columns and half edges, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obb {
    /// Midpoint.
    pub centre: DVec3,
    /// Right-handed, orthonormal to rounding.
    pub axes: DMat3,
    /// Half edges along the axes; none negative.
    pub half: DVec3,
}

impl Obb {
    /// Returns false only if the boxes are apart; `this_from_other` maps the other's frame to this one's. `error`
    /// bounds the distance of a mapped point from its true position, metres.
    pub fn may_meet(&self, other: &Obb, this_from_other: &Pose, error: f64) -> bool {
        let to_own = self.axes.transpose();
        let rotation = to_own * this_from_other.rotation * other.axes;
        let between = to_own * (this_from_other.point(other.centre) - self.centre);
        let reach =
            between.abs().element_sum() + self.half.element_sum() + other.half.element_sum();
        !separated(&rotation, between, self.half, other.half, error + FRAME_ROUNDING * reach)
    }
}

/// Gottschalk, Lin, Manocha 1996: own axes, the other's, and their nine cross products. The columns of `r` are B's axes
/// in A's frame, `t` is B's centre; `a` and `b` are half edges, and no position is off by more than `rounding`.
pub(super) fn separated(r: &DMat3, t: DVec3, a: DVec3, b: DVec3, rounding: f64) -> bool {
    debug_assert!(a.min_element() >= 0.0 && b.min_element() >= 0.0, "{a}, {b}");
    debug_assert!(rounding >= 0.0, "{rounding} m");
    let slack = DVec3::splat(PARALLEL_AXES_SLACK);
    let loose = |axis: DVec3| axis.abs() + slack;
    let abs = DMat3::from_cols(loose(r.x_axis), loose(r.y_axis), loose(r.z_axis));
    // A's three axes.
    if (t.abs() - a - abs * b).cmpgt(DVec3::splat(rounding)).any() {
        return true;
    }
    // B's three axes.
    let on_b = r.transpose() * t;
    if (on_b.abs() - b - abs.transpose() * a).cmpgt(DVec3::splat(rounding)).any() {
        return true;
    }
    // The nine cross products come last: if boxes are apart, a face's normal mostly separates them.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(centre: DVec3) -> Obb {
        Obb { centre, axes: DMat3::IDENTITY, half: DVec3::new(1.0, 1.0, 0.0) }
    }

    #[test]
    fn faces_and_crossed_edges_separate() {
        let turn = |angle: f64| Pose {
            rotation: DMat3::from_rotation_z(angle) * DMat3::from_rotation_x(angle),
            translation: DVec3::ZERO,
        };
        let own = at(DVec3::ZERO);
        assert!(own.may_meet(&at(DVec3::new(2.0, 0.0, 0.0)), &Pose::IDENTITY, 0.0), "touching");
        assert!(!own.may_meet(&at(DVec3::new(2.1, 0.0, 0.0)), &Pose::IDENTITY, 0.0));
        assert!(!own.may_meet(&at(DVec3::new(0.0, 0.0, 1e-3)), &Pose::IDENTITY, 0.0), "flat boxes");
        assert!(own.may_meet(&at(DVec3::new(0.0, 0.0, 1e-3)), &Pose::IDENTITY, 2e-3));
        // Corner towards edge: no face's normal separates them, but a cross product of edges does.
        let thin = Obb { half: DVec3::new(1.0, 0.01, 0.01), ..at(DVec3::ZERO) };
        let mut pose = turn(0.9);
        pose.translation = thin.axes.x_axis.cross(pose.rotation.x_axis).normalize() * 0.05;
        assert!(!thin.may_meet(&thin, &pose, 0.0));
        pose.translation *= 0.1;
        assert!(thin.may_meet(&thin, &pose, 0.0));
    }
}
