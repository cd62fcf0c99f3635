//! A mesh as a list of positions and a map of triangles, and random operations on it.

use std::collections::BTreeMap;

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{
        Aabb, MeshData, Topology, TriangleId, TriangleMesh, distance::point_triangle::closest_point,
    },
    oracle::{Random, shapes},
    surface::Surface,
};

/// A mesh stored in the simplest way.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub positions: Vec<Vec3>,
    pub triangles: BTreeMap<u32, [u32; 3]>,
    pub next_id: u32,
}

/// A cut, as index and scene accept it.
#[derive(Clone, Debug, Default)]
pub struct Cut {
    pub removed: Vec<TriangleId>,
    pub added_positions: Vec<Vec3>,
    pub added: Vec<[u32; 3]>,
}

/// Number of triangles above which no cut adds more.
const TRIANGLES_MAX: usize = 200;

/// A small surface, closed, open, flat, or a single triangle.
pub fn start(random: &mut Random) -> MeshData {
    match random.below(6) {
        0 => shapes::sphere(0.1, 2),
        1 => shapes::organ(125, random.u64()),
        2 => shapes::sheet(7, 7, 0.02),
        3 => shapes::tube(0.03, 0.2, 8, 5),
        4 => shapes::cuboid(DVec3::new(0.1, 0.2, 0.3)),
        _ => MeshData { positions: vec![Vec3::ZERO, Vec3::X, Vec3::Y], triangles: vec![[0, 1, 2]] },
    }
}

impl Model {
    pub fn new(data: &MeshData) -> Model {
        Model {
            positions: data.positions.clone(),
            triangles: (0..).zip(data.triangles.iter().copied()).collect(),
            next_id: data.triangles.len() as u32,
        }
    }

    /// Some vertices, each once, and new positions for them: near or far.
    pub fn random_move(&self, random: &mut Random) -> (Vec<u32>, Vec<Vec3>) {
        let share = [0.02, 0.2, 0.7][random.below(3)];
        let reach = [1e-5, 1e-3, 0.03, 1.0][random.below(4)];
        let vertices: Vec<u32> =
            (0..self.positions.len() as u32).filter(|_| random.f64() < share).collect();
        let to = vertices.iter().map(|v| self.nudged(*v, reach, random)).collect();
        (vertices, to)
    }

    /// New positions for all vertices: trembling, travelling, or at one point.
    pub fn random_dense(&self, random: &mut Random) -> Vec<Vec3> {
        let shift = (random.unit_vector() * [0.0, 0.01, 0.5][random.below(3)]).as_vec3();
        let reach = [0.0, 1e-4, 0.01][random.below(3)];
        if random.below(40) == 0 {
            return vec![shift; self.positions.len()];
        }
        (0..self.positions.len() as u32).map(|v| self.nudged(v, reach, random) + shift).collect()
    }

    fn nudged(&self, v: u32, reach: f64, random: &mut Random) -> Vec3 {
        let p = self.positions[v as usize].as_dvec3() + random.unit_vector() * reach * random.f64();
        // Back towards the middle, so that a long sequence does not drift away.
        (p * if p.length() > 3.0 { 0.1 } else { 1.0 }).as_vec3()
    }

