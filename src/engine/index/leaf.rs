//! A leaf: triangles near each other, below a link of the bottom level.

use glam::Vec3;

use super::{
    corners::{Corners, Vertices},
    link_run::Place,
};
use crate::geometry::{Aabb, TriangleId, TriangleMesh, lanes::LANES};

/// Growth of a leaf's box, since its triangles were filed, beyond which they may have come apart.
// Triangles that move as a whole keep their places and are only refitted: the 70 k liver waved by 1 mm files none
// elsewhere instead of 16 k, in a fifth to a seventh of the time.
const GROWTH: f32 = 1.25;

/// Up to [`LANES`] triangles in no order.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct ListLeaf {
    pub(super) corners: Corners,
    pub(super) triangles: [TriangleId; LANES],
    /// Sources of the corners: an update of a leaf then reads only these numbers and positions. 0 in unused lanes.
    vertices: Vertices,
    /// Place of the link to the leaf; none while the leaf is free.
    pub(super) place: Place,
    /// Sum of the box's sides, metres, when the triangles were last filed; NaN: set at the next refit.
    filed_size: f32,
    len: u8,
}

impl ListLeaf {
    pub(super) const EMPTY: ListLeaf = ListLeaf {
        corners: Corners::EMPTY,
        triangles: [TriangleId(u32::MAX); LANES],
        vertices: [[0; LANES]; 3],
        place: Place::NONE,
        filed_size: f32::NAN,
        len: 0,
    };

    /// An empty leaf at the end of a link.
    pub(super) fn at(place: Place) -> ListLeaf {
        ListLeaf { place, ..ListLeaf::EMPTY }
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == LANES
    }

    pub(super) fn vertices(&self, lane: usize) -> [u32; 3] {
        self.vertices.map(|corner| corner[lane])
    }

    /// Triangles in the leaf.
    pub(super) fn triangles(&self) -> &[TriangleId] {
        &self.triangles[..self.len()]
    }

    /// Adds a triangle of the mesh and returns its lane.
    pub(super) fn push(&mut self, t: TriangleId, mesh: &TriangleMesh) -> usize {
        let lane = self.len();
        debug_assert!(!self.is_full(), "a full leaf takes no more");
        self.set(lane, t, mesh.vertices(t), mesh.corners(t));
        self.len += 1;
        lane
    }

    /// Updates the corners and returns their box.
    #[inline(always)]
    pub(super) fn refill(&mut self, positions: &[Vec3]) -> Aabb {
        let len = self.len();
        self.corners.refill(&self.vertices, positions, len)
    }

    /// As [`ListLeaf::refill`], with AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn refill_wide(&mut self, positions: &[Vec3]) -> Aabb {
        let len = self.len();
        self.corners.refill_wide(&self.vertices, positions, len)
    }

    /// Returns true if the leaf's box, now `bounds`, has grown by more than [`GROWTH`] since its triangles were filed
    /// or last found grown.
    #[inline(always)]
    pub(super) fn has_grown(&mut self, bounds: &Aabb) -> bool {
        let size = (bounds.max - bounds.min).element_sum();
        // NaN is never exceeded: a newly filled leaf gets its size at the first refit.
        let grown = size > self.filed_size * GROWTH;
        if grown || self.filed_size.is_nan() {
            self.filed_size = size;
        }
        grown
    }

    /// Removes a triangle; the last one moves into its lane.
    pub(super) fn remove(&mut self, lane: usize) {
        debug_assert!(lane < self.len(), "lane {lane} of {}", self.len());
        let last = self.len() - 1;
        // Triangles of a leaf are in no order, so the last one fills the gap; the caller updates its handle.
        self.set(lane, self.triangles[last], self.vertices(last), self.corners.get(last));
        self.corners.clear(last);
        self.vertices.iter_mut().for_each(|corner| corner[last] = 0);
        self.len -= 1;
    }

    fn set(&mut self, lane: usize, t: TriangleId, vertices: [u32; 3], corners: [Vec3; 3]) {
        self.triangles[lane] = t;
        for (corner, v) in self.vertices.iter_mut().zip(vertices) {
            corner[lane] = v;
        }
        self.corners.set(lane, &corners);
    }
}
