//! A second surface over the boundary of an open surface, so that both together are closed.
//!
//! Any surface with that boundary will do. The winding number of both together is a whole number, which a ray counts;
//! less the cap's own it is that of the open surface, exactly except for parts of the cap that are far away. The
//! shortest ear is cut first, so that the cap is small if two sides of a boundary are near each other, as the sides of
//! a slit are.

use std::{cmp::Reverse, collections::BinaryHeap, f64::consts::PI, ops::Range};

use glam::DVec3;

use crate::{
    geometry::{
        Aabb, TriangleMesh,
        winding::{Moments, Winding, solid_angles},
    },
    time_left::{TimeLeft, note_step},
};

/// Triangles of a cap, with a tree over them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cap {
    triangles: Vec<[u32; 3]>,
    /// The root first, each node before the nodes below it.
    nodes: Vec<CapNode>,
}

#[derive(Clone, Debug, PartialEq)]
struct CapNode {
    bounds: Aabb,
    moments: Moments,
    /// Index of the first node after all nodes below this one.
    after: usize,
    /// All triangles below it.
    triangles: Range<usize>,
}

/// Maximum triangles of a leaf.
const LEAF: usize = 8;

/// Number of visited nodes after which a bound opens no further nodes.
const SUMMED_MAX: usize = 512;