    /// A cut that removes triangles, adds them again, splits them at a new vertex, or adds any three vertices'
    /// triangle.
    pub fn random_cut(&self, random: &mut Random) -> Cut {
        let mut ids: Vec<u32> = self.triangles.keys().copied().collect();
        let n = match random.below(40) {
            0 => ids.len(),
            1..8 => ids.len() / 8,
            8..20 => 3.min(ids.len()),
            _ => 1.min(ids.len()),
        };
        let removed: Vec<u32> = (0..n).map(|_| ids.swap_remove(random.below(ids.len()))).collect();
        let of = |t: &u32| self.triangles[t];
        let end = self.positions.len() as u32;
        let mut cut = Cut::default();
        match random.below(5) {
            0 => cut.removed = removed.iter().copied().map(TriangleId).collect(),
            1 => {
                cut.added = removed.iter().map(of).collect();
                cut.removed = removed.iter().copied().map(TriangleId).collect();
            }
            _ if ids.len() + n > TRIANGLES_MAX => {
                cut.removed = removed.iter().copied().map(TriangleId).collect();
            }
            2 => {
                cut.added =
                    (0..3).map(|_| [0; 3].map(|_: u32| random.below(end as usize) as u32)).collect()
            }
            3 => {
                let base = random.point(DVec3::splat(-0.2), DVec3::splat(0.2)).as_vec3();
                cut.added_positions = vec![base, base + Vec3::X * 0.02, base + Vec3::Y * 0.02];
                cut.added = vec![[end, end + 1, end + 2]];
            }
            _ => {
                for t in &removed {
                    let [a, b, c] = of(t);
                    let centre = end + cut.added_positions.len() as u32;
                    let sum: Vec3 = of(t).iter().map(|v| self.positions[*v as usize]).sum();
                    cut.added_positions.push(sum / 3.0);
                    cut.added.extend([[a, b, centre], [b, c, centre], [c, a, centre]]);
                    cut.removed.push(TriangleId(*t));
                }
            }
        }
        cut
    }

    pub fn apply_move(&mut self, vertices: &[u32], to: &[Vec3]) {
        for (v, p) in vertices.iter().zip(to) {
            self.positions[*v as usize] = *p;
        }
    }

    /// Returns the first new triangle.
    pub fn apply_cut(&mut self, cut: &Cut) -> TriangleId {
        let first = self.next_id;
        for t in &cut.removed {
            self.triangles.remove(&t.0).expect("is there");
        }
        self.positions.extend(&cut.added_positions);
        for vertices in &cut.added {
            self.triangles.insert(self.next_id, *vertices);
            self.next_id += 1;
        }
        TriangleId(first)
    }

    /// Checks that the surface has the model's vertices and triangles, and that its sign rule fits them.
    pub fn assert_same(&self, surface: &Surface) {
        let mesh = surface.mesh();
        assert_eq!(mesh.positions(), self.positions);
        assert_eq!(mesh.n_triangles(), self.triangles.len());
        assert_eq!(mesh.triangle_id_end(), self.next_id);
        let listed = mesh.triangle_ids().map(|t| (t.0, mesh.vertices(t)));
        assert!(listed.eq(self.triangles.iter().map(|(t, v)| (*t, *v))));
        let rebuilt = TriangleMesh::new(MeshData {
            positions: self.positions.clone(),
            triangles: self.triangles.values().copied().collect(),
        });
        assert_eq!(surface.sign_rule(), Topology::of(&rebuilt).sign_rule());
    }

    /// Checks a random box query and a random nearest query, with a hint that may be removed or never given.
    pub fn assert_answers(&self, surface: &Surface, random: &mut Random) {
        let p = random.point(DVec3::splat(-0.5), DVec3::splat(0.5));
        let half = DVec3::splat(random.range(0.0, 0.3));
        let b = Aabb::around([p - half, p + half]);
        let mut found = Vec::new();
        surface.overlap(&b, |t| found.push(t.0));
        found.sort_unstable();
        let corners = |vertices: &[u32; 3]| vertices.map(|v| self.positions[v as usize]);
        let overlapping =
            self.triangles.iter().filter(|(_, v)| Aabb::of_points(corners(v)).overlaps(&b));
        assert!(found.iter().eq(overlapping.map(|(t, _)| t)), "{b:?}: {found:?}");

        let reach = if random.below(2) == 0 { f64::INFINITY } else { random.range(0.0, 0.5) };
        let hint = TriangleId(random.below(self.next_id as usize + 2) as u32);
        let found = surface.nearest(p, reach, Some(hint));
        let distances = self.triangles.iter().map(|(t, v)| {
            (*t, closest_point(p, &corners(v).map(|c| c.as_dvec3())).distance_squared)
        });
        let nearest = distances
            .reduce(|best, next| if next.1 < best.1 { next } else { best })
            .filter(|(_, squared)| *squared <= reach * reach);
        let found = found.map(|n| (n.triangle.0, n.closest.distance_squared));
        assert_eq!(found, nearest, "{p:?} within {reach}, hint {hint:?}");
    }
}
