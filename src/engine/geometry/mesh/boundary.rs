//! Boundary of an open surface: near it, and nowhere else, inside turns to outside without a triangle between.
//!
//! Near the boundary a signed distance is not 1-Lipschitz, and no proof that assumes it holds. The winding number gives
//! the region: its fractional part is a smooth function of the point and depends on the boundary alone (Ampere: a
//! surface with an identical boundary differs by whole numbers). Two bounds on it are computed, and the lesser holds.
//! From a point to infinity it changes by at most the integral of its gradient, which is the boundary's line integral
//! of 1 / (4 pi distance). The fractional part is also the winding number of any cap over the boundary, which the cap's
//! area bounds.

use std::{collections::BTreeMap, f64::consts::PI};

use glam::DVec3;

use super::{cap::Cap, topology::visit_edges_at};
use crate::geometry::{Aabb, TriangleMesh, tolerance::SAME_BORDER};

/// The edges that triangles traverse more often in one direction than in the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Boundary {
    /// Start and end vertex, repeated by the excess of one direction; closed loops, one after another.
    edges: Vec<[u32; 2]>,
    /// The loops, or a single piece for all of them if there are many.
    loops: Vec<Piece>,
    /// The edges of all loops in shorter pieces.
    runs: Vec<Piece>,
    cap: Cap,
    /// Vertices of the boundary, ascending.
    vertices: Vec<u32>,
}

/// Consecutive edges of the boundary.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    /// Exclusive end of its edges.
    end: usize,
    bounds: Aabb,
    /// Total length of its edges, metres.
    length: f64,
}

/// Maximum number of loops that are bounded separately.
const LOOPS_MAX: usize = 32;
/// Edges of a run, unless there would be more runs than `RUNS_MAX`.
const RUN: usize = 4;
const RUNS_MAX: usize = 256;
/// Maximum number of edges compared with an edge of another boundary: a soup may have any number of adjacent edges.
const BESIDE_MAX: usize = 64;
/// Distance from a whole number up to which the side is certain: inside is where the winding number is above a half.
const DECIDED: f64 = 0.25;

impl Boundary {
    /// Boundary of a mesh in its current state.
    pub fn of(mesh: &TriangleMesh) -> Boundary {
        Boundary::through(mesh, open_edges(mesh, 0..mesh.positions().len() as u32))
    }

    /// Boundary after triangles were added and removed at `vertices`, ascending; unchanged elsewhere.
    pub fn edited(&self, mesh: &TriangleMesh, vertices: &[u32]) -> Boundary {
        let is_elsewhere = |[a, b]: &[u32; 2]| vertices.binary_search(a.min(b)).is_err();
        let elsewhere = self.edges.iter().copied().filter(is_elsewhere);
        let here = open_edges(mesh, vertices.iter().copied());
        Boundary::through(mesh, elsewhere.chain(here).collect())
    }

    fn through(mesh: &TriangleMesh, open: Vec<[u32; 2]>) -> Boundary {
        let (edges, mut ends) = boundary_loops(open);
        let mut vertices: Vec<u32> = edges.iter().map(|[from, _]| *from).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        // After a cut, boundary loops and cap are rebuilt in time proportional to the boundary's length; the rest of
        // the mesh is not visited.
        let cap = Cap::over(mesh, starts.zip(&ends).map(|(start, end)| &edges[start..*end]));
        // Many small holes are bounded together: a bound for each would cost more than it gains.
        if ends.len() > LOOPS_MAX {
            ends = vec![edges.len()];
        }
        let run = RUN.max(edges.len().div_ceil(RUNS_MAX));
        let loops = ends.iter().map(|end| Piece::until(*end)).collect();
        let runs = (0..edges.len()).step_by(run).map(|i| Piece::until((i + run).min(edges.len())));
        let mut boundary = Boundary { runs: runs.collect(), loops, cap, vertices, edges };
        boundary.follow(mesh);
        boundary
    }

    /// Updates the geometry after some vertices have moved.
    pub fn follow_some(&mut self, mesh: &TriangleMesh, moved: &[u32]) {
        let is_on = |v: &u32| self.has_vertex(*v);
        if moved.len() >= self.vertices.len() || moved.iter().any(is_on) {
            // More vertices moved than the boundary has: searching them costs more than following.
            self.follow(mesh);
        }
    }

