//! Pairs of triangles of two trees that meet, found by traversing both together.

use super::{
    tree::{BoxTree, DEPTH_MAX},
    volume::BoxNode,
};
use crate::{
    geometry::{
        Dop16, Pose, TriangleId, TriangleMesh,
        tolerance::POSE_ROUNDING,
        triangle_triangle::{PairVerdict, meet},
    },
    time_left::{TimeLeft, note_step},
};

/// Two triangles that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeafPair {
    /// Triangle of the other mesh.
    pub other: TriangleId,
    /// Triangle of the tree's own mesh.
    pub own: TriangleId,
}

/// A tree with the mesh that it was built from.
#[derive(Clone, Copy, Debug)]
pub struct Rigid<'a> {
    /// The vertices of the triangles.
    pub mesh: &'a TriangleMesh,
    /// The boxes of the triangles.
    pub tree: &'a BoxTree,
}

impl Rigid<'_> {
    /// Passes every pair that meets to `visit`, once; `this_from_other` maps the other's vertices to this tree's frame.
    /// Only some of the pairs once the time is over. Does not allocate.
    pub fn pairs(
        &self,
        other: &Rigid,
        this_from_other: &Pose,
        time: &TimeLeft,
        visit: &mut impl FnMut(LeafPair),
    ) {
        if !this_from_other.aabb(&other.tree.bounds).overlaps(&self.tree.bounds) {
            return;
        }
        let coordinates = f64::from(self.tree.farthest() + other.tree.farthest());
        // Bounds the rounding of a transformed vertex; all tests are loosened by it, so that no pair is missed.
        let error = POSE_ROUNDING * (coordinates + this_from_other.translation.abs().element_sum());
        // Going down one level leaves one pair waiting.
        let mut stack = [(0u32, 0u32); 2 * DEPTH_MAX + 2];
        let mut height = 1;
        while height > 0 && !time.is_over() {
            note_step();
            height -= 1;
            let (i, j) = stack[height];
            debug_assert!(height + 2 <= stack.len(), "{height} pairs wait");
            let (a, b) = (&self.tree.nodes[i as usize], &other.tree.nodes[j as usize]);
            let next = match (a.leaf(), b.leaf()) {
                (Some(own), Some(others)) => {
                    if self.leaves_meet(other, this_from_other, [own, others], error) {
                        let (own, other) = (self.tree.triangles[own], other.tree.triangles[others]);
                        visit(LeafPair { other, own });
                    }
                    continue;
                }
                // Inner nodes are compared as oriented boxes; leaves have better tests.
                _ if !a.obb().may_meet(&b.obb(), this_from_other, error) => continue,
                (Some(_), None) => [(i, b.below), (i, b.below + 1)],
                (None, Some(_)) => [(a.below, j), (a.below + 1, j)],
                // The larger node is opened, so that both stay of similar size and the box test rejects much.
                (None, None) if larger(a, b) => [(a.below, j), (a.below + 1, j)],
                (None, None) => [(i, b.below), (i, b.below + 1)],
            };
            [stack[height + 1], stack[height]] = next;
            height += 2;
        }
    }

    /// Tests the rectangles' boxes, then k-DOPs in this frame, then the triangles by the results of the box tests.
    fn leaves_meet(
        &self,
        other: &Rigid,
        this_from_other: &Pose,
        [own, others]: [usize; 2],
        error: f64,
    ) -> bool {
        let triangle = other.mesh.triangle(other.tree.triangles[others]);
        let placed = triangle.map(|p| this_from_other.point(p));
        let frames = (&self.tree.rectangles[own], &other.tree.rectangles[others]);
        let verdict = match frames {
            (Some(a), Some(b)) => {
                let seen = a.see(b, this_from_other);
                if !a.may_meet_seen(b, &seen, error)
                    || !self.tree.dops[own].overlaps(&Dop16::around(placed).grown(error))
                {
                    return false;
                }
                a.meets_seen(b, &seen, error)
            }
            _ => PairVerdict::Unsure,
        };
        match verdict {
            PairVerdict::Meet => true,
            PairVerdict::Apart => false,
            PairVerdict::Unsure => meet(&self.mesh.triangle(self.tree.triangles[own]), &placed),
        }
    }
}

fn larger(a: &BoxNode, b: &BoxNode) -> bool {
    a.surface() >= b.surface()
}
