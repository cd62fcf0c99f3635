//! Single triangles against a placed tree, eight of them going down side by side.

use super::{Placed, tree::DEPTH_MAX, volume::Node};
use crate::geometry::{
    Dop16, TriangleId,
    kdop::N_DIRECTIONS,
    tolerance::{POSE_ROUNDING, SLAB_ROUNDING},
    triangle_triangle::{Triangle, Verdict, meet},
};

/// Triangles that go down the tree together.
const LANES: usize = 8;

/// Two triangles that meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Of the triangles given.
    pub other: TriangleId,
    /// Of the tree.
    pub own: TriangleId,
}

/// Triangles of the scene on their way through a tree. Near ones given in a row share most of the way.
#[derive(Clone, Debug)]
pub struct Candidates<'p> {
    placed: &'p Placed<'p>,
    len: usize,
    ids: [TriangleId; LANES],
    /// As given, in the scene.
    in_scene: [Triangle; LANES],
    /// In the tree's frame, rounded.
    in_tool: [Triangle; LANES],
    /// How far off each of its coordinates is, metres.
    errors: [f64; LANES],
    /// The same by corner, axis and lane.
    corners: [[[f32; LANES]; 3]; 3],
}

impl<'p> Candidates<'p> {
    pub(super) fn new(placed: &'p Placed<'p>) -> Candidates<'p> {
        Candidates {
            placed,
            len: 0,
            ids: [TriangleId(u32::MAX); LANES],
            in_scene: Default::default(),
            in_tool: Default::default(),
            errors: [0.0; LANES],
            corners: [[[0.0; LANES]; 3]; 3],
        }
    }

    /// Takes a triangle; `visit` is given pairs of it and others now or later.
    pub fn push(&mut self, id: TriangleId, triangle: &Triangle, visit: &mut impl FnMut(Pair)) {
        let lane = self.len;
        self.ids[lane] = id;
        self.in_scene[lane] = *triangle;
        self.in_tool[lane] = triangle.map(|p| self.placed.tool_from_scene.point(p));
        let farthest = triangle.iter().map(|p| p.abs().element_sum()).fold(0.0, f64::max);
        self.errors[lane] = POSE_ROUNDING * (self.placed.farthest + farthest);
        for (corner, p) in self.in_tool[lane].iter().enumerate() {
            for axis in 0..3 {
                self.corners[corner][axis][lane] = p[axis] as f32;
            }
        }
        self.len += 1;
        if self.len == LANES {
            self.descend(visit);
        }
    }

    /// Gives the pairs of the triangles that still wait.
    pub fn finish(mut self, visit: &mut impl FnMut(Pair)) {
        self.descend(visit);
    }

    fn descend(&mut self, visit: &mut impl FnMut(Pair)) {
        let tree = self.placed.tree;
        let waiting = (1u32 << self.len) - 1;
        if waiting != 0 && !tree.nodes.is_empty() {
            let wide = Wide::of(&self.corners, self.farthest());
            let mut stack = [(0u32, 0u32); DEPTH_MAX + 2];
            stack[0] = (0, waiting);
            let mut height = 1;
            while height > 0 {
                height -= 1;
                let (at, mask) = stack[height];
                let node = &tree.nodes[at as usize];
                let mask = mask & wide.meet(node);
                if mask == 0 {
                    continue;
                }
                if let Some(leaf) = node.leaf() {
                    self.meet_leaf(leaf, mask & wide.meet_dop(&tree.dops[leaf]), visit);
                } else {
                    stack[height] = (node.below + 1, mask);
                    stack[height + 1] = (node.below, mask);
                    height += 2;
                }
            }
        }
        self.len = 0;
    }

    /// Bounds every coordinate met on the way.
    fn farthest(&self) -> f32 {
        let own = self.placed.tree.farthest();
        let of_lanes = self.corners.iter().flatten().flat_map(|lanes| &lanes[..self.len]);
        own + 3.0 * of_lanes.fold(0.0, |most, x| greater(most, x.abs()))
    }

    fn meet_leaf(&self, leaf: usize, mut mask: u32, visit: &mut impl FnMut(Pair)) {
        let own = self.placed.tree.triangles[leaf];
        while mask != 0 {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if self.meets(leaf, lane) {
                visit(Pair { other: self.ids[lane], own });
            }
        }
    }

    fn meets(&self, leaf: usize, lane: usize) -> bool {
        let placed = self.placed;
        let verdict = placed.tree.rectangles[leaf]
            .as_ref()
            .map_or(Verdict::Unsure, |r| r.meets(&self.in_tool[lane], self.errors[lane]));
        match verdict {
            Verdict::Meet => true,
            Verdict::Apart => false,
            Verdict::Unsure => {
                let own = placed.mesh.triangle(placed.tree.triangles[leaf]);
                meet(&self.in_scene[lane], &own.map(|p| placed.scene_from_tool.point(p)))
            }
        }
    }
}

