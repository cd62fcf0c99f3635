//! A tree under a pose: tests of scene boxes and scene triangles against it.

use glam::DMat3;

use super::{
    tree::BoxTree,
    volume::LEAF,
    wide_node::{PlacedBoxes, SinglePose, SingleTriangle},
};
use crate::geometry::{
    Aabb, Pose, TriangleId, TriangleMesh,
    lanes::LANES,
    tolerance::{POSE_ROUNDING, SLAB_ROUNDING, UNITY_ROUNDING},
    triangle_triangle::{PairVerdict, Rounded, Triangle, meet},
};
use crate::time_left::{TimeLeft, note_step};

/// A mesh and its tree under a pose in the scene.
#[derive(Clone, Debug)]
pub struct PlacedTree<'a> {
    tree: &'a BoxTree,
    mesh: &'a TriangleMesh,
    scene_from_tool: Pose,
    tool_from_scene: Pose,
    /// Bounds the sums of coordinates of the mesh and of the pose, metres.
    farthest: f64,
    /// Boxes of the first wide node in the scene; `second` holds those of the wide node below each.
    first: PlacedBoxes,
    second: [PlacedBoxes; LANES],
    /// Bit n: box n of the first wide node is a leaf or stands for everything below it.
    whole: u32,
}

impl BoxTree {
    /// Places the tree of `mesh` under a pose, for boxes within `region`. Does not allocate.
    pub fn placed<'a>(
        &'a self,
        mesh: &'a TriangleMesh,
        scene_from_tool: &Pose,
        region: &Aabb,
    ) -> PlacedTree<'a> {
        debug_assert!(is_rotation(&scene_from_tool.rotation), "{scene_from_tool:?}");
        let farthest = f64::from(self.farthest()) + scene_from_tool.translation.abs().element_sum();
        let mut placed = PlacedTree {
            tree: self,
            mesh,
            scene_from_tool: *scene_from_tool,
            tool_from_scene: scene_from_tool.inverse(),
            farthest,
            first: PlacedBoxes::EMPTY,
            second: [PlacedBoxes::EMPTY; LANES],
            whole: 0,
        };
        if let Some(wide_node) = self.wide_nodes.first() {
            let pose = SinglePose::of(scene_from_tool);
            let slack = (SLAB_ROUNDING * farthest) as f32;
            placed.first = wide_node.aabbs(&pose, slack);
            for lane in lanes(placed.first.overlap(region)) {
                // Two levels of boxes are transformed once a tick. They accept or reject the index's boxes; keeping a
                // traversal between ticks gains nothing, as a candidate visits 1.4 wide nodes (probe) to 16 (pliers).
                if wide_node.below[lane] & LEAF != 0 {
                    placed.whole |= 1 << lane;
                } else {
                    let below = &self.wide_nodes[wide_node.below[lane] as usize];
                    placed.second[lane] = below.aabbs(&pose, slack);
                }
            }
        }
        placed
    }
}

impl PlacedTree<'_> {
    /// Returns false only if nothing in the box, a box in the region, meets the tree. Stays true if the box grows, so
    /// it can prune an index.
    pub fn may_meet(&self, b: &Aabb) -> bool {
        let passing = self.first.overlap(b);
        passing & self.whole != 0 || lanes(passing).any(|lane| self.second[lane].overlap(b) != 0)
    }

    /// Passes every triangle of the tree that meets a triangle of the scene to `visit`, once. Exact: equals brute force
    /// on the given corners and [`Pose::point`] of the mesh's. Only some of them once the time is over.
    pub fn meeting(&self, triangle: &Triangle, time: &TimeLeft, mut visit: impl FnMut(TriangleId)) {
        debug_assert!(triangle.iter().all(|p| p.is_finite()), "{triangle:?}");
        if self.tree.wide_nodes.is_empty() {
            return;
        }
        let [p, q, r] = *triangle;
        let back = &self.tool_from_scene;
        // The tissue's triangle is transformed to the tool, 50 ns; building a rectangle for it takes 103 to 120 and
        // exact predicates 150 to 185, which hitting several tool triangles does not repay.
        let in_tool = [back.point(p), back.point(q), back.point(r)];
        let reach = p.abs().max(q.abs()).max(r.abs()).element_sum();
        let error = POSE_ROUNDING * (self.farthest + reach);
        let query = TriangleQuery {
            in_scene: triangle,
            rounded: Rounded::new(in_tool, error),
            single: SingleTriangle::of(&in_tool, self.tree.farthest(), error),
        };
        self.descend(0, &query, time, &mut visit);
    }

    fn descend(
        &self,
        wide_node: u32,
        query: &TriangleQuery,
        time: &TimeLeft,
        visit: &mut impl FnMut(TriangleId),
    ) {
        let wide_node = &self.tree.wide_nodes[wide_node as usize];
        for lane in lanes(wide_node.meet(&query.single)) {
            let below = wide_node.below[lane];
            note_step();
            if time.is_over() {
                return;
            }
            if below & LEAF == 0 {
                self.descend(below, query, time, visit);
            } else if self.leaf_meets((below & !LEAF) as usize, query) {
                visit(self.tree.triangles[(below & !LEAF) as usize]);
            }
        }
    }

    fn leaf_meets(&self, leaf: usize, query: &TriangleQuery) -> bool {
        if !self.tree.dops[leaf].overlaps(&query.single.dop) {
            return false;
        }
        let rectangle = self.tree.rectangles[leaf].as_ref();
        match rectangle.map_or(PairVerdict::Unsure, |r| r.meets(&query.rounded)) {
            PairVerdict::Meet => true,
            PairVerdict::Apart => false,
            PairVerdict::Unsure => {
                let own = self.mesh.triangle(self.tree.triangles[leaf]);
                // Decided on the corners as given and the tool's transformed corners, as brute force does.
                meet(query.in_scene, &own.map(|p| self.scene_from_tool.point(p)))
            }
        }
    }
}

/// A scene triangle that is tested against the tree.
struct TriangleQuery<'t> {
    /// In the scene, as passed in.
    in_scene: &'t Triangle,
    /// In the tree's frame.
    rounded: Rounded,
    /// In the tree's frame in `f32`, for box tests.
    single: SingleTriangle,
}

/// Returns true if the columns are unit and at right angles, to rounding.
fn is_rotation(r: &DMat3) -> bool {
    let product = r.transpose() * *r;
    product.abs_diff_eq(DMat3::IDENTITY, UNITY_ROUNDING)
}

fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        let some = mask != 0;
        // Clears the lowest bit; an empty mask stays empty.
        mask &= mask.wrapping_sub(1);
        some.then_some(lane)
    })
}
