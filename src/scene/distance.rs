//! Signed distance of a point to tissues and links: the part that probes, queries and contacts share.

use glam::DVec3;

use super::{
    Distance, NearestSurface, RevisionGuard, SurfacePoint, TissueId,
    coherence::probe_memory::ProbeMemory,
};
use crate::{
    geometry::{Pose, TriangleId},
    surface::{SignedNearest, Surface},
    time_left::TimeLeft,
};

/// Signed distance to a surface: within `max_distance` metres outside it, and at any depth inside. `None` also when the
/// time is over before it is known.
pub fn to_surface(
    surface: &Surface,
    p: DVec3,
    max_distance: f64,
    hint: Option<TriangleId>,
    time: &TimeLeft,
) -> Option<SignedNearest> {
    let ask = |reach| surface.signed_distance_in_time(p, reach, hint, time);
    within(surface, p, max_distance, ask)
}

/// `ask`: for the surface's answer within a reach.
fn within(
    surface: &Surface,
    p: DVec3,
    max_distance: f64,
    ask: impl FnOnce(f64) -> Option<SignedNearest>,
) -> Option<SignedNearest> {
    // What lies outside the box of all that is inside is not inside, so its side need not be found out. Inside the
    // box the search may not stop at `max_distance`: a point can be any depth below the surface.
    let may_be_inside = surface.inside_distance_squared(p) == 0.0;
    let reach = if may_be_inside { f64::INFINITY } else { max_distance };
    ask(reach).filter(|d| d.signed_distance <= max_distance)
}

/// Signed distance of a scene point to the nearest of the tissues, the deepest when inside several. `None` when the time
/// is over before it is known.
pub(in crate::scene) fn to_tissues(
    tissues: &[(TissueId, RevisionGuard)],
    p: DVec3,
    max_distance: f64,
    memory: &mut ProbeMemory,
    time: &TimeLeft,
) -> Option<Distance<NearestSurface>> {
    let mut best: Option<(TissueId, SignedNearest)> = None;
    for (id, revision) in tissues {
        // Once inside one tissue only those count that hold the point too, and these are found at any reach.
        let reach = best.map_or(max_distance, |(_, b)| b.signed_distance.clamp(0.0, max_distance));
        debug_assert!(reach >= 0.0, "reach {reach} m");
        let surface = &revision.surface;
        let found = within(surface, p, reach, |reach| match memory.follow(*id, revision) {
            Some(point) => surface.signed_distance_tracked(p, reach, point, time),
            None => surface.signed_distance_in_time(p, reach, None, time),
        });
        if time.was_over() {
            return None;
        }
        if let Some(found) = found
            && best.is_none_or(|(_, b)| found.signed_distance < b.signed_distance)
        {
            best = Some((*id, found));
        }
    }
    Some(match best {
        Some((id, found)) => {
            memory.go_to(id, found.triangle);
            Distance::Within(nearest(found, Some(id), &Pose::IDENTITY))
        }
        None => Distance::Beyond(max_distance),
    })
}

/// Signed distance of a scene point to a link. `None` when the time is over before it is known.
pub fn to_link(
    link: &Surface,
    scene_from_link: &Pose,
    p: DVec3,
    max_distance: f64,
    hint: Option<TriangleId>,
    time: &TimeLeft,
) -> Option<Distance<NearestSurface>> {
    match to_surface(link, scene_from_link.inverse().point(p), max_distance, hint, time) {
        Some(found) => Some(Distance::Within(nearest(found, None, scene_from_link))),
        None => (!time.was_over()).then_some(Distance::Beyond(max_distance)),
    }
}

fn nearest(
    found: SignedNearest,
    tissue: Option<TissueId>,
    scene_from_surface: &Pose,
) -> NearestSurface {
    NearestSurface {
        signed_distance_m: found.signed_distance,
        tissue,
        on_surface: SurfacePoint {
            position: scene_from_surface.point(found.closest.point),
            triangle: found.triangle,
            barycentric: found.closest.barycentric,
        },
        normal: scene_from_surface.vector(found.normal),
        sign_certainty: found.certainty,
    }
}
