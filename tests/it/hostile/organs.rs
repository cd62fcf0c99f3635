//! Random tissues, and their deformations.

use glam::{DQuat, DVec3, Vec3};
use palpate::{
    geometry::MeshData,
    oracle::{Random, shapes},
};

/// Number of kinds of tissues.
pub const KINDS: usize = 9;

/// Makes a tissue of a kind, at most some 0.2 m wide.
pub fn organ(kind: usize, random: &mut Random) -> (&'static str, MeshData) {
    let seed = random.u64();
    let some = |random: &mut Random| shapes::organ(150 + random.below(1_200) as u32, seed);
    match kind % KINDS {
        0 => ("organ", some(random)),
        1 => ("flat organ", stretched(shapes::sphere(0.08, 6 + random.below(5) as u32), 0.1)),
        2 => {
            let organ = some(random);
            let n = 1 + random.below(12);
            ("torn organ", shapes::torn(organ, n, random))
        }
        3 => ("bodies", bodies(random)),
        4 => ("sheet", shapes::sheet(10, 9, random.range(2e-3, 1e-2))),
        5 => {
            let thin = 10f64.powf(random.range(-4.0, -1.5)) as f32;
            ("slivers", stretched(shapes::sphere(0.08, 5), thin))
        }
        6 => ("box", shapes::cuboid(random.point(DVec3::splat(0.02), DVec3::splat(0.2)))),
        7 => ("large sheet", shapes::sheet(2, 3, 0.1)),
        _ => ("tube", shapes::tube(random.range(5e-3, 0.03), 0.1, 12, 6)),
    }
}

fn stretched(mut data: MeshData, z: f32) -> MeshData {
    data.positions.iter_mut().for_each(|p| p.z *= z);
    data
}

/// Makes two to four balls, some of which overlap or contain each other.
fn bodies(random: &mut Random) -> MeshData {
    let mut whole = MeshData::default();
    for _ in 0..2 + random.below(3) {
        let ball = shapes::sphere(random.range(0.01, 0.06), 2 + random.below(4) as u32);
        let at = random.point(DVec3::splat(-0.05), DVec3::splat(0.05)).as_vec3();
        let first = whole.positions.len() as u32;
        whole.positions.extend(ball.positions.iter().map(|p| *p + at));
        whole.triangles.extend(ball.triangles.iter().map(|t| t.map(|v| v + first)));
    }
    whole
}

/// Returns new positions of all vertices: a dent as deep as the tissue is wide, a squeeze, a tremor, a shift, a twist
/// or back to rest.
pub fn deformed(rest: &[Vec3], now: &[Vec3], random: &mut Random) -> Vec<Vec3> {
    let at = now[random.below(now.len())];
    match random.below(7) {
        0 | 1 => dented(now, at, random),
        2 => {
            let axis = random.unit_vector().as_vec3();
            let by = random.range(0.05, 1.2) as f32 - 1.0;
            now.iter().map(|p| *p + axis * ((*p - at).dot(axis) * by)).collect()
        }
        3 => {
            let reach = 10f64.powf(random.range(-5.0, -2.5));
            now.iter().map(|p| *p + (random.unit_vector() * reach).as_vec3()).collect()
        }
        4 => {
            let by = (random.unit_vector() * random.range(0.0, 8e-3)).as_vec3();
            now.iter().map(|p| *p + by).collect()
        }
        5 => {
            let (axis, turn) = (random.unit_vector(), random.range(-20.0, 20.0));
            let twisted = |p: &Vec3| {
                let away = p.as_dvec3() - at.as_dvec3();
                DQuat::from_axis_angle(axis, turn * away.dot(axis)) * away
            };
            now.iter().map(|p| (at.as_dvec3() + twisted(p)).as_vec3()).collect()
        }
        _ => rest.to_vec(),
    }
}

/// Returns positions pushed in around a vertex; a part of a thin tissue comes out on the other side.
pub fn dented(now: &[Vec3], at: Vec3, random: &mut Random) -> Vec<Vec3> {
    let (towards, depth) = (random.unit_vector().as_vec3(), random.range(1e-3, 0.06) as f32);
    let width = random.range(5e-3, 0.04) as f32;
    let push = |p: &Vec3| towards * (depth * (-(*p - at).length_squared() / width.powi(2)).exp());
    now.iter().map(|p| *p + push(p)).collect()
}
