//! Ways to deform a surface.

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::{Aabb, TriangleMesh},
    oracle::Random,
};

/// Motion of all vertices of a mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// Each vertex moves by up to a hundredth of the mean edge.
    Tremble,
    /// The whole body is turned and moved by several times its size.
    Rigid,
    /// The body is twisted and sheared, far but smoothly.
    Twist,
    /// The body becomes four times as long along z, beyond the old end.
    Stretch,
    /// Each vertex moves anywhere: the surface crosses itself.
    Scatter,
    /// All vertices move to one point.
    Collapse,
    /// Back to the positions in the beginning.
    Back,
}

impl Motion {
    /// All motions, the collapse followed by the way back.
    pub const ALL: [Motion; 8] = [
        Motion::Tremble,
        Motion::Rigid,
        Motion::Twist,
        Motion::Back,
        Motion::Stretch,
        Motion::Scatter,
        Motion::Collapse,
        Motion::Back,
    ];

    /// Returns whether a surface that does not cross itself still does not do so afterwards.
    pub fn keeps_sides(self) -> bool {
        !matches!(self, Motion::Scatter | Motion::Collapse)
    }

    /// `rest`: the positions in the beginning, `[n_vertices]`.
    pub fn apply(self, rest: &[Vec3], mesh: &TriangleMesh, random: &mut Random) -> Vec<Vec3> {
        let size = Aabb::of_points(rest.iter().copied()).diagonal().max(1e-3);
        let edge = mesh.mean_edge();
        let turn = random.rotation();
        let shift = random.unit_vector() * size * random.range(0.0, 5.0);
        let map = |p: DVec3, random: &mut Random| match self {
            Motion::Tremble => p + random.unit_vector() * 0.01 * edge * random.f64(),
            Motion::Rigid => turn * p + shift,
            Motion::Twist => {
                let twisted = DQuat::from_rotation_z(1.5 * p.z / size) * p;
                twisted + DVec3::X * (0.8 * p.y + p.y * p.y / size)
            }
            Motion::Stretch => DVec3::new(p.x, p.y, 4.0 * p.z + 0.7 * size),
            Motion::Scatter => random.point(DVec3::splat(-size), DVec3::splat(size)),
            Motion::Collapse => shift,
            Motion::Back => p,
        };
        rest.iter().map(|p| map(p.as_dvec3(), random).as_vec3()).collect()
    }
}