    /// Updates the geometry to the current positions of all vertices.
    pub fn follow(&mut self, mesh: &TriangleMesh) {
        self.cap.follow(mesh);
        for pieces in [&mut self.loops, &mut self.runs] {
            let mut first = 0;
            for piece in pieces {
                let edges = &self.edges[first..piece.end];
                let ends = |[a, b]: &[u32; 2]| [mesh.position(*a), mesh.position(*b)];
                piece.bounds = Aabb::around(edges.iter().flat_map(ends));
                piece.length = edges.iter().map(ends).map(|[a, b]| a.distance(b)).sum();
                first = piece.end;
            }
        }
    }

    /// Returns true if the surface has no boundary.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Returns true if a vertex is on the boundary.
    pub fn has_vertex(&self, v: u32) -> bool {
        self.vertices.binary_search(&v).is_ok()
    }

    /// The cap that closes the surface.
    pub fn cap(&self) -> &Cap {
        &self.cap
    }

    /// Returns true if an edge lies on an edge of another boundary that runs the other way, or within [`SAME_BORDER`]
    /// of it: the two surfaces border on each other there. O(n log n) in the edges of both, and in the loops if they
    /// are apart.
    pub fn lies_on(&self, mesh: &TriangleMesh, other: &Boundary, of_other: &TriangleMesh) -> bool {
        let bounds = |b: &Boundary| b.loops.iter().fold(Aabb::EMPTY, |all, l| all.union(&l.bounds));
        let (own, there) = (bounds(self), bounds(other));
        if !own.grown(SAME_BORDER * own.diagonal()).overlaps(&there) {
            return false;
        }
        let size = there.size();
        let axis = (0..3).max_by(|a, b| size[*a].total_cmp(&size[*b])).expect("three axes");
        let along = |[a, b]: [DVec3; 2]| 0.5 * (a + b)[axis];
        let ends = |mesh: &TriangleMesh, [a, b]: [u32; 2]| [mesh.position(a), mesh.position(b)];
        let mut theirs: Vec<_> = other.edges.iter().map(|e| ends(of_other, *e)).collect();
        theirs.sort_unstable_by(|a, b| along(*a).total_cmp(&along(*b)));
        self.edges.iter().map(|e| ends(mesh, *e)).any(|[a, b]| {
            let (slack, at) = (SAME_BORDER * a.distance(b), along([a, b]));
            let first = theirs.partition_point(|e| along(*e) < at - slack);
            let near = theirs[first..].iter().take_while(|e| along(**e) <= at + slack);
            let is_same = |[c, d]: &[DVec3; 2]| a.distance(*d) <= slack && b.distance(*c) <= slack;
            slack > 0.0 && near.take(BESIDE_MAX).any(is_same)
        })
    }

    /// Returns false only if triangles separate inside and outside everywhere within `radius` metres of `p`.
    pub fn is_near(&self, p: DVec3, radius: f64) -> bool {
        let off = |each: &Piece| each.length / each.distance(p, radius);
        debug_assert!(radius >= 0.0, "{radius} m about {p}");
        // Ampere: the winding number's fractional part is at most the line integral of 1 / (4 pi distance) along the
        // boundary. The cap's bound is computed second, as it traverses a tree.
        let is_far = || self.loops.iter().map(off).sum::<f64>() <= 4.0 * PI * DECIDED;
        !self.loops.is_empty() && !is_far() && self.cap.winding_max(p, radius) > DECIDED
    }

    /// Upper bound of the winding number's change a metre within `radius` metres of `p`, except for whole numbers at
    /// triangles.
    pub fn gradient_bound(&self, p: DVec3, radius: f64) -> f64 {
        debug_assert!(radius >= 0.0, "{radius} m about {p}");
        let gradient_bound = |run: &Piece| run.length / run.distance(p, radius).powi(2);
        let of_boundary = self.runs.iter().map(gradient_bound).sum::<f64>() / (4.0 * PI);
        // Near a long slit the cap is small and gives the better bound; near a round hole the boundary does.
        of_boundary.min(self.cap.gradient_bound(p, radius))
    }

