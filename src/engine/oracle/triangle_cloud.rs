//! Triangles at one position, of any size and shape, and query points for them.

use glam::{DVec3, Vec3};

use super::Random;

/// Common properties of the triangles.
#[derive(Debug)]
pub struct TriangleCloud {
    /// Position of the triangles, metres.
    pub place: DVec3,
    /// Upper bound of a corner's distance from that position, metres.
    pub size: f64,
    /// Ratio of the triangles' width to their length; 1 if they are not flattened.
    pub flatness: f64,
    along: DVec3,
}

impl TriangleCloud {
    /// A cloud up to 10 m from the origin, from 1e-18 m to 10 m large; each third is of slivers.
    pub fn any(round: usize, random: &mut Random) -> TriangleCloud {
        let place = random.unit_vector() * 10f64.powf(random.range(-4.0, 1.0));
        let size = 10f64.powf(random.range(-18.0, 1.0));
        let flatness =
            if round.is_multiple_of(3) { 10f64.powf(random.range(-8.0, 0.0)) } else { 1.0 };
        TriangleCloud { place, size, flatness, along: random.unit_vector() }
    }

    /// Returns a triangle of the cloud.
    pub fn triangle(&self, random: &mut Random) -> [Vec3; 3] {
        let TriangleCloud { place, size, flatness, along } = *self;
        std::array::from_fn(|_| {
            let v = random.unit_vector();
            let v = along * v.dot(along) + (v - along * v.dot(along)) * flatness;
            (place + v * size).as_vec3()
        })
    }

    /// Alternates between a corner of a triangle, its middle, a point near the triangles, and one up to 10 to the power
    /// of `farthest` metres away.
    pub fn point(
        &self,
        [a, b, c]: [Vec3; 3],
        round: usize,
        farthest: f64,
        random: &mut Random,
    ) -> DVec3 {
        match round % 4 {
            0 => a.as_dvec3(),
            1 => (a.as_dvec3() + b.as_dvec3() + c.as_dvec3()) / 3.0,
            2 => self.place + random.unit_vector() * self.size * random.range(0.0, 2.0),
            _ => self.place + random.unit_vector() * 10f64.powf(random.range(-3.0, farthest)),
        }
    }
}
