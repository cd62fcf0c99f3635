//! Inside or outside: the single module that decides the side of a point.

use glam::DVec3;

use super::{direction::direction, mesh::pseudonormal::Pseudonormal, winding::Winding};

/// Side of a surface that a point is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// True if the surface encloses the point.
    pub inside: bool,
    /// 0 (the side is a guess) to 1.
    pub certainty: f64,
}

/// Evidence that decides the side of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SideWitness {
    /// Pseudonormal at the closest feature.
    Normal(Pseudonormal),
    /// Winding number around the point, if the surface is open or has several bodies.
    Winding(Winding),
}

impl Side {
    /// Side of a point that is `away` from the closest point of the surface, metres. `closed`: see [`Winding::inside`].
    #[inline]
    pub fn of(away: DVec3, witness: &SideWitness, closed: bool) -> Side {
        let (inside, certainty) = match witness {
            SideWitness::Winding(winding) => winding.inside(closed),
            SideWitness::Normal(normal) => {
                (away.dot(normal.direction) < 0.0, f64::from(normal.complete))
            }
        };
        debug_assert!((0.0..=1.0).contains(&certainty), "certainty {certainty} of {witness:?}");
        Side { inside, certainty }
    }

    /// -1 inside and 1 outside.
    #[inline]
    pub fn sign(&self) -> f64 {
        if self.inside { -1.0 } else { 1.0 }
    }

    /// Unit direction out of the surface at the closest point; the feature's normal if the point is on the surface.
    #[inline]
    pub fn outwards(&self, away: DVec3, normal: impl FnOnce() -> Pseudonormal) -> DVec3 {
        // A point within rounding of the surface has no direction of its own, and the normal is the limit of the
        // directions of the points around it.
        direction(away).map_or_else(|| normal().direction, |d| d * self.sign())
    }
}
