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

impl Side {
    /// Of a point that is `away` from the closest point of the surface, metres. `normal`: at the closest feature.
    /// `winding`: around the point, where the surface is open or has several bodies; it decides then, else the
    /// normal does. `closed`: see [`Winding::inside`].
    #[inline]
    pub fn of(away: DVec3, normal: &Pseudonormal, winding: Option<Winding>, closed: bool) -> Side {
        let (inside, certainty) = match winding {
            Some(winding) => winding.inside(closed),
            None => (away.dot(normal.direction) < 0.0, f64::from(normal.complete)),
        };
        debug_assert!((0.0..=1.0).contains(&certainty), "certainty {certainty} of {winding:?}");
        Side { inside, certainty }
    }

    /// -1 inside and 1 outside.
    #[inline]
    pub fn sign(&self) -> f64 {
        if self.inside { -1.0 } else { 1.0 }
    }

    /// Unit direction out of the surface at the closest point; the feature's normal where the point is on the surface.
    #[inline]
    pub fn outwards(&self, away: DVec3, normal: &Pseudonormal) -> DVec3 {
        // A point within rounding of the surface has no direction of its own, and the normal is the limit of those
        // of the points about it.
        direction(away).map_or(normal.direction, |d| d * self.sign())
    }
}
