//! The client's own soft tissue: a smooth dent under the tip, sent as the vertices that moved.

use glam::Vec3;

use super::path::Site;
use crate::service::proto::SparsePositions;

/// In longest sides of the organ.
const RADIUS: f64 = 0.15;
/// Vertices of a finer organ would make a dent of that radius larger than a message may be (1 MiB; a
/// vertex takes 17 bytes, and a dent holds about a twentieth of an organ).
const FULL_RADIUS_VERTICES_MAX: f64 = 1e6;

/// The shape at rest and as last sent.
#[derive(Clone, Debug)]
pub struct Dent {
    rest: Vec<Vec3>,
    current: Vec<Vec3>,
    radius_m: f64,
}

impl Dent {
    /// In an organ of that length, at rest.
    pub fn new(rest: Vec<Vec3>, organ_length_m: f64) -> Dent {
        let shrink = (FULL_RADIUS_VERTICES_MAX / rest.len() as f64).sqrt().min(1.0);
        Dent { current: rest.clone(), rest, radius_m: RADIUS * shrink * organ_length_m }
    }

    /// Dents the tissue under a site and gives the vertices that are elsewhere than before: those of
    /// the dent, and those that the last one left.
    pub fn follow(&mut self, site: &Site) -> SparsePositions {
        let mut moved = SparsePositions::default();
        let push = (site.outward * -site.dent_m).as_vec3();
        let at = site.surface.as_vec3();
        let radius_squared = (self.radius_m * self.radius_m) as f32;
        for (number, (rest, current)) in (0..).zip(self.rest.iter().zip(&mut self.current)) {
            // (1 - (r/R)^2)^2: one at the centre, zero with zero slope at the rim.
            let weight = (1.0 - rest.distance_squared(at) / radius_squared).max(0.0);
            let target = *rest + push * (weight * weight);
            if target != *current {
                *current = target;
                moved.vertices.push(number);
                moved.positions_m.extend(target.to_array());
            }
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::phantom::Organ;

    fn site(at: Vec3, dent_m: f64) -> Site {
        let surface = at.as_dvec3();
        Site { surface, outward: surface.normalize(), height_m: 0.0, dent_m }
    }

    #[test]
    fn only_vertices_within_the_radius_move_and_all_come_back() {
        let organ = Organ::generated();
        let mut dent = Dent::new(organ.rest.clone(), organ.length_m());
        let at = organ.rest[17];
        let moved = dent.follow(&site(at, 0.004));
        assert!(moved.vertices.len() > 50 && moved.vertices.len() < organ.rest.len() / 4);
        assert!(moved.vertices.contains(&17));
        let mut deepest: f64 = 0.0;
        for (v, p) in moved.vertices.iter().zip(moved.positions_m.chunks_exact(3)) {
            let rest = organ.rest[*v as usize];
            assert!(f64::from(rest.distance(at)) < 0.15 * organ.length_m());
            let shift = (Vec3::from_slice(p) - rest).as_dvec3();
            assert!(shift.dot(site(at, 0.0).outward) <= 0.0);
            deepest = deepest.max(shift.length());
        }
        assert!((deepest - 0.004).abs() < 1e-6, "{deepest}");

        assert!(dent.follow(&site(at, 0.004)).vertices.is_empty(), "nothing moved");
        let back = dent.follow(&site(at, 0.0));
        assert_eq!(back.vertices, moved.vertices);
        assert_eq!(dent.current, organ.rest);
    }
}
