//! Generated meshes for tests, benchmarks and the demo: metres, closed and counter-clockwise seen from outside unless
//! stated otherwise, without zero-area triangles.

use std::{
    collections::HashMap,
    f64::consts::{PI, TAU},
};

use glam::{DVec3, Vec3};

use super::Random;
use crate::geometry::MeshData;

/// A geodesic sphere about the origin: `20 * frequency^2` triangles, all vertices at `radius`.
pub fn sphere(radius: f64, frequency: u32) -> MeshData {
    // Triangles are even everywhere, unlike a grid of longitudes with its needles at the poles.
    let mut mesh = Geodesic::new(frequency);
    for p in &mut mesh.directions {
        *p *= radius;
    }
    mesh.into_data()
}

/// A box about the origin with edges of `size`: 8 vertices, 12 triangles.
pub fn cuboid(size: DVec3) -> MeshData {
    let corner = |i: u32| {
        let sign = |bit: u32| if i >> bit & 1 == 0 { -0.5 } else { 0.5 };
        (size * DVec3::new(sign(0), sign(1), sign(2))).as_vec3()
    };
    let faces =
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    MeshData {
        positions: (0..8).map(corner).collect(),
        triangles: faces.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect(),
    }
}

/// A ring about z: `2 * nu * nv` triangles, `nu` steps about the axis, `nv` about the tube.
pub fn torus(ring_radius: f64, tube_radius: f64, nu: u32, nv: u32) -> MeshData {
    let at = |i: u32, j: u32| {
        let (su, cu) = (TAU * f64::from(i) / f64::from(nu)).sin_cos();
        let (sv, cv) = (TAU * f64::from(j) / f64::from(nv)).sin_cos();
        let r = ring_radius + tube_radius * cv;
        DVec3::new(r * cu, r * su, tube_radius * sv).as_vec3()
    };
    let positions = (0..nu).flat_map(|i| (0..nv).map(move |j| at(i, j))).collect();
    // Both directions wrap around, so that it closes without a seam.
    let id = |i: u32, j: u32| (i % nu) * nv + j % nv;
    let triangles = cells(nu, nv)
        .flat_map(|(i, j)| quad(id(i, j), id(i + 1, j), id(i + 1, j + 1), id(i, j + 1)))
        .collect();
    MeshData { positions, triangles }
}

/// Two cones base to base about z, with tips at `+-half_length`: `2 * n` triangles, and each tip has `n` of them.
pub fn spindle(n: u32, radius: f64, half_length: f64) -> MeshData {
    let rim = |i: u32| {
        let (sin, cos) = (TAU * f64::from(i) / f64::from(n)).sin_cos();
        DVec3::new(radius * cos, radius * sin, 0.0).as_vec3()
    };
    let tips = [half_length, -half_length].map(|z| (DVec3::Z * z).as_vec3());
    let (top, bottom) = (n, n + 1);
    let both = |i: u32| [[i, (i + 1) % n, top], [(i + 1) % n, i, bottom]];
    MeshData {
        positions: (0..n).map(rim).chain(tips).collect(),
        triangles: (0..n).flat_map(both).collect(),
    }
}

/// A cylinder along z from `-half_length` to `half_length` with a half sphere on each end; `n` (>= 4)
/// steps about the axis.
pub fn capsule(radius: f64, half_length: f64, n: u32) -> MeshData {
    // A quarter of a circle in as many steps as the axis has in a quarter: triangles are about even.
    let n_rings = (n / 4).max(1);
    let mut rings = Vec::new();
    for (centre, first) in [(-half_length, 1), (half_length, 0)] {
        for i in 0..n_rings {
            let latitude = 0.5 * PI * f64::from(i + first) / f64::from(n_rings)
                - if first == 1 { 0.5 * PI } else { 0.0 };
            let (sin, cos) = latitude.sin_cos();
            rings.push(ring(n, |s, c| {
                DVec3::new(radius * cos * c, radius * cos * s, centre + radius * sin)
            }));
        }
    }
    let pole = DVec3::Z * (half_length + radius);
    swept(&rings, -pole, pole)
}

