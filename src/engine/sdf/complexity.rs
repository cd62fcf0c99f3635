//! Unit complexity: amount of surface detail of a region relative to its volume.
//!
//! Q = (a N + b sigma) / (V / V_root), with N vertices and sigma the variance of the dihedral angles of the
//! edges whose midpoints are in the region. The source's formula is lost; this fits its name and the
//! quantities it lists. The defaults make both terms shares of the whole link: a = 1 / N_link and
//! b = 1 / sigma_link.

use super::region::Region;
use crate::geometry::{
    TriangleMesh,
    mesh::{pseudonormal::unit_normal, topology::visit_edges},
};

/// Number, mean and sum of squared deviations of some angles; joined without visiting them again (Chan).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    pub(super) fn of(angle: f64) -> Spread {
        Spread { count: 1.0, mean: angle, squares: 0.0 }
    }

    pub(super) fn join(&self, other: &Spread) -> Spread {
        let count = self.count + other.count;
        if count == 0.0 {
            return Spread::default();
        }
        // Chan, Golub, LeVeque 1979: joined like this, nothing cancels, however often regions are merged.
        let delta = other.mean - self.mean;
        Spread {
            count,
            mean: (self.count * self.mean + other.count * other.mean) / count,
            squares: self.squares
                + other.squares
                + delta * delta * self.count * other.count / count,
        }
    }

    pub(super) fn variance(&self) -> f64 {
        debug_assert!(self.squares >= 0.0, "{self:?}");
        if self.count == 0.0 { 0.0 } else { self.squares / self.count }
    }
}

/// Terms of a region's complexity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Detail {
    pub(super) region: Region,
    pub(super) vertices: u32,
    pub(super) angles: Spread,
}

impl Detail {
    pub(super) fn join(&self, other: &Detail) -> Detail {
        Detail {
            region: self.region.union(&other.region),
            vertices: self.vertices + other.vertices,
            angles: self.angles.join(&other.angles),
        }
    }

    /// Q for the weights (a, b) and the root's volume.
    pub(super) fn complexity(&self, (a, b): (f64, f64), root_volume: f64) -> f64 {
        debug_assert!(
            a >= 0.0 && b >= 0.0 && self.region.volume() > 0.0,
            "{a}, {b}, {:?}",
            self.region
        );
        let detail = a * f64::from(self.vertices) + b * self.angles.variance();
        detail * root_volume / self.region.volume()
    }
}

/// Midpoint and dihedral angle (0: flat) of every edge with exactly two triangles.
pub(super) fn dihedral_angles(mesh: &TriangleMesh) -> Vec<(glam::DVec3, f64)> {
    let mut angles = Vec::new();
    visit_edges(mesh, |ends, uses| {
        let [a, b] = uses else { return };
        let (n, m) = (unit_normal(mesh, a.triangle), unit_normal(mesh, b.triangle));
        let ends = ends.map(|v| mesh.position(v));
        // Computed by atan2, which is exact near 0 and near pi, where an arc cosine loses half its digits.
        angles.push(((ends[0] + ends[1]) * 0.5, n.cross(m).length().atan2(n.dot(m))));
    });
    angles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_spread_is_that_of_all() {
        let angles = [0.1, 0.4, 0.35, 2.0, -1.0];
        let joined = angles.iter().fold(Spread::default(), |s, a| s.join(&Spread::of(*a)));
        let mean = angles.iter().sum::<f64>() / 5.0;
        let variance = angles.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / 5.0;
        assert!((joined.variance() - variance).abs() < 1e-15);
    }
}
