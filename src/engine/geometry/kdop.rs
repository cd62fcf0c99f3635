//! Boxes with sixteen faces, rounded outwards: intervals along x, y, z, x+y, x+z, y+z, x-y and x-z.
//!
//! The directions of source 000 (CN102708017): those of the 18-DOP without y-z. They are not normalised, so the
//! diagonal intervals are longer by the square root of two.

use std::f64::consts::SQRT_2;

use glam::DVec3;

use super::tolerance::KDOP_OUTWARD;

/// Directions of a [`Dop16`].
pub const N_DIRECTIONS: usize = 8;

/// A closed convex box with faces across eight fixed directions. [`Dop16::EMPTY`] holds nothing and is the neutral
/// element of [`Dop16::union`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dop16 {
    /// Least projection on each direction, metres (times the direction's length).
    pub min: [f32; N_DIRECTIONS],
    /// Greatest projection on each direction.
    pub max: [f32; N_DIRECTIONS],
}

impl Dop16 {
    /// Holds nothing: every overlap test fails.
    pub const EMPTY: Dop16 =
        Dop16 { min: [f32::INFINITY; N_DIRECTIONS], max: [f32::NEG_INFINITY; N_DIRECTIONS] };

    /// The box of some points and their convex hull. For the sweep of a triangle whose corners move straight, pass its
    /// corners at both ends of the step.
    pub fn around(points: impl IntoIterator<Item = DVec3>) -> Dop16 {
        let (mut min, mut max) = ([f64::INFINITY; N_DIRECTIONS], [f64::NEG_INFINITY; N_DIRECTIONS]);
        let mut any = false;
        for p in points {
            any = true;
            for (d, along) in projections(p).into_iter().enumerate() {
                min[d] = min[d].min(along);
                max[d] = max[d].max(along);
            }
        }
        if any { Dop16 { min: min.map(below), max: max.map(above) } } else { Dop16::EMPTY }
    }

    /// Returns true if the box holds no point.
    pub fn is_empty(&self) -> bool {
        // Negated, so that NaN in any direction makes it empty.
        !(0..N_DIRECTIONS).all(|d| self.min[d] <= self.max[d])
    }

    /// The smallest k-DOP that holds both.
    pub fn union(&self, other: &Dop16) -> Dop16 {
        // A comparison and not f32::min, which also handles NaN: it compiles to one wide instruction.
        let least = |d: usize| if other.min[d] < self.min[d] { other.min[d] } else { self.min[d] };
        let most = |d: usize| if other.max[d] > self.max[d] { other.max[d] } else { self.max[d] };
        Dop16 { min: std::array::from_fn(least), max: std::array::from_fn(most) }
    }

    /// A box that holds every point within `margin` metres of this box.
    pub fn grown(&self, margin: f64) -> Dop16 {
        if self.is_empty() {
            return *self;
        }
        debug_assert!(margin >= 0.0, "margin {margin} m");
        // Diagonal directions have length sqrt(2), and so have the margins of their intervals.
        let m = |d: usize| if d < 3 { margin } else { margin * SQRT_2 };
        Dop16 {
            min: std::array::from_fn(|d| below(f64::from(self.min[d]) - m(d))),
            max: std::array::from_fn(|d| above(f64::from(self.max[d]) + m(d))),
        }
    }

    /// Returns true if no direction separates the boxes; touching boxes overlap.
    pub fn overlaps(&self, other: &Dop16) -> bool {
        // No early exit, so that it compiles to wide comparisons.
        (0..N_DIRECTIONS).fold(true, |all, d| {
            all & (self.min[d] <= other.max[d]) & (other.min[d] <= self.max[d])
        })
    }

    /// Returns true if every point of `other` is in this box.
    pub fn contains(&self, other: &Dop16) -> bool {
        other.is_empty()
            || (0..N_DIRECTIONS).all(|d| self.min[d] <= other.min[d] && other.max[d] <= self.max[d])
    }

    /// Midpoint of the intervals along x, y and z.
    pub fn centre(&self) -> DVec3 {
        let middle = |d: usize| (f64::from(self.min[d]) + f64::from(self.max[d])) * 0.5;
        DVec3::new(middle(0), middle(1), middle(2))
    }
}

/// Projections of a point on the eight directions.
fn projections(p: DVec3) -> [f64; N_DIRECTIONS] {
    [p.x, p.y, p.z, p.x + p.y, p.x + p.z, p.y + p.z, p.x - p.y, p.x - p.z]
}

fn below(along: f64) -> f32 {
    let nearest = along as f32;
    // The least normal number is added for values near 0, whose share would vanish.
    nearest - (nearest.abs() * KDOP_OUTWARD + f32::MIN_POSITIVE)
}

fn above(along: f64) -> f32 {
    -below(-along)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    #[test]
    fn holds_its_points_and_all_between() {
        let mut random = Random::new(16);
        for scale in [1e-20, 1e-3, 1.0, 1e4] {
            for _ in 0..500 {
                let corner = DVec3::splat(scale);
                let points: [DVec3; 6] = std::array::from_fn(|_| random.point(-corner, corner));
                let dop = Dop16::around(points);
                let between = points[0].lerp(points[1], random.f64());
                for p in points.into_iter().chain([between]) {
                    for (d, along) in projections(p).into_iter().enumerate() {
                        assert!(f64::from(dop.min[d]) < along && along < f64::from(dop.max[d]));
                    }
                    assert!(dop.overlaps(&Dop16::around([p])));
                }
                let away = points[2] + random.unit_vector() * (0.3 * scale);
                assert!(dop.grown(0.3 * scale).overlaps(&Dop16::around([away])));
            }
        }
    }

    #[test]
    fn a_diagonal_separates_what_boxes_do_not() {
        let low = Dop16::around([DVec3::ZERO, DVec3::X, DVec3::Y]);
        let high =
            Dop16::around([DVec3::ONE, DVec3::new(1.0, 0.2, 0.0), DVec3::new(0.2, 1.0, 0.0)]);
        assert!(!low.overlaps(&high) && !high.overlaps(&low));
        let touching = Dop16::around([DVec3::new(0.5, 0.5, 0.0)]);
        assert!(
            low.overlaps(&touching) && high.overlaps(&high) && low.union(&high).overlaps(&high)
        );
    }

    #[test]
    fn empty_is_neutral_and_meets_nothing() {
        let dop = Dop16::around([DVec3::ONE, DVec3::NEG_ONE]);
        assert_eq!(dop.union(&Dop16::EMPTY), dop);
        assert!(Dop16::EMPTY.is_empty() && Dop16::EMPTY.grown(1.0).is_empty());
        assert!(!Dop16::EMPTY.overlaps(&dop) && dop.contains(&Dop16::EMPTY));
        assert_eq!(Dop16::around([]), Dop16::EMPTY);
    }
}
