//! Overlap of a triangle and a box, by the thirteen separating axes in `f64`.

use glam::DVec3;

use crate::geometry::Aabb;

/// Returns true if they meet; touching counts. Passing triangles have overlapping boxes, exactly.
pub fn triangle_meets_box(triangle: &[DVec3; 3], b: &Aabb) -> bool {
    // Not every empty box is infinite: if its ends are swapped, the tests below are meaningless.
    if b.is_empty() {
        return false;
    }
    let (min, max) = (b.min.as_dvec3(), b.max.as_dvec3());
    let [p, q, r] = *triangle;
    let (low, high) = (p.min(q).min(r), p.max(q).max(r));
    // The box's own axes are exact, as touching counts and coordinates are compared without arithmetic.
    if low.cmpgt(max).any() || high.cmplt(min).any() {
        return false;
    }
    let edges = [q - p, r - q, p - r];
    let crossed = edges.iter().flat_map(|e| DVec3::AXES.map(|axis| axis.cross(*e)));
    let normal = edges[0].cross(edges[1]);
    !crossed.chain([normal]).any(|axis| separates(axis, triangle, (min + max) * 0.5, max - min))
}

/// `centre` and `size` (edge lengths) give the box. A zero axis separates nothing.
fn separates(axis: DVec3, triangle: &[DVec3; 3], centre: DVec3, size: DVec3) -> bool {
    let along = triangle.map(|p| axis.dot(p - centre));
    let low = along.into_iter().fold(f64::INFINITY, f64::min);
    let high = along.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let reach = axis.abs().dot(size) * 0.5;
    low > reach || high < -reach
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    #[test]
    fn a_box_that_a_slanted_triangle_passes_by() {
        let t = [DVec3::new(2.0, 0.0, 0.0), DVec3::new(0.0, 2.0, 0.0), DVec3::new(0.0, 0.0, 2.0)];
        let cube = |half: f32| Aabb { min: Vec3::splat(-half), max: Vec3::splat(half) };
        assert!(!triangle_meets_box(&t, &cube(0.66)), "the corner stays below the plane");
        assert!(triangle_meets_box(&t, &cube(0.67)));
        assert!(!triangle_meets_box(&t, &Aabb::EMPTY));
        let point = [DVec3::splat(0.5); 3];
        assert!(triangle_meets_box(&point, &cube(0.5)) && !triangle_meets_box(&point, &cube(0.4)));
    }
}