/// The lanes in `f32`.
struct Wide<'a> {
    corners: &'a [[[f32; LANES]; 3]; 3],
    /// Least and greatest along the directions of a [`Dop16`].
    min: [[f32; LANES]; N_DIRECTIONS],
    max: [[f32; LANES]; N_DIRECTIONS],
    /// What rounding costs along any axis, metres.
    slack: f32,
}

impl Wide<'_> {
    fn of(corners: &[[[f32; LANES]; 3]; 3], farthest: f32) -> Wide<'_> {
        let mut wide = Wide {
            corners,
            min: [[f32::INFINITY; LANES]; N_DIRECTIONS],
            max: [[f32::NEG_INFINITY; LANES]; N_DIRECTIONS],
            slack: SLAB_ROUNDING as f32 * farthest,
        };
        for [x, y, z] in corners {
            for lane in 0..LANES {
                let (x, y, z) = (x[lane], y[lane], z[lane]);
                let along = [x, y, z, x + y, x + z, y + z, x - y, x - z];
                for d in 0..N_DIRECTIONS {
                    wide.min[d][lane] = lesser(wide.min[d][lane], along[d]);
                    wide.max[d][lane] = greater(wide.max[d][lane], along[d]);
                }
            }
        }
        wide
    }

    /// Bit n: the planes of the node do not separate it from the triangle in lane n.
    fn meet(&self, node: &Node) -> u32 {
        let mut apart = [0; LANES];
        for k in 0..3 {
            let axis = &node.axes[k];
            let (low, high) = (node.min[k] - self.slack, node.max[k] + self.slack);
            for (lane, apart) in apart.iter_mut().enumerate() {
                let along = |[x, y, z]: &[[f32; LANES]; 3]| {
                    axis[0] * x[lane] + axis[1] * y[lane] + axis[2] * z[lane]
                };
                let [p, q, r] = [0, 1, 2].map(|corner| along(&self.corners[corner]));
                *apart |= u32::from(lesser(lesser(p, q), r) > high);
                *apart |= u32::from(greater(greater(p, q), r) < low);
            }
        }
        lanes_of_zero(&apart)
    }

    /// Bit n: the box overlaps that of the triangle in lane n.
    fn meet_dop(&self, dop: &Dop16) -> u32 {
        let mut apart = [0; LANES];
        for d in 0..N_DIRECTIONS {
            let (low, high) = (dop.min[d] - self.slack, dop.max[d] + self.slack);
            for (lane, apart) in apart.iter_mut().enumerate() {
                *apart |= u32::from(self.min[d][lane] > high);
                *apart |= u32::from(self.max[d][lane] < low);
            }
        }
        lanes_of_zero(&apart)
    }
}

fn lanes_of_zero(apart: &[u32; LANES]) -> u32 {
    apart.iter().enumerate().fold(0, |mask, (lane, apart)| mask | (apart ^ 1) << lane)
}

/// As one instruction: `f32::min` must not return NaN and takes more.
fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}
