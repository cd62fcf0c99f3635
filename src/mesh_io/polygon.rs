//! Triangles of what a file gives as polygons and strips.

/// Adds a polygon as a fan; false when it has fewer than three corners.
#[must_use]
pub(super) fn push_fan(triangles: &mut Vec<[u32; 3]>, corners: &[u32]) -> bool {
    // A fan keeps the corners' order and so the winding. A polygon that is not convex may fold: formats do not say
    // how to cut it.
    if let [first, rest @ ..] = corners {
        triangles.extend(rest.windows(2).map(|pair| [*first, pair[0], pair[1]]));
    }
    corners.len() >= 3
}

/// Adds a triangle strip; false when it has fewer than three corners. Every second triangle of a strip is wound
/// the other way.
#[must_use]
pub(super) fn push_strip(triangles: &mut Vec<[u32; 3]>, corners: &[u32]) -> bool {
    // Each triangle shares two corners with the one before.
    triangles.extend(corners.windows(3).enumerate().map(|(i, t)| match i % 2 {
        0 => [t[0], t[1], t[2]],
        _ => [t[1], t[0], t[2]],
    }));
    corners.len() >= 3
}
