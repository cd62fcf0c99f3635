//! Edges of a triangle in lanes, as the tests of a triangle pair read them.

use glam::DVec3;

use crate::geometry::four_lanes::{Four, FourLanes};

/// Start and direction of each edge. The fourth lane repeats the first edge.
#[derive(Clone, Copy)]
pub(super) struct EdgeLanes<F> {
    pub(super) from: [F; 3],
    pub(super) along: [F; 3],
    pub(super) length_squared: F,
}

impl<F: Four> EdgeLanes<F> {
    #[inline(always)]
    pub(super) fn of<L: FourLanes<Four = F>>(lanes: L, triangle: &[DVec3; 3]) -> EdgeLanes<F> {
        let [a, b, c] = triangle;
        let from = [
            lanes.of([a.x, b.x, c.x, a.x]),
            lanes.of([a.y, b.y, c.y, a.y]),
            lanes.of([a.z, b.z, c.z, a.z]),
        ];
        let [x, y, z] = from;
        let along = [x.next_of_three() - x, y.next_of_three() - y, z.next_of_three() - z];
        let [x, y, z] = along;
        EdgeLanes { from, along, length_squared: x * x + y * y + z * z }
    }
}
