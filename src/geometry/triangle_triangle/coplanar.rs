//! Triangles in one plane: whether they are certainly apart in it (2.5).

use glam::DVec2;

use super::cases::Flat;

/// Some edge of one has the other certainly beyond it, or beyond the corner across. `error` and `reach` as
/// for `decide`. Apart along the plane is apart, whatever the heights are.
pub(super) fn apart_in_plane(a: &Flat, b: &[DVec2; 3], error: f64, reach: f64) -> bool {
    let a = [DVec2::ZERO, DVec2::new(a.l, 0.0), DVec2::new(a.al, a.d)];
    // Differences of at most 2m are off by 2e, each of the two products by 8em.
    let off = 32.0 * error * reach;
    edge_separates(&a, b, off) || edge_separates(b, &a, off)
}

fn edge_separates(own: &[DVec2; 3], other: &[DVec2; 3], off: f64) -> bool {
    (0..3).any(|k| {
        let edge = own[(k + 1) % 3] - own[k];
        let across = edge.perp_dot(own[(k + 2) % 3] - own[k]);
        let beyond = other.map(|p| edge.perp_dot(p - own[k]));
        let (least, most) =
            (beyond[0].min(beyond[1]).min(beyond[2]), beyond[0].max(beyond[1]).max(beyond[2]));
        most < across.min(0.0) - 2.0 * off || least > across.max(0.0) + 2.0 * off
    })
}
