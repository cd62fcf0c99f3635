//! Corners of a polygon that may lie in an ear, in a k-d tree that supports removal.

use glam::DVec2;

use crate::geometry::triangle_triangle::orient_2d;

/// Maximum corners of a leaf.
const LEAF_MAX: usize = 8;
/// Marks a corner that is not in the tree.
const ABSENT: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct Blockers {
    /// Corners in the tree; those of each node are contiguous.
    corners: Vec<u32>,
    /// For each corner of the polygon: its index in `corners`, or [`ABSENT`].
    places: Vec<u32>,
    /// Children of node i are 2 i + 1 and 2 i + 2. Each has half of the corners.
    nodes: Vec<Node>,
}

#[derive(Clone, Copy)]
struct Node {
    min: DVec2,
    max: DVec2,
    n_left: u32,
}

impl Blockers {
    /// Memory for each corner of the polygon. There are at most four nodes for each full leaf.
    pub(super) const BYTES_PER_CORNER: usize =
        2 * size_of::<u32>() + 4 * size_of::<Node>() / LEAF_MAX;

    pub(super) fn reserve(&mut self, n: usize) {
        self.corners.reserve_exact(n);
        self.places.reserve_exact(n);
        self.nodes.reserve_exact(n_nodes(n));
    }

    /// Replaces all corners in the tree. `points`: of all corners of the polygon. O(n log n).
    pub(super) fn fill(&mut self, points: &[DVec2], corners: impl Iterator<Item = u32>) {
        self.corners.clear();
        self.corners.extend(corners);
        let n = self.corners.len();
        let nothing = Node {
            min: DVec2::splat(f64::INFINITY),
            max: DVec2::splat(f64::NEG_INFINITY),
            n_left: 0,
        };
        self.nodes.clear();
        self.nodes.resize(n_nodes(n), nothing);
        split(points, &mut self.corners, &mut self.nodes, 0);
        self.places.clear();
        self.places.resize(points.len(), ABSENT);
        for (place, corner) in self.corners.iter().enumerate() {
            self.places[*corner as usize] = place as u32;
        }
    }

    /// Removes a corner if it is in the tree.
    pub(super) fn remove(&mut self, corner: u32) {
        let place = std::mem::replace(&mut self.places[corner as usize], ABSENT);
        if place == ABSENT {
            return;
        }
        let (mut node, mut begin, mut end) = (0, 0, self.corners.len());
        loop {
            self.nodes[node].n_left -= 1;
            if end - begin <= LEAF_MAX {
                return;
            }
            let middle = begin.midpoint(end);
            (node, begin, end) = match (place as usize) < middle {
                true => (2 * node + 1, begin, middle),
                false => (2 * node + 2, middle, end),
            };
        }
    }

    /// Returns true if a corner that may lie in the triangle, which is wound counter-clockwise, satisfies `is_wanted`.
    /// `None` if no steps are left.
    pub(super) fn any(
        &self,
        points: &[DVec2],
        triangle: &[DVec2; 3],
        n_steps_left: &mut u64,
        is_wanted: &impl Fn(u32) -> bool,
    ) -> Option<bool> {
        let [a, b, c] = *triangle;
        let (min, max) = (a.min(b).min(c), a.max(b).max(c));
        let mut open = vec![(0, 0, self.corners.len())];
        while let Some((node, begin, end)) = open.pop() {
            *n_steps_left = n_steps_left.checked_sub(1)?;
            let found = &self.nodes[node];
            let overlaps = found.min.cmple(max).all() && min.cmple(found.max).all();
            if found.n_left == 0 || !overlaps || found.is_beyond_a_side(triangle) {
                continue;
            }
            if end - begin > LEAF_MAX {
                let middle = begin.midpoint(end);
                open.extend([(2 * node + 2, middle, end), (2 * node + 1, begin, middle)]);
                continue;
            }
            for corner in &self.corners[begin..end] {
                let p = points[*corner as usize];
                let is_near = min.cmple(p).all() && p.cmple(max).all();
                if is_near && self.places[*corner as usize] != ABSENT && is_wanted(*corner) {
                    return Some(true);
                }
            }
        }
        Some(false)
    }
}

impl Node {
    /// Returns true if the whole box lies beyond the line of a side of a triangle that is wound counter-clockwise.
    fn is_beyond_a_side(&self, &[a, b, c]: &[DVec2; 3]) -> bool {
        [(a, b), (b, c), (c, a)].into_iter().any(|(from, to)| {
            let inwards = DVec2::new(from.y - to.y, to.x - from.x);
            let innermost = DVec2::select(inwards.cmpgt(DVec2::ZERO), self.max, self.min);
            orient_2d(from, to, innermost) < 0.0
        })
    }
}

fn n_nodes(n_corners: usize) -> usize {
    2 * n_corners.div_ceil(LEAF_MAX).next_power_of_two() - 1
}

/// Splits the corners of a node between its children.
fn split(points: &[DVec2], corners: &mut [u32], nodes: &mut [Node], node: usize) {
    let point = |corner: &u32| points[*corner as usize];
    let found = &mut nodes[node];
    found.n_left = corners.len() as u32;
    found.min = corners.iter().map(point).fold(found.min, DVec2::min);
    found.max = corners.iter().map(point).fold(found.max, DVec2::max);
    if corners.len() > LEAF_MAX {
        let size = found.max - found.min;
        let axis = usize::from(size.y > size.x);
        let middle = 0usize.midpoint(corners.len());
        corners.select_nth_unstable_by(middle, |a, b| point(a)[axis].total_cmp(&point(b)[axis]));
        let (low, high) = corners.split_at_mut(middle);
        split(points, low, nodes, 2 * node + 1);
        split(points, high, nodes, 2 * node + 2);
    }
}
