//! Overlap of a triangle and a box: the 13-axis separating axis test.

use glam::DVec3;

use super::tolerance::PROJECTION_ROUNDING;

/// Returns false only if the closed triangle and the closed box (by centre and half edges) are apart by more than
/// rounding: 3 face normals of the box, the triangle's normal, 9 cross products of edges.
pub fn triangle_meets_box(triangle: &[DVec3; 3], centre: DVec3, half: DVec3) -> bool {
    let [a, b, c] = triangle.map(|v| v - centre);
    let edges = [b - a, c - b, a - c];
    let scale = a.abs().max(b.abs()).max(c.abs()).max(half).max_element();
    let separated = |axis: DVec3| {
        let p = [axis.dot(a), axis.dot(b), axis.dot(c)];
        let reach = half.dot(axis.abs()) + PROJECTION_ROUNDING * scale * axis.abs().element_sum();
        p[0].min(p[1]).min(p[2]) > reach || p[0].max(p[1]).max(p[2]) < -reach
    };
    // Box faces come first: they separate most pairs, and cost least.
    let crosses = edges.iter().flat_map(|e| DVec3::AXES.map(|axis| axis.cross(*e)));
    !DVec3::AXES.into_iter().chain([edges[0].cross(edges[1])]).chain(crosses).any(separated)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: [DVec3; 3] = [DVec3::ZERO, DVec3::new(4.0, 0.0, 0.0), DVec3::new(0.0, 4.0, 0.0)];

    #[test]
    fn face_through_box_and_box_beside_the_long_edge() {
        let half = DVec3::splat(0.1);
        assert!(triangle_meets_box(&T, DVec3::new(1.0, 1.0, 0.1), half), "touching from above");
        assert!(!triangle_meets_box(&T, DVec3::new(1.0, 1.0, 0.11), half));
        assert!(triangle_meets_box(&T, DVec3::new(2.1, 2.1, 0.0), half), "corner on the edge");
        assert!(
            !triangle_meets_box(&T, DVec3::new(2.2, 2.2, 0.0), half),
            "inside the triangle's box"
        );
        assert!(triangle_meets_box(&[DVec3::ZERO; 3], DVec3::ZERO, half), "a point");
    }
}