impl Cap {
    /// Builds a cap over closed loops, each given by its edges; the cap's triangles are wound against them. Call
    /// [`Cap::follow`] before any query that depends on positions.
    pub fn over<'a>(mesh: &TriangleMesh, loops: impl Iterator<Item = &'a [[u32; 2]]>) -> Cap {
        let mut triangles = Vec::new();
        for boundary_loop in loops {
            cut_ears(mesh, boundary_loop, &mut triangles);
        }
        let mut cap = Cap { nodes: Vec::new(), triangles };
        if !cap.triangles.is_empty() {
            cap.divide(mesh, 0..cap.triangles.len());
        }
        cap
    }

    /// Triangles by their vertices.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Builds a node over some triangles, which it sorts, and the nodes below it.
    fn divide(&mut self, mesh: &TriangleMesh, triangles: Range<usize>) {
        let node = self.nodes.len();
        let (bounds, moments) = (Aabb::EMPTY, Moments::NONE);
        self.nodes.push(CapNode { bounds, moments, after: 0, triangles: triangles.clone() });
        let own = &mut self.triangles[triangles.clone()];
        if own.len() > LEAF {
            let centre = |t: &[u32; 3]| t.map(|v| mesh.position(v)).iter().sum::<DVec3>();
            let size = Aabb::around(own.iter().map(centre)).size();
            // Halved by number along the longest axis: the tree's depth is log n for any shape of the boundary.
            let axis = (0..3).max_by(|a, b| size[*a].total_cmp(&size[*b])).expect("three axes");
            let half = own.len() / 2;
            let key = |t: &[u32; 3]| centre(t)[axis];
            own.select_nth_unstable_by(half, |a, b| key(a).total_cmp(&key(b)));
            let middle = triangles.start + half;
            self.divide(mesh, triangles.start..middle);
            self.divide(mesh, middle..triangles.end);
        }
        self.nodes[node].after = self.nodes.len();
    }

    /// Updates boxes and moments after vertices have moved.
    pub fn follow(&mut self, mesh: &TriangleMesh) {
        // Backwards, so that the nodes below a node are updated before it.
        for n in (0..self.nodes.len()).rev() {
            let node = &self.nodes[n];
            let (bounds, moments) = if node.after == n + 1 {
                let own = self.triangles[node.triangles.clone()].iter().map(|t| corners(mesh, t));
                let bounds = Aabb::around(own.clone().flatten());
                let sum = |sum: Moments, t: [DVec3; 3]| sum.union(&Moments::of_triangle(&t));
                (bounds, own.fold(Moments::NONE, sum))
            } else {
                let (left, right) = (&self.nodes[n + 1], &self.nodes[self.nodes[n + 1].after]);
                (left.bounds.union(&right.bounds), left.moments.union(&right.moments))
            };
            let node = &mut self.nodes[n];
            (node.bounds, node.moments) = (bounds, moments);
        }
    }

    /// Winding number of the cap around `p`. Only part of it once the time is over.
    pub fn winding(&self, mesh: &TriangleMesh, p: DVec3, time: &TimeLeft) -> Winding {
        let mut sum = Winding::default();
        self.traverse(|node, is_leaf| {
            if time.is_over() {
                return false;
            }
            // A ray costs for an open surface what it costs for a closed one, and the cap costs time proportional to
            // the boundary's length: with moments in each link of the list instead, a tick of the pliers at a slit
            // tongue took 5.4 ms and not 0.25.
            if let Some(far) = node.moments.far_winding(&node.bounds, p) {
                sum.number += far.number;
                sum.error += far.error;
                return false;
            }
            if is_leaf {
                let own = self.triangles[node.triangles.clone()].iter();
                sum.number += solid_angles(p, own.map(|t| corners(mesh, t))) / (4.0 * PI);
            }
            true
        });
        sum
    }

    /// Passes every triangle whose leaf's box passes a test to `visit`.
    pub fn overlap(
        &self,
        mesh: &TriangleMesh,
        passes: impl Fn(&Aabb) -> bool,
        mut visit: impl FnMut([DVec3; 3]),
    ) {
        self.traverse(|node, is_leaf| {
            let is_met = passes(&node.bounds);
            if is_met && is_leaf {
                let own = self.triangles[node.triangles.clone()].iter();
                own.for_each(|t| visit(corners(mesh, t)));
            }
            is_met
        });
    }

    /// Upper bound of the cap's winding number within `radius` metres of `p`: no part appears larger than face on and
    /// from the part's nearest point.
    pub fn winding_max(&self, p: DVec3, radius: f64) -> f64 {
        self.sum(p, radius, |area, distance| area / distance.powi(2)) / (4.0 * PI)
    }

    /// Upper bound of the change of the cap's winding number within `radius` metres of `p`, per metre.
    pub fn gradient_bound(&self, p: DVec3, radius: f64) -> f64 {
        // Largest derivative of x / |x|^3.
        self.sum(p, radius, |area, distance| 2.0 * area / distance.powi(3)) / (4.0 * PI)
    }

    /// Sums `of` the area of each part and its distance from a ball; infinite if they meet.
    fn sum(&self, p: DVec3, radius: f64, of: impl Fn(f64, f64) -> f64) -> f64 {
        let (mut sum, mut n_visited) = (0.0, 0);
        self.traverse(|node, is_leaf| {
            n_visited += 1;
            let distance = (node.bounds.distance_squared(p).sqrt() - radius).max(0.0);
            // Opened if the box is near for its size, because its nearest point stands for all of it. If parts lie on
            // each other all are near, and a bound of that many costs more than it gains.
            let is_far = distance > 2.0 * node.bounds.diagonal();
            let is_whole = is_leaf || is_far || n_visited > SUMMED_MAX;
            if is_whole && node.moments.area() > 0.0 {
                sum += of(node.moments.area(), distance);
            }
            !is_whole && sum < f64::INFINITY
        });
        sum
    }

    /// Visits the nodes, the root first, and skips the nodes below a node if `visit` returns false. The second argument
    /// of `visit` is true for a leaf.
    fn traverse(&self, mut visit: impl FnMut(&CapNode, bool) -> bool) {
        let mut n = 0;
        while let Some(node) = self.nodes.get(n) {
            note_step();
            let is_leaf = node.after == n + 1;
            n = if visit(node, is_leaf) { n + 1 } else { node.after };
        }
    }

    /// Bytes allocated.
    pub fn heap_bytes(&self) -> usize {
        size_of::<[u32; 3]>() * self.triangles.capacity()
            + size_of::<CapNode>() * self.nodes.capacity()
    }
}