    /// Asserts that this is the mesh's boundary at its current positions, and that the cap closes it. O(n).
    pub fn assert_of(&self, mesh: &TriangleMesh) {
        let sorted = |boundary: &Boundary| {
            let mut edges = boundary.edges.clone();
            edges.sort_unstable();
            (edges, boundary.vertices.clone())
        };
        assert_eq!(sorted(self), sorted(&Boundary::of(mesh)), "edges of the boundary");
        let mut fresh = self.clone();
        fresh.follow(mesh);
        assert!(*self == fresh, "the boundary has not followed the mesh");
        let of_cap = self.cap.triangles().iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        let mut net: BTreeMap<[u32; 2], i64> = BTreeMap::new();
        for [from, to] in self.edges.iter().copied().chain(of_cap) {
            let sign = i64::from(from < to) - i64::from(from > to);
            *net.entry([from.min(to), from.max(to)]).or_default() += sign;
        }
        assert!(net.values().all(|n| *n == 0), "the cap leaves the surface open");
    }

    /// Bytes allocated.
    pub fn heap_bytes(&self) -> usize {
        size_of::<[u32; 2]>() * self.edges.capacity()
            + size_of::<Piece>() * (self.loops.capacity() + self.runs.capacity())
            + size_of::<u32>() * self.vertices.capacity()
            + self.cap.heap_bytes()
    }
}

impl Piece {
    fn until(end: usize) -> Piece {
        Piece { end, bounds: Aabb::around([]), length: 0.0 }
    }

    /// Distance from the piece's box to a ball, 0 if they meet.
    fn distance(&self, p: DVec3, radius: f64) -> f64 {
        (self.bounds.distance_squared(p).sqrt() - radius).max(0.0)
    }
}

/// Loops of open edges of a mesh, one after another, and the end of each.
pub(super) fn loops_of(mesh: &TriangleMesh) -> (Vec<[u32; 2]>, Vec<usize>) {
    boundary_loops(open_edges(mesh, 0..mesh.positions().len() as u32))
}

/// Open edges whose lower vertex is one of these, each in the direction in which it is traversed more often.
fn open_edges(mesh: &TriangleMesh, vertices: impl Iterator<Item = u32>) -> Vec<[u32; 2]> {
    let mut open = Vec::new();
    visit_edges_at(mesh, vertices, |edge, uses| {
        let ascending = uses.iter().filter(|u| u.ascending).count();
        let descending = uses.len() - ascending;
        let [low, high] = edge;
        let edge = if ascending > descending { [low, high] } else { [high, low] };
        open.extend(std::iter::repeat_n(edge, ascending.abs_diff(descending)));
    });
    open
}

