//! A surface that is dented and cut step by step, with its tree.

use std::collections::BTreeSet;

use glam::{DVec3, Vec3};
use palpate::{
    bvh::DeformingTree,
    ccd::{MovingTriangle, Owned, Owners},
    geometry::{Dop16, MeshData, TriangleId, TriangleMesh},
    oracle::Random,
};

/// Surface in a step, whose mesh has the positions at the step's end.
#[derive(Clone)]
pub struct Deforming {
    pub mesh: TriangleMesh,
    pub tree: DeformingTree,
    pub owners: Owners,
    start: Vec<Vec3>,
    moved: Vec<u32>,
}

impl Deforming {
    pub fn new(data: MeshData) -> Deforming {
        let mesh = TriangleMesh::new(data);
        let start = mesh.positions().to_vec();
        let still = |t| (t, Dop16::around(mesh.triangle(t)));
        let tree = DeformingTree::build(mesh.triangle_ids().map(still));
        let owners = Owners::new(&mesh);
        Deforming { mesh, tree, owners, start, moved: Vec::new() }
    }

    pub fn ids(&self) -> Vec<TriangleId> {
        self.mesh.triangle_ids().collect()
    }

    pub fn moving(&self, t: TriangleId, owned: Owned) -> MovingTriangle {
        let start = self.mesh.vertices(t).map(|v| self.start[v as usize].as_dvec3());
        MovingTriangle { t0: start, t1: self.mesh.triangle(t), owned }
    }

    fn swept(&self, t: TriangleId) -> Dop16 {
        let moving = self.moving(t, Owned::NONE);
        Dop16::around(moving.t0.into_iter().chain(moving.t1))
    }

    /// Makes a step in which these vertices move.
    pub fn step(&mut self, to: &[(u32, Vec3)]) {
        let before = std::mem::take(&mut self.moved);
        for v in &before {
            self.start[*v as usize] = self.mesh.positions()[*v as usize];
        }
        self.moved.extend(to.iter().map(|(v, _)| *v));
        for (v, at) in to {
            self.mesh.move_vertex(*v, *at);
        }
        let vertices = before.iter().chain(&self.moved);
        let changed: BTreeSet<_> =
            vertices.flat_map(|v| self.mesh.ring(*v).map(|(t, _)| t)).collect();
        let swept: Vec<_> = changed.into_iter().map(|t| (t, self.swept(t))).collect();
        self.tree.refit(swept);
    }

    /// Makes a step in which all vertices near a random one are pushed about.
    pub fn dent(&mut self, random: &mut Random, radius: f64, depth: f64) {
        let positions = self.mesh.positions();
        let centre = positions[random.below(positions.len())].as_dvec3();
        let push = random.unit_vector() * depth;
        let near = |v: usize| {
            let share = 1.0 - positions[v].as_dvec3().distance(centre) / radius;
            let away = push * share + random.unit_vector() * (0.1 * depth);
            (share > 0.0).then(|| (v as u32, positions[v] + away.as_vec3()))
        };
        let to: Vec<_> = (0..positions.len()).filter_map(near).collect();
        self.step(&to);
    }

    /// Removes some triangles, and replaces some others by three.
    pub fn cut(&mut self, random: &mut Random, n: usize) {
        for _ in 0..n {
            let ids = self.ids();
            if ids.len() < 2 {
                return;
            }
            let t = ids[random.below(ids.len())];
            let vertices = self.mesh.vertices(t);
            let moving = self.moving(t, Owned::NONE);
            self.mesh.remove_triangle(t);
            self.tree.remove(t);
            self.owners.refresh(&self.mesh, vertices);
            if random.below(3) > 0 {
                self.put_three(vertices, &moving);
            }
            self.tree.assert_well_formed();
        }
        self.owners.assert_well_formed(&self.mesh);
    }

    fn put_three(&mut self, vertices: [u32; 3], moving: &MovingTriangle) {
        let middle = |corners: [DVec3; 3]| (corners.iter().sum::<DVec3>() / 3.0).as_vec3();
        let v = self.mesh.add_vertex(middle(moving.t1));
        self.start.push(middle(moving.t0));
        self.moved.push(v);
        for k in 0..3 {
            let t = self.mesh.add_triangle([vertices[k], vertices[(k + 1) % 3], v]);
            self.tree.insert(t, self.swept(t));
        }
        self.owners.refresh(&self.mesh, vertices.into_iter().chain([v]));
    }
}
