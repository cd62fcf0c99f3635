//! A link's field, sampled from the link's own exact surface.

use crate::{
    geometry::Aabb,
    index::Surface,
    sdf::{self, Exact, ExactDistance, Field, FieldOptions},
};

/// Builds the field of a surface. `progress` is told (subspaces done, of how many).
pub fn field_of(
    surface: &Surface,
    options: &FieldOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Field {
    let distance = |p, hint| {
        let found = surface.signed_distance(p, f64::INFINITY, hint).expect("a link has triangles");
        ExactDistance {
            signed_distance: found.signed_distance,
            triangle: found.triangle,
            winding: found.winding,
        }
    };
    let near = |b: &Aabb, out: &mut Vec<_>| surface.overlap(b, |t| out.push(t));
    sdf::build(surface.mesh(), &Exact { distance: &distance, near: &near }, options, progress)
}
