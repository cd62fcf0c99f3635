//! Signed distance of a point to tissues and links, shared by probes, queries and contacts.

use glam::DVec3;

use super::{
    RevisionGuard, TissueId,
    coherence::probe_memory::ProbeMemory,
    organ::{Organ, reach},
};
use crate::{
    geometry::{Pose, TriangleId},
    surface::{SignedNearest, Surface},
    time_left::TimeLeft,
};

/// A distance, or a lower bound of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distance<T> {
    /// Found within the requested distance.
    Within(T),
    /// No surface is nearer than this many metres.
    Beyond(f64),
}

/// A point on a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfacePoint {
    /// Position in scene frame, metres.
    pub position: DVec3,
    /// Triangle of the mesh that the point is on.
    pub triangle: TriangleId,
    /// Weights of the triangle's vertices in stored order; sum 1.
    pub barycentric: DVec3,
}

/// The surface that is nearest to a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearestSurface {
    /// Signed distance, metres, negative if the point is inside.
    pub signed_distance_m: f64,
    /// The tissue met; `None` if a link was queried.
    pub tissue: Option<TissueId>,
    /// The closest point.
    pub on_surface: SurfacePoint,
    /// Unit vector outwards from the surface.
    pub normal: DVec3,
    /// Certainty of the sign: 0 (a guess) to 1 (certain).
    pub sign_certainty: f64,
}

/// Signed distance to a link: within `max_distance` metres outside it, and at any depth inside. Also `None` if the time
/// is over before it is known.
fn to_surface(
    link: &Surface,
    p: DVec3,
    max_distance: f64,
    hint: Option<TriangleId>,
    time: &TimeLeft,
) -> Option<SignedNearest> {
    let reach = reach(link.inside_distance_squared(p), max_distance);
    let found = link.signed_distance_in_time(p, reach, hint, time);
    found.filter(|d| d.signed_distance <= max_distance)
}

/// Signed distance of a scene point to the nearest of the organs, the deepest if inside several. `None` if the time is
/// over before it is known.
pub(in crate::scene) fn to_tissues(
    tissues: &[(TissueId, RevisionGuard)],
    p: DVec3,
    max_distance: f64,
    memory: &mut ProbeMemory,
    time: &TimeLeft,
) -> Option<Distance<NearestSurface>> {
    let mut best: Option<(usize, SignedNearest)> = None;
    for organ in Organ::each(tissues) {
        // Once inside one organ, only organs that also hold the point count, and these are found at any reach.
        let reach = best.map_or(max_distance, |(_, b)| b.signed_distance.clamp(0.0, max_distance));
        debug_assert!(reach >= 0.0, "reach {reach} m");
        let found = organ.signed_distance_tracked(p, reach, memory, time);
        if time.was_over() {
            return None;
        }
        if let Some((part, found)) = found
            && best.is_none_or(|(_, b)| found.signed_distance < b.signed_distance)
        {
            best = Some((part, found));
        }
    }
    Some(match best {
        Some((part, found)) => {
            let id = tissues[part].0;
            memory.go_to(id, found.triangle);
            Distance::Within(nearest(found, Some(id), &Pose::IDENTITY))
        }
        None => Distance::Beyond(max_distance),
    })
}

/// Signed distance of a scene point to the tissue at an index among these, whose organ decides the side. `None` if the
/// time is over before it is known.
pub(in crate::scene) fn to_tissue(
    tissues: &[(TissueId, RevisionGuard)],
    place: usize,
    p: DVec3,
    max_distance: f64,
    memory: &mut ProbeMemory,
    time: &TimeLeft,
) -> Option<Distance<NearestSurface>> {
    let organ = Organ::of(tissues, place);
    if !organ.is_divided() {
        return to_tissues(std::slice::from_ref(&tissues[place]), p, max_distance, memory, time);
    }
    let found = organ.signed_distance_to_part(p, max_distance, time);
    let within = |found| Distance::Within(nearest(found, Some(tissues[place].0), &Pose::IDENTITY));
    (!time.was_over()).then(|| found.map_or(Distance::Beyond(max_distance), within))
}

/// Signed distance of a scene point to a link. `None` if the time is over before it is known.
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
