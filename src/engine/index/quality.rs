//! Quality of the grid: work of a standard query now, relative to that after the build.

use glam::Vec3;

use super::skip_list::SkipList;
use crate::geometry::{Aabb, TriangleMesh};

/// Queries in the running mean.
const WINDOW: usize = 64;
/// Triangles that move between two queries: a query costs as much as moving some fifty of them.
const MOVED: usize = 1_000;
/// Ratio of a query's visits to those after the build at which the list is worth rebuilding.
const WORN: f64 = 2.0;

/// Nodes visited by a box query of two mean edges around a random triangle.
#[derive(Clone, Debug)]
pub(crate) struct Quality {
    reach: f32,
    built: f64,
    running: f64,
    /// Triangles that moved since the last query.
    moved: usize,
}

impl Quality {
    pub(crate) fn of(list: &mut SkipList, mesh: &TriangleMesh) -> Quality {
        let mut quality =
            Quality { reach: mesh.mean_edge() as f32, built: 0.0, running: 0.0, moved: 0 };
        let sum: usize = (0..WINDOW).map(|_| quality.visited(list, mesh)).sum();
        quality.built = sum as f64 / WINDOW as f64;
        quality.running = quality.built;
        quality
    }

    /// Counts moved triangles, and at intervals of [`MOVED`] runs one query and adds it to the running mean.
    pub(crate) fn observe(&mut self, moved: usize, list: &mut SkipList, mesh: &TriangleMesh) {
        // Sampled by the writer and not counted in ticks, or client queries would decide when the list is rebuilt. One
        // query each deformation would be two fifths of a dent of 100 triangles in 1 M, because it visits random
        // places: 7.5 us instead of 3.0.
        self.moved += moved;
        if self.moved < MOVED {
            return;
        }
        self.moved = 0;
        self.running += (self.visited(list, mesh) as f64 - self.running) / WINDOW as f64;
    }

    /// Work now relative to that after the build.
    pub(crate) fn wear(&self) -> f64 {
        self.running / self.built.max(1.0)
    }

    pub(crate) fn is_worn(&self) -> bool {
        self.wear() > WORN
    }

    fn visited(&self, list: &mut SkipList, mesh: &TriangleMesh) -> usize {
        let end = u64::from(mesh.triangle_id_end().max(1));
        debug_assert!(
            self.reach >= 0.0 && self.built >= 0.0,
            "{} m, {} nodes",
            self.reach,
            self.built
        );
        let t = crate::geometry::TriangleId((list.next_random() % end) as u32);
        // The id of a removed triangle has no handle: the mean stays unchanged.
        let Some((n, lane)) = list.handle(t) else { return self.running as usize };
        let b = Aabb::of_points(list.leaf(n).corners.get(lane));
        let around =
            Aabb { min: b.min - Vec3::splat(self.reach), max: b.max + Vec3::splat(self.reach) };
        list.overlap(&around, |_| ())
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        geometry::TriangleMesh,
        index::LatLonOptions,
        oracle::{Random, shapes},
        surface::Surface,
    };

    /// A few vertices at a time or all at once: a scattered surface is detected as worn.
    #[test]
    fn wear_is_seen_however_little_moves_at_a_time() {
        for n_at_once in [3, usize::MAX] {
            let mesh = TriangleMesh::new(shapes::organ(1_000, 3));
            let mut surface = Surface::new(mesh, LatLonOptions::default());
            let (low, high) = (surface.bounds().min.as_dvec3(), surface.bounds().max.as_dvec3());
            let vertices: Vec<u32> = (0..surface.mesh().positions().len() as u32).collect();
            let mut random = Random::new(6);
            assert!(!surface.is_worn());
            for _ in 0..100 {
                for some in vertices.chunks(n_at_once.min(vertices.len())) {
                    let places: Vec<_> =
                        some.iter().map(|_| random.point(low, high).as_vec3()).collect();
                    surface.move_vertices(some, &places);
                }
            }
            assert!(surface.is_worn(), "{n_at_once} at once: wear {}", surface.wear());
        }
    }
}
