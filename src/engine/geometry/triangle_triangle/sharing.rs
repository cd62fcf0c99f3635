//! Tests whether two triangles of one mesh meet anywhere except in the vertices and the edge that they share.

use super::{
    coplanar::seen,
    exact::meet,
    predicates::{Triangle, on_one_side, orient_2d, orient_3d},
};

/// A triangle of a mesh: its vertices' numbers and positions.
pub type MeshTriangle = ([u32; 3], Triangle);

/// Returns true if two triangles have a point in common that is in no vertex and no edge of both, exactly. Touching
/// counts; so do two triangles with equal vertices, and one without area that shares an edge.
pub fn meet_beyond_shared((v, a): &MeshTriangle, (w, b): &MeshTriangle) -> bool {
    let mut shared = [(0, 0); 3];
    let mut n_shared = 0;
    for (i, j) in (0..9).map(|n| (n / 3, n % 3)).filter(|(i, j)| v[*i] == w[*j]) {
        // More only if a triangle names a vertex twice.
        if n_shared == 3 {
            return true;
        }
        shared[n_shared] = (i, j);
        n_shared += 1;
    }
    match shared[..n_shared] {
        [] => meet(a, b),
        [(i, j)] => meet_beyond_vertex(a, i, b, j),
        [(i, j), (k, l)] if i != k && j != l => is_folded(a, [i, k], b, 3 - j - l),
        _ => true,
    }
}

/// Vertex `i` of A is vertex `j` of B.
fn meet_beyond_vertex(a: &Triangle, i: usize, b: &Triangle, j: usize) -> bool {
    let opposite = |t: &Triangle, k: usize| [t[(k + 1) % 3], t[(k + 2) % 3]];
    let (of_a, of_b) = (opposite(a, i), opposite(b, j));
    if on_one_side(&of_b.map(|p| orient_3d(a[0], a[1], a[2], p)))
        || on_one_side(&of_a.map(|p| orient_3d(b[0], b[1], b[2], p)))
    {
        return false;
    }
    // The intersection is convex and contains the vertex. If it is larger, it ends at the end of one of the triangles,
    // and from its vertex a triangle is left through the opposite edge alone.
    let segment = |[p, q]: [glam::DVec3; 2]| [p, q, q];
    meet(&segment(of_a), b) || meet(a, &segment(of_b))
}

/// Returns true if the triangles on both sides of an edge of A overlap: in one plane, with their third vertices on one
/// side of the edge.
fn is_folded(a: &Triangle, edge: [usize; 2], b: &Triangle, third_of_b: usize) -> bool {
    let (p, q) = (a[edge[0]], a[edge[1]]);
    let (r, s) = (a[3 - edge[0] - edge[1]], b[third_of_b]);
    // Along any axis in which the plane is not edge on, sides of a line in it stay sides.
    let is_apart = |axis: usize| {
        let [p, q, r, s] = [p, q, r, s].map(|p| seen(p, axis));
        let (of_r, of_s) = (orient_2d(p, q, r), orient_2d(p, q, s));
        of_r < 0.0 && of_s > 0.0 || of_r > 0.0 && of_s < 0.0
    };
    orient_3d(p, q, r, s) == 0.0 && !(0..3).any(is_apart)
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;
    use crate::oracle::{random::Random, triangle::triangle_distance};

    /// Share cut off about the shared vertex or edge. Corners are small whole numbers, so the intersection of two
    /// triangles beyond that is longer; a power of two, so that the remaining part has exact corners.
    const CUT_OFF: f64 = 1.0 / 1024.0;
    /// Far less than corners of small whole numbers can be apart without meeting.
    const APART: f64 = 1e-7;

    fn corner(random: &mut Random) -> DVec3 {
        DVec3::from_array([(); 3].map(|()| random.below(4) as f64))
    }

    fn has_area([a, b, c]: &Triangle) -> bool {
        (*b - *a).cross(*c - *a) != DVec3::ZERO
    }

    #[test]
    fn sharing_a_vertex_or_an_edge_is_not_meeting() {
        let seed = 31;
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut met = [[0; 2]; 2];
        for _ in 0..40_000 {
            let [p, q, r, s, t] = [(); 5].map(|()| corner(&mut random));
            let (a, by_vertex, by_edge) = ([p, q, r], [s, p, t], [q, s, p]);
            for (n, b, w) in [(0, by_vertex, [3, 0, 4]), (1, by_edge, [1, 3, 0])] {
                if !has_area(&a) || !has_area(&b) {
                    continue;
                }
                let at = |from: DVec3, to: DVec3| from + (to - from) * CUT_OFF;
                // All of A except a tiny part about the shared feature.
                let rest = match n {
                    0 => vec![[at(p, q), q, r], [at(p, q), r, at(p, r)]],
                    _ => vec![[at(p, r), at(q, r), r]],
                };
                let apart = rest.iter().map(|t| triangle_distance(t, &b));
                let expected = apart.fold(f64::INFINITY, f64::min) < APART;
                for turn in 0..3 {
                    let turned = |v: [u32; 3]| std::array::from_fn(|k| v[(k + turn) % 3]);
                    let corners = |t: &Triangle| std::array::from_fn(|k| t[(k + turn) % 3]);
                    let (one, other) = (([0, 1, 2], a), (turned(w), corners(&b)));
                    let got =
                        [(&one, &other), (&other, &one)].map(|(a, b)| meet_beyond_shared(a, b));
                    assert_eq!(got, [expected; 2], "{a:?} and {b:?}");
                }
                met[n][usize::from(expected)] += 1;
            }
        }
        assert!(met.iter().flatten().all(|n| *n > 300), "{met:?}");
    }

    #[test]
    fn doubled_and_flat_triangles_meet() {
        let [p, q, r] = [DVec3::ZERO, DVec3::X, DVec3::Y];
        let t = |v: [u32; 3], corners: Triangle| (v, corners);
        assert!(meet_beyond_shared(&t([0, 1, 2], [p, q, r]), &t([2, 1, 0], [r, q, p])));
        assert!(meet_beyond_shared(&t([0, 1, 2], [p, q, r]), &t([1, 0, 3], [q, p, q * 0.5])));
        assert!(meet_beyond_shared(&t([0, 1, 2], [p, q, r]), &t([0, 0, 3], [p, p, q + r])));
    }
}