/// Arranges the edges as loops that end as soon as they return to their start, and returns the end of each: as many
/// edges enter a vertex as leave it, so a loop can end nowhere else.
fn boundary_loops(mut edges: Vec<[u32; 2]>) -> (Vec<[u32; 2]>, Vec<usize>) {
    edges.sort_unstable();
    // Number of edges of a vertex that are in a loop, stored at the vertex's first edge.
    let mut taken = vec![0; edges.len()];
    let mut leave = |vertex: u32| {
        let first = edges.partition_point(|[from, _]| *from < vertex);
        let edge = edges[first..].get(*taken.get(first)?).filter(|[from, _]| *from == vertex)?;
        taken[first] += 1;
        Some(*edge)
    };
    let (mut in_loops, mut ends) = (Vec::with_capacity(edges.len()), Vec::new());
    for [start, _] in edges.iter().copied() {
        let mut at = start;
        while let Some(edge) = leave(at) {
            in_loops.push(edge);
            at = edge[1];
            if at == start {
                ends.push(in_loops.len());
            }
        }
    }
    (in_loops, ends)
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::{
        geometry::{MeshData, winding::winding_number},
        oracle::{Random, shapes},
    };

    fn to_whole(w: f64) -> f64 {
        (w - w.round()).abs()
    }

    #[test]
    fn the_winding_number_is_nearly_whole_away_from_it_and_changes_slowly() {
        let seed = 31;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let (mut far, mut near) = (0, 0);
        for round in 0..400 {
            let data = match round % 3 {
                0 => shapes::sphere(0.05, 8),
                1 => shapes::sheet(6, 5, 0.01),
                _ => shapes::capsule(0.004, 0.05, 12),
            };
            let n = random.below(4);
            let mesh = TriangleMesh::new(shapes::torn(data, n, &mut random));
            let boundary = Boundary::of(&mesh);
            let b = mesh.used_box().grown(0.03);
            for _ in 0..20 {
                let p = random.point(b.min.as_dvec3(), b.max.as_dvec3());
                let radius = random.range(0.0, 0.01);
                let q = p + random.unit_vector() * radius * random.f64();
                let (at_p, at_q) = (winding_number(&mesh, p), winding_number(&mesh, q));
                if boundary.is_near(p, radius) {
                    near += 1;
                } else {
                    far += 1;
                    assert!(to_whole(at_q) <= DECIDED + 1e-9, "{at_q} at {q}, {radius} from {p}");
                }
                let most = boundary.gradient_bound(p, radius) * p.distance(q) + 1e-9;
                assert!(to_whole(at_p - at_q) <= most, "{at_p}, {at_q}, {most}: {p}, {q}");
            }
        }
        assert!(near > 1_000 && far > 1_000, "{near} near, {far} far");
    }

    #[test]
    fn a_closed_surface_has_none() {
        let mesh = TriangleMesh::new(shapes::torus(0.02, 0.006, 14, 9));
        let boundary = Boundary::of(&mesh);
        assert!(boundary.edges.is_empty() && !boundary.is_near(DVec3::ZERO, 1.0));
        assert_eq!(boundary.gradient_bound(DVec3::ZERO, 1.0), 0.0);
    }

    /// Adjacent sheets border on each other until they are apart; of stacked sheets only those that face away from each
    /// other do, as the sides of a slab.
    #[test]
    fn borders_lie_on_those_that_run_the_other_way() {
        let lies_on = |a: &MeshData, b: &MeshData| {
            let [a, b] = [a, b].map(|data| TriangleMesh::new(data.clone()));
            let [of_a, of_b] = [&a, &b].map(Boundary::of);
            let found = of_a.lies_on(&a, &of_b, &b);
            assert_eq!(found, of_b.lies_on(&b, &of_a, &a));
            found
        };
        let sheet = shapes::sheet(5, 5, 0.01);
        let moved = |by: Vec3| {
            let positions = sheet.positions.iter().map(|p| *p + by).collect();
            MeshData { positions, ..sheet.clone() }
        };
        let width = sheet.positions.iter().fold(0.0, |most: f32, p| most.max(p.x));
        for (apart, borders) in [(0.0, true), (1e-3, true), (3e-3, false)] {
            assert_eq!(lies_on(&sheet, &moved(Vec3::X * (width + apart))), borders, "{apart} m");
        }
        let mut above = moved(Vec3::Z * 5e-4);
        assert!(!lies_on(&sheet, &above) && !lies_on(&sheet, &sheet));
        above.triangles.iter_mut().for_each(|t| t.reverse());
        assert!(lies_on(&sheet, &above));
    }

    /// Two loops that share a vertex: as many loops, or one that passes it twice, and every edge in one.
    #[test]
    fn walks_close() {
        let (edges, ends) = boundary_loops(vec![[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 2]]);
        assert_eq!((edges.len(), ends.last()), (6, Some(&6)));
        let mut first = 0;
        for end in ends {
            let edges = &edges[first..end];
            assert!(edges.windows(2).all(|pair| pair[0][1] == pair[1][0]), "{edges:?}");
            assert_eq!(edges[0][0], edges[edges.len() - 1][1]);
            first = end;
        }
    }

    /// Loops may pass a vertex very often: nothing is searched again each time.
    #[test]
    fn a_star_of_triangles_is_as_many_walks() {
        const N: u32 = 200_000;
        for centre in [0, 2 * N] {
            let tips = (0..N).map(|i| [2 * i + 1, 2 * i + 2].map(|v| v - u32::from(centre > 0)));
            let star = tips.flat_map(|[a, b]| [[centre, a], [a, b], [b, centre]]);
            let (edges, ends) = boundary_loops(star.collect());
            assert_eq!((edges.len(), ends.last()), (3 * N as usize, Some(&(3 * N as usize))));
            assert!(centre > 0 || ends.len() == N as usize, "{} loops", ends.len());
        }
    }
}
