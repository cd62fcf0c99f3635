//! Axis-aligned boxes in `f32`, always rounded outwards.

use glam::{DVec3, Vec3};

/// A closed box. [`Aabb::EMPTY`] holds nothing and is the neutral element of [`Aabb::union`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Least corner, metres.
    pub min: Vec3,
    /// Greatest corner, metres.
    pub max: Vec3,
}

impl Aabb {
    /// Holds nothing: every overlap test fails, every distance is infinite.
    pub const EMPTY: Aabb = Aabb { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    /// The exact box of some stored points.
    pub fn of_points(points: impl IntoIterator<Item = Vec3>) -> Aabb {
        points.into_iter().fold(Aabb::EMPTY, |b, p| Aabb { min: b.min.min(p), max: b.max.max(p) })
    }

    /// The smallest `f32` box around some `f64` points.
    pub fn around(points: impl IntoIterator<Item = DVec3>) -> Aabb {
        // Rounded once at the end and not for each point, so the box is the smallest possible.
        let (mut min, mut max) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for p in points {
            min = min.min(p);
            max = max.max(p);
        }
        Aabb { min: round_down(min), max: round_up(max) }
    }

    /// Returns true if the box holds no point.
    pub fn is_empty(&self) -> bool {
        // Negated, so that a box with NaN is empty too.
        !self.min.cmple(self.max).all()
    }

    /// The smallest box that holds both boxes.
    pub fn union(&self, other: &Aabb) -> Aabb {
        Aabb { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The box grown by `margin` metres on every side, rounded outwards.
    pub fn grown(&self, margin: f64) -> Aabb {
        if self.is_empty() {
            return *self;
        }
        debug_assert!(margin >= 0.0, "margin {margin} m");
        let m = DVec3::splat(margin);
        Aabb { min: round_down(self.min.as_dvec3() - m), max: round_up(self.max.as_dvec3() + m) }
    }

    /// Returns true if the boxes overlap or touch.
    pub fn overlaps(&self, other: &Aabb) -> bool {
        self.min.cmple(other.max).all() && other.min.cmple(self.max).all()
    }

    /// Returns true if every point of `other` is in this box.
    pub fn contains(&self, other: &Aabb) -> bool {
        // The infinite bounds of an empty box would otherwise be in no box.
        other.is_empty() || (self.min.cmple(other.min).all() && other.max.cmple(self.max).all())
    }

    /// Squared distance from a point, 0 inside, infinite when empty.
    pub fn distance_squared(&self, p: DVec3) -> f64 {
        let outside = (self.min.as_dvec3() - p).max(p - self.max.as_dvec3()).max(DVec3::ZERO);
        outside.length_squared()
    }

    /// Distance from another box, metres: 0 when they overlap, infinite when one is empty.
    pub fn distance(&self, other: &Aabb) -> f64 {
        let (a, b) = (self, other);
        let gap = (a.min.as_dvec3() - b.max.as_dvec3()).max(b.min.as_dvec3() - a.max.as_dvec3());
        gap.max(DVec3::ZERO).length()
    }

    /// Midpoint.
    pub fn centre(&self) -> DVec3 {
        (self.min.as_dvec3() + self.max.as_dvec3()) * 0.5
    }

    /// Edge lengths.
    pub fn size(&self) -> DVec3 {
        self.max.as_dvec3() - self.min.as_dvec3()
    }

    /// Length of the diagonal, 0 when empty.
    pub fn diagonal(&self) -> f64 {
        if self.is_empty() { 0.0 } else { self.size().length() }
    }

    /// The eight corners.
    pub fn corners(&self) -> [DVec3; 8] {
        let (a, b) = (self.min.as_dvec3(), self.max.as_dvec3());
        std::array::from_fn(|i| {
            let pick = |bit: usize, lo: f64, hi: f64| if i >> bit & 1 == 0 { lo } else { hi };
            DVec3::new(pick(0, a.x, b.x), pick(1, a.y, b.y), pick(2, a.z, b.z))
        })
    }
}

fn round_down(p: DVec3) -> Vec3 {
    let down = |x: f64| {
        let r = x as f32;
        // A cast rounds to nearest, which may be inside; the next lower number is then outside.
        if f64::from(r) > x { r.next_down() } else { r }
    };
    Vec3::new(down(p.x), down(p.y), down(p.z))
}

fn round_up(p: DVec3) -> Vec3 {
    // Negation is exact, so one rounding serves both directions.
    -round_down(-p)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_outwards() {
        let p = DVec3::new(0.1, -0.1, 1.0 / 3.0);
        let b = Aabb::around([p]);
        assert!(b.min.as_dvec3().cmple(p).all() && b.max.as_dvec3().cmpge(p).all());
        assert!(b.grown(1e-12).contains(&b));
    }

    #[test]
    fn empty_is_neutral_and_far() {
        let b = Aabb::of_points([Vec3::ONE, Vec3::NEG_ONE]);
        assert_eq!(b.union(&Aabb::EMPTY), b);
        assert!(!Aabb::EMPTY.overlaps(&b));
        assert!(Aabb::EMPTY.grown(1.0).is_empty());
        assert_eq!(Aabb::EMPTY.distance_squared(DVec3::ZERO), f64::INFINITY);
    }
}