/// A flat open grid in z = 0 from the origin along x and y, facing +z: `nx * ny` vertices, `dx` metres
/// apart.
pub fn sheet(nx: u32, ny: u32, dx: f64) -> MeshData {
    let at = |i: u32, j: u32| DVec3::new(f64::from(i) * dx, f64::from(j) * dx, 0.0).as_vec3();
    let id = |i: u32, j: u32| i * ny + j;
    MeshData {
        positions: (0..nx).flat_map(|i| (0..ny).map(move |j| at(i, j))).collect(),
        triangles: cells(nx - 1, ny - 1)
            .flat_map(|(i, j)| quad(id(i, j), id(i + 1, j), id(i + 1, j + 1), id(i, j + 1)))
            .collect(),
    }
}

/// An open cylinder wall along z about the origin, facing away from the axis: `n` steps about the axis,
/// `m` along it, `2 * n * m` triangles.
pub fn tube(radius: f64, length: f64, n: u32, m: u32) -> MeshData {
    let rings: Vec<Vec<DVec3>> = (0..=m)
        .map(|i| {
            let z = length * (f64::from(i) / f64::from(m) - 0.5);
            ring(n, |s, c| DVec3::new(radius * c, radius * s, z))
        })
        .collect();
    wall(&rings)
}

/// A shape without `n` of its triangles, vertices kept.
pub fn torn(mut data: MeshData, n: usize, random: &mut Random) -> MeshData {
    for _ in 0..n {
        let at = random.below(data.triangles.len());
        // Ids of the remaining triangles change, which does not matter to tests of torn shapes.
        data.triangles.swap_remove(at);
    }
    data
}

/// A shape whose corners get vertices of their own, as exporters make them along seams: each with probability `share`.
pub fn split(data: MeshData, share: f64, random: &mut Random) -> MeshData {
    let MeshData { mut positions, mut triangles } = data;
    for v in triangles.as_flattened_mut().iter_mut().filter(|_| random.f64() < share) {
        positions.push(positions[*v as usize]);
        *v = positions.len() as u32 - 1;
    }
    MeshData { positions, triangles }
}

/// A smooth lumpy organ, 0.2 m on its longest side, its box about the origin: star-shaped, so it does
/// not cross itself. The triangle count is the value of `20 * frequency^2` nearest in frequency.
pub fn organ(n_triangles_target: u32, seed: u64) -> MeshData {
    let frequency = (f64::from(n_triangles_target) / 20.0).sqrt().round().max(1.0) as u32;
    let mut random = Random::new(seed);
    let lobes: Vec<(DVec3, f64, f64)> = (0..7)
        .map(|_| (random.unit_vector(), random.range(-0.1, 0.25), random.range(1.5, 4.0)))
        .collect();
    let mut mesh = Geodesic::new(frequency);
    for p in &mut mesh.directions {
        // Lobes are functions of the direction alone, so the radius is one value and the organ cannot cross itself.
        let bump = |(d, height, sharpness): &(DVec3, f64, f64)| {
            height * (sharpness * (d.dot(*p) - 1.0)).exp()
        };
        // Seven lobes of at least -0.1: the radius stays above 0.3.
        let radius = 1.0 + lobes.iter().map(bump).sum::<f64>();
        *p *= radius * DVec3::new(1.0, 0.68, 0.45);
    }
    let min = mesh.directions.iter().copied().reduce(DVec3::min).expect("has vertices");
    let max = mesh.directions.iter().copied().reduce(DVec3::max).expect("has vertices");
    for p in &mut mesh.directions {
        // Centred and scaled last, so that every organ has one size for any lobes.
        *p = (*p - 0.5 * (min + max)) * (0.2 / (max - min).max_element());
    }
    mesh.into_data()
}

