//! Poses as the contract defines them, computed with quaternions.

use glam::{DQuat, DVec3};
use palpate::{
    oracle::Random,
    proto::{Pose, Quaternion},
};

use crate::support::messages::vec3;

/// A pose: first a rotation, then a translation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    pub turn: DQuat,
    pub at: DVec3,
}

impl Placed {
    pub const REST: Placed = Placed { turn: DQuat::IDENTITY, at: DVec3::ZERO };

    pub fn point(&self, p: DVec3) -> DVec3 {
        self.turn * p + self.at
    }

    /// Returns the pose that applies `inner` first and then this one.
    pub fn of(&self, inner: &Placed) -> Placed {
        Placed { turn: self.turn * inner.turn, at: self.point(inner.at) }
    }

    /// Interpolates by `share` towards another pose: the origin moves straight, and the rotation is even, the short
    /// way.
    pub fn towards(&self, end: &Placed, share: f64) -> Placed {
        Placed { turn: self.turn.slerp(end.turn, share), at: self.at.lerp(end.at, share) }
    }

    /// Returns the pose turned by up to `angle` about a point and moved by up to `reach`.
    pub fn nudged(&self, about: DVec3, angle: f64, reach: f64, random: &mut Random) -> Placed {
        let by = DQuat::from_axis_angle(random.unit_vector(), random.range(-angle, angle));
        let moved = random.unit_vector() * reach * random.f64();
        Placed { turn: (by * self.turn).normalize(), at: about + by * (self.at - about) + moved }
    }

    pub fn wire(&self) -> Pose {
        let DQuat { x, y, z, w } = self.turn;
        let orientation = Some(Quaternion { x, y, z, w });
        Pose { position_m: Some(vec3(self.at.x, self.at.y, self.at.z)), orientation }
    }
}
