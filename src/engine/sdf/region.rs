//! Boxes in `f64`: the space covered by a node, leaf or subspace.

use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A closed box, metres, link frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Region {
    pub(super) min: DVec3,
    pub(super) max: DVec3,
}

impl Region {
    pub(super) fn centre(&self) -> DVec3 {
        (self.min + self.max) * 0.5
    }

    pub(super) fn size(&self) -> DVec3 {
        self.max - self.min
    }

    pub(super) fn volume(&self) -> f64 {
        self.size().element_product()
    }

    /// Distance from the centre to a corner.
    pub(super) fn radius(&self) -> f64 {
        self.size().length() * 0.5
    }

    pub(super) fn contains(&self, p: DVec3) -> bool {
        self.min.cmple(p).all() && p.cmple(self.max).all()
    }

    /// Point of the box that is nearest to `p`.
    pub(super) fn nearest(&self, p: DVec3) -> DVec3 {
        p.clamp(self.min, self.max)
    }

    /// Lower bound of the distance between the triangle and the box.
    pub(super) fn distance_below(&self, [a, b, c]: &[DVec3; 3]) -> f64 {
        let (min, max) = (a.min(*b).min(*c), a.max(*b).max(*c));
        (min - self.max).max(self.min - max).max(DVec3::ZERO).length()
    }

    pub(super) fn union(&self, other: &Region) -> Region {
        Region { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Corner with bit k set: at the maximum on axis k.
    pub(super) fn corner(&self, i: usize) -> DVec3 {
        let pick = |k: usize| if i >> k & 1 == 1 { self.max[k] } else { self.min[k] };
        DVec3::new(pick(0), pick(1), pick(2))
    }

    /// The eighth of the box at corner `i`.
    pub(super) fn octant(&self, i: usize) -> Region {
        let (centre, corner) = (self.centre(), self.corner(i));
        debug_assert!(i < 8, "octant {i}");
        Region { min: centre.min(corner), max: centre.max(corner) }
    }

    /// Octant that contains a point; a point in a middle plane goes to the upper one.
    pub(super) fn octant_of(&self, p: DVec3) -> usize {
        // Computed by the expression of the octants' common corner, so that a point in a middle plane is in its
        // reported octant, to the bit.
        let c = self.centre();
        usize::from(p.x >= c.x) | usize::from(p.y >= c.y) << 1 | usize::from(p.z >= c.z) << 2
    }
}
