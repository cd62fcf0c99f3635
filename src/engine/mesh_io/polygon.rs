//! Triangulates a file's polygons and strips.
//!
//! A polygon becomes a fan about its first corner if the fan covers the polygon, and is cut into ears otherwise
//! ([`ears`]). Both use every corner and add none, so neighbours still share their edges.

mod blockers;
mod ears;

use glam::{DVec2, DVec3, Vec3};

use super::{
    read_error::{FilePlace, MeshReadError},
    read_room::ReadRoom,
};
use crate::geometry::triangle_triangle::orient_2d;
use ears::EarCutter;

/// The faces of a file as triangles.
#[derive(Default)]
pub(super) struct Faces {
    triangles: Vec<[u32; 3]>,
    /// For each triangle: true if it belongs to the polygon of the triangle before.
    goes_on: Vec<bool>,
}

impl Faces {
    /// No faces, with capacity for `n` triangles.
    pub(super) fn with_room(
        n: u64,
        room: &mut ReadRoom,
        place: FilePlace,
    ) -> Result<Faces, MeshReadError> {
        let triangles = room.vec(n, "triangles", place)?;
        Ok(Faces { triangles, goes_on: room.vec(n, "triangles", place)? })
    }

    /// Reserves capacity for `n_more` triangles.
    pub(super) fn make_room(
        &mut self,
        n_more: u64,
        room: &mut ReadRoom,
        place: FilePlace,
    ) -> Result<(), MeshReadError> {
        let mut all = Faces::with_room(n_more.saturating_add(self.len() as u64), room, place)?;
        // Only the triangles of an earlier section are moved, as few files have two sections.
        all.triangles.append(&mut self.triangles);
        all.goes_on.append(&mut self.goes_on);
        *self = all;
        Ok(())
    }

    fn len(&self) -> usize {
        self.triangles.len()
    }

    /// Adds a polygon. Returns false if it has fewer than three corners.
    #[must_use]
    pub(super) fn push_polygon(&mut self, corners: &[u32]) -> bool {
        // Stored as a fan, which holds all corners in their order: the vertices may come later in the file.
        if let [first, rest @ ..] = corners {
            let first_triangle = self.len();
            self.triangles.extend(rest.windows(2).map(|pair| [*first, pair[0], pair[1]]));
            self.goes_on.extend((first_triangle..self.len()).map(|t| t > first_triangle));
        }
        corners.len() >= 3
    }

    /// Adds a triangle strip. Returns false if it has fewer than three corners. Every second triangle of a strip is
    /// wound the other way.
    #[must_use]
    pub(super) fn push_strip(&mut self, corners: &[u32]) -> bool {
        // Each triangle shares two corners with the one before.
        self.triangles.extend(corners.windows(3).enumerate().map(|(i, t)| match i % 2 {
            0 => [t[0], t[1], t[2]],
            _ => [t[1], t[0], t[2]],
        }));
        self.goes_on.resize(self.len(), false);
        corners.len() >= 3
    }

    /// Triangles of all faces: n - 2 of a polygon of n corners, at the polygon's position.
    ///
    /// # Errors
    /// Returns an error if a polygon takes more memory or more steps than a file of this size allows.
    pub(super) fn cut(
        mut self,
        positions: &[Vec3],
        room: &mut ReadRoom,
    ) -> Result<Vec<[u32; 3]>, MeshReadError> {
        let mut cutter = EarCutter::default();
        let (mut rest, mut n_faces) = (&mut self.triangles[..], 0);
        while !rest.is_empty() {
            let goes_on = &self.goes_on[self.goes_on.len() - rest.len() + 1..];
            let n = 1 + goes_on.iter().take_while(|goes_on| **goes_on).count();
            let (fan, after) = rest.split_at_mut(n);
            if n > 1 {
                cut_polygon(fan, positions, &mut cutter, room, FilePlace::Face(n_faces))?;
            }
            (rest, n_faces) = (after, n_faces + 1);
        }
        Ok(self.triangles)
    }
}

/// Replaces the fan of a polygon by its ears if the fan does not cover the polygon.
fn cut_polygon(
    fan: &mut [[u32; 3]],
    positions: &[Vec3],
    cutter: &mut EarCutter,
    room: &mut ReadRoom,
    place: FilePlace,
) -> Result<(), MeshReadError> {
    // The validator rejects a missing or non-finite vertex and names it.
    let is_point = |v: &u32| positions.get(*v as usize).is_some_and(|p| p.is_finite());
    if !fan.as_flattened().iter().all(is_point) {
        return Ok(());
    }
    let position = |v: u32| positions[v as usize].as_dvec3();
    let Some(plane) = Projection::of(fan, position) else { return Ok(()) };
    let point = |v: u32| plane.point(position(v));
    // Triangles that all face the polygon's side cover each point as often as the polygon winds around it: once, or
    // never outside. A repeated corner gives a triangle without area. Three corners in a row would, too, but their
    // middle corner can be in triangles that have an area.
    let is_covered = fan.iter().all(|t| {
        let [a, b, c] = t.map(point);
        a == b || b == c || c == a || orient_2d(a, b, c) > 0.0
    });
    if is_covered {
        return Ok(());
    }
    cutter.start(fan, point, room, place)?;
    cutter.cut(fan, place)
}

/// Coordinate plane that a polygon is nearest to, seen from the side that the polygon faces. Two coordinates of a point
/// stay unchanged, so that corners on a straight edge stay on it.
struct Projection {
    axes: [usize; 2],
}

impl Projection {
    /// Projection by the mean normal of a polygon, given as its fan (Newell: the sum of the fan's normals). `None` if
    /// the polygon has no normal, as all its corners are on a line.
    fn of(fan: &[[u32; 3]], position: impl Fn(u32) -> DVec3) -> Option<Projection> {
        let normals = fan.iter().map(|t| {
            let [a, b, c] = t.map(&position);
            (b - a).cross(c - a)
        });
        let normal: DVec3 = normals.sum();
        let away = normal.abs().max_position();
        let [x, y] = [(away + 1) % 3, (away + 2) % 3];
        (normal[away] != 0.0)
            .then(|| Projection { axes: if normal[away] > 0.0 { [x, y] } else { [y, x] } })
    }

    fn point(&self, p: DVec3) -> DVec2 {
        DVec2::new(p[self.axes[0]], p[self.axes[1]])
    }
}

#[cfg(test)]
mod tests;
