//! Tests without rounding whether two triangles with integer corners meet.
//!
//! Two triangles meet if the origin is in the hull of the nine differences of their corners, so if no direction has all
//! nine strictly on one side. The directions that have none on the other side are a cone spanned by differences, their
//! cross products and triple products (as far as these are in it); its sum is strictly inside if anything is. The test
//! uses no planes, edges or intervals as `geometry` does, and no special case for triangles without area.

/// A point of the lattice; coordinates up to 10^9.
pub type Point = [i64; 3];

type Vector = [i128; 3];

/// Returns true if the triangles meet. Touching counts.
pub fn meet(a: &[Point; 3], b: &[Point; 3]) -> bool {
    // Minkowski difference: the triangles meet if it holds the origin.
    let differences: [Vector; 9] = std::array::from_fn(|i| {
        std::array::from_fn(|axis| i128::from(a[i / 3][axis]) - i128::from(b[i % 3][axis]))
    });
    let crosses = pairs().map(|(i, j)| cross(&differences[i], &differences[j]));
    let mut sum = [0; 3];
    crosses.clone().for_each(|n| add_if_no_side(&mut sum, &n, &differences));
    if strictly_positive(&sum, &differences) {
        return false;
    }
    // A full cone without a separating direction: the origin is inside.
    if rank_is_full(crosses.clone(), &differences) {
        return true;
    }
    // All in a plane through the origin, or on a line: directions in that plane or line.
    let spanning = crosses.flat_map(|n| differences.map(|p| cross(&n, &p)));
    spanning.chain(differences).for_each(|n| add_if_no_side(&mut sum, &n, &differences));
    !strictly_positive(&sum, &differences)
}

fn pairs() -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..9).flat_map(|i| (i + 1..9).map(move |j| (i, j)))
}

fn rank_is_full(mut crosses: impl Iterator<Item = Vector>, points: &[Vector; 9]) -> bool {
    crosses.any(|n| points.iter().any(|p| dot(&n, p) != 0))
}

fn strictly_positive(n: &Vector, points: &[Vector; 9]) -> bool {
    points.iter().all(|p| dot(n, p) > 0)
}

fn add_if_no_side(sum: &mut Vector, n: &Vector, points: &[Vector; 9]) {
    let along = points.map(|p| dot(n, &p));
    let turn = match (along.iter().all(|d| *d >= 0), along.iter().all(|d| *d <= 0)) {
        (true, false) => 1,
        (false, true) => -1,
        // All zero, or some on each side: no direction of the cone.
        _ => return,
    };
    (0..3).for_each(|axis| sum[axis] += turn * n[axis]);
}

fn dot(a: &Vector, b: &Vector) -> i128 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: &Vector, b: &Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: [Point; 3] = [[0, 0, 0], [4, 0, 0], [0, 4, 0]];

    fn both_ways(a: &[Point; 3], b: &[Point; 3]) -> bool {
        assert_eq!(meet(a, b), meet(b, a));
        meet(a, b)
    }

    #[test]
    fn crossing_touching_and_apart() {
        assert!(both_ways(&T, &[[1, 1, -1], [1, 1, 1], [9, 9, 0]]));
        assert!(both_ways(&T, &[[2, 2, 0], [9, 9, 1], [9, 9, -1]]), "a vertex on an edge");
        assert!(!both_ways(&T, &[[3, 2, 0], [9, 9, 1], [9, 9, -1]]));
        assert!(both_ways(&T, &[[1, 1, 0], [2, 1, 0], [1, 2, 0]]), "in it");
        assert!(!both_ways(&T, &[[5, 0, 0], [9, 0, 0], [5, 4, 0]]), "beside it in its plane");
    }

    #[test]
    fn segments_and_points() {
        let point = |p: Point| [p; 3];
        assert!(both_ways(&T, &point([2, 2, 0])) && !both_ways(&T, &point([3, 2, 0])));
        assert!(both_ways(&T, &[[1, 1, 1], [1, 1, -1], [1, 1, 0]]));
        assert!(!both_ways(&T, &[[3, 3, 1], [3, 3, -1], [3, 3, 0]]));
        let line = |from: i64, to: i64| [[from, 0, 0], [to, 0, 0], [from, 0, 0]];
        assert!(both_ways(&line(0, 2), &line(2, 3)) && !both_ways(&line(0, 1), &line(2, 3)));
        assert!(both_ways(&line(0, 2), &[[1, -1, 0], [1, 1, 0], [1, 0, 0]]));
        assert!(both_ways(&point([1, 2, 3]), &point([1, 2, 3])));
        assert!(!both_ways(&point([1, 2, 3]), &point([1, 2, 4])));
    }
}
