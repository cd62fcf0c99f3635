//! The client's own soft tissue: a smooth dent under the tip, sent as the moved vertices, or, if all of the tissue is
//! to move, a dent in a tissue that swells and shrinks.

use glam::Vec3;

use super::path::Site;
use crate::proto::{DensePositions, SparsePositions, deform_request::Positions};

/// Radius of the dent, in longest sides of the organ.
const RADIUS: f64 = 0.15;
/// Vertices up to which a dent has its full radius. In a finer organ such a dent would be larger than a message may be
/// (1 MiB; a vertex takes 17 bytes, and a dent holds about a twentieth of an organ).
const FULL_RADIUS_VERTICES_MAX: f64 = 1e6;

/// Swelling of all of a tissue, in parts of its size for each metre of the tip's dent.
const SWELL_PER_M: f32 = 1.0;

/// The shape at rest and as last sent.
#[derive(Clone, Debug)]
pub struct Dent {
    rest: Vec<Vec3>,
    current: Vec<Vec3>,
    radius_m: f64,
    moves_all: bool,
}

impl Dent {
    /// Creates a dent in an organ of length `organ_length_m`, at rest.
    pub fn new(rest: Vec<Vec3>, organ_length_m: f64) -> Dent {
        // The vertices of a dent grow with the square of its radius, so the root keeps their number: 50,000 of 17 bytes
        // are 850 kB.
        let shrink = (FULL_RADIUS_VERTICES_MAX / rest.len() as f64).sqrt().min(1.0);
        let radius_m = RADIUS * shrink * organ_length_m;
        Dent { current: rest.clone(), rest, radius_m, moves_all: false }
    }

    /// Creates a dent in an organ at rest that moves about `share` of its vertices, in (0, 1]; 1: all of them.
    pub fn of_share(rest: Vec<Vec3>, organ_length_m: f64, share: f64) -> Dent {
        if share == 1.0 {
            return Dent { moves_all: true, ..Dent::new(rest, organ_length_m) };
        }
        let mut far: Vec<f32> = rest.iter().map(|p| p.distance(rest[0])).collect();
        // A single vertex stands for all: if vertices are evenly spread, a ball elsewhere holds about as many.
        far.sort_by(f32::total_cmp);
        let radius_m = far[(share * far.len() as f64) as usize].into();
        Dent { current: rest.clone(), rest, radius_m, moves_all: false }
    }

    /// Dents the tissue under a site; returns `None` if no vertex moved.
    pub fn follow(&mut self, site: &Site) -> Option<Positions> {
        if self.moves_all {
            return Some(Positions::Dense(self.follow_all(site)));
        }
        let moved = self.follow_some(site);
        (!moved.vertices.is_empty()).then_some(Positions::Sparse(moved))
    }

    fn follow_all(&mut self, site: &Site) -> DensePositions {
        let swell = 1.0 + SWELL_PER_M * site.dent_m as f32;
        // The sparse result is not needed, only the shape.
        self.follow_some(site);
        // Swelling is about the origin: every vertex moves except one that lies there.
        let positions = self.current.iter().flat_map(|p| (*p * swell).to_array());
        DensePositions { positions_m: positions.collect() }
    }

    /// Returns the vertices of the dent, and those that the previous dent left.
    fn follow_some(&mut self, site: &Site) -> SparsePositions {
        let mut moved = SparsePositions::default();
        let push = (site.outward * -site.dent_m).as_vec3();
        let at = site.surface.as_vec3();
        let radius_squared = (self.radius_m * self.radius_m) as f32;
        for (number, (rest, current)) in (0..).zip(self.rest.iter().zip(&mut self.current)) {
            // (1 - (r/R)^2)^2: one at the centre, zero with zero slope at the boundary.
            let weight = (1.0 - rest.distance_squared(at) / radius_squared).max(0.0);
            let target = *rest + push * (weight * weight);
            // Exact comparison: a vertex that has come back to rest is sent once more and then no longer.
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
    use crate::load::stage::phantom::PhantomTissue;

    fn site(at: Vec3, dent_m: f64) -> Site {
        let surface = at.as_dvec3();
        Site { surface, outward: surface.normalize(), height_m: 0.0, dent_m }
    }

    #[test]
    fn only_vertices_within_the_radius_move_and_all_come_back() {
        let organ = PhantomTissue::smooth();
        let mut dent = Dent::new(organ.rest.clone(), organ.length_m());
        let at = organ.rest[17];
        let moved = dent.follow_some(&site(at, 0.004));
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

        assert!(dent.follow_some(&site(at, 0.004)).vertices.is_empty(), "nothing moved");
        let back = dent.follow_some(&site(at, 0.0));
        assert_eq!(back.vertices, moved.vertices);
        assert_eq!(dent.current, organ.rest);
        assert_eq!(dent.follow(&site(at, 0.0)), None);
    }

    #[test]
    fn about_the_share_that_was_asked_for_moves() {
        let organ = PhantomTissue::smooth();
        let n = organ.rest.len();
        let mut tenth = Dent::of_share(organ.rest.clone(), organ.length_m(), 0.1);
        let moved = tenth.follow_some(&site(organ.rest[0], 0.002)).vertices.len();
        assert!((n / 15..n / 8).contains(&moved), "{moved} of {n}");
        let mut all = Dent::of_share(organ.rest.clone(), organ.length_m(), 1.0);
        let Some(Positions::Dense(dense)) = all.follow(&site(organ.rest[0], 0.002)) else {
            panic!("not all vertices are sent");
        };
        assert_eq!(dense.positions_m.len(), 3 * n);
        let rest = organ.rest.iter().flat_map(|p| p.to_array());
        let still = rest.zip(&dense.positions_m).filter(|(a, b)| a == *b).count();
        assert!(still < n / 10, "{still} coordinates stand still");
    }
}