/// Fills a closed loop: the vertex whose neighbours are nearest to each other is cut off first, and so on.
fn cut_ears(mesh: &TriangleMesh, boundary_loop: &[[u32; 2]], triangles: &mut Vec<[u32; 3]>) {
    let n = boundary_loop.len() as u32;
    let vertex = |i: u32| boundary_loop[i as usize][0];
    let at = |i: u32| mesh.position(vertex(i));
    let mut beside: Vec<[u32; 2]> = (0..n).map(|i| [(i + n - 1) % n, (i + 1) % n]).collect();
    // The bits of non-negative numbers are in the order of the numbers.
    let ear =
        |i: u32, [a, b]: [u32; 2]| Reverse((at(a).distance_squared(at(b)).to_bits(), i, [a, b]));
    let mut ears: BinaryHeap<_> = (0..n).zip(&beside).map(|(i, b)| ear(i, *b)).collect();
    let mut left = n;
    while left > 2
        && let Some(Reverse((_, i, [a, b]))) = ears.pop()
    {
        // A neighbour was cut off since this ear was put on the heap; its new shape is on the heap too.
        if beside[i as usize] != [a, b] {
            continue;
        }
        // Opposite to the direction of the boundary, so that both together are wound alike.
        triangles.push([b, i, a].map(vertex));
        left -= 1;
        (beside[a as usize][1], beside[b as usize][0]) = (b, a);
        beside[i as usize] = [i, i];
        ears.extend([a, b].map(|k| ear(k, beside[k as usize])));
    }
}

fn corners(mesh: &TriangleMesh, triangle: &[u32; 3]) -> [DVec3; 3] {
    triangle.map(|v| mesh.position(v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::{mesh::boundary::Boundary, winding::winding_number},
        oracle::{Random, shapes},
    };

    /// Torn surfaces and their caps together have whole winding numbers, while their vertices move too; and the bounds
    /// on the cap's own winding number hold throughout a ball.
    #[test]
    fn it_closes_what_it_is_over() {
        let seed = 5;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let (mut between, mut tree) = (0, 0);
        for round in 0..200 {
            let data = match round % 3 {
                0 => shapes::sphere(0.05, 8),
                1 => shapes::sheet(9, 8, 0.01),
                _ => shapes::capsule(0.004, 0.05, 12),
            };
            let few = 1 + random.below(3);
            let n = if round < 100 { few } else { random.below(data.triangles.len() / 2) };
            let mut mesh = TriangleMesh::new(shapes::torn(data, n, &mut random));
            let mut boundary = Boundary::of(&mesh);
            for v in 0..mesh.positions().len() as u32 {
                let p = mesh.position(v) + random.unit_vector() * 1e-3 * random.f64();
                mesh.move_vertex(v, p.as_vec3());
            }
            boundary.follow(&mesh);
            let cap = boundary.cap();
            tree = tree.max(cap.nodes.len());
            let b = mesh.used_box().grown(0.01);
            for _ in 0..40 {
                let p = random.point(b.min.as_dvec3(), b.max.as_dvec3());
                let time = TimeLeft::endless();
                let Winding { number, error } = cap.winding(&mesh, p, &time);
                let both = winding_number(&mesh, p) + number;
                assert!((both - both.round()).abs() <= error + 1e-9, "{both}, {error} at {p}");
                between += usize::from((number - number.round()).abs() > 0.1);
                let radius = random.range(0.0, 0.03);
                let q = p + random.unit_vector() * radius;
                let at_q = cap.winding(&mesh, q, &time);
                let most = cap.winding_max(p, radius) + at_q.error + 1e-9;
                assert!(at_q.number.abs() <= most, "{at_q:?} at {q}, {most} about {p}");
                let most =
                    cap.gradient_bound(p, radius) * p.distance(q) + error + at_q.error + 1e-9;
                assert!(
                    (at_q.number - number).abs() <= most,
                    "{at_q:?}, {number}, {most}: {p}, {q}"
                );
            }
        }
        assert!(between > 300 && tree > 7, "{between} between whole numbers, {tree} nodes");
    }
}
