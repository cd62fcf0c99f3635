//! Turns and screws: the motions that a proxy's coordinates stand for.
//!
//! Murray, Li, Sastry, "A Mathematical Introduction to Robotic Manipulation", 1994, chapter 2.

use glam::{DMat3, DQuat, DVec3};

use crate::geometry::Pose;

/// Screw motion, as its rate per unit of its coordinate. The velocity of a point p is `along + turn x p`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Screw {
    /// Radians per unit.
    pub turn: DVec3,
    /// Metres per unit, of the origin.
    pub along: DVec3,
}

/// Returns the rotation vector of a rotation matrix: axis times angle, 0 to pi.
pub fn rotation_vector(rotation: &DMat3) -> DVec3 {
    // atan2 is exact for small angles; acos of the scalar part loses half the digits there.
    let q = DQuat::from_mat3(rotation);
    let (v, w) = if q.w < 0.0 { (-q.xyz(), -q.w) } else { (q.xyz(), q.w) };
    let sine = v.length();
    if sine == 0.0 { DVec3::ZERO } else { v * (2.0 * sine.atan2(w) / sine) }
}

/// Returns the rotation by a rotation vector.
pub fn turned_by(vector: DVec3) -> DMat3 {
    DMat3::from_quat(DQuat::from_scaled_axis(vector))
}

/// Returns a product of rotations, without the rounding that products accumulate.
pub fn clean_product(a: &DMat3, b: &DMat3) -> DMat3 {
    let product = *a * *b;
    // Gram and Schmidt: a rotation that is multiplied a thousand times a second stays one.
    let x = product.x_axis.normalize();
    let y = (product.y_axis - x * x.dot(product.y_axis)).normalize();
    DMat3::from_cols(x, y, x.cross(y))
}

impl Screw {
    /// Returns the motion from one pose to another in unit time.
    pub fn between(from: &Pose, to: &Pose) -> Screw {
        let step = to.then_from(&from.inverse());
        let turn = rotation_vector(&step.rotation);
        let angle_squared = turn.length_squared();
        // (2.36) of the source, inverted: V^-1 = 1 - [w]/2 + c [w]^2 with c = (1 - a sin a / (2 (1 - cos a))) / a^2.
        let half = 0.5 * angle_squared.sqrt();
        let c = if half < SERIES_BELOW {
            1.0 / 12.0
        } else {
            (1.0 - half / half.tan()) / angle_squared
        };
        let t = step.translation;
        let across = turn.cross(t);
        Screw { turn, along: t - 0.5 * across + c * turn.cross(across) }
    }

    /// Returns the pose after `units` units.
    pub fn after(&self, units: f64) -> Pose {
        let (turn, along) = (self.turn * units, self.along * units);
        let angle = turn.length();
        // (2.36): V = 1 + (1 - cos a)/a^2 [w] + (a - sin a)/a^3 [w]^2.
        let (b, c) = if angle < SERIES_BELOW {
            (0.5, 1.0 / 6.0)
        } else {
            let half_sine = (0.5 * angle).sin();
            (2.0 * half_sine * half_sine / (angle * angle), (angle - angle.sin()) / angle.powi(3))
        };
        let across = turn.cross(along);
        Pose { rotation: turned_by(turn), translation: along + b * across + c * turn.cross(across) }
    }

    /// Velocity of a point, metres per unit.
    pub fn velocity(&self, p: DVec3) -> DVec3 {
        self.along + self.turn.cross(p)
    }

    /// Returns how many units of another screw come nearest to this motion: all of it if both are along one screw.
    pub fn units_of(&self, unit: &Screw) -> f64 {
        // Turns count as lengths at the unit's own radius, so that a pure turn and a pure shift are both weighed.
        let turn_squared = unit.turn.length_squared();
        let per_turn = if turn_squared > 0.0 { 1.0 / turn_squared } else { 0.0 };
        let weighed = |a: &Screw, b: &Screw| a.along.dot(b.along) + per_turn * a.turn.dot(b.turn);
        weighed(self, unit) / weighed(unit, unit)
    }

    /// Returns the motion at `factor` times the rate.
    pub fn times(&self, factor: f64) -> Screw {
        Screw { turn: self.turn * factor, along: self.along * factor }
    }
}

/// Angle, radians, below which the first term of a series is exact to the digits of `f64` that matter: the next is
/// smaller by the angle's square, 1e-10 of it.
const SERIES_BELOW: f64 = 1.0 / 65_536.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    #[test]
    fn a_screw_leads_from_pose_to_pose() {
        let mut random = Random::new(4);
        for i in 0..2000 {
            let scale = 10f64.powi(-(i % 10));
            let mut pose = |scale: f64| Pose {
                rotation: turned_by(random.unit_vector() * (3.0 * random.f64() * scale)),
                translation: random.unit_vector() * scale,
            };
            let (from, step) = (pose(1.0), pose(scale));
            let to = step.then_from(&from);
            let screw = Screw::between(&from, &to);
            let p = DVec3::new(0.1, -0.2, 0.3);
            let there = screw.after(1.0).then_from(&from).point(p);
            let off = there.distance(to.point(p));
            assert!(off < 1e-12 + 1e-9 * scale, "{off} m off, scale {scale}");
            let half = screw.after(0.5);
            let twice = half.then_from(&half).then_from(&from).point(p);
            assert!(twice.distance(there) < 1e-12 + 1e-9 * scale, "{scale}");
            let d = 1e-6;
            let q = from.point(p);
            let rate = (screw.after(d).point(q) - q) / d;
            assert!(rate.distance(screw.velocity(q)) < 1e-4, "{rate}");
        }
    }
}
