//! A link's field, sampled from the link's own exact surface.

use crate::{
    geometry::Aabb,
    sdf::{self, BuildProgress, BuildStopped, Exact, ExactDistance, Field, FieldOptions},
    surface::Surface,
};

/// The field of a surface with default options.
pub fn default_field(surface: &Surface) -> Field {
    field_of(surface, &FieldOptions::default())
}

/// Builds the field of a surface.
pub fn field_of(surface: &Surface, options: &FieldOptions) -> Field {
    build_field(surface, options, &|_| true).expect("nobody stops it")
}

/// Builds the field of a surface; `goes_on` gets the progress and returns whether to continue.
///
/// # Errors
///
/// Returns an error if `goes_on` returned false.
pub fn build_field(
    surface: &Surface,
    options: &FieldOptions,
    goes_on: &(dyn Fn(BuildProgress) -> bool + Sync),
) -> Result<Field, BuildStopped> {
    with_exact(surface, |exact| sdf::build(surface.mesh(), exact, options, goes_on))
}

/// Returns whether a field from elsewhere can stand for that of a surface: see [`Field::is_of`].
pub fn is_field_of(field: &Field, surface: &Surface, options: &FieldOptions) -> bool {
    with_exact(surface, |exact| field.is_of(surface.mesh(), exact, options))
}

fn with_exact<T>(surface: &Surface, work: impl FnOnce(&Exact) -> T) -> T {
    // The field knows neither meshes' indexes nor signs: it queries the surface, which both link and tissue are.
    let by_winding = surface.is_by_winding();
    let distance = |p, hint| {
        let found = surface.signed_distance(p, f64::INFINITY, hint).expect("a link has triangles");
        let winding = || found.winding.unwrap_or_else(|| surface.winding(p).number);
        ExactDistance {
            signed_distance: found.signed_distance,
            triangle: found.triangle,
            winding: by_winding.then(winding),
        }
    };
    let near = |b: &Aabb, out: &mut Vec<_>| surface.overlap(b, |t| out.push(t));
    let nearest = |p, hint| {
        let found = surface.nearest(p, f64::INFINITY, hint).expect("a link has triangles");
        (found.closest.distance_squared.sqrt(), found.triangle)
    };
    let closed = surface.is_closed();
    work(&Exact { distance: &distance, nearest: &nearest, closed, near: &near })
}
