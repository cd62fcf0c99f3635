//! Rigid transforms, named `to_from`: `scene_from_tool.point(p)` maps a tool point to the scene.

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

use super::{Aabb, tolerance::QUATERNION_NORM_SLACK};

/// A rotation, then a translation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Columns are the images of the axes.
    pub rotation: DMat3,
    /// Metres, in the frame mapped to.
    pub translation: DVec3,
}

impl Pose {
    /// Maps every point to itself.
    pub const IDENTITY: Pose = Pose { rotation: DMat3::IDENTITY, translation: DVec3::ZERO };

    /// Pose from a unit quaternion; `None` if |1 - norm| exceeds [`QUATERNION_NORM_SLACK`].
    pub fn new(rotation: DQuat, translation: DVec3) -> Option<Pose> {
        let norm = rotation.length();
        let near_unit = (norm - 1.0).abs() <= QUATERNION_NORM_SLACK;
        // Divided by its norm, because a rotation that is not exactly unit would scale the mapped points.
        near_unit.then(|| Pose { rotation: DMat3::from_quat(rotation / norm), translation })
    }

    /// Maps a point to the target frame.
    pub fn point(&self, p: DVec3) -> DVec3 {
        self.rotation * p + self.translation
    }

    /// Maps a triangle to the target frame.
    #[inline(always)]
    pub fn triangle(&self, [a, b, c]: &[DVec3; 3]) -> [DVec3; 3] {
        [self.point(*a), self.point(*b), self.point(*c)]
    }

    /// Maps a direction to the target frame.
    pub fn vector(&self, v: DVec3) -> DVec3 {
        self.rotation * v
    }

    /// The inverse transform.
    pub fn inverse(&self) -> Pose {
        // The transpose is the inverse of a rotation, exactly as good as the rotation itself.
        let rotation = self.rotation.transpose();
        Pose { rotation, translation: -(rotation * self.translation) }
    }

    /// `a_from_b.then_from(b_from_c)` is `a_from_c`.
    pub fn then_from(&self, inner: &Pose) -> Pose {
        Pose {
            rotation: self.rotation * inner.rotation,
            translation: self.point(inner.translation),
        }
    }

    /// Box, in the target frame, of everything in `b`.
    pub fn aabb(&self, b: &Aabb) -> Aabb {
        if b.is_empty() { Aabb::EMPTY } else { Aabb::around(b.corners().map(|c| self.point(c))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_undoes_and_chains() {
        let a =
            Pose::new(DQuat::from_xyzw(0.1, 0.2, 0.3, 0.927_361_849), DVec3::new(1.0, 2.0, 3.0));
        let a = a.expect("near unit");
        let p = DVec3::new(-4.0, 5.0, 0.5);
        assert!((a.inverse().point(a.point(p)) - p).length() < 1e-12);
        assert!((a.then_from(&a).point(p) - a.point(a.point(p))).length() < 1e-12);
    }

    #[test]
    fn refuses_a_quaternion_that_is_no_rotation() {
        assert!(Pose::new(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DVec3::ZERO).is_none());
        assert!(Pose::new(DQuat::from_xyzw(0.0, 0.0, 0.0, 1.002), DVec3::ZERO).is_none());
        assert!(Pose::new(DQuat::from_xyzw(0.0, 0.0, 0.0, -0.9995), DVec3::ZERO).is_some());
    }
}
