//! Triangles about one place, of any size and shape, and points to look at them from.

use glam::{DVec3, Vec3};

use super::Random;

/// What the triangles have in common.
#[derive(Debug)]
pub struct TriangleCloud {
    /// Where they are, metres.
    pub place: DVec3,
    /// No corner is farther from there, metres.
    pub size: f64,
    /// How much narrower they are across than along; 1 where they are not.
    pub flatness: f64,
    along: DVec3,
}

impl TriangleCloud {
    /// Up to 10 m from the origin, from 1e-18 m to 10 m large; each third is of slivers.
    pub fn any(round: usize, random: &mut Random) -> TriangleCloud {
        let place = random.unit_vector() * 10f64.powf(random.range(-4.0, 1.0));
        let size = 10f64.powf(random.range(-18.0, 1.0));
        let flatness =
            if round.is_multiple_of(3) { 10f64.powf(random.range(-8.0, 0.0)) } else { 1.0 };
        TriangleCloud { place, size, flatness, along: random.unit_vector() }
    }

    /// One of them.
    pub fn triangle(&self, random: &mut Random) -> [Vec3; 3] {
        let TriangleCloud { place, size, flatness, along } = *self;
        std::array::from_fn(|_| {
            let v = random.unit_vector();
            let v = along * v.dot(along) + (v - along * v.dot(along)) * flatness;
            (place + v * size).as_vec3()
        })
    }

    /// By turns a corner of one of them, its middle, near them, and up to 10 to the power of `farthest` metres away.
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