/// Jaw of a grasper: `length` along x from the hinge at the origin, tapered, bending towards +y, with the flat
/// gripping face in z = 0 and the round back above it. `n` (>= 4) steps along, `2 * n` around. [`mirrored_z`] gives the
/// other jaw.
pub fn jaw(length: f64, n: u32) -> MeshData {
    let station = |s: f64| {
        let centre = DVec3::new(length * s, 0.18 * length * s * s, 0.0);
        let (half_width, height) = (length * (0.10 - 0.06 * s), length * (0.13 - 0.09 * s));
        (centre, half_width, height)
    };
    let rings: Vec<Vec<DVec3>> = (0..=n)
        .map(|i| {
            let (centre, half_width, height) = station(f64::from(i) / f64::from(n));
            ring(2 * n, |sin, cos| {
                centre + DVec3::new(0.0, half_width * cos, height * sin.max(0.0))
            })
        })
        .collect();
    let cap = |s: f64| {
        let (centre, _, height) = station(s);
        centre + DVec3::Z * (0.4 * height)
    };
    swept(&rings, cap(0.0), cap(1.0))
}

/// A hook of large faces, as on a retractor: two arms of 2 mm along z, 8 mm apart, closed at the end; 28 triangles.
pub fn hook() -> MeshData {
    const OUTLINE: [[f32; 2]; 8] = [
        [-6e-3, 0.0],
        [-4e-3, 0.0],
        [-4e-3, 0.02],
        [4e-3, 0.02],
        [4e-3, 0.0],
        [6e-3, 0.0],
        [6e-3, 0.024],
        [-6e-3, 0.024],
    ];
    const FACE: [[u32; 3]; 6] = [[0, 1, 2], [0, 2, 7], [2, 3, 6], [2, 6, 7], [3, 4, 5], [3, 5, 6]];
    let n = OUTLINE.len() as u32;
    let at = |y: f32| OUTLINE.map(|[x, z]| Vec3::new(x, y, z));
    let mut triangles = FACE.to_vec();
    triangles.extend(FACE.map(|t| [t[2] + n, t[1] + n, t[0] + n]));
    for (i, j) in (0..n).map(|i| (i, (i + 1) % n)) {
        triangles.extend([[i, j + n, j], [i, i + n, j + n]]);
    }
    MeshData { positions: [at(-2e-3), at(2e-3)].concat(), triangles }
}

/// Mirror image in z = 0, with its winding reversed so that it still faces outwards.
pub fn mirrored_z(mesh: &MeshData) -> MeshData {
    MeshData {
        positions: mesh.positions.iter().map(|p| Vec3::new(p.x, p.y, -p.z)).collect(),
        triangles: mesh.triangles.iter().map(|[a, b, c]| [*a, *c, *b]).collect(),
    }
}

/// Each triangle split in four at the midpoints of its edges; old vertices keep their numbers.
pub fn subdivide(mesh: &MeshData) -> MeshData {
    let mut positions = mesh.positions.clone();
    let mut midpoints: HashMap<(u32, u32), u32> = HashMap::new();
    let mut triangles = Vec::with_capacity(4 * mesh.triangles.len());
    for [a, b, c] in &mesh.triangles {
        let [ab, bc, ca] = [(*a, *b), (*b, *c), (*c, *a)].map(|(u, v)| {
            *midpoints.entry((u.min(v), u.max(v))).or_insert_with(|| {
                let sum = positions[u as usize].as_dvec3() + positions[v as usize].as_dvec3();
                // Looked up by its two ends, so that both triangles of an edge have one midpoint.
                positions.push((sum * 0.5).as_vec3());
                positions.len() as u32 - 1
            })
        });
        triangles.extend([[*a, ab, ca], [ab, *b, bc], [ca, bc, *c], [ab, bc, ca]]);
    }
    MeshData { positions, triangles }
}

/// An icosahedron whose faces are divided into `frequency^2` triangles, on the unit sphere.
struct Geodesic {
    directions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
}

