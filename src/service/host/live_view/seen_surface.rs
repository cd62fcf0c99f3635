//! A viewer's copy of a surface, and its difference from a newer surface.
//!
//! The copy is compared as a whole: a viewer that skipped a hundred revisions, a dent, and an organ that moved as a
//! whole cost the same few tens of microseconds, and no revision is held for the viewer.

use glam::Vec3;

use crate::geometry::{TriangleId, TriangleMesh};

/// Share of moved vertices above which all are sent: an id and a position are a third larger than a position.
const MOVED_SHARE_MAX: f64 = 0.75;

/// Positions by vertex, and corners by triangle id.
#[derive(Debug, Default)]
pub struct SeenSurface {
    positions: Vec<Vec3>,
    /// Corners by triangle id; three times vertex 0 if the triangle is removed.
    corners: Vec<[u32; 3]>,
}

/// Changes of a surface.
#[derive(Debug, Default, PartialEq)]
pub struct SurfaceChange {
    /// Vertices that moved or are new, ascending.
    pub moved: MovedVertices,
    /// New triangles.
    pub added: std::ops::Range<usize>,
    /// Removed triangles, ascending.
    pub removed: Vec<u32>,
}

/// Vertices that moved.
#[derive(Debug, PartialEq)]
pub enum MovedVertices {
    /// Moved vertices, ascending.
    Some(Vec<u32>),
    /// Most vertices moved: all are taken as moved.
    All,
}

impl Default for MovedVertices {
    fn default() -> MovedVertices {
        MovedVertices::Some(Vec::new())
    }
}

impl SeenSurface {
    /// Updates the copy to `mesh`, and returns the changes. O(vertices), and O(triangles) if `is_cut`.
    pub fn take(&mut self, mesh: &TriangleMesh, is_cut: bool) -> SurfaceChange {
        let positions = mesh.positions();
        let n_before = self.positions.len();
        let has_moved = |(v, to): (usize, &Vec3)| self.positions.get(v) != Some(to);
        let moved = positions.iter().enumerate().filter(|v| has_moved(*v)).map(|(v, _)| v as u32);
        let moved: Vec<u32> = moved.collect();
        debug_assert!(n_before <= positions.len(), "vertices are never removed");
        self.positions.resize(positions.len(), Vec3::ZERO);
        let is_most = moved.len() as f64 > MOVED_SHARE_MAX * positions.len() as f64;
        let moved = if is_most {
            self.positions.copy_from_slice(positions);
            MovedVertices::All
        } else {
            moved.iter().for_each(|v| self.positions[*v as usize] = positions[*v as usize]);
            MovedVertices::Some(moved)
        };
        let n_triangles = self.corners.len();
        if !is_cut {
            return SurfaceChange { moved, added: n_triangles..n_triangles, removed: Vec::new() };
        }
        let mut removed = Vec::new();
        for (t, corners) in (0..).zip(&mut self.corners) {
            if *corners != GONE && mesh.get(TriangleId(t)).is_none() {
                *corners = GONE;
                removed.push(t);
            }
        }
        let added = n_triangles..mesh.triangle_id_end() as usize;
        let new = added.clone().map(|t| mesh.get(TriangleId(t as u32)).unwrap_or(GONE));
        self.corners.extend(new);
        SurfaceChange { moved, added, removed }
    }

    /// Positions by vertex, metres.
    pub fn positions(&self) -> &[Vec3] {
        &self.positions
    }

    /// Three vertices by triangle id; three equal vertices if there is no triangle.
    pub fn corners(&self) -> &[[u32; 3]] {
        &self.corners
    }
}

const GONE: [u32; 3] = [0; 3];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::shapes;

    fn is_as(seen: &SeenSurface, mesh: &TriangleMesh) -> bool {
        let corners = |t| mesh.get(TriangleId(t)).unwrap_or(GONE);
        seen.positions() == mesh.positions()
            && (0..mesh.triangle_id_end()).map(corners).eq(seen.corners().iter().copied())
    }

    #[test]
    fn tells_what_moved_and_what_was_cut() {
        let mut mesh = TriangleMesh::new(shapes::sphere(0.1, 8));
        let (n_vertices, n_triangles) = (mesh.positions().len(), mesh.triangle_id_end());
        let mut seen = SeenSurface::default();
        let first = seen.take(&mesh, true);
        assert_eq!(first.moved, MovedVertices::All);
        assert_eq!((first.added, first.removed), (0..n_triangles as usize, Vec::new()));
        assert!(is_as(&seen, &mesh));
        assert_eq!(seen.take(&mesh, false).moved, MovedVertices::Some(Vec::new()));

        mesh.move_vertex(5, Vec3::splat(0.3));
        mesh.move_vertex(2, Vec3::splat(0.4));
        assert_eq!(seen.take(&mesh, false).moved, MovedVertices::Some(vec![2, 5]));

        mesh.remove_triangle(TriangleId(3));
        let v = mesh.add_vertex(Vec3::splat(0.2));
        let [a, b, _] = mesh.vertices(TriangleId(4));
        mesh.add_triangle([a, b, v]);
        let cut = seen.take(&mesh, true);
        assert_eq!(cut.moved, MovedVertices::Some(vec![n_vertices as u32]));
        assert_eq!((cut.added.len(), cut.removed), (1, vec![3]));
        assert!(is_as(&seen, &mesh));
        assert_eq!(seen.take(&mesh, true).removed, [0u32; 0]);

        let all: Vec<Vec3> = mesh.positions().iter().map(|p| *p * 2.0).collect();
        mesh.move_all(all);
        assert_eq!(seen.take(&mesh, false).moved, MovedVertices::All);
        assert!(is_as(&seen, &mesh));
    }
}
