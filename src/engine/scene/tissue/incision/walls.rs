//! The walls of a deep incision, from its lips down to a floor.

use std::collections::HashSet;

use glam::DVec3;

use super::{incision_error::IncisionError, line::CutLine, lips::Lips};
use crate::{
    geometry::{Aabb, MeshData, TriangleId, TriangleMesh, triangle_triangle},
    scene::tissue::edit::TopologyEdit,
    surface::Surface,
};

impl CutLine<'_> {
    /// Adds walls and floor, and returns the floor's vertices.
    pub(super) fn deepened(
        &mut self,
        lips: &Lips,
        depth_m: f64,
        surface: &Surface,
        edit: &mut TopologyEdit,
    ) -> Result<Vec<u32>, IncisionError> {
        let n = self.vertices.len();
        let middle = |k: usize| {
            self.patch.position(lips.left[k]).midpoint(self.patch.position(lips.right[k]))
        };
        let deep: Vec<DVec3> = (0..n).map(|k| middle(k) - lips.normals[k] * depth_m).collect();
        let floor: Vec<u32> = (0..n)
            .map(|k| match lips.left[k] == lips.right[k] {
                true => lips.left[k],
                false => self.patch.add_vertex(deep[k], None),
            })
            .collect();
        let beside = Beside::of(self, lips, surface);
        for k in 0..n - usize::from(!self.is_closed) {
            let j = (k + 1) % n;
            let (l, r, f) = (&lips.left, &lips.right, &floor);
            let walls =
                [[l[j], l[k], f[k]], [l[j], f[k], f[j]], [r[k], r[j], f[j]], [r[k], f[j], f[k]]];
            // The triangles at an end that is single may be whole.
            let parent = lips.parents[if l[k] == r[k] { j } else { k }];
            let whole = |[a, b, c]: &[u32; 3]| a != b && b != c && c != a;
            for wall in walls.into_iter().filter(whole) {
                if let Some(triangle) = self.crossed(&wall, surface, &beside) {
                    return Err(IncisionError::TooDeep { depth_m, triangle: triangle.0 });
                }
                edit.added.push(wall);
                edit.parents.push(parent);
            }
        }
        Ok(floor)
    }

    /// Returns a triangle of the surface that a wall crosses away from the lips.
    fn crossed(&self, wall: &[u32; 3], surface: &Surface, beside: &Beside) -> Option<TriangleId> {
        let corners = wall.map(|v| self.patch.position(v).as_vec3());
        let (around, wall) = (Aabb::of_points(corners), corners.map(|c| c.as_dvec3()));
        let crosses = |corners: [DVec3; 3]| triangle_triangle::meet(&wall, &corners);
        let mut found = None;
        surface.overlap(&around, |t| {
            let at_end =
                surface.mesh().joined_vertices(t).iter().any(|v| self.places.contains_key(v));
            if !self.patch.is_split(t) && !at_end && crosses(surface.mesh().triangle(t)) {
                found = Some(t);
            }
        });
        beside.pieces.overlap(&around, |piece| {
            if crosses(beside.pieces.mesh().triangle(piece)) {
                found = Some(beside.parents[piece.0 as usize]);
            }
        });
        found
    }
}

/// The pieces that have no vertex at a lip, as a surface of their own.
struct Beside {
    pieces: Surface,
    parents: Vec<TriangleId>,
}

impl Beside {
    fn of(line: &CutLine, lips: &Lips, surface: &Surface) -> Beside {
        let lips: HashSet<u32> = lips.left.iter().chain(&lips.right).copied().collect();
        let is_at = |v: &u32| lips.contains(v) || line.places.contains_key(&line.patch.joined(*v));
        let away = line.patch.pieces().filter(|(piece, _)| !piece.iter().any(is_at));
        let (triangles, parents) = away.unzip();
        let added = line.patch.added_positions().map(|p| p.as_vec3());
        let positions = surface.mesh().positions().iter().copied().chain(added).collect();
        let mesh = TriangleMesh::new(MeshData { positions, triangles });
        Beside { pieces: Surface::new(mesh, surface.options()), parents }
    }
}
