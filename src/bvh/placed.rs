//! A tree under a pose: which boxes of the scene may meet it.

use super::{Candidates, tree::Tree};
use crate::geometry::{Aabb, Pose, TriangleMesh};

/// Boxes that stand for the tree at most. More refuse more, and cost more for every pose.
const CUT_MAX: usize = 32;
const LANES: usize = 8;

/// A mesh and its tree somewhere in the scene.
#[derive(Clone, Debug)]
pub struct Placed<'a> {
    pub(super) tree: &'a Tree,
    pub(super) mesh: &'a TriangleMesh,
    pub(super) scene_from_tool: Pose,
    pub(super) tool_from_scene: Pose,
    /// Bounds the coordinates of the mesh and of the pose, metres.
    pub(super) farthest: f64,
    cut: Cut,
}

/// Boxes in the scene, side by side, that hold what of the tree is in a region.
#[derive(Clone, Debug)]
struct Cut {
    min: [[f32; CUT_MAX]; 3],
    max: [[f32; CUT_MAX]; 3],
    len: usize,
    all: Aabb,
}

impl Tree {
    /// The tree of `mesh` under a pose, for boxes and triangles that are in `region`: what of the tree lies
    /// outside it is left out of [`Placed::may_meet`]. Does not allocate.
    pub fn placed<'a>(
        &'a self,
        mesh: &'a TriangleMesh,
        scene_from_tool: &Pose,
        region: &Aabb,
    ) -> Placed<'a> {
        Placed {
            tree: self,
            mesh,
            scene_from_tool: *scene_from_tool,
            tool_from_scene: scene_from_tool.inverse(),
            farthest: f64::from(self.farthest()) + scene_from_tool.translation.abs().element_sum(),
            cut: Cut::of(self, scene_from_tool, region),
        }
    }
}

impl Placed<'_> {
    /// False only when nothing of the box, a box in the region, meets the tree. Stays true when the box
    /// grows, so it can prune an index.
    pub fn may_meet(&self, b: &Aabb) -> bool {
        self.cut.overlaps(b)
    }

    /// Takes triangles that passed, and gives the pairs that meet.
    pub fn candidates(&self) -> Candidates<'_> {
        Candidates::new(self)
    }
}

impl Cut {
    const EMPTY: Cut = Cut {
        min: [[f32::INFINITY; CUT_MAX]; 3],
        max: [[f32::NEG_INFINITY; CUT_MAX]; 3],
        len: 0,
        all: Aabb::EMPTY,
    };

    /// Level by level from the root, as far as the boxes suffice.
    fn of(tree: &Tree, scene_from_tool: &Pose, region: &Aabb) -> Cut {
        let mut cut = Cut::EMPTY;
        if tree.nodes.is_empty() {
            return cut;
        }
        // Nodes still to divide, as a ring: (number, box).
        let mut waiting = [(0u32, Aabb::EMPTY); CUT_MAX];
        let (mut first, mut n_waiting) = (0, 0);
        let put = |waiting: &mut [(u32, Aabb); CUT_MAX], at: usize, node: usize| {
            let b = tree.nodes[node].aabb(scene_from_tool);
            let inside = b.overlaps(region);
            if inside {
                waiting[at % CUT_MAX] = (node as u32, b);
            }
            usize::from(inside)
        };
        n_waiting += put(&mut waiting, 0, 0);
        while n_waiting > 0 {
            let (node, b) = waiting[first % CUT_MAX];
            let below = tree.nodes[node as usize];
            (first, n_waiting) = (first + 1, n_waiting - 1);
            if below.leaf().is_some() || cut.len + n_waiting + 2 > CUT_MAX {
                cut.push(&b);
                continue;
            }
            n_waiting += put(&mut waiting, first + n_waiting, below.below as usize);
            n_waiting += put(&mut waiting, first + n_waiting, below.below as usize + 1);
        }
        cut
    }

    fn push(&mut self, b: &Aabb) {
        for axis in 0..3 {
            self.min[axis][self.len] = b.min[axis];
            self.max[axis][self.len] = b.max[axis];
        }
        self.len += 1;
        self.all = self.all.union(b);
    }

    fn overlaps(&self, b: &Aabb) -> bool {
        self.all.overlaps(b)
            && (0..self.len.div_ceil(LANES)).any(|chunk| {
                let mut apart = [0u32; LANES];
                for axis in 0..3 {
                    let min = &self.min[axis][chunk * LANES..][..LANES];
                    let max = &self.max[axis][chunk * LANES..][..LANES];
                    for lane in 0..LANES {
                        apart[lane] |= u32::from(min[lane] > b.max[axis]);
                        apart[lane] |= u32::from(max[lane] < b.min[axis]);
                    }
                }
                apart.contains(&0)
            })
    }
}