impl Geodesic {
    fn new(frequency: u32) -> Geodesic {
        let (corners, faces) = icosahedron();
        // Keyed by whole numbers and not by position: rounding would separate vertices that two faces share.
        let mut numbers: HashMap<[(u32, u32); 3], u32> = HashMap::new();
        let mut directions = Vec::new();
        let mut triangles = Vec::new();
        for face in faces {
            let mut id = |i: u32, j: u32| {
                // The key of a vertex is the weights of the icosahedron's corners, which agree for all faces.
                let weights = [frequency - i - j, i, j];
                let mut key: [(u32, u32); 3] = std::array::from_fn(|k| {
                    if weights[k] == 0 { (0, 0) } else { (face[k] + 1, weights[k]) }
                });
                // Sorted, so that every face with the point has an identical set of weights.
                key.sort_unstable();
                *numbers.entry(key).or_insert_with(|| {
                    let sum: DVec3 =
                        (0..3).map(|k| corners[face[k] as usize] * f64::from(weights[k])).sum();
                    directions.push(sum.normalize());
                    directions.len() as u32 - 1
                })
            };
            for i in 0..frequency {
                for j in 0..frequency - i {
                    triangles.push([id(i, j), id(i + 1, j), id(i, j + 1)]);
                    if i + j + 1 < frequency {
                        triangles.push([id(i + 1, j), id(i + 1, j + 1), id(i, j + 1)]);
                    }
                }
            }
        }
        Geodesic { directions, triangles }
    }

    fn into_data(self) -> MeshData {
        let positions = self.directions.iter().map(|p| p.as_vec3()).collect();
        MeshData { positions, triangles: self.triangles }
    }
}

fn icosahedron() -> (Vec<DVec3>, [[u32; 3]; 20]) {
    let golden = (1.0 + 5f64.sqrt()) / 2.0;
    let corners = [(-1.0, golden), (1.0, golden), (-1.0, -golden), (1.0, -golden)];
    let corners = [
        corners.map(|(a, b)| DVec3::new(a, b, 0.0)),
        corners.map(|(a, b)| DVec3::new(0.0, a, b)),
        corners.map(|(a, b)| DVec3::new(b, 0.0, a)),
    ]
    .concat();
    let faces = [
        [0, 11, 5],
        [0, 5, 1],
        [0, 1, 7],
        [0, 7, 10],
        [0, 10, 11],
        [1, 5, 9],
        [5, 11, 4],
        [11, 10, 2],
        [10, 7, 6],
        [7, 1, 8],
        [3, 9, 4],
        [3, 4, 2],
        [3, 2, 6],
        [3, 6, 8],
        [3, 8, 9],
        [4, 9, 5],
        [2, 4, 11],
        [6, 2, 10],
        [8, 6, 7],
        [9, 8, 1],
    ];
    (corners, faces)
}

fn cells(nx: u32, ny: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..nx).flat_map(move |i| (0..ny).map(move |j| (i, j)))
}

fn quad(a: u32, b: u32, c: u32, d: u32) -> [[u32; 3]; 2] {
    [[a, b, c], [a, c, d]]
}

/// `n` points by the sine and cosine of their angle.
fn ring(n: u32, at: impl Fn(f64, f64) -> DVec3) -> Vec<DVec3> {
    (0..n)
        .map(|j| {
            let (sin, cos) = (TAU * f64::from(j) / f64::from(n)).sin_cos();
            at(sin, cos)
        })
        .collect()
}

/// Wall between consecutive rings of equal size, open at both ends. Rings turn counter-clockwise seen against the order
/// in which they are listed.
fn wall(rings: &[Vec<DVec3>]) -> MeshData {
    let n = rings[0].len() as u32;
    let id = |i: u32, j: u32| i * n + j % n;
    MeshData {
        positions: rings.iter().flatten().map(|p| p.as_vec3()).collect(),
        triangles: cells(rings.len() as u32 - 1, n)
            .flat_map(|(i, j)| quad(id(i, j), id(i, j + 1), id(i + 1, j + 1), id(i + 1, j)))
            .collect(),
    }
}

