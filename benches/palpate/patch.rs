//! Part of a surface that moves there and back, or is cut out and put in again, for us and for the peer.

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{TriangleId, TriangleMesh},
    surface::Surface,
};
use parry3d::{
    bounding_volume::Aabb,
    partitioning::{Bvh, BvhBuildStrategy},
    query::{PointProjection, PointQuery},
    shape::Triangle,
};

use crate::inputs::vector;

/// Inward displacement of the middle of a patch, metres.
const DENT_M: f64 = 2e-3;

/// Vertices with two sets of positions.
pub struct Patch {
    /// Vertex numbers, ascending.
    pub vertices: Vec<u32>,
    /// Positions of these vertices, at rest and dented.
    pub places: [Vec<Vec3>; 2],
    /// Triangles with a corner among them, ascending.
    pub triangles: Vec<u32>,
}

impl Patch {
    /// Returns the vertices nearest to `centre` that have together at most `n_triangles`, pushed towards the middle of
    /// the mesh.
    pub fn around(mesh: &TriangleMesh, centre: u32, n_triangles: usize) -> Patch {
        let at = mesh.position(centre);
        let far = |v: u32| mesh.position(v).distance_squared(at);
        let mut nearest: Vec<u32> = (0..mesh.positions().len() as u32).collect();
        nearest.sort_by(|a, b| far(*a).total_cmp(&far(*b)));
        let mut is_in = vec![false; mesh.triangle_id_end() as usize];
        let mut n_in = 0;
        let mut taken = 0;
        for v in &nearest {
            for (t, _) in mesh.ring(*v) {
                n_in += usize::from(!std::mem::replace(&mut is_in[t.0 as usize], true));
            }
            if n_in > n_triangles {
                break;
            }
            taken += 1;
        }
        let mut vertices = nearest[..taken].to_vec();
        vertices.sort_unstable();
        let radius = far(nearest[taken.min(nearest.len() - 1)]).sqrt();
        let inwards = (DVec3::ZERO - at).normalize();
        let dented = |v: &u32| {
            let weight = (1.0 - far(*v) / (radius * radius)).max(0.0);
            (mesh.position(*v) + inwards * DENT_M * weight * weight).as_vec3()
        };
        let rest = vertices.iter().map(|v| mesh.positions()[*v as usize]).collect();
        let places = [rest, vertices.iter().map(dented).collect()];
        let mut triangles: Vec<u32> =
            vertices.iter().flat_map(|v| mesh.ring(*v)).map(|(t, _)| t.0).collect();
        triangles.sort_unstable();
        triangles.dedup();
        Patch { vertices, places, triangles }
    }

    pub fn move_ours(&self, surface: &mut Surface, place: usize) {
        surface.move_vertices(&self.vertices, &self.places[place]);
    }

    /// Removes the patch's triangles, by their present ids.
    pub fn cut_ours(&self, surface: &mut Surface, names: &[TriangleId]) {
        surface.edit(names, &[], &[]);
    }

    /// Adds triangles and returns their ids.
    pub fn mend_ours(&self, surface: &mut Surface, triangles: &[[u32; 3]]) -> Vec<TriangleId> {
        let first = surface.edit(&[], &[], triangles);
        (first.0..).take(triangles.len()).map(TriangleId).collect()
    }

    pub fn cut_peer(&self, peer: &mut PartialPeer) {
        self.triangles.iter().for_each(|t| peer.tree.remove(*t));
    }

    pub fn mend_peer(&self, peer: &mut PartialPeer) {
        for t in &self.triangles {
            peer.tree.insert(peer.triangle(*t).local_aabb(), *t);
        }
    }

    pub fn move_peer(&self, peer: &mut PartialPeer, place: usize) {
        peer.move_vertices(&self.vertices, &self.places[place], &self.triangles);
    }
}

/// The peer's tree over leaves that are refitted alone; its `TriMesh` has no such call.
pub struct PartialPeer {
    positions: Vec<parry3d::math::Vector>,
    triangles: Vec<[u32; 3]>,
    tree: Bvh,
}

impl PartialPeer {
    pub fn new(mesh: &TriangleMesh) -> PartialPeer {
        let positions: Vec<_> = mesh.positions().iter().map(vector).collect();
        let triangles: Vec<_> = mesh.triangle_ids().map(|t| mesh.vertices(t)).collect();
        let mut peer = PartialPeer { positions, triangles, tree: Bvh::new() };
        let leaves: Vec<Aabb> =
            (0..peer.triangles.len()).map(|t| peer.triangle(t as u32).local_aabb()).collect();
        peer.tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &leaves);
        peer
    }

    /// Moves and refits as the peer's documentation asks: no margin, nothing flagged before.
    fn move_vertices(&mut self, vertices: &[u32], places: &[Vec3], triangles: &[u32]) {
        for (v, p) in vertices.iter().zip(places) {
            self.positions[*v as usize] = vector(p);
        }
        for t in triangles {
            let bounds = self.triangle(*t).local_aabb();
            self.tree.insert_or_update_partially(bounds, *t, 0.0);
        }
        self.tree.refit_partial(&[], triangles);
    }

    /// Returns the unsigned distance, metres.
    pub fn distance(&self, p: DVec3) -> f64 {
        let p = vector(&p.as_vec3());
        let project = |t: u32, _| -> Option<PointProjection> {
            Some(self.triangle(t).project_local_point(p, false))
        };
        let found = self.tree.project_point(p, f32::MAX, project).expect("it has triangles");
        f64::from(found.1.0)
    }

    fn triangle(&self, t: u32) -> Triangle {
        let [a, b, c] = self.triangles[t as usize].map(|v| self.positions[v as usize]);
        Triangle::new(a, b, c)
    }
}

/// Returns points about the dented vertices, at which distances are compared after a move.
pub fn probes(mesh: &TriangleMesh, patch: &Patch, n: usize) -> Vec<DVec3> {
    let step = (patch.triangles.len() / n).max(1);
    let middles = patch.triangles.iter().step_by(step).map(|t| {
        let [a, b, c] = mesh.triangle(TriangleId(*t));
        let middle = (a + b + c) / 3.0;
        middle + (b - a).cross(c - a).normalize_or_zero() * 0.5 * DENT_M
    });
    middles.collect()
}
