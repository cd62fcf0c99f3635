//! Inside or outside: the one place where the side of a point is decided.

use glam::DVec3;

use super::{direction::direction, mesh::pseudonormal::Pseudonormal, winding::Winding};

/// On which side of a surface a point is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The surface encloses the point.
    pub inside: bool,
    /// 0 (the side is a guess) to 1.
    pub certainty: f64,
}

/// What tells the side of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SideWitness {
    /// At the closest feature.
    Normal(Pseudonormal),
    /// Around the point, where the surface is open or has several bodies.
    Winding(Winding),
}

impl Side {
    /// Of a point that is `away` from the closest point of the surface, metres. `closed`: see [`Winding::inside`].
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

    /// Unit direction out of the surface at the closest point; the feature's normal where the point is on the surface.
    #[inline]
    pub fn outwards(&self, away: DVec3, normal: impl FnOnce() -> Pseudonormal) -> DVec3 {
        // A point within rounding of the surface has no direction of its own, and the normal is the limit of those
        // of the points about it.
        direction(away).map_or_else(|| normal().direction, |d| d * self.sign())
    }
}