/// Wall closed by a fan to a point at each end.
fn swept(rings: &[Vec<DVec3>], start: DVec3, end: DVec3) -> MeshData {
    let mut mesh = wall(rings);
    let n = rings[0].len() as u32;
    let first_of_last = n * (rings.len() as u32 - 1);
    let start_id = mesh.positions.len() as u32;
    mesh.positions.extend([start.as_vec3(), end.as_vec3()]);
    for j in 0..n {
        let next = (j + 1) % n;
        mesh.triangles.push([start_id, next, j]);
        mesh.triangles.push([start_id + 1, first_of_last + j, first_of_last + next]);
    }
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{LoadOptions, MeshReport, mesh::load::load};

    fn report(data: MeshData) -> MeshReport {
        load(data, &LoadOptions::default()).expect("accepted").report
    }

    #[test]
    fn closed_shapes_face_outwards_as_generated() {
        for (data, n_triangles, volume) in [
            (sphere(0.1, 9), 20 * 81, 4.0 / 3.0 * PI * 1e-3),
            (cuboid(DVec3::new(0.1, 0.2, 0.3)), 12, 6e-3),
            (torus(0.1, 0.02, 64, 32), 4096, 2.0 * PI * PI * 0.1 * 4e-4),
            (capsule(0.1, 0.2, 48), 2 * 48 * 24, 4.0 / 3.0 * PI * 1e-3 + PI * 1e-2 * 0.4),
        ] {
            let r = report(data);
            assert_eq!((r.triangles, r.closed, r.bodies), (n_triangles, true, 1));
            assert_eq!((r.reversed_triangles, r.degenerate_triangles), (0, 0));
            assert!((r.volume_m3 / volume - 1.0).abs() < 0.02, "{} of {volume}", r.volume_m3);
        }
    }

    #[test]
    fn organs_have_the_size_asked_for() {
        for (target, seed) in [(20, 1), (1000, 2), (20_000, 3), (70_000, 4)] {
            let r = report(organ(target, seed));
            let miss = f64::from(r.triangles) / f64::from(target) - 1.0;
            assert!(miss.abs() < 0.05, "{} triangles for {target}", r.triangles);
            assert_eq!((r.closed, r.bodies, r.reversed_triangles), (true, 1, 0));
            let side = (0..3).map(|i| r.box_max_m[i] - r.box_min_m[i]).fold(0.0, f32::max);
            assert!((side - 0.2).abs() < 1e-6);
        }
    }

    #[test]
    fn jaws_meet_at_their_flat_faces() {
        let upper = jaw(0.03, 12);
        let lower = mirrored_z(&upper);
        for (data, z) in [(upper, 0), (lower, 1)] {
            let r = report(data);
            assert_eq!((r.closed, r.bodies, r.reversed_triangles), (true, 1, 0));
            assert_eq!([r.box_min_m[2], r.box_max_m[2]][z], 0.0);
            assert!((r.box_max_m[0] - 0.03).abs() < 1e-6 && r.degenerate_triangles == 0);
        }
    }

    #[test]
    fn subdividing_keeps_the_surface() {
        let coarse = organ(320, 5);
        let fine = subdivide(&coarse);
        assert_eq!(fine.triangles.len(), 4 * coarse.triangles.len());
        let (a, b) = (report(coarse), report(fine));
        assert!((a.area_m2 / b.area_m2 - 1.0).abs() < 1e-5 && b.closed);
        assert!((a.mean_edge_m / b.mean_edge_m - 2.0).abs() < 1e-3);
    }

    #[test]
    fn open_shapes_face_as_they_say() {
        let n = |data: &MeshData, t: usize| {
            let [a, b, c] = data.triangles[t].map(|v| data.positions[v as usize]);
            ((b - a).cross(c - a), a)
        };
        assert!(n(&sheet(3, 3, 0.1), 0).0.z > 0.0);
        let (normal, at) = n(&tube(0.1, 0.2, 12, 3), 7);
        assert!(normal.dot(at.with_z(0.0)) > 0.0);
    }
}
